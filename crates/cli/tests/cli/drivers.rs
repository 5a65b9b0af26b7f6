//! `drivers`, and data that drivers read: from the command line of this machine alone.

use crate::sandbox::Sandbox;

#[test]
fn drivers_and_paths_are_not_sent_to_a_server() {
    let sandbox = Sandbox::with_people();
    let server = ["--server", "http://127.0.0.1:9"];
    for command in [
        &["dataset", "add", "lake", "--parquet", "*.parquet", "--unit", "row", "--budget", "1"][..],
        &["dataset", "add", "more", "people.csv", "--engine", "duckdb", "--unit", "row", "--budget", "1"],
        &["dataset", "move", "people", "--engine", "duckdb"],
    ] {
        let message = sandbox.fails(2, &[command, &server].concat());
        assert!(message.contains("the server's machine") || message.contains("token"), "{command:?}: {message}");
    }
}

#[test]
fn a_driver_goes_with_data_that_it_reads() {
    let sandbox = Sandbox::with_people();
    let add = ["dataset", "add", "more", "people.csv", "--unit", "row", "--budget", "1", "--driver", "duckdb"];
    assert!(sandbox.fails(2, &add).contains("--driver goes with --parquet, --adbc or --engine duckdb"));
    assert!(sandbox.fails(2, &["dataset", "move", "people", "--engine", "sqlite"]).contains("--engine sqlite"));
}

#[test]
#[cfg(not(feature = "adbc"))]
fn a_program_without_drivers_says_so() {
    let sandbox = Sandbox::with_people();
    assert!(sandbox.fails(2, &["drivers"]).contains("built without drivers"));
    let add = ["dataset", "add", "lake", "--parquet", "*.parquet", "--unit", "row", "--budget", "1"];
    assert!(sandbox.fails(1, &add).contains("built without drivers"));
}

#[cfg(feature = "driver-tests")]
mod with_duckdb {
    use std::process::{Command, Stdio};

    use taximeter_testing::wait_until;

    use super::*;

    #[test]
    fn the_drivers_that_are_found_are_listed_with_where_they_were_looked_for() {
        let sandbox = Sandbox::with_people();
        let text = sandbox.done(&["drivers"]);
        assert!(text.contains("duckdb") && text.contains("can be used") && text.contains("looked in:"), "{text}");
        let document = sandbox.document(0, &["drivers"]);
        let duckdb = document["drivers"].as_array().unwrap().iter().find(|driver| driver["name"] == "duckdb").unwrap();
        assert_eq!(duckdb["entry"], "duckdb_adbc_init");
        assert!(!document["looked"].as_array().unwrap().is_empty());
    }

    #[test]
    fn a_dataset_moves_to_duckdb_and_is_asked_there() {
        let sandbox = Sandbox::with_people();
        let before = sandbox.document(0, &["dataset", "show", "people"])["rows"].clone();
        let moved = sandbox.document(0, &["dataset", "move", "people", "--engine", "duckdb"]);
        assert_eq!((&moved["version"], &moved["rows"]), (&serde_json::json!(2), &before));
        assert!(moved["data"].as_str().unwrap().contains("DuckDB"), "{moved}");
        sandbox.done(&["ask", "people", "SELECT COUNT(*) FROM people", "--epsilon", "0.1"]);
        sandbox.done(&["dataset", "check", "people"]);
    }

    /// A process that ends in the middle of a question, as a driver that crashes would end it: the question is charged, and has no answer.
    #[test]
    fn a_process_that_is_killed_while_duckdb_computes_leaves_charged_no_answer() {
        let sandbox = Sandbox::with_people();
        let rows: String =
            (0..400_000u64).map(|row| format!("{},{}\n", row % 100, row * 2_654_435_761 % 1_000_003)).collect();
        std::fs::write(sandbox.path("many.csv"), format!("age,code\n{rows}")).unwrap();
        let add =
            ["dataset", "add", "many", "many.csv", "--unit", "row", "--bounds", "age=0..99", "--engine", "duckdb"];
        sandbox.done(&[&add[..], &["--budget", "1000,1e-6"]].concat());
        let question = "SELECT COUNT(DISTINCT code), SUM(age), MEDIAN(age) FROM many";
        let charges = || sandbox.document(0, &["account", "show", "many"])["charges"].as_u64().unwrap();
        let mut without = false;
        for round in 0..20 {
            let (key, before) = (format!("k{round}"), charges());
            let ask = ["ask", "many", question, "--epsilon", "1", "--key", &key, "--json"];
            let mut child = Command::new(assert_cmd::cargo::cargo_bin("taximeter"))
                .args(ask)
                .current_dir(sandbox.folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            wait_until("the question is charged", || charges() > before || child.try_wait().unwrap().is_some());
            let _ = child.kill();
            child.wait().unwrap();
            let again = sandbox.run(&ask);
            assert!(matches!(again.status.code(), Some(0 | 5 | 6)), "{again:?}");
            assert_eq!(charges(), before + 1, "round {round}");
            without |= again.status.code() == Some(5);
            if without {
                break;
            }
        }
        assert!(without, "no process was killed between the charge and the answer");
        sandbox.done(&["verify"]);
    }
}
