//! What the paths do.

use std::time::Duration;

use crate::house::House;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use taximeter_accounting::{Cost, FilterRule, OdometerRule};
use taximeter_ledger::{AccountName, Charge, Key, Note};
use taximeter_service::Settings;

const COUNT: &str = "SELECT COUNT(*) FROM census";

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_opened_shown_paged_through_and_closed() {
    let house = House::new();
    let new = r#"{"account":"lab","unit":"person","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
    let opened = house.send("owner", "POST", "/v1/accounts", new).await.expect(201).json();
    assert_eq!((&opened["outcome"], &opened["account"]["filter"]["rule"]), (&json!("opened"), &json!("residue")));
    house.send("owner", "POST", "/v1/accounts", new).await.expect(400);
    for at in 0..5 {
        house.charge("owner", &["lab"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let (mut path, mut sequences) = ("/v1/accounts/lab/history?limit=2".to_string(), Vec::new());
    loop {
        let part = house.get("owner", &path).await.expect(200).json();
        sequences.extend(part["records"].as_array().unwrap().iter().map(|record| record["sequence"].as_u64().unwrap()));
        let Some(next) = part["next"].as_u64() else { break };
        path = format!("/v1/accounts/lab/history?limit=2&from={next}");
    }
    assert_eq!(sequences.len(), 6);
    assert!(sequences.is_sorted_by(|one, next| one > next));
    let closed = house.send("owner", "POST", "/v1/accounts/lab/close", r#"{"note":"done"}"#).await.expect(200).json();
    assert_eq!((&closed["account"]["standing"], &closed["outcome"]), (&json!("closed"), &json!("closed")));
    let refused = house.charge("owner", &["lab"], "0.01", "late").await.expect(409).json();
    assert_eq!((&refused["code"], &refused["refusal"]["not_open"]), (&json!("refused"), &json!(true)));
    let shown = house.get("owner", "/v1/accounts/lab").await.expect(200).json();
    assert_eq!(shown["charges"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_signed_by_the_token() {
    let house = House::new();
    let charged = house.charge("alice", &["census/alice"], "0.25", "k").await.expect(201).json();
    assert_eq!(
        (&charged["key"], &charged["outcome"], &charged["record"]),
        (&json!("k"), &json!("charged"), &Value::Null)
    );
    assert_eq!(charged["accounts"].as_array().unwrap().len(), 1);
    let receipt = house.get("owner", &format!("/v1/receipts/{}", charged["sequence"])).await.expect(200).json();
    assert_eq!(receipt["record"]["event"]["charge"]["by"], "alice");
    assert_eq!(receipt["record"]["event"]["charge"]["key"], "alice:k");
    // Nobody signs for another.
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.1"}],"by":"bob"}"#;
    house.send("alice", "POST", "/v1/charges", body).await.expect(400);
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.1"}],"by":"alice"}"#;
    let fresh = house.send("alice", "POST", "/v1/charges", body).await.expect(201).json();
    assert!(!fresh["key"].as_str().unwrap().is_empty() && !fresh["key"].as_str().unwrap().contains(':'));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_without_a_delta_takes_the_defaults_and_adds_up() {
    let house = House::new();
    let new = r#"{"account":"lab","filter":{"budget":{"epsilon":"1"}}}"#;
    let opened = house.send("owner", "POST", "/v1/accounts", new).await.expect(201).json();
    assert_eq!(
        (&opened["account"]["filter"]["rule"], &opened["account"]["odometer"]["rule"]),
        (&json!("residue"), &json!("basic"))
    );
    house.charge("owner", &["lab"], "0.9", "large").await.expect(201);
    house.charge("owner", &["lab"], "0.1", "small").await.expect(201);
    house.charge("owner", &["lab"], "0.0001", "more").await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sampled_gaussian_is_for_the_renyi_rule_and_add_remove_neighbours() {
    let house = House::new();
    let cost = json!({ "sampled_gaussian": { "rate": "0.01", "sigma": 1.1, "steps": 10 } });
    let new = json!({ "account": "train", "filter": { "rule": "renyi", "for": cost, "budget": { "epsilon": "1", "delta": "1e-5" } } });
    let opened = house.send("owner", "POST", "/v1/accounts", &new.to_string()).await.expect(201).json();
    let order: f64 = opened["account"]["filter"]["parameters"]["order"].as_str().unwrap().parse().unwrap();
    assert!(order > 10.0 && order < 11.0, "{order}");
    let body = json!({ "accounts": ["train"], "costs": [cost] }).to_string();
    let quote = house.send("owner", "POST", "/v1/quotes", &body).await.expect(200).json();
    assert_eq!(quote["count"], 13);
    house.send("owner", "POST", "/v1/charges", &body).await.expect(201);
    // Where the rule or the relation does not fit it is an error that says so.
    for (account, more, part) in
        [("pure", json!({}), "renyi"), ("swap", json!({ "neighbours": "substitute" }), "add-remove")]
    {
        let rule = if account == "pure" { "residue" } else { "renyi" };
        let mut new =
            json!({ "account": account, "filter": { "rule": rule, "budget": { "epsilon": "1", "delta": "1e-5" } } });
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        house.send("owner", "POST", "/v1/accounts", &new.to_string()).await.expect(201);
        let body = json!({ "accounts": [account], "costs": [cost] }).to_string();
        let problem = house.send("owner", "POST", "/v1/charges", &body).await.expect(400).json();
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_paid_for_and_given_again() {
    let house = House::new();
    let reply = house.ask("alice", COUNT, "0.5", "q", json!({})).await.expect(201);
    let answer = reply.json();
    assert_eq!((&answer["key"], &answer["dataset"]), (&json!("q"), &json!("census")));
    assert_eq!(answer["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(
        house.get("alice", "/v1/receipts?key=q").await.expect(200).json()["sequence"],
        answer["receipt"]["sequence"]
    );
    // The owner gets the stored bytes, with all accounts; the dataset's own account pays.
    let answer = house.ask("owner", COUNT, "0.5", "q", json!({})).await.expect(201).json();
    assert_eq!(answer["accounts"][0]["account"], "census");
    assert_eq!(answer["receipt"]["record"]["event"]["charge"]["by"], "olga");
    // Whoever has two accounts says which one pays.
    for (account, status) in
        [(Value::Null, 400), (json!("census/bob"), 201), (json!("census"), 403), (json!("wages"), 403)]
    {
        let more = if account.is_null() { json!({}) } else { json!({ "account": account }) };
        house.ask("two", COUNT, "0.01", &format!("two {account}").replace('"', ""), more).await.expect(status);
    }
    let wrong = house.ask("alice", "SELECT age FROM census", "0.1", "w", json!({})).await.expect(400).json();
    assert!(wrong["position"].as_u64().is_some(), "{wrong}");
    assert!(!house.get("alice", "/v1/datasets/census").await.text().contains("\"rows\":4"));
    assert_eq!(house.get("owner", "/v1/datasets/census").await.json()["rows"], 4);
}

/// The clock goes on only while everything waits for it, so that the ticks are exact on every machine.
#[tokio::test(start_paused = true)]
async fn whatever_comes_of_a_question_waits_for_the_tick() {
    let (tick, start) = (Duration::from_millis(600), tokio::time::Instant::now());
    let house = House::with(Settings { tick: Some(tick), ..Settings::default() });
    let mut last = Duration::ZERO;
    // A mistake under the key of a question that runs would otherwise tell when that ends.
    for (question, epsilon, key, status) in [
        (COUNT, "0.1", "k", 201),
        (COUNT, "0.1", "k", 200),
        (COUNT, "9", "refused", 409),
        ("SELECT age FROM census", "0.1", "k", 400),
        (COUNT, "0.2", "k", 422),
        (COUNT, "0.1", "more", 201),
    ] {
        house.ask("owner", question, epsilon, key, json!({})).await.expect(status);
        // Each is asked at a tick, and so comes with the next one, or one after that.
        let now = start.elapsed();
        assert!(now > last && now.as_nanos() % tick.as_nanos() == 0, "{key}: {now:?} after {last:?}");
        last = now;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charged_question_without_an_answer_is_one_problem_and_its_reason_is_the_owners() {
    let house = House::new();
    let records = rusqlite::Connection::open(house.folder.path().join("gate").join("gate.db")).unwrap();
    records
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .unwrap();
    for who in ["alice", "alice", "owner"] {
        let problem = house.ask(who, COUNT, "0.1", "k", json!({})).await.expect(424).json();
        assert_eq!((&problem["code"], &problem["key"]), (&json!("no-answer"), &json!("k")));
        assert!(problem["sequence"].is_u64() && !problem.to_string().contains("no room"), "{problem}");
    }
    assert_eq!(house.ledger.account(&crate::house::name("census")).unwrap().charges(), 2);
    let log = house.get("owner", "/v1/log?limit=5").await.expect(200).json();
    assert_eq!((log.as_array().unwrap().len(), &log[1]["key"]), (2, &json!("alice:k")));
    assert!(log[0]["why"].as_str().unwrap().contains("no room"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_that_cannot_be_asked_costs_nothing_and_tells_its_place_to_owners_alone() {
    let house = House::new();
    let data = std::fs::read_dir(house.folder.path().join("gate")).unwrap().map(|entry| entry.unwrap().path());
    for file in data.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("census.v")) {
        std::fs::remove_file(file).unwrap();
    }
    let folder = house.folder.path().to_str().unwrap();
    let told = house.ask("owner", COUNT, "0.1", "k", json!({})).await.expect(500);
    assert!(told.text().contains(folder) && told.code().unwrap() == "storage", "{}", told.text());
    let told = house.ask("alice", COUNT, "0.1", "k", json!({})).await.expect(500);
    assert!(!told.text().contains(folder) && told.code().unwrap() == "storage", "{}", told.text());
    let told = house.get("auditor", "/v1/datasets/census/check").await.expect(500);
    assert!(!told.text().contains(folder), "{}", told.text());
    assert_eq!(house.ledger.account(&crate::house::name("census")).unwrap().charges(), 0);
}

async fn upload(house: &House) -> String {
    let reply = house
        .send_with("owner", "POST", "/v1/uploads", House::CSV, &[("Content-Type", "text/csv")])
        .await
        .expect(201)
        .json();
    assert_eq!(reply["bytes"], House::CSV.len());
    reply["upload"].as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_are_uploaded_registered_and_replaced() {
    let house = House::new();
    let id = upload(&house).await;
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = std::fs::read_dir(house.uploads()).unwrap().next().unwrap().unwrap().path();
        assert_eq!((mode(house.uploads()), mode(file)), (0o700, 0o600));
    }
    let data = json!({ "upload": { "id": id } });
    let age = json!({ "name": "age", "bounds": ["0", "120"] });
    let region = json!({ "name": "region", "categories": ["north", "south"] });
    let schema = json!({ "unit": "row", "columns": [age, region] });
    // Without a budget there is nobody to pay: it fails, and the upload is kept.
    let new = json!({ "dataset": "lab", "data": data, "schema": schema });
    house.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400);
    // Whose privacy is protected has no default, neither without a schema nor in one.
    let filter = json!({ "budget": { "epsilon": "1", "delta": "1e-6" } });
    for new in [
        json!({ "dataset": "lab", "data": data, "filter": filter }),
        json!({ "dataset": "lab", "data": data, "filter": filter, "schema": { "columns": [] } }),
    ] {
        let problem = house.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400).json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("schema") && detail.contains("unit"), "{problem}");
    }
    // What is wrong with the file is told without where it is.
    let new = json!({ "dataset": "lab", "data": data, "schema": { "unit": "row", "columns": [{ "name": "region", "type": "integer" }] },
        "filter": { "budget": { "epsilon": "1", "delta": "1e-6" } } });
    let wrong = house.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400);
    assert!(!wrong.text().contains(house.folder.path().to_str().unwrap()), "{}", wrong.text());
    let new = json!({ "dataset": "lab", "data": data, "schema": schema, "reuse": true, "timeout_seconds": 5.5,
        "filter": { "rule": "zcdp", "budget": { "epsilon": "1", "delta": "1e-6" } } });
    let registered = house.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(201).json();
    assert_eq!((&registered["version"], &registered["imported"]["kept"]), (&json!(1), &json!(4)));
    // It is used up.
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    house.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(404);
    // Newer data have what was declared before.
    let newer = json!({ "dataset": "lab", "data": { "upload": { "id": upload(&house).await } }, "new_version": true });
    let registered = house.send("owner", "POST", "/v1/datasets", &newer.to_string()).await.expect(201).json();
    assert_eq!((&registered["version"], &registered["unchanged"]), (&json!(2), &json!(true)));
    let shown = house.get("owner", "/v1/datasets/lab").await.expect(200).json();
    assert_eq!((&shown["reuse"], &shown["timeout_seconds"]), (&json!(true), &json!(5.5)));
    assert_eq!(shown["schema"]["columns"][0]["bounds"], json!(["0", "120"]));
    // An analyst has the dataset's rule, unless it is said.
    let analyst = r#"{"analyst":"zoe","filter":{"budget":{"epsilon":"0.5","delta":"1e-6"}}}"#;
    let added = house.send("owner", "POST", "/v1/datasets/lab/analysts", analyst).await.expect(201).json();
    assert_eq!(
        (&added["account"]["filter"]["rule"], &added["account"]["account"]),
        (&json!("zcdp"), &json!("lab/zoe"))
    );
    house.send("owner", "POST", "/v1/datasets/lab/analysts", r#"{"analyst":"yan"}"#).await.expect(400);
    house.get("owner", "/v1/datasets/lab/check").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_have_their_limits_and_leave_nothing_behind() {
    let limits = Settings { largest_upload: 100, arrival: Duration::from_millis(200), ..Settings::default() };
    let house = House::with(limits);
    let csv = [("Content-Type", "text/csv; charset=utf-8")];
    house.send_with("owner", "POST", "/v1/uploads", &"x".repeat(101), &csv).await.expect(413);
    house.send_with("owner", "POST", "/v1/uploads", "{}", &[("Content-Type", "application/json")]).await.expect(415);
    let request = |body: Body| {
        let token = format!("Bearer {}", house.secret("owner"));
        Request::post("/v1/uploads")
            .header("Authorization", token)
            .header("Content-Type", "text/csv")
            .body(body)
            .unwrap()
    };
    // Without a length, in parts; and one that stands still.
    let parts = (0..30).map(|_| Ok::<_, std::io::Error>("x,y,z"));
    house.raw(request(Body::from_stream(futures_util::stream::iter(parts)))).await.expect(413);
    let silent = futures_util::stream::pending::<Result<String, std::io::Error>>();
    house.raw(request(Body::from_stream(silent))).await.expect(408);
    let broken = futures_util::stream::iter([Ok("x"), Err(std::io::Error::other("gone"))]);
    house.raw(request(Body::from_stream(broken))).await.expect(400);
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    for _ in 0..16 {
        house.send_with("owner", "POST", "/v1/uploads", "x\n1\n", &csv).await.expect(201);
    }
    house.send_with("owner", "POST", "/v1/uploads", "x\n1\n", &csv).await.expect(429);
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 16);
    for id in ["..", "../gate.db", "/etc/passwd", "", "\u{0}", "gate.db"] {
        let new = json!({ "dataset": "lab", "data": { "upload": { "id": id } }, "filter": { "budget": { "epsilon": "1" } },
            "odometer": { "at_delta": "1e-6" } });
        let reply = house.send("owner", "POST", "/v1/datasets", &new.to_string()).await;
        assert!(reply.status == 404 || reply.status == 400, "{id:?}: {}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_is_verified_and_exported_whole() {
    let house = House::new();
    assert_eq!(house.get("auditor", "/v1/verify").await.expect(200).json()["state"], "none");
    for at in 0..50 {
        house.charge("owner", &["wages"], "0.001", &format!("k{at}")).await.expect(201);
    }
    house.send("auditor", "POST", "/v1/verify", "").await.expect(202);
    let state = crate::house::eventually("the journal is verified", async || {
        let state = house.get("auditor", "/v1/verify").await.expect(200).json();
        (state["state"] != "running").then_some(state)
    });
    let state = state.await;
    let ledger = house.get("auditor", "/v1/ledger").await.expect(200).json();
    assert_eq!(
        (&state["state"], &state["whole"], &state["records"]),
        (&json!("whole"), &json!(true), &ledger["records"])
    );
    let export = house.get("auditor", "/v1/export").await.expect(200);
    assert_eq!(export.header("content-type"), "application/jsonl");
    let lines: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, ledger["records"].as_u64().unwrap() + 1);
    assert_eq!(lines.last().unwrap()["end"], ledger["newest"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_ends_with_its_token_and_is_not_taken_for_whole() {
    let house = House::new();
    let note = Note::parse("note", &"n".repeat(500)).unwrap();
    let cost = Cost::parse_epsilon("0.0001").unwrap().cost;
    for _ in 0..600 {
        let charge = Charge::new(Key::generate().unwrap(), vec![AccountName::parse("wages").unwrap()], vec![cost]);
        house.ledger.charge(charge.unwrap().with_note(Some(note.clone()))).unwrap();
    }
    let whole = house.get("auditor", "/v1/export").await.expect(200).bytes.len();
    for is_revoked in [false, true] {
        let made = house.send("owner", "POST", "/v1/tokens", r#"{"principal":"nora","role":"auditor"}"#).await;
        let made = made.expect(201).json();
        let secret = format!("Bearer {}", made["secret"].as_str().unwrap());
        let request = Request::get("/v1/export").header("Authorization", secret).body(Body::empty()).unwrap();
        let body = house.app.answer(request).await.into_body();
        if is_revoked {
            let path = format!("/v1/tokens/{}/revoke", made["token"]["id"].as_str().unwrap());
            house.send("owner", "POST", &path, "").await.expect(200);
        }
        // Nothing was read before: what had been sent is less than half of it.
        let read = body.collect().await.map(|body| body.to_bytes().len());
        assert_eq!(read.ok(), (!is_revoked).then_some(whole));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_used_and_revoked() {
    let house = House::new();
    let made = house.send("owner", "POST", "/v1/tokens", r#"{"principal":"nora","role":"auditor"}"#).await.expect(201);
    assert_eq!(made.header("cache-control"), "no-store");
    let made = made.json();
    let get = |secret: String| Request::get("/v1/me").header("Authorization", secret).body(Body::empty()).unwrap();
    let secret = made["secret"].as_str().unwrap();
    let me = house.raw(get(format!("bearer {secret}"))).await.expect(200).json();
    assert_eq!(
        (&me["token"]["principal"], me["ledger"].as_str().unwrap()),
        (&json!("nora"), house.ledger.id().to_string().as_str())
    );
    for header in [secret.to_string(), format!("Basic {secret}"), format!("Bearer {secret}x"), "Bearer ".to_string()] {
        let reply = house.raw(get(header)).await.expect(401);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    let list = house.get("owner", "/v1/tokens").await.expect(200);
    assert!(!list.text().contains(secret));
    let id = made["token"]["id"].as_str().unwrap();
    let revoked = house.send("owner", "POST", &format!("/v1/tokens/{id}/revoke"), "").await.expect(200).json();
    assert!(revoked["revoked"].is_string());
    house.raw(get(format!("Bearer {secret}"))).await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_the_ranges_of_costs_and_the_parameters_of_rules() {
    let document = House::new().get("nobody", "/openapi.json").await.expect(200).json();
    let schemas = &document["components"]["schemas"];
    let kinds = schemas["DeclaredCost"]["oneOf"].as_array().unwrap();
    let sampled = kinds.iter().find_map(|kind| kind["properties"].get("sampled_gaussian")).unwrap();
    let rate = &sampled["properties"]["rate"];
    assert_eq!((rate["exclusiveMinimum"].as_f64(), rate["maximum"].as_f64()), (Some(0.0), Some(1.0)), "{rate}");
    assert_eq!(sampled["properties"]["steps"]["multipleOf"].as_f64(), Some(1.0), "{sampled}");
    let epsilon = kinds.iter().find(|kind| kind["properties"].get("epsilon").is_some()).unwrap();
    let delta = &epsilon["properties"]["delta"];
    assert_eq!((delta["minimum"].as_f64(), delta["exclusiveMaximum"].as_f64()), (Some(0.0), Some(1.0)), "{delta}");
    for (request, rules) in [
        ("FilterRequest", FilterRule::ALL.map(FilterRule::parameters)),
        ("OdometerRequest", OdometerRule::ALL.map(OdometerRule::parameters)),
    ] {
        let described = &schemas[request]["properties"]["parameters"];
        assert_eq!(described["additionalProperties"], false, "{described}");
        for number in rules.into_iter().flatten() {
            assert_eq!(described["properties"][number.name]["description"], number.help(), "{described}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_describes_everything_and_points_nowhere_else() {
    let document = House::new().get("nobody", "/openapi.json").await.expect(200).json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["info"]["title"], "Taximeter");
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    for code in taximeter_service::Code::ALL {
        assert!(document["info"]["description"].as_str().unwrap().contains(&format!("`{}`", code.name())));
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["Problem", "Code", "Refused", "Cost", "Neighbours", "AnswerDocument", "FilterRule", "OnHalt", "Amount"]
    {
        assert!(schemas.contains_key(name), "{name}");
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 100, "{}", references.len());
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").unwrap_or_else(|| panic!("{reference}"));
        assert!(schemas.contains_key(name), "{name}");
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let is_open = ["/healthz", "/readyz", "/openapi.json"].contains(&path.as_str());
            assert_eq!(operation["security"].is_null(), is_open, "{method} {path}");
            assert_eq!(operation["responses"]["401"].is_null(), is_open, "{method} {path}");
            assert!(operation["description"].is_string() || operation["summary"].is_string(), "{method} {path}");
        }
    }
    let key = &document["paths"]["/v1/charges"]["post"]["parameters"][0];
    assert_eq!(
        (&key["name"], &key["in"], &key["schema"]["maxLength"]),
        (&json!("Idempotency-Key"), &json!("header"), &json!(128))
    );
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_string));
            fields.values().for_each(|value| collect_references(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, references)),
        _ => {}
    }
}

/// With an owner's token one could have the server try every port of its network, and tell from the errors what was there.
#[tokio::test(flavor = "multi_thread")]
async fn tables_are_registered_from_listed_servers_alone_and_failures_are_told_alike() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = nobody.local_addr().unwrap().port();
    let closing = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closes = closing.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = closing.accept().await {
            drop(stream);
        }
    });
    let postgres_hosts =
        vec!["127.0.0.1:1".to_string(), format!("127.0.0.1:{closes}"), "no.such.host.invalid".to_string()];
    let house = House::with(Settings { postgres_hosts, ..Settings::default() });
    let register = async |server: &str| {
        let data = json!({ "postgres": { "url": format!("postgres://me:secret@{server}/db"), "table": "people" } });
        let budget = json!({ "epsilon": "1", "delta": "1e-6" });
        let filter = json!({ "budget": budget });
        let new = json!({ "dataset": "far", "data": data, "schema": { "unit": "row" }, "filter": filter });
        house.send("owner", "POST", "/v1/datasets", &new.to_string()).await
    };
    for server in [format!("127.0.0.1:{silent}"), "localhost:1".to_string(), "10.0.0.1".to_string()] {
        let reply = register(&server).await.expect(403);
        assert!(reply.json()["detail"].as_str().unwrap().contains("not in its list"), "{server}: {}", reply.text());
    }
    // No connection was tried.
    nobody.set_nonblocking(true).unwrap();
    assert_eq!(nobody.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let mut told = std::collections::BTreeSet::new();
    for server in ["127.0.0.1:1".to_string(), format!("127.0.0.1:{closes}"), "no.such.host.invalid:7".to_string()] {
        told.insert(register(&server).await.expect(400).json()["detail"].as_str().unwrap().to_string());
    }
    assert_eq!(told.len(), 1, "{told:?}");
}

/// A number in quotes was taken and one without was not, and what was wrong named no field.
#[tokio::test(flavor = "multi_thread")]
async fn a_price_is_a_number_with_or_without_quotes_and_what_is_none_names_its_field() {
    let house = House::new();
    let ask = async |price: Value| {
        let question = json!({ "dataset": "census", "question": "SELECT COUNT(*) FROM census", "price": price });
        house.send("owner", "POST", "/v1/questions/explain", &question.to_string()).await
    };
    for price in [json!({ "epsilon": "0.1" }), json!({ "epsilon": 0.1 }), json!({ "error": { "width": 50 } })] {
        ask(price).await.expect(200);
    }
    for (price, at) in [
        (json!({ "epsilon": true }), "the body, at price.epsilon: "),
        (json!({ "epsilon": "much" }), "the body, at price.epsilon: "),
        (json!({ "error": { "width": [] } }), "the body, at price.error.width: "),
        (json!("free"), "the body, at price: "),
    ] {
        let detail = ask(price.clone()).await.expect(400).json()["detail"].as_str().unwrap().to_string();
        assert!(detail.starts_with(at), "{price}: {detail}");
    }
}

/// The message showed a name with its type, said that the journal says so when nothing was written, and what to leave out.
#[tokio::test(flavor = "multi_thread")]
async fn who_charges_is_who_the_token_names() {
    let house = House::new();
    let charge = json!({ "accounts": ["census/alice"], "costs": [{ "epsilon": "0.1" }], "by": "bob" });
    let problem = house.send("alice", "POST", "/v1/charges", &charge.to_string()).await.expect(400).json();
    assert_eq!(problem["parameter"], "by");
    assert_eq!(
        problem["detail"],
        "this token belongs to alice, so the charge is recorded under that name and not under bob"
    );
}
