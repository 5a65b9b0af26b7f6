//! `taximeter demo --serve` leaves a server running that has something to show.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::sandbox::Sandbox;
use serde_json::Value;
use taximeter_testing::{HttpConnection, wait_until};

/// A demo that is served, until it is dropped.
struct Served {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Served {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("taximeter"));
        command.args(["demo", "--serve"]).args(arguments).current_dir(sandbox.folder.path());
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the demo starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        Served { process, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("what it prints is text");
        line
    }

    fn signal(&mut self, signal: &str) -> Option<i32> {
        assert!(Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn get(address: SocketAddr, token: &str, path: &str) -> String {
    let mut connection = HttpConnection::open(address, Some(token)).expect("the server takes connections");
    let answer = connection.request("GET", path, "", None).expect("an answer");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

#[test]
fn a_ride_shows_where_basic_composition_would_have_ended_and_goes_on_for_long() {
    let sandbox = Sandbox::new();
    let ride = sandbox.done(&["demo"]);
    let line = ride.lines().position(|line| line.contains("by basic composition, the budget would be spent here"));
    let line = line.unwrap_or_else(|| panic!("{ride}"));
    let answers = |text: &str| text.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    let last = ride.lines().take_while(|line| !line.starts_with("The filter halted")).filter_map(answers).max();
    let before = ride.lines().take(line).filter_map(answers).max();
    assert!(last > before.map(|before| 3 * before), "{before:?} and {last:?} answers:\n{ride}");
}

#[test]
fn a_served_demo_has_accounts_answers_refusals_and_a_meter_that_runs_and_ends_in_order() {
    let sandbox = Sandbox::new();
    let mut served = Served::start(&sandbox, &["--listen", "127.0.0.1:0", "--json"]);
    let document: Value = serde_json::from_str(&served.line()).expect("one JSON document");
    let url = document["address"].as_str().unwrap();
    let address: SocketAddr =
        url.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap().parse().unwrap();
    let token = |principal: &str| {
        let mut tokens = document["tokens"].as_array().unwrap().iter();
        let holder = tokens.find(|token| token["principal"] == principal).unwrap_or_else(|| panic!("{principal}"));
        holder["token"].as_str().unwrap().to_string()
    };
    let read = |principal: &str, path: &str| -> Value {
        serde_json::from_str(&get(address, &token(principal), path)).expect("a document")
    };
    let accounts = read("olga", "/v1/accounts");
    let accounts = accounts["accounts"].as_array().unwrap();
    let names: Vec<&str> = accounts.iter().map(|account| account["account"].as_str().unwrap()).collect();
    assert_eq!(names, ["people", "people/alice", "people/bob", "surveys", "surveys/2025", "surveys/2026"]);
    for account in accounts {
        let spent = account["filter"]["spent"]["share"].as_f64().unwrap();
        assert!(spent > 0.0 && spent < 0.8 && account["charges"].as_u64().unwrap() > 3, "{account}");
    }
    assert_eq!(accounts[4]["standing"], "closed");
    // A refusal of each analyst, and one of the survey.
    let metrics = get(address, &token("vera"), "/metrics");
    assert!(metrics.lines().any(|line| line == "taximeter_refusals_total 3"), "{metrics}");
    for (principal, own) in [("alice", "people/alice"), ("bob", "people/bob")] {
        let history = read(principal, &format!("/v1/accounts/{}/history", own.replace('/', "%2F")));
        let records = history["records"].as_array().unwrap().iter();
        let charges: Vec<&Value> = records.filter(|record| record["what"] == "charge").collect();
        assert!(charges.len() > 3 && charges.iter().all(|record| record["by"] == principal), "{history}");
    }
    let charges = || read("vera", "/v1/accounts/surveys%2F2026")["charges"].as_u64().unwrap();
    let first = charges();
    wait_until("the meter goes on", || charges() >= first + 2);
    assert_eq!(served.signal("-INT"), Some(0));
    let verified = sandbox.document(0, &["verify", "--ledger", "taximeter-demo/taximeter.db"]);
    assert_eq!(verified["accounts"], 6, "{verified}");
}

#[test]
fn a_served_demo_says_where_it_is_and_how_to_sign_in() {
    let sandbox = Sandbox::new();
    let mut served = Served::start(&sandbox, &["--folder", "shown"]);
    let mut shown = String::new();
    while !shown.contains("Ctrl-C ends") {
        let line = served.line();
        assert!(!line.is_empty(), "it ended: {shown}");
        shown += &line;
    }
    for part in [
        "The dashboard is at http://127.0.0.1:",
        "expire in a day",
        "olga (owner)",
        "vera (auditor)",
        "alice (analyst)",
        "shown stays",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert_eq!(shown.lines().filter(|line| line.trim_start().starts_with("txm_")).count(), 4, "{shown}");
    assert_eq!(served.signal("-TERM"), Some(0));
}

#[test]
fn what_a_demo_cannot_serve_is_said_before_anything_is_made() {
    let sandbox = Sandbox::new();
    for (arguments, part) in [
        (&["--serve", "--listen", "0.0.0.0:7070"][..], "this machine alone"),
        (&["--serve", "--listen", "here"], "127.0.0.1:7070"),
        (&["--listen", "127.0.0.1:0"], "--serve"),
    ] {
        let message = sandbox.fails(2, &[&["demo"], arguments].concat());
        assert!(message.contains(part), "{arguments:?}: {part:?} is not in {message}");
    }
    assert!(!sandbox.path("taximeter-demo").exists());
}

#[test]
fn demo_rides_until_the_filter_halts() {
    let sandbox = Sandbox::new();
    let demo = sandbox.document(0, &["demo"]);
    let answered = |rule: &str| {
        let rows = demo["answered"].as_array().unwrap();
        rows.iter().find(|row| row["rule"] == rule).unwrap()["answered"].as_u64().unwrap()
    };
    let questions = demo["questions"].as_u64().unwrap();
    assert_eq!(answered("residue"), questions);
    assert!(answered("residue") > answered("whitehouse") && answered("whitehouse") > answered("basic"));
    assert!(demo["fixed_in_advance_optimal"].as_f64().unwrap() <= 1.0);
    assert!(demo["fixed_in_advance_answered"].as_u64().unwrap() >= questions);
    // The noise is real: once in some thousand rides it makes an outbreak where there is none, and hides none for long.
    let districts = |name: &str| demo[name].as_array().unwrap().clone();
    assert!(districts("outbreaks").iter().all(|district| districts("found").contains(district)), "{demo}");
    assert!(districts("found").len() <= districts("outbreaks").len() + 1, "{demo}");
    assert!(demo["refusals"].as_u64().unwrap() > 0);
    // The ledger, an account, a record for every answer.
    assert_eq!(demo["records_verified"], questions + 2);
    for figure in demo["figures"].as_array().unwrap() {
        let drawn = std::fs::read_to_string(sandbox.path(figure.as_str().unwrap())).unwrap();
        assert!(drawn.starts_with("<svg") && (drawn.contains("polyline") || drawn.contains("circle")), "{figure}");
    }
    let shown = sandbox.done(&["demo", "--seed", "8"]);
    assert!(shown.contains("halt:") && shown.contains("taximeter-demo-2"), "{shown}");
    assert!(sandbox.fails(2, &["demo", "--folder", "taximeter-demo"]).contains("--folder"));
    let people = |folder: &str| std::fs::read(sandbox.path(folder).join("people.csv")).unwrap();
    assert_ne!(people("taximeter-demo"), people("taximeter-demo-2"));
    sandbox.done(&["demo", "--folder", "again"]);
    assert_eq!(people("taximeter-demo"), people("again"), "a seed makes the people repeatable");
}
