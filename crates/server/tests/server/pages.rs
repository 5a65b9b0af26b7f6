//! The pages of each role, and what they never show to an analyst.

use std::collections::BTreeSet;

use crate::fixture::visit::Visit;
use crate::fixture::{Reply, TestServer};
use axum::body::Body;
use serde_json::Value;
use taximeter_service::words::show_number;

/// The visitors, in the order of the columns.
const VISITORS: [&str; 6] = ["anonymous", "owner", "auditor", "alice", "above", "bob"];

/// A path, and the status for each visitor. `{token}` is the id of alice's token.
type Row = (&'static str, [u16; 6]);

const TABLE: &[Row] = &[
    ("/sign-in", [200, 200, 200, 200, 200, 200]),
    ("/", [303, 200, 200, 200, 200, 200]),
    ("/cost", [303, 200, 200, 200, 200, 200]),
    ("/datasets", [303, 200, 200, 200, 200, 200]),
    ("/datasets/census", [303, 200, 200, 200, 200, 200]),
    ("/datasets/wages", [303, 200, 200, 403, 403, 403]),
    ("/datasets/nothing", [303, 404, 404, 403, 403, 403]),
    ("/register", [303, 200, 403, 403, 403, 403]),
    ("/register/postgres", [303, 200, 403, 403, 403, 403]),
    ("/audit", [303, 200, 200, 403, 403, 403]),
    ("/audit/export", [303, 200, 200, 403, 403, 403]),
    ("/tokens", [303, 200, 403, 403, 403, 403]),
    ("/tokens/{token}/revoke", [303, 200, 403, 403, 403, 403]),
    ("/tokens/0123456789abcdef/revoke", [303, 404, 403, 403, 403, 403]),
    ("/cost/quote", [303, 200, 200, 200, 200, 200]),
    ("/ask", [303, 200, 403, 200, 200, 200]),
    ("/ask?dataset=wages", [303, 200, 403, 403, 403, 403]),
    ("/plan", [303, 200, 200, 200, 200, 200]),
    ("/answers/nothing", [303, 404, 403, 404, 404, 404]),
    ("/accounts/census%2Falice", [303, 200, 200, 200, 200, 403]),
    ("/accounts/census", [303, 200, 200, 403, 200, 403]),
    ("/accounts/census%2Fbob", [303, 200, 200, 403, 403, 200]),
    ("/accounts/wages", [303, 200, 200, 403, 403, 403]),
    ("/accounts/nothing", [303, 404, 404, 403, 403, 403]),
    ("/accounts/census%2Fbob/history.jsonl", [303, 200, 200, 403, 403, 200]),
    ("/accounts/census/history.jsonl", [303, 200, 200, 403, 403, 403]),
    ("/accounts/census%2Fbob/receipts/4.json", [303, 200, 200, 404, 404, 200]),
    ("/events", [303, 200, 200, 200, 200, 200]),
    ("/nothing", [404, 404, 404, 404, 404, 404]),
];

const STUDY: &str =
    "dataset = \"census\"\n[[questions]]\nsql = \"SELECT COUNT(*) FROM census\"\nepsilon = 0.4\ntimes = 6";
const STUDY_OF_BOB: &str =
    "dataset = \"census\"\naccount = \"census/bob\"\n[[questions]]\nsql = \"SELECT COUNT(*) FROM census\"\nerror = 50";

/// A form, what is filled in, and the status for each visitor.
type Form = (&'static str, &'static [(&'static str, &'static str)], [u16; 6]);

const FORMS: &[Form] = &[
    ("/accounts", &[("account", "new{n}"), ("epsilon", "1"), ("delta", "1e-6")], [401, 303, 403, 403, 403, 403]),
    ("/accounts/spare/close", &[("sure", "yes")], [401, 404, 403, 403, 403, 403]),
    ("/audit/verify", &[], [401, 303, 303, 403, 403, 403]),
    ("/tokens", &[("principal", "x"), ("role", "auditor"), ("key", "{n}")], [401, 200, 403, 403, 403, 403]),
    ("/tokens/0123456789abcdef/revoke", &[], [401, 404, 403, 403, 403, 403]),
    ("/datasets/census/check", &[], [401, 303, 303, 403, 403, 403]),
    ("/datasets/wages/check", &[], [401, 303, 303, 403, 403, 403]),
    ("/datasets/census/refresh", &[], [401, 400, 403, 403, 403, 403]),
    (
        "/datasets/census/analysts",
        &[("analyst", "new{n}"), ("epsilon", "0.1"), ("delta", "1e-7")],
        [401, 303, 403, 403, 403, 403],
    ),
    (
        "/datasets/nothing/analysts",
        &[("analyst", "new{n}"), ("epsilon", "0.1"), ("delta", "1e-7")],
        [401, 404, 403, 403, 403, 403],
    ),
    ("/register/postgres", &[("dataset", "x"), ("url", "nothing"), ("table", "x")], [401, 400, 403, 403, 403, 403]),
    ("/plan", &[("study", STUDY)], [401, 200, 200, 200, 200, 200]),
    ("/plan", &[("study", STUDY_OF_BOB)], [401, 200, 200, 403, 403, 200]),
    ("/plan", &[("study", "dataset =")], [401, 400, 400, 400, 400, 400]),
    // Forms with a file, sent without one.
    ("/register", &[], [401, 415, 403, 403, 403, 403]),
    ("/datasets/census/data", &[], [401, 415, 403, 403, 403, 403]),
];

async fn visitor<'a>(server: &'a TestServer, who: &str) -> Visit<'a> {
    match who {
        "anonymous" => server.visit(),
        who => server.sign_in(who).await,
    }
}

