//! Questions.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_paid_for_and_given_again() {
    let server = TestServer::new();
    let reply = server.ask("alice", COUNT, "0.5", "q", json!({})).await.expect(201);
    let answer = reply.json();
    assert_eq!((&answer["key"], &answer["dataset"]), (&json!("q"), &json!("census")));
    assert_eq!(answer["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(
        server.get("alice", "/v1/receipts?key=q").await.expect(200).json()["sequence"],
        answer["receipt"]["sequence"]
    );
    // The owner gets the stored bytes, with all accounts; the dataset's own account pays.
    let answer = server.ask("owner", COUNT, "0.5", "q", json!({})).await.expect(201).json();
    assert_eq!(answer["accounts"][0]["account"], "census");
    assert_eq!(answer["receipt"]["record"]["event"]["charge"]["by"], "olga");
    // An analyst with two accounts must name the one that pays.
    for (account, status) in
        [(Value::Null, 400), (json!("census/bob"), 201), (json!("census"), 403), (json!("wages"), 403)]
    {
        let more = if account.is_null() { json!({}) } else { json!({ "account": account }) };
        server.ask("two", COUNT, "0.01", &format!("two {account}").replace('"', ""), more).await.expect(status);
    }
    let wrong = server.ask("alice", "SELECT age FROM census", "0.1", "w", json!({})).await.expect(400).json();
    assert!(wrong["position"].as_u64().is_some(), "{wrong}");
    assert!(!server.get("alice", "/v1/datasets/census").await.text().contains("\"rows\":4"));
    assert_eq!(server.get("owner", "/v1/datasets/census").await.json()["rows"], 4);
}

