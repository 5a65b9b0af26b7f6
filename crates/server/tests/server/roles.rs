//! The role table, cell by cell, and what an analyst never sees.

use std::collections::BTreeSet;

use crate::fixture::{Reply, TestServer};
use crate::oidc::OidcServer;
use serde_json::{Value, json};

/// The callers, in the order of the columns: no token, one that is not valid, an owner, an auditor, an analyst, and one who may see
/// what is above.
const CALLERS: [&str; 6] = ["anonymous", "bad", "owner", "auditor", "alice", "above"];

/// A request, and the status for each caller. `{n}` is a new number each time; `{alice}` and `{bob}` are records about their accounts.
type Row = (&'static str, &'static str, &'static str, [u16; 6]);

const CHARGE: &str = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.001"}]}"#;
const CHARGE_ABOVE: &str = r#"{"accounts":["census"],"costs":[{"epsilon":"0.001"}]}"#;
const CHARGE_OTHER: &str = r#"{"accounts":["census/bob"],"costs":[{"epsilon":"0.001"}]}"#;
const CHARGE_BOTH: &str = r#"{"accounts":["census/alice","census/bob"],"costs":[{"epsilon":"0.001"}]}"#;
const CHARGE_NOTHING: &str = r#"{"accounts":["nothing"],"costs":[{"epsilon":"0.001"}]}"#;
const ASK: &str = r#"{"dataset":"census","question":"SELECT COUNT(*) FROM census","price":{"epsilon":"0.001"}}"#;
const ASK_ABOVE: &str =
    r#"{"dataset":"census","question":"SELECT COUNT(*) FROM census","price":{"epsilon":"0.001"},"account":"census"}"#;
const ASK_OTHER: &str = r#"{"dataset":"census","question":"SELECT COUNT(*) FROM census","price":{"epsilon":"0.001"},
    "account":"census/bob"}"#;
const ASK_WAGES: &str = r#"{"dataset":"wages","question":"SELECT COUNT(*) FROM wages","price":{"epsilon":"0.001"}}"#;
const ASK_NOTHING: &str =
    r#"{"dataset":"nothing","question":"SELECT COUNT(*) FROM nothing","price":{"epsilon":"0.001"}}"#;
const STUDY: &str =
    r#"{"dataset":"census","questions":[{"sql":"SELECT COUNT(*) FROM census","epsilon":"0.001","times":2}]}"#;
const STUDY_ABOVE: &str = r#"{"dataset":"census","account":"census",
    "questions":[{"sql":"SELECT COUNT(*) FROM census","epsilon":"0.001"}]}"#;
const STUDY_OTHER: &str = r#"{"dataset":"census","account":"census/bob",
    "questions":[{"sql":"SELECT COUNT(*) FROM census","epsilon":"0.001"}]}"#;
const STUDY_WAGES: &str = r#"{"dataset":"wages","questions":[{"sql":"SELECT COUNT(*) FROM wages","epsilon":"0.001"}]}"#;
const STUDY_NOTHING: &str =
    r#"{"dataset":"nothing","questions":[{"sql":"SELECT COUNT(*) FROM nothing","epsilon":"0.001"}]}"#;
const OPEN: &str = r#"{"account":"new{n}","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
const ANALYST: &str = r#"{"analyst":"new{n}","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
const REGISTER: &str = r#"{"dataset":"new{n}","data":{"upload":{"id":"nothing"}},"schema":{"unit":"row"},
    "filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
const PUBLIC_TABLE: &str = r#"{"public_table":"new{n}","upload":"nothing"}"#;
const TOKEN: &str = r#"{"principal":"new{n}","role":"auditor"}"#;

