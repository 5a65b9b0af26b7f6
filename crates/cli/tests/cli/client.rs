//! Commands that go to a server: what is sent, what is asked again, and what is told when it goes wrong.

use std::io::Write;
use std::net::TcpListener;
use std::process::Output;

use taximeter_testing::{CannedReply, Responder};

use crate::sandbox::{Sandbox, text};

const JSON: &str = "content-type: application/json";
const PROBLEM: &str = "content-type: application/problem+json";
const TOKEN: &str = "very-secret-token";
const CHARGE: [&str; 6] = ["charge", "census", "--epsilon", "0.1", "--key", "k"];

fn ask(sandbox: &Sandbox, url: &str, arguments: &[&str]) -> Output {
    let mut command = sandbox.command(arguments);
    let output = command.env("TAXIMETER_SERVER", url).env("TAXIMETER_TOKEN", TOKEN).output().unwrap();
    assert!(!text(&output).contains(TOKEN), "the token is told: {}", text(&output));
    output
}

#[track_caller]
fn check(output: &Output, code: i32, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    for part in parts {
        assert!(text(output).contains(part), "{part:?} is not in:\n{}", text(output));
    }
}

fn problem(code: &str, more: &str) -> String {
    format!(r#"{{"type":"about:blank","title":"t","status":400,"code":"{code}","detail":"what is wrong"{more}}}"#)
}

/// What a server would answer: the same document as the program prints for a ledger of its own.
fn document(sandbox: &Sandbox, arguments: &[&str]) -> String {
    String::from_utf8(sandbox.run(&[arguments, &["--json"]].concat()).stdout).unwrap().trim_end().to_string()
}

#[test]
fn a_charge_whose_answer_is_lost_is_asked_for_again_with_the_same_key() {
    let sandbox = Sandbox::with_accounts();
    let charge = ["charge", "census", "--epsilon", "0.1"];
    let answer = document(&sandbox, &charge);
    let reply = move |_: &_, count| (count >= 2).then(|| (201, JSON, answer.clone()));
    let server = Responder::new(reply);
    check(&ask(&sandbox, &server.url, &charge), 0, &["charged", "ε = 0.1", "census", "one record added or removed"]);
    let asked = server.requests();
    assert_eq!(asked.len(), 3);
    let key = asked[0].header("idempotency-key").expect("a key of its own");
    for request in &asked {
        assert_eq!(request.line, "POST /v1/charges");
        assert_eq!(request.header("idempotency-key"), Some(key));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        assert_eq!(request.body, r#"{"accounts":["census"],"costs":[{"epsilon":"0.1"}]}"#);
    }
}

/// The server has charged and its answer is lost: asked again it says "replayed", which for a key of this command is the charge itself.
#[test]
fn a_replay_of_a_key_that_was_made_here_is_a_fresh_charge() {
    let sandbox = Sandbox::with_accounts();
    let charge = ["charge", "census", "--epsilon", "0.1"];
    let answer = document(&sandbox, &charge).replace(r#""outcome":"charged""#, r#""outcome":"replayed""#);
    let server = Responder::new(move |_: &_, _| Some((200, JSON, answer.clone())));
    let output = ask(&sandbox, &server.url, &charge);
    check(&output, 0, &["charged"]);
    assert!(!text(&output).contains("charged before"), "{}", text(&output));
    check(&ask(&sandbox, &server.url, &CHARGE), 6, &["charged before"]);
}

#[test]
fn a_charge_that_stays_lost_ends_with_its_key_and_what_is_done_once_is_not_repeated() {
    let sandbox = Sandbox::new();
    let server = Responder::new(|_, _| -> CannedReply { None });
    check(&ask(&sandbox, &server.url, &CHARGE), 1, &["not known", "--key k"]);
    assert_eq!(server.requests().len(), 3);
    check(&ask(&sandbox, &server.url, &["account", "close", "census"]), 1, &["not known", "look before"]);
    assert_eq!(server.requests().len(), 4);
    let lookup = ask(&sandbox, &server.url, &["account", "list"]);
    check(&lookup, 1, &["was lost", "Try again"]);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let sandbox = Sandbox::with_accounts();
    let list = document(&sandbox, &["account", "list"]);
    let server = Responder::new(move |_, count| match count {
        0 => Some((503, "retry-after: 0", problem("busy", ""))),
        1 => Some((429, "retry-after: 0", problem("too-many-requests", ""))),
        _ => Some((200, JSON, list.clone())),
    });
    check(&ask(&sandbox, &server.url, &["account", "list"]), 0, &["census", "alice", "bob"]);
    let always = Responder::new(|_, _| Some((503, "retry-after: 0", problem("busy", ""))));
    check(&ask(&sandbox, &always.url, &CHARGE), 1, &["what is wrong"]);
    assert_eq!(always.requests().len(), 5);
}

#[test]
fn every_problem_ends_as_it_does_on_this_machine() {
    let sandbox = Sandbox::new();
    for (code, exit) in [
        ("bad-request", 2),
        ("unauthorized", 2),
        ("forbidden", 2),
        ("no-account", 2),
        ("not-found", 2),
        ("key-reused", 2),
        ("too-large", 2),
        ("integrity", 4),
        ("storage", 1),
        ("stopped", 1),
    ] {
        let server = Responder::new(move |_, _| Some((400, PROBLEM, problem(code, ""))));
        check(&ask(&sandbox, &server.url, &CHARGE), exit, &["error: what is wrong"]);
    }
    let unknown = Responder::new(|_, _| Some((503, PROBLEM, problem("unknown-outcome", ""))));
    check(&ask(&sandbox, &unknown.url, &CHARGE), 1, &["what is wrong: --key k"]);
}

#[test]
fn refusals_and_lost_answers_have_their_codes() {
    let sandbox = Sandbox::with_accounts();
    let refusal = document(&sandbox, &["charge", "census", "--epsilon", "7"]);
    let reply = move |_: &_, _| Some((409, PROBLEM, problem("refused", &format!(r#","refusal":{refusal}"#))));
    let server = Responder::new(reply);
    check(
        &ask(&sandbox, &server.url, &CHARGE),
        3,
        &["refused", "census: the budget does not admit it", "on all accounts"],
    );

    let hidden = concat!(
        r#","refusal":{"outcome":"refused","refused":[{"account":null,"reason":"an account above does not take it"}],"#,
        r#""asked":[{"epsilon":"0.1"}],"fits":[{"epsilon":"0.05"}]}"#
    );
    let server = Responder::new(move |_, _| Some((409, PROBLEM, problem("refused", hidden))));
    check(
        &ask(&sandbox, &server.url, &CHARGE),
        3,
        &["by       an account above", "0.05, on the accounts that you may see"],
    );

    let question = ["ask", "people", "SELECT COUNT(*) FROM men", "--epsilon", "0.1", "--key", "k"];
    let server = Responder::new(|_, _| Some((424, PROBLEM, problem("no-answer", r#","key":"k","sequence":7"#))));
    check(&ask(&sandbox, &server.url, &question), 5, &["no answer (no-answer); record 7, key k"]);
    let server = Responder::new(|_, _| Some((400, PROBLEM, problem("bad-request", r#","position":22"#))));
    let marked = ask(&sandbox, &server.url, &question);
    check(&marked, 2, &["  SELECT COUNT(*) FROM men\n                       ^"]);
}

#[test]
fn what_is_not_a_server_of_ours_is_told() {
    let sandbox = Sandbox::new();
    let page = |_: &_, _| -> CannedReply { Some((404, "content-type: text/html", "<h1>Hello</h1>".to_string())) };
    let server = Responder::new(page);
    check(&ask(&sandbox, &server.url, &["account", "list"]), 1, &["not a Taximeter server", "404", "text/html"]);
    let server = Responder::new(|_, _| Some((200, JSON, r#"{"hello":1}"#.to_string())));
    check(&ask(&sandbox, &server.url, &["account", "list"]), 1, &["cannot be read", "versions match"]);
    let server = Responder::new(|_, _| Some((307, "location: http://elsewhere.example/", String::new())));
    check(&ask(&sandbox, &server.url, &["account", "list"]), 1, &["http://elsewhere.example/", "not sent"]);
    assert_eq!(server.requests().len(), 1);

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check(&ask(&sandbox, &format!("http://{closed}"), &CHARGE), 1, &["cannot be reached", "Nothing was done"]);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let secure = format!("https://{}", plain.local_addr().unwrap());
    std::thread::spawn(move || plain.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    check(&ask(&sandbox, &secure, &["account", "list"]), 1, &["cannot be trusted", "TAXIMETER_CA"]);
    let mut command = sandbox.command(&["account", "list", "--server", "https://127.0.0.1:1"]);
    let output = command.env("TAXIMETER_TOKEN", TOKEN).env("TAXIMETER_CA", "missing.pem").output().unwrap();
    check(&output, 2, &["TAXIMETER_CA", "missing.pem"]);
}

#[test]
fn a_token_is_needed_and_goes_to_no_other_machine_in_the_clear() {
    let sandbox = Sandbox::new();
    check(
        &sandbox.run(&["account", "list", "--server", "http://127.0.0.1:1"]),
        2,
        &["TAXIMETER_TOKEN", "token create"],
    );
    check(&ask(&sandbox, "http://budgets.example", &["account", "list"]), 2, &["in the clear", "https://"]);
    check(&ask(&sandbox, "nonsense", &["account", "list"]), 2, &["nonsense", "not a URL"]);
    let mut command = sandbox.command(&["account", "list", "--server", "http://127.0.0.1:1"]);
    check(&command.env("TAXIMETER_TOKEN", "two words").output().unwrap(), 2, &["TAXIMETER_TOKEN", "not a token"]);
}

#[test]
fn a_ledger_that_is_named_is_the_one_that_is_meant() {
    let sandbox = Sandbox::with_accounts();
    let nowhere = "http://127.0.0.1:1";
    check(&ask(&sandbox, nowhere, &["account", "list", "--ledger", "taximeter.db"]), 0, &["census"]);
    for arguments in [
        &["account", "list", "--ledger", "taximeter.db", "--server", nowhere][..],
        &["account", "list", "--witness", "w", "--server", nowhere],
        &["dataset", "list", "--data", "d", "--server", nowhere],
    ] {
        check(&sandbox.run(arguments), 2, &["cannot be used with"]);
    }
    check(&ask(&sandbox, nowhere, &["account", "list", "--witness", "w"]), 2, &["--witness", "this machine"]);
    for arguments in [&["import", "export.jsonl"][..], &["ledger", "restore", "--accept-loss"]] {
        check(&ask(&sandbox, nowhere, arguments), 2, &["on the ledger's machine", nowhere, "--ledger"]);
        check(&sandbox.run(&[arguments, &["--server", nowhere]].concat()), 2, &["on the ledger's machine"]);
    }
}

#[test]
fn a_long_history_is_fetched_in_parts() {
    let sandbox = Sandbox::with_accounts();
    let record = |sequence: u64| {
        format!(
            concat!(
                r#"{{"sequence":{},"hash":"{}","what":"charge","time":"2026-01-01T00:00:00Z","#,
                r#""reading":null,"left":null,"record":null}}"#
            ),
            sequence,
            "0".repeat(64)
        )
    };
    let part = move |first: u64, next: &str| {
        let records: Vec<String> = (0..1000).map(|at| record(first - at)).collect();
        format!(r#"{{"account":"census","records":[{}],"next":{next}}}"#, records.join(","))
    };
    let server = Responder::new(move |_, count| match count {
        0 => Some((200, JSON, part(5000, "4000"))),
        _ => Some((200, JSON, part(4000, "3000"))),
    });
    let output = ask(&sandbox, &server.url, &["history", "census", "--limit", "2000", "--json"]);
    check(&output, 0, &[r#""next":3000"#, r#""sequence":3001"#]);
    let lines: Vec<String> = server.requests().into_iter().map(|asked| asked.line).collect();
    assert_eq!(
        lines,
        ["GET /v1/accounts/census/history?limit=1000", "GET /v1/accounts/census/history?limit=1000&from=4000"]
    );
}

#[test]
fn a_verification_is_waited_for() {
    let sandbox = Sandbox::with_accounts();
    let verified = document(&sandbox, &["verify"]);
    let running = r#"{"state":"running","whole":null,"done":1,"of":4}"#.to_string();
    let server = Responder::new(move |asked, count| match count {
        0 => {
            assert_eq!(asked.line, "POST /v1/verify");
            Some((202, JSON, running.clone()))
        }
        1 => Some((200, JSON, running.clone())),
        _ => Some((200, JSON, verified.clone())),
    });
    check(&ask(&sandbox, &server.url, &["verify"]), 0, &["4 records, 3 accounts: whole"]);
    assert_eq!(server.requests()[2].line, "GET /v1/verify");
    let broken = r#"{"state":"broken","whole":false,"done":0,"of":0,"reason":"record 3 is bad"}"#;
    let server = Responder::new(move |_, _| Some((200, JSON, broken.to_string())));
    check(&ask(&sandbox, &server.url, &["verify"]), 4, &["record 3 is bad", "ledger restore --help"]);
    check(&ask(&sandbox, &server.url, &["verify", "--json"]), 4, &[r#""whole":false"#]);
}

#[test]
fn an_export_is_written_as_it_comes_and_one_that_is_cut_off_leaves_no_file() {
    let sandbox = Sandbox::with_accounts();
    let (ledger, export) = (document(&sandbox, &["ledger", "show"]), sandbox.done(&["export"]));
    let serve = |export: String| {
        let ledger = ledger.clone();
        Responder::new(move |asked, _| match asked.line.as_str() {
            "GET /v1/ledger" => Some((200, JSON, ledger.clone())),
            _ => Some((200, "content-type: application/jsonl", export.clone())),
        })
    };
    let server = serve(export.clone());
    check(&ask(&sandbox, &server.url, &["export", "--output", "whole.jsonl", "--json"]), 0, &[r#""records":4"#]);
    assert_eq!(std::fs::read_to_string(sandbox.path("whole.jsonl")).unwrap(), export);
    let cut: String = export.lines().take(2).map(|line| format!("{line}\n")).collect();
    check(&ask(&sandbox, &serve(cut).url, &["export", "--output", "cut.jsonl"]), 1, &["cut off"]);
    assert!(!sandbox.path("cut.jsonl").exists());
}

#[test]
fn data_are_uploaded_before_they_are_registered() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("people.csv"), "age,region\n30,north\n").unwrap();
    let add =
        ["dataset", "add", "people", "people.csv", "--unit", "row", "--bounds", "age=0..120", "--budget", "1,1e-6"];
    let registered = document(&sandbox, &add);
    let server = Responder::new(move |_, count| match count {
        0 => Some((201, JSON, r#"{"upload":"u1","bytes":20}"#.to_string())),
        _ => Some((201, JSON, registered.clone())),
    });
    check(&ask(&sandbox, &server.url, &add), 0, &["people, version 1", "0 to 120 in steps of 1"]);
    let asked = server.requests();
    assert_eq!((asked[0].line.as_str(), asked[0].body.as_str()), ("POST /v1/uploads", "age,region\n30,north\n"));
    assert_eq!(asked[0].header("content-type"), Some("text/csv"));
    assert_eq!(asked[1].line, "POST /v1/datasets");
    let new: serde_json::Value = serde_json::from_str(&asked[1].body).unwrap();
    assert_eq!(new["data"]["upload"]["id"], "u1");
    assert_eq!(
        (&new["schema"]["columns"][0]["bounds"][1], &new["filter"]["budget"]["epsilon"]),
        (&"120".into(), &"1".into())
    );
    let missing = ["dataset", "add", "x", "missing.csv", "--unit", "row", "--budget", "1,1e-6"];
    check(&ask(&sandbox, &server.url, &missing), 2, &["missing.csv"]);
}

#[test]
fn public_tables_are_uploaded_listed_and_removed() {
    let sandbox = Sandbox::with_people();
    std::fs::write(sandbox.path("regions.csv"), "region,capital\nnorth,Kiel\n").unwrap();
    let add = ["dataset", "public", "regions", "regions.csv"];
    let registered = document(&sandbox, &add);
    let table = registered.clone();
    let server = Responder::new(move |asked, _| match asked.line.as_str() {
        "POST /v1/uploads" => Some((201, JSON, r#"{"upload":"u1","bytes":28}"#.to_string())),
        "POST /v1/public-tables" => Some((201, JSON, table.clone())),
        "GET /v1/public-tables" => Some((200, JSON, format!("[{table}]"))),
        "POST /v1/public-tables/regions/remove" => Some((200, JSON, r#"{"removed":"regions"}"#.to_string())),
        _ => None,
    });
    let replace = [&add[..], &["--replace"]].concat();
    check(&ask(&sandbox, &server.url, &replace), 0, &["a public table of 1 rows", "capital"]);
    check(&ask(&sandbox, &server.url, &["dataset", "public"]), 0, &["regions", "capital"]);
    check(&ask(&sandbox, &server.url, &["dataset", "public", "regions", "--remove"]), 0, &["is removed"]);
    let asked = server.requests();
    assert_eq!((asked[0].line.as_str(), asked[0].body.as_str()), ("POST /v1/uploads", "region,capital\nnorth,Kiel\n"));
    let new: serde_json::Value = serde_json::from_str(&asked[1].body).unwrap();
    assert_eq!((&new["public_table"], &new["upload"]), (&"regions".into(), &"u1".into()));
    assert_eq!(new["replace"], true);
}

#[test]
fn top_shows_the_accounts_of_a_server_and_what_it_refused() {
    let sandbox = Sandbox::with_accounts();
    let refused = serde_json::json!({
        "time": "2026-01-02T03:04:05Z", "account": "census", "reason": "the budget does not allow it", "by": "alice",
    });
    let mut list = sandbox.document(0, &["account", "list"]);
    list["refusals"] = serde_json::json!({ "count": 7, "newest": [refused] });
    let server = Responder::new(move |_: &_, _| Some((200, JSON, list.to_string())));
    let output = ask(&sandbox, &server.url, &["top"]);
    check(&output, 0, &["census", "7 refusals", "2026-01-02 03:04:05", "alice", "the budget does not allow it"]);
    let output = ask(&sandbox, &server.url, &["top", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["refusals"]["count"], document["accounts"].as_array().unwrap().len()), (&7.into(), 3));
    assert_eq!(server.requests()[0].line, "GET /v1/accounts");
}
