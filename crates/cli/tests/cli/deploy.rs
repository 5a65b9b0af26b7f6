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

/// The arguments that the image starts the program with, but for the address: a port of this machine that is free.
fn image_arguments() -> Vec<String> {
    let image = file("Containerfile");
    let [command]: [&str; 1] =
        Vec::try_into(image.lines().filter_map(|line| line.strip_prefix("CMD ")).collect()).unwrap();
    let words: Vec<String> = serde_json::from_str(command).unwrap();
    assert_eq!(words[..4], ["serve", "--create", "--listen", "0.0.0.0:7070"]);
    [&words[1..2], &words[4..]].concat()
}

#[test]
fn the_image_starts_a_server_without_a_ledger_and_again_with_it() {
    let image = file("Containerfile");
    assert!(image.contains("\nUSER 10001\n") && image.contains("TAXIMETER_LEDGER=/data/taximeter.db"));
    let sandbox = Sandbox::new();
    let arguments = image_arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--witness", "elsewhere.witness"]).collect();
    for _ in 0..2 {
        let mut serving = Serving::start(&sandbox, &arguments);
        serving.is_ready(true);
        assert_eq!(serving.signal("-TERM"), Some(0));
    }
    // A ledger that is lost is not replaced by an empty one, whose budgets would be whole again.
    fs::remove_file(sandbox.path("taximeter.db")).unwrap();
    let lost = [&["serve", "--listen", "127.0.0.1:0"][..], &arguments].concat();
    for _ in 0..2 {
        assert!(sandbox.fails(4, &lost).contains("witness"));
    }
}

/// Where nothing but the volumes is written to, `backup check` and large sorts need a folder in one of them.
#[test]
fn temporary_files_are_in_a_volume() {
    let image = file("Containerfile");
    let volumes = image.lines().find_map(|line| line.strip_prefix("VOLUME ")).expect("volumes");
    let volumes: Vec<String> = serde_json::from_str(volumes).unwrap();
    let variables = image.lines().filter_map(|line| line.strip_prefix("ENV ")).flat_map(|line| line.split(' '));
    let variables: Vec<(&str, &str)> = variables.filter_map(|variable| variable.split_once('=')).collect();
    for name in ["TMPDIR", "SQLITE_TMPDIR"] {
        let (_, folder) = variables.iter().find(|(other, _)| *other == name).expect(name);
        // A volume of an earlier image, or a folder of the host, has no folders in it that this image makes.
        assert!(volumes.iter().any(|volume| volume == folder), "{name}={folder}");
    }
    let composition = file("compose.yaml");
    assert!(composition.contains("read_only: true") && !composition.contains("TMPDIR"));
    for volume in &volumes {
        assert!(composition.contains(&format!(":{volume}\n")), "{volume} is no volume of the composition");
    }

    // And that is where they go: without such a folder, a backup cannot be checked.
    let sandbox = Sandbox::with_accounts();
    sandbox.done(&["backup", "create", "copy"]);
    let check = |folder: &str| {
        let mut command = sandbox.command(&["backup", "check", "copy"]);
        command.env("TMPDIR", sandbox.path(folder)).output().unwrap().status.success()
    };
    fs::create_dir(sandbox.path("temporary")).unwrap();
    assert!(check("temporary") && !check("nowhere"));
}

/// The program of a release, in the image too.
#[test]
fn the_image_has_the_features_of_a_release() {
    assert!(file("Containerfile").contains("cargo build --release --locked --package taximeter --features adbc\n"));
}

#[test]
#[cfg(feature = "server-tests")]
fn the_composition_starts_a_server_on_postgresql() {
    let composition = file("compose.yaml");
    let setting = |name: &str| {
        let line = composition.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{name} is not set")).to_string()
    };
    for name in ["TAXIMETER_DATA", "TAXIMETER_WITNESS"] {
        assert!(setting(name).starts_with('/'), "{name}");
    }
    let (_, options) =
        setting("TAXIMETER_LEDGER").split_once("/taximeter?").map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    let mut sandbox = Sandbox::new();
    let database = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
    sandbox.ledger = Some(format!("{database}?{options}"));
    let arguments = image_arguments();
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).chain(["--witness", "elsewhere.witness", "--data", "gate"]).collect();
    let mut serving = Serving::start(&sandbox, &arguments);
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
