//! The files in `deploy/`: they fit this program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Sandbox, Serving};

fn file(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_unit_starts_a_server_and_a_signal_ends_it() {
    let unit = file("taximeter.service");
    let setting = |name: &str| unit.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_string).collect();
    let [start]: [String; 1] = Vec::try_into(setting("ExecStart=")).unwrap();
    let environment: Vec<String> = setting("Environment=");
    let names: BTreeSet<&str> = environment.iter().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert_eq!(names, BTreeSet::from(["TAXIMETER_LEDGER", "TAXIMETER_WITNESS"]));

    let sandbox = Sandbox::new();
    sandbox.done(&["account", "create", "census", "--budget", "1,1e-6", "--witness", "elsewhere.witness"]);
    let words: Vec<&str> = start.split_whitespace().collect();
    assert_eq!(words[..4], ["/usr/local/bin/taximeter", "serve", "--listen", "127.0.0.1:7070"]);
    // Another port, since this one may be in use here.
    let more = [&words[4..], &["--witness", "elsewhere.witness"]].concat();
    let mut serving = Serving::start(&sandbox, &more);
    serving.is_ready(true);
    assert_eq!(serving.signal("-TERM"), Some(0));
}

#[test]
fn the_dashboard_for_grafana_shows_metrics_that_there_are() {
    let sandbox = Sandbox::with_accounts();
    sandbox.charge("census", "0.1");
    let token = sandbox.token("audrey", "auditor", &[]);
    let serving = Serving::start(&sandbox, &[]);
    let mut connection = serving.connect(&token);
    let mut get = |path: &str| connection.request("GET", path, "", None).unwrap().body;
    get("/v1/accounts");
    let served = get("/metrics");

    let dashboard: Value = serde_json::from_str(&file("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries: Vec<&str> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    let shown: BTreeSet<&str> = queries
        .iter()
        .flat_map(|query| query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')))
        .filter(|word| word.starts_with("taximeter_") || word.starts_with("process_"))
        .collect();
    for metric in &shown {
        assert!(served.lines().any(|line| line.starts_with(metric)), "{metric} is not served:\n{served}");
    }
    // And all that are served are shown, so that a new one is not forgotten.
    for metric in served.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_whitespace().next()) {
        let is_shown = shown.iter().any(|shown| shown.starts_with(metric));
        let is_left_out = ["taximeter_account_spent_epsilon", "taximeter_account_charges", "taximeter_account_open"];
        assert!(is_shown || is_left_out.contains(&metric), "{metric} is not on the dashboard");
    }
}