const TABLE: &[Row] = &[
    ("GET", "/healthz", "", [200, 200, 200, 200, 200, 200]),
    ("GET", "/readyz", "", [200, 200, 200, 200, 200, 200]),
    ("GET", "/openapi.json", "", [200, 200, 200, 200, 200, 200]),
    ("GET", "/nothing", "", [404, 404, 404, 404, 404, 404]),
    ("DELETE", "/v1/me", "", [405, 405, 405, 405, 405, 405]),
    ("GET", "/v1/me", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/ledger", "", [401, 401, 200, 200, 403, 403]),
    // Accounts.
    ("GET", "/v1/accounts", "", [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/accounts", OPEN, [401, 401, 201, 403, 403, 403]),
    ("GET", "/v1/accounts/census%2Falice", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/accounts/census%2Falice%2Fnothing", "", [401, 401, 404, 404, 404, 404]),
    ("GET", "/v1/accounts/census", "", [401, 401, 200, 200, 403, 200]),
    ("GET", "/v1/accounts/census%2Fbob", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/accounts/nothing", "", [401, 401, 404, 404, 403, 403]),
    ("GET", "/v1/accounts/census%2Falice/history", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/accounts/census/history", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/accounts/census%2Fbob/history", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/accounts/nothing/history", "", [401, 401, 404, 404, 403, 403]),
    ("POST", "/v1/accounts/spare/close", "{}", [401, 401, 200, 403, 403, 403]),
    ("POST", "/v1/accounts/nothing/close", "{}", [401, 401, 404, 403, 403, 403]),
    // Charges.
    ("POST", "/v1/charges", CHARGE, [401, 401, 201, 403, 201, 201]),
    ("POST", "/v1/charges", CHARGE_ABOVE, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/charges", CHARGE_OTHER, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/charges", CHARGE_BOTH, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/charges", CHARGE_NOTHING, [401, 401, 404, 403, 403, 403]),
    ("POST", "/v1/quotes", CHARGE, [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/quotes", CHARGE_ABOVE, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/quotes", CHARGE_OTHER, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/quotes", CHARGE_BOTH, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/quotes", CHARGE_NOTHING, [401, 401, 404, 404, 403, 403]),
    ("GET", "/v1/receipts/{alice}", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/receipts/{bob}", "", [401, 401, 200, 200, 404, 404]),
    ("GET", "/v1/receipts/0", "", [401, 401, 200, 200, 404, 404]),
    ("GET", "/v1/receipts/999999", "", [401, 401, 404, 404, 404, 404]),
    // The keys are the owner's own.
    ("GET", "/v1/receipts?key=alice", "", [401, 401, 200, 404, 404, 404]),
    // The test server signs checkpoints. A proof is for those who may see the receipt.
    ("GET", "/v1/receipts/{alice}/proof", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/receipts/{bob}/proof", "", [401, 401, 200, 200, 404, 404]),
    ("GET", "/v1/receipts/0/proof", "", [401, 401, 200, 200, 404, 404]),
    ("GET", "/v1/receipts/999999/proof", "", [401, 401, 404, 404, 404, 404]),
    ("GET", "/v1/receipts/proof?key=alice", "", [401, 401, 200, 404, 404, 404]),
    ("GET", "/v1/checkpoint", "", [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/checkpoint", "", [401, 401, 201, 201, 403, 403]),
    ("GET", "/v1/checkpoint/proof?from=1", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/checkpoint/proof?from=999999", "", [401, 401, 404, 404, 404, 404]),
    // Datasets.
    ("GET", "/v1/datasets", "", [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/datasets", REGISTER, [401, 401, 404, 403, 403, 403]),
    ("GET", "/v1/datasets/census", "", [401, 401, 200, 200, 200, 200]),
    ("GET", "/v1/datasets/wages", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/datasets/nothing", "", [401, 401, 404, 404, 403, 403]),
    ("GET", "/v1/datasets/census/check", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/datasets/nothing/check", "", [401, 401, 404, 404, 403, 403]),
    ("POST", "/v1/datasets/census/refresh", "", [401, 401, 400, 403, 403, 403]),
    ("POST", "/v1/datasets/census/analysts", ANALYST, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/datasets/nothing/analysts", ANALYST, [401, 401, 404, 403, 403, 403]),
    // Public tables are for everyone to see, and for the owner to change.
    ("GET", "/v1/public-tables", "", [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/public-tables", PUBLIC_TABLE, [401, 401, 404, 403, 403, 403]),
    ("POST", "/v1/public-tables/nothing/remove", "", [401, 401, 404, 403, 403, 403]),
    ("POST", "/v1/uploads", "age\n1\n", [401, 401, 201, 403, 403, 403]),
    ("GET", "/v1/log", "", [401, 401, 200, 403, 403, 403]),
    // Questions.
    ("POST", "/v1/questions", ASK, [401, 401, 201, 403, 201, 201]),
    ("POST", "/v1/questions", ASK_ABOVE, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/questions", ASK_OTHER, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/questions", ASK_WAGES, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/questions", ASK_NOTHING, [401, 401, 404, 403, 403, 403]),
    ("POST", "/v1/questions/explain", ASK, [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/questions/explain", ASK_ABOVE, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/questions/explain", ASK_OTHER, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/questions/explain", ASK_WAGES, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/questions/explain", ASK_NOTHING, [401, 401, 404, 404, 403, 403]),
    // Who may ask may also try a question on made-up rows.
    ("POST", "/v1/questions/dummy", ASK, [401, 401, 200, 403, 200, 200]),
    ("POST", "/v1/questions/dummy", ASK_ABOVE, [401, 401, 200, 403, 403, 403]),
    ("POST", "/v1/questions/dummy", ASK_OTHER, [401, 401, 200, 403, 403, 403]),
    ("POST", "/v1/questions/dummy", ASK_WAGES, [401, 401, 200, 403, 403, 403]),
    ("POST", "/v1/questions/dummy", ASK_NOTHING, [401, 401, 404, 403, 403, 403]),
    ("POST", "/v1/questions/dummy?rows=0", ASK, [401, 401, 400, 403, 400, 400]),
    ("POST", "/v1/plans", STUDY, [401, 401, 200, 200, 200, 200]),
    ("POST", "/v1/plans", STUDY_ABOVE, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/plans", STUDY_OTHER, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/plans", STUDY_WAGES, [401, 401, 200, 200, 403, 403]),
    ("POST", "/v1/plans", STUDY_NOTHING, [401, 401, 404, 404, 403, 403]),
    // The ledger as a whole.
    ("POST", "/v1/verify", "", [401, 401, 202, 202, 403, 403]),
    ("GET", "/v1/verify", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/export", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/metrics", "", [401, 401, 200, 200, 403, 403]),
    ("GET", "/v1/events", "", [401, 401, 200, 200, 200, 200]),
    // Tokens.
    ("GET", "/v1/tokens", "", [401, 401, 200, 403, 403, 403]),
    ("POST", "/v1/tokens", TOKEN, [401, 401, 201, 403, 403, 403]),
    ("POST", "/v1/tokens/nothing/revoke", "", [401, 401, 404, 403, 403, 403]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_of_the_role_table_is_as_it_says() {
    check_table(&TestServer::new()).await;
}

/// The same cells, for callers that an issuer vouches for.
#[tokio::test(flavor = "multi_thread")]
async fn the_role_table_is_the_same_for_callers_of_an_issuer() {
    check_table(&OidcServer::with_callers().server).await;
}

async fn check_table(server: &TestServer) {
    let spare = r#"{"account":"spare","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
    server.send("owner", "POST", "/v1/accounts", spare).await.expect(201);
    let [alice, bob] = ["alice", "bob"].map(|who| (who, format!("census/{who}")));
    let alice = server.charge("owner", &[&alice.1], "0.001", alice.0).await.expect(201).json()["sequence"].to_string();
    let bob = server.charge("owner", &[&bob.1], "0.001", bob.0).await.expect(201).json()["sequence"].to_string();
    let document = server.get("anonymous", "/openapi.json").await.json();
    let mut wrong = Vec::new();
    for (row, (method, path, body, statuses)) in TABLE.iter().enumerate() {
        for (column, (who, status)) in CALLERS.iter().zip(statuses).enumerate() {
            let path = path.replace("{alice}", &alice).replace("{bob}", &bob);
            let body = body.replace("{n}", &format!("{row}-{column}"));
            let kind = if path == "/v1/uploads" { "text/csv" } else { "application/json" };
            let headers: &[(&str, &str)] = if body.is_empty() { &[] } else { &[("Content-Type", kind)] };
            let reply = server.send_with(who, method, &path, &body, headers).await;
            if reply.status != *status {
                wrong.push(format!("{who}: {method} {path} {body}: {}, not {status}: {}", reply.status, reply.text()));
            }
            let code = reply.code();
            assert_eq!(code.as_deref() == Some("unauthorized"), reply.status == 401);
            assert_eq!(code.as_deref() == Some("forbidden"), reply.status == 403);
            check_declared(&document, method, &path, &reply);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_has_a_row_in_the_role_table() {
    let document = TestServer::new().get("anonymous", "/openapi.json").await.json();
    for (template, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let has_row = TABLE
                .iter()
                .any(|(other, path, ..)| other.eq_ignore_ascii_case(method) && is_of_template(path, template));
            assert!(has_row, "{method} {template}");
        }
    }
}

fn is_of_template(path: &str, template: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (path, template): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), template.split('/').collect());
    path.len() == template.len()
        && path.iter().zip(&template).all(|(part, wanted)| part == wanted || wanted.starts_with('{'))
}

/// Responses match the OpenAPI document.
fn check_declared(document: &Value, method: &str, path: &str, reply: &Reply) {
    let paths = document["paths"].as_object().unwrap();
    let exact = paths.get(path.split('?').next().unwrap());
    let template = || paths.iter().find(|(template, _)| is_of_template(path, template)).map(|(_, path)| path);
    let Some(operation) = exact.or_else(template).and_then(|path| path.get(method.to_lowercase())) else {
        assert!([404, 405].contains(&reply.status.as_u16()), "{method} {path}: {}", reply.status);
        return;
    };
    let response = &operation["responses"][reply.status.as_str()];
    assert!(response.is_object(), "{method} {path}: {} is not declared", reply.status);
    let kind = reply.header("content-type");
    let kind = kind.split(';').next().unwrap_or(kind);
    assert!(response["content"][kind].is_object(), "{method} {path}: {}: {kind} is not declared", reply.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_about_foreign_things_are_the_same_whether_or_not_they_exist() {
    let server = TestServer::new();
    for (one, other) in [
        ("/v1/accounts/census%2Fbob", "/v1/accounts/census%2Fzoe"),
        ("/v1/accounts/wages/history", "/v1/accounts/wagon/history"),
        ("/v1/datasets/wages", "/v1/datasets/wagon"),
    ] {
        let [one, other] = [server.get("alice", one).await.expect(403), server.get("alice", other).await.expect(403)];
        let plain = |reply: &Reply| {
            reply.text().replace("bob", "x").replace("zoe", "x").replace("wages", "w").replace("wagon", "w")
        };
        assert_eq!(plain(&one), plain(&other));
    }
    for account in ["census/bob", "census/zoe"] {
        assert_eq!(server.charge("alice", &[account], "0.1", "k").await.code().unwrap(), "forbidden");
    }
}

/// Row counts are data, and an auditor was once told them beside the price of an average.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_sees_how_many_rows_there_are() {
    let server = TestServer::new();
    let body = json!({ "dataset": "census", "question": "SELECT AVG(age) FROM census", "price": { "epsilon": "0.1" } });
    for (who, is_shown) in [("owner", true), ("auditor", false), ("alice", false), ("above", false)] {
        let explained = server.send(who, "POST", "/v1/questions/explain", &body.to_string()).await.expect(200).json();
        let average = &explained["averages"][0];
        assert!(average["needed_rows"].is_u64(), "{explained}");
        assert_eq!(average["expected_rows"].as_u64(), is_shown.then_some(4), "{who}");
        let dataset = server.get(who, "/v1/datasets/census").await.expect(200).json();
        assert_eq!(dataset["rows"].as_u64(), is_shown.then_some(4), "{who}");
    }
}

/// All responses to one caller.
struct Seen {
    bytes: Vec<(String, Vec<u8>)>,
}

impl Seen {
    fn note(&mut self, what: &str, status: u16, reply: Reply) -> Reply {
        let reply = reply.expect(status);
        let mut bytes = reply.bytes.clone();
        for (name, value) in &reply.headers {
            bytes.extend_from_slice(format!("\n{name}: ").as_bytes());
            bytes.extend_from_slice(value.as_bytes());
        }
        self.bytes.push((what.to_string(), bytes));
        reply
    }

    fn places(&self, secret: &str) -> Vec<&str> {
        let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        self.bytes.iter().filter(|(_, bytes)| holds(bytes)).map(|(what, _)| what.as_str()).collect()
    }
}

const COUNT: &str = "SELECT COUNT(*) FROM census";

/// All responses that an analyst of census/alice can get.
async fn look_around(server: &TestServer, who: &str, is_above: bool) -> Seen {
    let mut seen = Seen { bytes: Vec::new() };
    let above = if is_above { 200 } else { 403 };
    let charged = seen.note("charge", 201, server.charge(who, &["census/alice"], "0.0501", "c1").await);
    seen.note("replayed charge", 200, server.charge(who, &["census/alice"], "0.0501", "c1").await);
    seen.note("reused key", 422, server.charge(who, &["census/alice"], "0.0502", "c1").await);
    seen.note("refused above", 409, server.charge(who, &["census/alice"], "3", "c2").await);
    seen.note("refused by itself", 409, server.charge(who, &["census/alice"], "6", "c3").await);
    seen.note("no theorem", 400, {
        let body = r#"{"accounts":["census/alice"],"costs":[{"gaussian":"0.1"}]}"#;
        server.send(who, "POST", "/v1/charges", body).await
    });
    for epsilon in ["0.05", "3", "6"] {
        let body = json!({ "accounts": ["census/alice"], "costs": [{ "epsilon": epsilon }] }).to_string();
        seen.note("quote", 200, server.send(who, "POST", "/v1/quotes", &body).await);
        let body = json!({ "dataset": "census", "question": COUNT, "price": { "epsilon": epsilon } }).to_string();
        seen.note("explanation", 200, server.send(who, "POST", "/v1/questions/explain", &body).await);
        let body = json!({ "dataset": "census", "questions": [{ "sql": COUNT, "epsilon": epsilon }] }).to_string();
        seen.note("plan", 200, server.send(who, "POST", "/v1/plans", &body).await);
    }
    for path in ["/v1/accounts/census%2Falice/history?limit=1000", "/v1/accounts/census%2Falice%2Fstop/history"] {
        seen.note("history", 200, server.get(who, path).await);
    }
    for sequence in 0..=server.ledger.position().sequence {
        let reply = server.get(who, &format!("/v1/receipts/{sequence}")).await;
        let status = reply.status.as_u16();
        assert!([200, 404].contains(&status));
        seen.note("receipt", status, reply);
        seen.note("proof", status, server.get(who, &format!("/v1/receipts/{sequence}/proof")).await);
    }
    seen.note("checkpoint", 200, server.get(who, "/v1/checkpoint").await);
    seen.note("checkpoint proof", 200, server.get(who, "/v1/checkpoint/proof?from=1").await);
    seen.note("receipt of a key", 200, server.get(who, "/v1/receipts?key=c1").await);
    seen.note("answer", 201, server.ask(who, COUNT, "0.0601", "q1", json!({})).await);
    seen.note("replayed answer", 200, server.ask(who, COUNT, "0.0601", "q1", json!({})).await);
    seen.note("reused answer", 200, server.ask(who, COUNT, "0.0601", "q2", json!({ "reuse": true })).await);
    seen.note("refused question", 409, server.ask(who, COUNT, "3", "q3", json!({})).await);
    seen.note("wrong question", 400, server.ask(who, "SELECT * FROM census", "0.1", "q4", json!({})).await);
    seen.note(
        "question of another",
        403,
        server.ask(who, COUNT, "0.1", "q5", json!({ "account": "census/bob" })).await,
    );
    for path in ["/v1/accounts", "/v1/accounts/census%2Falice", "/v1/datasets", "/v1/datasets/census", "/v1/me"] {
        seen.note(path, 200, server.get(who, path).await);
    }
    seen.note("account above", above, server.get(who, "/v1/accounts/census").await);
    seen.note("history above", 403, server.get(who, "/v1/accounts/census/history").await);
    seen.note("other dataset", 403, server.get(who, "/v1/datasets/wages").await);
    assert_eq!(charged.json()["key"], "c1");
    seen
}

/// The readings and balances of accounts: in the journal, now, and in quotes.
async fn numbers(server: &TestServer, hidden: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    let mut add = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        // Short numbers may occur by chance.
        if text.len() >= 5 {
            numbers.insert(text);
        }
    };
    let export = server.get("owner", "/v1/export").await.expect(200).text();
    for line in export.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for after in record["after"].as_array().into_iter().flatten() {
            if hidden(after["account"].as_str().unwrap()) {
                add(&after["reading"]);
                add(&after["left"]);
            }
        }
    }
    for account in server.get("owner", "/v1/accounts").await.json()["accounts"].as_array().unwrap() {
        if hidden(account["account"].as_str().unwrap()) {
            add(&account["reading"]);
            for balance in ["spent", "left"] {
                add(&account["filter"][balance]["epsilon"]);
                add(&account["filter"][balance]["share"]);
            }
        }
    }
    let body = json!({ "accounts": ["census/alice"], "costs": [{ "epsilon": "3" }] }).to_string();
    let quote = server.send("owner", "POST", "/v1/quotes", &body).await.json();
    if hidden("census") {
        add(&quote["fits"][0]["epsilon"]);
    }
    numbers
}

async fn with_recognisable_numbers() -> TestServer {
    let server = TestServer::new();
    server.charge("owner", &["census"], "0.1234567", "o1").await.expect(201);
    server.charge("owner", &["census/bob"], "0.0716253", "o2").await.expect(201);
    server.charge("owner", &["census/alice", "census/bob"], "0.0113779", "o3").await.expect(201);
    let stop = r#"{"account":"census/alice/stop","filter":{"rule":"basic","budget":{"epsilon":"0.2","delta":"1e-6"},"on_halt":"stop"}}"#;
    server.send("owner", "POST", "/v1/accounts", stop).await.expect(201);
    // A record about alice's account alone that names bob's.
    let refused = server.charge("owner", &["census/alice/stop", "census/bob"], "0.3", "o4").await.expect(409).json();
    assert_eq!(refused["refusal"]["halted"], json!(["census/alice/stop"]));
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_never_sees_accounts_above_or_beside_its_own() {
    let server = with_recognisable_numbers().await;
    let seen = look_around(&server, "alice", false).await;
    let hidden = numbers(&server, |account| !account.starts_with("census/alice")).await;
    assert!(hidden.len() >= 10, "{hidden:?}");
    for secret in hidden.iter().map(String::as_str).chain(["\"2.5\"", "3.1734", "2.3650433"]) {
        assert_eq!(seen.places(secret), [""; 0], "{secret}");
    }
    // An answer repeats only names that the caller sent.
    assert_eq!(seen.places("census/bob"), ["question of another"]);
    assert_eq!(seen.places("\"bob"), [""; 0]);
    assert_eq!(seen.places("wages"), ["other dataset"]);
    assert_eq!(seen.places(server.folder.path().to_str().unwrap()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_with_sees_above_sees_accounts_above_but_none_beside_its_own() {
    let server = with_recognisable_numbers().await;
    let seen = look_around(&server, "above", true).await;
    let beside = |account: &str| account == "census/bob" || account == "wages";
    for secret in numbers(&server, beside).await {
        assert_eq!(seen.places(&secret), [""; 0], "{secret}");
    }
    assert_eq!(seen.places("census/bob"), ["question of another"]);
    // This shows that the search finds the numbers.
    let above = numbers(&server, |account| account == "census").await;
    let found = above.iter().filter(|secret| !seen.places(secret).is_empty()).count();
    assert!(found >= 6, "{found} of {above:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_belong_to_their_principal() {
    let server = TestServer::new();
    // One key of three principals makes three charges; reused by one principal for another request, it is an error.
    for who in ["alice", "bob", "owner"] {
        let account = if who == "bob" { "census/bob" } else { "census/alice" };
        assert_eq!(server.charge(who, &[account], "0.01", "same").await.expect(201).json()["outcome"], "charged");
        assert_eq!(server.charge(who, &[account], "0.01", "same").await.expect(200).json()["outcome"], "replayed");
        let reused = server.charge(who, &[account], "0.02", "same").await.expect(422).json();
        assert_eq!((&reused["code"], &reused["key"]), (&json!("key-reused"), &json!("same")));
        assert!(reused["detail"].as_str().unwrap().contains("the key \"same\""), "{reused}");
    }
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 3);
    let mut answers = BTreeSet::new();
    for who in ["alice", "above", "bob", "owner"] {
        let fresh = server.ask(who, COUNT, "0.01", "asked", json!({})).await.expect(201);
        assert_eq!(fresh.header("taximeter-answer"), "fresh");
        let again = server.ask(who, COUNT, "0.01", "asked", json!({})).await.expect(200);
        assert_eq!((again.header("taximeter-answer"), &again.bytes), ("replayed", &fresh.bytes));
        server.ask(who, COUNT, "0.02", "asked", json!({})).await.expect(422);
        answers.insert(fresh.json()["receipt"]["sequence"].to_string());
    }
    assert_eq!(answers.len(), 4);
    // Earlier answers belong to one principal, even though anna shares the account.
    server.ask("bob", COUNT, "0.03", "first", json!({})).await.expect(201);
    server.ask("alice", COUNT, "0.03", "first", json!({})).await.expect(201);
    let reply = server.ask("above", COUNT, "0.03", "second", json!({ "reuse": true })).await.expect(201);
    assert_eq!(reply.header("taximeter-answer"), "fresh");
    let reply = server.ask("alice", COUNT, "0.03", "second", json!({ "reuse": true })).await.expect(200);
    assert_eq!(reply.header("taximeter-answer"), "reused");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_does_not_reveal_the_rule_of_a_hidden_account() {
    let server = TestServer::new();
    let charge = json!({ "accounts": ["census/alice"], "costs": [{ "gaussian": "0.1" }] }).to_string();
    let question = json!({ "dataset": "census", "question": COUNT, "price": { "gaussian": "0.1" } }).to_string();
    let study = json!({ "dataset": "census", "questions": [{ "sql": COUNT, "gaussian": "0.1" }] }).to_string();
    for (path, body) in [
        ("/v1/charges", &charge),
        ("/v1/quotes", &charge),
        ("/v1/questions", &question),
        ("/v1/questions/explain", &question),
        ("/v1/plans", &study),
    ] {
        let hidden = server.send("alice", "POST", path, body).await.expect(400).text();
        assert!(hidden.contains("an account above has no theorem") && !hidden.contains("basic"), "{path}: {hidden}");
        let seen = server.send("above", "POST", path, body).await.expect(400).text();
        assert!(seen.contains("account census: the rule basic has no theorem"), "{path}: {seen}");
    }
}