/// A paused clock advances only while all tasks wait, so the ticks are exact on every machine.
#[tokio::test(start_paused = true)]
async fn every_outcome_of_a_question_waits_for_the_tick() {
    let (tick, start) = (Duration::from_millis(600), tokio::time::Instant::now());
    let server = TestServer::with(Settings { tick: Some(tick), ..Settings::default() });
    let mut last = Duration::ZERO;
    // Otherwise an error under the key of a running question would tell when it ends.
    for (question, epsilon, key, status) in [
        (COUNT, "0.1", "k", 201),
        (COUNT, "0.1", "k", 200),
        (COUNT, "9", "refused", 409),
        ("SELECT age FROM census", "0.1", "k", 400),
        (COUNT, "0.2", "k", 422),
        (COUNT, "0.1", "more", 201),
    ] {
        server.ask("owner", question, epsilon, key, json!({})).await.expect(status);
        // Each is asked at a tick, so its outcome comes with a later one.
        let now = start.elapsed();
        assert!(now > last && now.as_nanos() % tick.as_nanos() == 0, "{key}: {now:?} after {last:?}");
        last = now;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_after_a_charge_is_the_same_problem_and_only_the_owner_sees_why() {
    let server = TestServer::new();
    let records = rusqlite::Connection::open(server.folder.path().join("gate").join("gate.db")).unwrap();
    records
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .unwrap();
    for who in ["alice", "alice", "owner"] {
        let problem = server.ask(who, COUNT, "0.1", "k", json!({})).await.expect(424).json();
        assert_eq!((&problem["code"], &problem["key"]), (&json!("no-answer"), &json!("k")));
        assert!(problem["sequence"].is_u64() && !problem.to_string().contains("no room"), "{problem}");
    }
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 2);
    let log = server.get("owner", "/v1/log?limit=5").await.expect(200).json();
    assert_eq!((log.as_array().unwrap().len(), &log[1]["key"]), (2, &json!("alice:k")));
    assert!(log[0]["why"].as_str().unwrap().contains("no room"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_dataset_costs_nothing_and_only_owners_see_its_location() {
    let server = TestServer::new();
    let data = std::fs::read_dir(server.folder.path().join("gate")).unwrap().map(|entry| entry.unwrap().path());
    for file in data.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("census.v")) {
        std::fs::remove_file(file).unwrap();
    }
    let folder = server.folder.path().to_str().unwrap();
    let told = server.ask("owner", COUNT, "0.1", "k", json!({})).await.expect(500);
    assert!(told.text().contains(folder) && told.code().unwrap() == "storage", "{}", told.text());
    let told = server.ask("alice", COUNT, "0.1", "k", json!({})).await.expect(500);
    assert!(!told.text().contains(folder) && told.code().unwrap() == "storage", "{}", told.text());
    let told = server.get("auditor", "/v1/datasets/census/check").await.expect(500);
    assert!(!told.text().contains(folder), "{}", told.text());
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_tried_on_made_up_rows_while_the_data_are_gone() {
    let server = TestServer::new();
    let question = json!({ "dataset": "census", "question": COUNT, "price": { "epsilon": "100" } }).to_string();
    let path = "/v1/questions/dummy?rows=70";
    let answer = server.send("alice", "POST", path, &question).await.expect(200).json();
    assert_eq!((&answer["dummy"], &answer["dummy_rows"]), (&json!(true), &json!(70)));
    assert_eq!(answer["rows"][0][0]["value"], 70);
    for file in std::fs::read_dir(server.folder.path().join("gate")).unwrap().map(|file| file.unwrap().path()) {
        if file.file_name().is_some_and(|name| name.to_string_lossy().contains(".v1.")) {
            std::fs::remove_file(file).unwrap();
        }
    }
    server.ask("alice", COUNT, "0.1", "k", json!({})).await.expect(500);
    assert_eq!(server.send("alice", "POST", path, &question).await.expect(200).json(), answer);
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 0);
}

/// A number without quotes was once rejected, and the error named no field.
#[tokio::test(flavor = "multi_thread")]
async fn a_price_is_a_number_with_or_without_quotes_and_an_error_names_its_field() {
    let server = TestServer::new();
    let ask = async |price: Value| {
        let question = json!({ "dataset": "census", "question": "SELECT COUNT(*) FROM census", "price": price });
        server.send("owner", "POST", "/v1/questions/explain", &question.to_string()).await
    };
    for price in [
        json!({ "epsilon": "0.1" }),
        json!({ "epsilon": 0.1 }),
        json!({ "approximate": { "epsilon": "0.1", "delta": 1e-9 } }),
        json!({ "error": { "width": 50 } }),
    ] {
        ask(price).await.expect(200);
    }
    for (price, at) in [
        (json!({ "epsilon": true }), "the body, at price.epsilon: "),
        (json!({ "epsilon": "much" }), "the body, at price.epsilon: "),
        (json!({ "approximate": { "epsilon": "0.1", "delta": "small" } }), "the body, at price.approximate.delta: "),
        (json!({ "error": { "width": [] } }), "the body, at price.error.width: "),
        (json!("free"), "the body, at price: "),
    ] {
        let detail = ask(price.clone()).await.expect(400).json()["detail"].as_str().unwrap().to_string();
        assert!(detail.starts_with(at), "{price}: {detail}");
    }
}

/// Two datasets of the same people. Who may ask one of them learns nothing of the other.
#[tokio::test(flavor = "multi_thread")]
async fn another_dataset_is_joined_by_those_who_may_ask_both() {
    let server = TestServer::new();
    let owner =
        async |path: &str, body: Value| server.send("owner", "POST", path, &body.to_string()).await.expect(201).json();
    let filter = json!({ "budget": { "epsilon": "3", "delta": "1e-6" } });
    for name in ["people", "visits"] {
        let csv = &[("Content-Type", "text/csv")];
        let upload =
            server.send_with("owner", "POST", "/v1/uploads", "person,n\n1,1\n2,2\n", csv).await.expect(201).json();
        owner(
            "/v1/datasets",
            json!({ "dataset": name, "data": { "upload": { "id": upload["upload"] } }, "filter": filter,
                "schema": { "unit": "person", "max_rows_per_unit": 1 } }),
        )
        .await;
        for analyst in ["zoe", "yan"] {
            let small = json!({ "budget": { "epsilon": "1", "delta": "1e-6" } });
            owner(&format!("/v1/datasets/{name}/analysts"), json!({ "analyst": analyst, "filter": small })).await;
        }
    }
    let token = async |principal: &str, accounts: &[&str], datasets: &[&str]| {
        let new = json!({ "principal": principal, "role": "analyst", "accounts": accounts, "datasets": datasets });
        format!("Bearer {}", owner("/v1/tokens", new).await["secret"].as_str().unwrap())
    };
    let both = token("zoe", &["people/zoe", "visits/zoe"], &["people", "visits"]).await;
    let one = token("yan", &["people/yan"], &["people"]).await;
    let without_account = token("xia", &["people/zoe"], &["people", "visits"]).await;
    let two_accounts = token("wim", &["people/zoe", "visits/zoe", "visits/yan"], &["people", "visits"]).await;
    let ask = async |token: &str, path: &str, table: &str, more: Value| {
        let question = format!("SELECT COUNT(*) FROM people JOIN {table} USING (person)");
        let mut body = json!({ "dataset": "people", "question": question, "price": { "epsilon": "0.1" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.send_with("anonymous", "POST", path, &body.to_string(), &[("Authorization", token)]).await
    };
    let questions = "/v1/questions";
    let charges = || {
        ["people/zoe", "visits/zoe", "visits/yan"]
            .map(|it| server.ledger.account(&AccountName::parse(it).unwrap()).unwrap().charges())
    };
    let answer = ask(&both, questions, "visits", json!({})).await.expect(201).json();
    let paid: Vec<&Value> = answer["accounts"].as_array().unwrap().iter().map(|account| &account["account"]).collect();
    assert_eq!(paid, ["people/zoe", "visits/zoe"], "what is above is not shown");
    assert!(answer["receipt"]["record"].is_null() && answer["joined"] == json!({ "dataset": "visits", "version": 1 }));
    assert_eq!(charges(), [1, 1, 0]);
    let explained = ask(&both, "/v1/questions/explain", "visits", json!({})).await.expect(200).json();
    assert_eq!(
        (&explained["pays"], &explained["joined"]["dataset"]),
        (&json!(["people/zoe", "visits/zoe"]), &json!("visits"))
    );
    // A dataset that may not be asked, and one that is not there, are told apart by their names alone.
    for path in [questions, "/v1/questions/explain"] {
        let [hidden, missing] = ["visits", "nosuch"];
        let hidden = ask(&one, path, hidden, json!({})).await.expect(400).text();
        let missing = ask(&one, path, missing, json!({})).await.expect(400).text();
        assert_eq!(hidden.replace("visits", "nosuch"), missing);
        ask(&one, path, "visits", json!({ "joined_account": "visits/zoe" })).await.expect(403);
        ask(&both, path, "visits", json!({ "joined_account": "visits/yan" })).await.expect(403);
        ask(&both, path, "visits", json!({ "joined_account": "people/zoe" })).await.expect(400);
        ask(&without_account, path, "visits", json!({})).await.expect(400);
        ask(&two_accounts, path, "visits", json!({})).await.expect(400);
    }
    assert_eq!(charges(), [1, 1, 0]);
    ask(&two_accounts, questions, "visits", json!({ "joined_account": "visits/yan" })).await.expect(201);
    assert_eq!(charges(), [2, 1, 1]);
}
