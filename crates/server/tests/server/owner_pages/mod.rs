//! What the forms of owners and auditors do: datasets, tokens and the audit.

use crate::house::visit::Visit;
use crate::house::{House, Reply};
use axum::body::Body;
use serde_json::json;
use taximeter_service::Settings;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_by_others_stays_text() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    owner.get("/tokens").await.expect(200);
    let script = "<script>alert(1)</script>";
    let key = owner.get("/tokens").await.hidden("key").unwrap();
    let fields = [("principal", script), ("role", script), ("expires", script), ("key", &key)];
    for reply in [
        owner.post("/tokens", &fields).await.expect(400),
        owner.post("/datasets/census/analysts", &[("analyst", script), ("epsilon", script)]).await.expect(400),
        owner
            .post("/register/postgres", &[("dataset", script), ("unit", "row"), ("table", script), ("bounds", script)])
            .await
            .expect(400),
        owner.get("/datasets/%3Cscript%3Ealert(1)%3C%2Fscript%3E").await.expect(400),
    ] {
        assert!(!reply.text().contains(script) && reply.text().contains("&lt;script&gt;"), "{}", reply.text());
    }
    // A column and its categories are whatever the owner of a file wrote.
    let csv = "<b>,<i>\n1,x\n";
    let fields = [
        ("dataset", "odd"),
        ("unit", "row"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("categories", "<i>=<u>,x"),
        ("bounds", "<b>=0..9"),
    ];
    send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    for path in ["/datasets", "/datasets/odd"] {
        let page = owner.get(path).await.expect(200).text();
        assert!(["<b>", "<i>", "<u>"].iter().all(|tag| !page.contains(tag)), "{page}");
    }
    assert!(owner.get("/datasets/odd").await.text().contains("&lt;u&gt;, x"));
}