async fn token_id(server: &TestServer, who: &str) -> String {
    server.get(who, "/v1/me").await.json()["token"]["id"].as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_of_the_table_of_pages_is_as_it_says() {
    let server = TestServer::new();
    let token = token_id(&server, "alice").await;
    let mut wrong = Vec::new();
    for (column, who) in VISITORS.into_iter().enumerate() {
        let mut visit = visitor(&server, who).await;
        for (path, statuses) in TABLE {
            let path = path.replace("{token}", &token);
            let reply = visit.send("GET", &path, &[("Accept", "text/html")], Body::empty()).await;
            if reply.status != statuses[column] {
                wrong.push(format!("{who}: {path}: {}, not {}: {}", reply.status, statuses[column], reply.text()));
            }
            let has_page = reply.status.is_success() || reply.status.is_client_error();
            let is_other =
                ["/events", "/export", ".json", ".jsonl"].iter().any(|end| path.ends_with(end)) && reply.status == 200;
            assert_eq!(reply.is_page(), has_page && !is_other, "{who}: {path}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_of_the_table_of_forms_is_as_it_says() {
    let server = TestServer::new();
    let mut wrong = Vec::new();
    for (column, who) in VISITORS.into_iter().enumerate() {
        let mut visit = visitor(&server, who).await;
        for (row, (path, fields, statuses)) in FORMS.iter().enumerate() {
            visit.get("/").await;
            let number = format!("{row}-{column}");
            let fields: Vec<(&str, String)> =
                fields.iter().map(|(name, value)| (*name, value.replace("{n}", &number))).collect();
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let reply = visit.post(path, &fields).await;
            if reply.status != statuses[column] {
                wrong.push(format!("{who}: {path}: {}, not {}: {}", reply.status, statuses[column], reply.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All text that a visitor can see: the table, all linked pages, and the answers to forms that are not for them.
async fn look_around(server: &TestServer, who: &str) -> Vec<(String, Vec<u8>)> {
    let mut visit = server.sign_in(who).await;
    let token = token_id(server, "owner").await;
    let mut paths: Vec<String> = TABLE.iter().map(|(path, _)| path.replace("{token}", &token)).collect();
    paths.extend(["/ask", "/accounts/census%2Falice", "/accounts/census%2Falice%2Fstop"].map(str::to_string));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = visit.crawl(&paths).await;
    let mut seen: Vec<(String, Vec<u8>)> = found.into_iter().map(|(path, reply)| (path, bytes(&reply))).collect();
    for (path, fields, _) in FORMS {
        let reply = visit.post(path, fields).await;
        seen.push((format!("POST {path}"), bytes(&reply)));
    }
    seen
}

/// A whole reply, including its headers.
fn bytes(reply: &Reply) -> Vec<u8> {
    let mut bytes = reply.bytes.clone();
    for (name, value) in &reply.headers {
        bytes.extend_from_slice(format!("\n{name}: ").as_bytes());
        bytes.extend_from_slice(value.as_bytes());
    }
    bytes
}

fn places<'a>(seen: &'a [(String, Vec<u8>)], secret: &str) -> Vec<&'a str> {
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    seen.iter().filter(|(_, bytes)| holds(bytes)).map(|(what, _)| what.as_str()).collect()
}

/// A server in which no two accounts have the same numbers.
async fn with_recognisable_numbers() -> TestServer {
    let server = TestServer::new();
    server.charge("owner", &["census"], "0.1234567", "o1").await.expect(201);
    server.charge("owner", &["census/bob"], "0.2716253", "o2").await.expect(201);
    server.charge("owner", &["census/alice"], "0.0113779", "o3").await.expect(201);
    server.charge("owner", &["wages"], "1.2223334", "o4").await.expect(201);
    server
}

/// The readings of accounts and what they have left, as pages write them: exactly, in six digits, and in percent.
async fn numbers(server: &TestServer, hidden: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    for account in server.get("owner", "/v1/accounts").await.json()["accounts"].as_array().unwrap() {
        if !hidden(account["account"].as_str().unwrap()) {
            continue;
        }
        let filter = &account["filter"];
        for value in [&account["reading"], &filter["spent"]["share"], &filter["left"]["share"]] {
            let value = value.as_f64().unwrap();
            numbers.insert(value.to_string());
            numbers.insert(show_number(value));
            numbers.insert(format!("{}%", (value * 1000.0).floor() / 10.0));
        }
        for value in [&filter["spent"]["epsilon"], &filter["left"]["epsilon"], &filter["budget"]["epsilon"]] {
            numbers.insert(value.as_str().unwrap().to_string());
        }
    }
    // Short numbers may occur by chance.
    numbers.retain(|number| number.len() >= 5);
    numbers
}

/// Text that an analyst must never see.
async fn secrets(server: &TestServer) -> Vec<String> {
    let ledger = server.get("owner", "/v1/ledger").await.json();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let mut secrets =
        vec![text(&ledger["newest"]["hash"]), text(&ledger["location"]), text(&ledger["witness"]["path"])];
    secrets.push(token_id(server, "bob").await);
    // The rows of a dataset, and where its data are.
    secrets.extend(["data-label=\"Rows that count\">4</td>".to_string(), "census.v1.db".to_string()]);
    secrets
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_finds_nothing_of_others_on_any_page() {
    let server = with_recognisable_numbers().await;
    let (alice, above, owner) =
        (look_around(&server, "alice").await, look_around(&server, "above").await, look_around(&server, "owner").await);
    assert!(alice.len() >= TABLE.len() + FORMS.len());
    let hidden = numbers(&server, |account| !account.starts_with("census/alice")).await;
    let beside = numbers(&server, |account| account == "census/bob" || account == "wages").await;
    assert!(hidden.len() >= 15 && beside.len() >= 10, "{hidden:?} {beside:?}");
    // The owner's forms change the state, so this is read first.
    let secrets = secrets(&server).await;
    for secret in hidden.iter().chain(&secrets) {
        assert_eq!(places(&alice, secret), [""; 0], "{secret}");
    }
    for secret in beside.iter().chain(&secrets) {
        assert_eq!(places(&above, secret), [""; 0], "{secret}");
    }
    // A page repeats only names that the visitor sent.
    for (seen, name) in [(&alice, "bob"), (&alice, "wages"), (&above, "bob"), (&above, "wages")] {
        assert!(places(seen, name).iter().all(|place| place.contains(name)), "{name}: {:?}", places(seen, name));
    }
    // The owner's pages have them, so the search would find them.
    for secret in ["census/bob", "wages", &secrets[1], &secrets[2], &secrets[3], &secrets[4], &secrets[5]] {
        assert!(!places(&owner, secret).is_empty(), "{secret}");
    }
    let found = hidden.iter().filter(|secret| !places(&owner, secret).is_empty()).count();
    assert!(found >= 2, "{found} of {hidden:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_about_foreign_things_are_the_same_whether_or_not_they_exist() {
    let server = TestServer::new();
    let mut alice = server.sign_in("alice").await;
    let [one, other] = [alice.get("/datasets/wages").await.expect(403), alice.get("/datasets/wagon").await.expect(403)];
    assert_eq!(one.text().replace("wages", "wagon"), other.text());
}