/// Opens the page of a form with a file, and sends it.
async fn send_file(visit: &mut Visit<'_>, path: &str, fields: &[(&str, &str)], file: &str) -> Reply {
    visit.get(path.trim_end_matches("/data")).await.expect(200);
    visit.post_file(path, fields, file).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_registers_a_file_and_newer_data() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let fields = [
        ("dataset", "people"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("rule", "zcdp"),
        ("unit", "person"),
        ("max_rows", "1"),
        ("neighbours", "substitute"),
        ("bounds", "age=0..120"),
        ("categories", "region=north,south"),
        ("reuse", "yes"),
    ];
    let csv = "person,age,region\na,31,north\na,32,south\nb,47,south\n";
    let reply = send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    assert_eq!(reply.header("location"), "/datasets/people");
    let page = owner.follow(reply).await.expect(200).text();
    assert!(page.contains("people is registered, version 1. 2 of its 3 rows count."), "{page}");
    let dataset = house.get("owner", "/v1/datasets/people").await.expect(200).json();
    assert_eq!(
        json!([dataset["rows"], dataset["reuse"], dataset["schema"]["unit"], dataset["schema"]["neighbours"]]),
        json!([2, true, "person", "substitute"])
    );
    assert_eq!(dataset["account"]["filter"]["rule"], "zcdp");
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    // The same again is not done again.
    let again = send_file(&mut owner, "/register", &fields, csv).await.expect(400).text();
    assert!(again.contains("dataset people already exists"), "{again}");
    // Newer data.
    let newer = send_file(&mut owner, "/datasets/people/data", &[], &format!("{csv}c,52,north\n")).await.expect(303);
    assert!(
        owner
            .follow(newer)
            .await
            .expect(200)
            .text()
            .contains("people is registered, version 2. 3 of its 4 rows count.")
    );
    let other = send_file(&mut owner, "/datasets/people/data", &[], "x\n1\n").await.expect(400).text();
    assert!(other.contains("does not have") || other.contains("which the data do not have"), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_arrived_need_not_be_sent_again() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let wrong = [("dataset", "people"), ("unit", "row"), ("epsilon", "much"), ("bounds", "age=0..120")];
    let page = send_file(&mut owner, "/register", &wrong, House::CSV).await.expect(400);
    let upload = page.hidden("upload").unwrap();
    let text = page.text();
    assert!(
        text.contains("value=\"people\"") && text.contains("age=0..120</textarea>") && text.contains("much"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 1);
    let right = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("upload", &upload)];
    send_file(&mut owner, "/register", &right, "").await.expect(303);
    assert_eq!(house.get("owner", "/v1/datasets/people").await.expect(200).json()["rows"], 4);
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    // It is gone now, and without one there is nothing to register.
    send_file(
        &mut owner,
        "/register",
        &[("dataset", "x"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("upload", &upload)],
        "",
    )
    .await
    .expect(404);
    let nothing = send_file(&mut owner, "/register", &[("dataset", "x"), ("unit", "row"), ("epsilon", "1")], "")
        .await
        .expect(400);
    assert!(nothing.text().contains("the file is empty; fill it in"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_without_a_unit_or_with_two_bounds_of_a_column_is_not_registered() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let page = owner.get("/register").await.text();
    let unit = page.split("name=\"unit\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(unit.contains("required"), "{unit}");
    for (field, said) in [
        (("dataset", "people"), "whose privacy is protected is empty; fill it in"),
        (("unit", "nosuch"), "say how many rows of one nosuch may count"),
    ] {
        let fields = [("dataset", "people"), ("epsilon", "1"), ("delta", "1e-6"), field];
        let page = send_file(&mut owner, "/register", &fields, House::CSV).await.expect(400).text();
        assert!(page.contains(said), "{page}");
    }
    let fields = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("bounds", "age=0..120\r\nage=0..90")];
    let page = send_file(&mut owner, "/register", &fields, House::CSV).await.expect(400).text();
    assert!(page.contains("the bounds have two lines for the column age; write one"), "{page}");
    house.get("owner", "/v1/datasets/people").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_with_the_separator_and_the_text_for_missing_values_that_the_form_says() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let mut fields =
        vec![("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("missing", "NA")];
    fields.push(("delimiter", "two"));
    let page = send_file(&mut owner, "/register", &fields, "a,b;c\n1;2\n").await.expect(400).text();
    assert!(page.contains("write one sign, such as ;, or the word tab"), "{page}");
    fields.pop();
    fields.extend([("delimiter", ";"), ("encoding", "utf-8")]);
    send_file(&mut owner, "/register", &fields, "a,b;c\n1;2\nNA;3\n").await.expect(303);
    let columns = house.get("owner", "/v1/datasets/people").await.expect(200).json()["schema"]["columns"].clone();
    assert_eq!((&columns[0]["name"], &columns[0]["type"]), (&json!("a,b"), &json!("integer")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_likely_a_mistake_is_done_with_a_warning_on_the_page() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    // The budget of the census is (5, 1e-6).
    let fields = [("dataset", "census/part"), ("unit", "row"), ("epsilon", "50"), ("delta", "1e-6")];
    let registered = send_file(&mut owner, "/register", &fields, House::CSV).await.expect(303);
    let page = owner.follow(registered).await.text();
    assert!(page.contains("Warning: the budget of census/part, (50, 1e-6), is above that of census"), "{page}");
    let key = owner.get("/tokens").await.hidden("key").unwrap();
    let token = [("principal", "carol"), ("role", "analyst"), ("accounts", "census/carol"), ("key", &key)];
    let page = owner.post("/tokens", &token).await.text();
    assert!(page.contains("Warning: there is no account census/carol yet"), "{page}");
    let analyst = [("analyst", "dora"), ("epsilon", "60"), ("delta", "1e-6")];
    owner.get("/datasets/census").await.expect(200);
    let added = owner.post("/datasets/census/analysts", &analyst).await;
    let page = owner.follow(added).await.text();
    assert!(page.contains("Warning: the budget of census/dora"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cannot_be_read_refuse_a_file_or_are_left_out() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let csv = "age\n1\nx\n3\n";
    let fields = [
        ("dataset", "ages"),
        ("unit", "row"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("types", "age=integer"),
        ("bounds", "age=0..9"),
    ];
    send_file(&mut owner, "/register", &fields, csv).await.expect(400);
    let fields: Vec<(&str, &str)> = fields.into_iter().chain([("skip_bad_rows", "yes")]).collect();
    let registered = send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    let page = owner.follow(registered).await.text();
    assert!(page.contains("2 of its 3 rows count.") && page.contains("1 cannot be read"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_limit_and_nothing_is_left_of_one_that_is_too_large() {
    let house = House::with(Settings { largest_upload: 10_000, largest_body: 5_000, ..Settings::default() });
    let mut owner = house.sign_in("owner").await;
    let fields = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6")];
    for rows in [5_000, 20_000] {
        let csv = format!("age\n{}", "1\n".repeat(rows));
        send_file(&mut owner, "/register", &fields, &csv).await.expect(413);
    }
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    send_file(&mut owner, "/register", &fields, &format!("age\n{}", "1\n".repeat(4_000))).await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_database_is_not_shown_again() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    owner.get("/register/postgres").await.expect(200);
    for url in ["postgres://me:Tr0ub4dor@127.0.0.1:1/db", "postgres://me:Tr0ub4dor@[/db", "Tr0ub4dor"] {
        let fields = [
            ("dataset", "far"),
            ("unit", "row"),
            ("epsilon", "1"),
            ("delta", "1e-6"),
            ("url", url),
            ("table", "people"),
        ];
        let reply = owner.post("/register/postgres", &fields).await;
        assert!(!reply.status.is_success() && reply.is_page(), "{}", reply.status);
        let page = reply.text();
        assert!(!page.contains("Tr0ub4dor") && page.contains("value=\"people\""), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_adds_an_analyst() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    owner.get("/datasets/census").await.expect(200);
    let fields = [("analyst", "carol"), ("epsilon", "0.5"), ("delta", "1e-7")];
    let added = owner.post("/datasets/census/analysts", &fields).await;
    let page = owner.follow(added).await.expect(200).text();
    assert!(page.contains("census/carol may ask about census.") && page.contains("/accounts/census%2Fcarol"), "{page}");
    let account = house.get("owner", "/v1/accounts/census%2Fcarol").await.expect(200).json();
    assert_eq!((&account["filter"]["rule"], &account["filter"]["budget"]["epsilon"]), (&json!("basic"), &json!("0.5")));
    // Once is enough, and what was filled in is there still.
    let again = owner.post("/datasets/census/analysts", &fields).await.expect(400).text();
    assert!(again.contains("value=\"carol\"") && again.contains("value=\"0.5\""), "{again}");
    let nothing = owner.post("/datasets/census/analysts", &[("analyst", "dave")]).await.expect(400).text();
    assert!(nothing.contains("needs a budget"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_once_and_shown_once() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    let key = owner.get("/tokens").await.expect(200).hidden("key").unwrap();
    let fields = [
        ("key", key.as_str()),
        ("principal", "carol"),
        ("role", "analyst"),
        ("accounts", "census/alice"),
        ("accounts", "census/bob"),
        ("datasets", "census"),
        ("sees_above", "yes"),
        ("expires", "2030-01-31"),
    ];
    let page = owner.post("/tokens", &fields).await.expect(200).text();
    let secret = page.split("txm_").nth(1).unwrap().split('<').next().unwrap();
    let secret = format!("txm_{secret}");
    assert_eq!(page.matches("txm_").count(), 1);
    let me =
        house.visit().send("GET", "/v1/me", &[("Authorization", &format!("Bearer {secret}"))], Body::empty()).await;
    let token = &me.expect(200).json()["token"];
    assert_eq!(
        json!([
            token["principal"],
            token["role"],
            token["accounts"],
            token["datasets"],
            token["sees_above"],
            token["expires"]
        ]),
        json!(["carol", "analyst", ["census/alice", "census/bob"], ["census"], true, "2030-02-01T00:00:00Z"])
    );
    let count = async || house.get("owner", "/v1/tokens").await.json()["tokens"].as_array().unwrap().len();
    let before = count().await;
    let again = owner.post("/tokens", &fields).await.expect(400).text();
    assert!(again.contains("sent before") && again.contains("carol") && !again.contains("txm_"), "{again}");
    assert_eq!(count().await, before);
    for path in ["/tokens", "/audit", "/"] {
        assert!(!owner.get(path).await.text().contains(&secret));
    }
    assert!(owner.get("/tokens").await.text().contains("carol"));
    // Another session has another form.
    let mut carol = house.visit();
    carol.sign_in(&secret).await.expect(303);
    carol.get("/datasets/census").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_made_is_said_with_the_form_as_it_was() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    for (fields, words) in [
        (vec![("principal", "carol"), ("role", "analyst")], "would allow nothing"),
        (vec![("principal", "a b"), ("role", "auditor")], "a b"),
        (vec![("principal", "carol"), ("role", "king")], "king"),
        (vec![("principal", "carol"), ("role", "owner"), ("datasets", "census")], "sees every account"),
        (vec![("principal", "carol"), ("role", "auditor"), ("expires", "2001-01-01")], "has passed"),
        (vec![("principal", "carol"), ("role", "auditor"), ("expires", "soon")], "soon"),
        (vec![("principal", "carol"), ("role", "analyst"), ("accounts", "../x")], "../x"),
        (vec![("principal", ""), ("role", "auditor")], "is empty"),
    ] {
        let key = owner.get("/tokens").await.hidden("key").unwrap();
        let given: Vec<(&str, &str)> = fields.iter().copied().chain([("key", key.as_str())]).collect();
        let reply = owner.post("/tokens", &given).await.expect(400);
        let page = reply.text();
        assert!(page.contains(words) && page.contains("Make a token"), "{words}: {page}");
        assert!(
            page.contains(&format!(
                "name=\"principal\" required autocomplete=\"off\" spellcheck=\"false\" maxlength=\"63\" value=\"{}\"",
                fields[0].1
            )),
            "{page}"
        );
        assert_ne!(reply.hidden("key").unwrap(), key);
    }
    assert!(
        owner.post("/tokens", &[("principal", "carol"), ("role", "auditor")]).await.expect(400).text().contains("key")
    );
    let page =
        owner.post("/tokens", &[("principal", "x y"), ("role", "analyst"), ("datasets", "wages"), ("key", "k")]).await;
    let page = page.expect(400).text();
    assert!(page.contains("name=\"datasets\" value=\"wages\" checked"), "{page}");
    assert_eq!(house.get("owner", "/v1/tokens").await.json()["tokens"].as_array().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_written_and_not_ticked() {
    let house = House::new();
    for at in 0..60 {
        let body = json!({ "account": format!("a{at}"), "filter": { "budget": { "epsilon": "1", "delta": "1e-6" } } });
        house.send("owner", "POST", "/v1/accounts", &body.to_string()).await.expect(201);
    }
    let mut owner = house.sign_in("owner").await;
    let page = owner.get("/tokens").await.expect(200);
    assert!(page.text().contains("<textarea id=\"accounts\"") && !page.text().contains("value=\"a1\""));
    let key = page.hidden("key").unwrap();
    let fields = [("principal", "carol"), ("role", "analyst"), ("accounts", "a1, a2\r\na3"), ("key", &key)];
    owner.post("/tokens", &fields).await.expect(200);
    let tokens = house.get("owner", "/v1/tokens").await.json();
    assert_eq!(tokens["tokens"].as_array().unwrap().last().unwrap()["accounts"], json!(["a1", "a2", "a3"]));
}

/// The audit's page once the ledger is verified. Until then it shows how far that is, and looks again.
async fn verified(auditor: &mut Visit<'_>) -> String {
    crate::house::eventually("the ledger is verified", async || {
        let text = auditor.get("/audit").await.expect(200).text();
        let is_running = text.contains("Verifying");
        let shown = ["data-again=\"500\"", "<progress"].map(|part| text.contains(part));
        assert_eq!(shown, [is_running, is_running], "{text}");
        (!is_running).then_some(text)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_verifies_with_progress_and_learns_what_came_of_it() {
    let house = House::new();
    for at in 0..20 {
        house.charge("alice", &["census/alice"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let mut auditor = house.sign_in("auditor").await;
    let page = auditor.get("/audit").await.expect(200).text();
    assert!(page.contains("Nobody has verified") && page.contains("the newest record"), "{page}");
    let ledger = house.get("owner", "/v1/ledger").await.json();
    for value in [&ledger["ledger"], &ledger["newest"]["hash"], &ledger["location"], &ledger["witness"]["path"]] {
        assert!(page.contains(value.as_str().unwrap()), "{value}");
    }
    let begun = auditor.post("/audit/verify", &[]).await;
    auditor.follow(begun).await.expect(200);
    let text = verified(&mut auditor).await;
    let records = ledger["records"].as_u64().unwrap();
    assert!(text.contains("The ledger is whole.") && text.contains(&format!("All {records} records")), "{text}");
    house.charge("alice", &["census/alice"], "0.01", "more").await.expect(201);
    assert!(auditor.get("/audit").await.text().contains("1 record was added since."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_ledger_is_said_with_the_record() {
    let house = House::new();
    for at in 0..5 {
        house.charge("alice", &["census/alice"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let database = rusqlite::Connection::open(house.folder.path().join("ledger.db")).unwrap();
    let line: String = database.query_row("SELECT line FROM journal WHERE sequence = 6", [], |row| row.get(0)).unwrap();
    let changed = line.replace("0.01", "0.00");
    assert_ne!(line, changed);
    database.execute("UPDATE journal SET line = ?1 WHERE sequence = 6", [changed]).unwrap();
    let mut auditor = house.sign_in("auditor").await;
    auditor.get("/audit").await.expect(200);
    auditor.post("/audit/verify", &[]).await.expect(303);
    let text = verified(&mut auditor).await;
    assert!(text.contains("The ledger is broken.") && text.contains("record 6"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_is_the_journal_as_a_file() {
    let house = House::new();
    let mut auditor = house.sign_in("auditor").await;
    let reply = auditor.get("/audit/export").await.expect(200);
    let ledger = house.get("owner", "/v1/ledger").await.json()["ledger"].as_str().unwrap().to_string();
    assert_eq!(reply.header("content-disposition"), format!("attachment; filename=\"taximeter-{ledger}.jsonl\""));
    assert_eq!(reply.header("content-type"), "application/jsonl");
    assert_eq!(reply.bytes, house.get("owner", "/v1/export").await.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_told_why_a_question_has_no_answer_and_nobody_else_is() {
    let house = House::new();
    let gate = house.folder.path().join("gate");
    let records = rusqlite::Connection::open(gate.join("gate.db")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END";
    records.execute_batch(full).unwrap();
    let asked = house.ask("alice", "SELECT COUNT(*) FROM census", "0.1", "lost", json!({})).await;
    assert_eq!(asked.code().as_deref(), Some("no-answer"));
    let mut owner = house.sign_in("owner").await;
    let page = owner.get("/datasets").await.expect(200).text();
    assert!(page.contains("alice:lost") && page.contains("no room"), "{page}");
    std::fs::remove_file(gate.join("census.v1.db")).unwrap();
    let checked = owner.post("/datasets/census/check", &[]).await;
    assert!(!checked.status.is_success() && checked.text().contains("role=\"alert\""), "{}", checked.text());
    assert!(checked.text().contains("<h2 id=\"columns\">"));
    for who in ["auditor", "alice"] {
        let page = house.sign_in(who).await.get("/datasets").await.expect(200).text();
        assert!(!page.contains("no room") && !page.contains("alice:lost"), "{page}");
    }
}

#[cfg(feature = "server-tests")]
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_registers_a_table_and_refreshes_it() {
    let url = tokio::task::spawn_blocking(|| {
        let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
        let visits = "CREATE TABLE visits AS SELECT 'p' || (row % 50) AS person, (row % 90)::int4 AS age FROM generate_series(1, 500) row";
        taximeter_testing::query(&url, visits).unwrap();
        url
    });
    let url = url.await.unwrap();
    let hosts = taximeter_postgres::PostgresAddress::parse(&url).unwrap().config().get_hosts().to_vec();
    let postgres_hosts = hosts.into_iter().map(|host| match host {
        tokio_postgres::config::Host::Tcp(name) => name,
        tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let house = House::with(Settings { postgres_hosts: postgres_hosts.collect(), ..Settings::default() });
    let mut owner = house.sign_in("owner").await;
    owner.get("/register/postgres").await.expect(200);
    for (dataset, unit) in [("rows", &[("unit", "row")][..]), ("people", &[("unit", "person"), ("max_rows", "3")])] {
        let mut fields =
            vec![("dataset", dataset), ("epsilon", "1"), ("delta", "1e-6"), ("url", &url), ("table", "visits")];
        fields.extend_from_slice(unit);
        let registered = owner.post("/register/postgres", &fields).await;
        let page = owner.follow(registered).await.expect(200).text();
        assert!(page.contains(&format!("{dataset} is registered, version 1.")), "{page}");
        assert_eq!(page.contains("/refresh"), unit.len() == 2, "{page}");
        assert!(!page.contains("/data\""), "{page}");
    }
    assert!(owner.get("/datasets/people").await.text().contains("<dd>150</dd>"));
    let refreshed = owner.post("/datasets/people/refresh", &[]).await;
    assert!(
        owner.follow(refreshed).await.expect(200).text().contains("The rows of people are chosen anew: version 2.")
    );
    let checked = owner.post("/datasets/people/check", &[]).await;
    assert!(
        owner
            .follow(checked)
            .await
            .expect(200)
            .text()
            .contains("people is as it was registered: version 2, 2 columns.")
    );
}
