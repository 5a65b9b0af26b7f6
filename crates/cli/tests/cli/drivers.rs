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
    use std::os::unix::process::ExitStatusExt;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use taximeter_testing::{BrokenDriver, wait_until};

    use super::*;
    use crate::sandbox::{Serving, check_contains, text};

    /// The signals of a process that aborts, and of one that reads memory that it does not have.
    const SIGABRT: i32 = 6;
    const SIGSEGV: i32 = 11;

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

    /// DuckDB's library, wherever it is found.
    fn duckdb_library(sandbox: &Sandbox) -> PathBuf {
        let document = sandbox.document(0, &["drivers"]);
        let drivers = document["drivers"].as_array().unwrap();
        let duckdb = drivers.iter().find(|driver| driver["name"] == "duckdb").unwrap();
        PathBuf::from(duckdb["library"].as_str().unwrap())
    }

    fn broken_driver(sandbox: &Sandbox) -> BrokenDriver {
        BrokenDriver::build(sandbox.folder.path(), &duckdb_library(sandbox))
            .unwrap_or_else(|message| panic!("{message}"))
    }

    /// A driver that crashes ends the program: that is the risk. Nothing is half done then.
    #[test]
    fn a_driver_that_crashes_ends_the_process_and_the_ledger_is_whole() {
        let sandbox = Sandbox::with_people();
        let driver = broken_driver(&sandbox).library.display().to_string();
        for (entry, signal) in [("aborts", SIGABRT), ("reads_nowhere", SIGSEGV)] {
            let lake = ["dataset", "add", "lake", "--parquet", "*.parquet", "--unit", "row", "--budget", "1,1e-6"];
            let moved = ["dataset", "move", "people", "--engine", "duckdb"];
            for command in [&lake[..], &moved] {
                let output = sandbox.run(&[command, &["--driver", &driver, "--entry", entry]].concat());
                assert_eq!(output.status.signal(), Some(signal), "{command:?}, {entry}: {output:?}");
                sandbox.done(&["verify"]);
                assert!(sandbox.fails(2, &["dataset", "show", "lake"]).contains("lake"));
                assert!(sandbox.fails(2, &["account", "show", "lake"]).contains("lake"));
                assert_eq!(sandbox.document(0, &["dataset", "show", "people"])["version"], 1);
                sandbox.done(&["ask", "people", "SELECT COUNT(*) FROM people", "--epsilon", "0.01"]);
            }
        }
    }

    #[test]
    fn a_driver_of_another_version_is_refused_with_what_it_must_be() {
        let sandbox = Sandbox::with_people();
        let driver = broken_driver(&sandbox).library.display().to_string();
        let add = ["dataset", "add", "lake", "--parquet", "*.parquet", "--unit", "row", "--budget", "1,1e-6"];
        let message =
            sandbox.fails(1, &[&add[..], &["--driver", &driver, "--entry", "knows_another_version"]].concat());
        check_contains(&message, &["libbroken.so cannot be loaded", "must be a driver of ADBC 1.1"]);
        assert!(sandbox.fails(2, &["account", "show", "lake"]).contains("lake"));
    }

    /// A server dies with its driver, in the middle of a question. The one that is started in its place answers everything else, and says
    /// of the question that it was charged and has no answer.
    #[test]
    fn a_server_that_is_started_again_after_a_driver_crashed_goes_on() {
        let sandbox = Sandbox::with_people();
        let driver = broken_driver(&sandbox);
        let library = driver.library.display().to_string();
        let add =
            ["dataset", "add", "many", "people.csv", "--unit", "row", "--bounds", "age=0..99", "--budget", "9,1e-6"];
        sandbox.done(&[&add[..], &["--engine", "duckdb", "--driver", &library, "--entry", "aborts_later"]].concat());
        let olga = sandbox.token("olga", "owner", &[]);
        let ask = |server: &Serving, key: &str, dataset: &str| {
            let (question, headers) =
                (format!("SELECT SUM(age) FROM {dataset}"), format!("idempotency-key: {key}\r\n"));
            let body = serde_json::json!({"dataset": dataset, "question": question, "price": {"epsilon": "0.1"}});
            server.connect(&olga).request("POST", "/v1/questions", &headers, Some(&body.to_string()))
        };
        let status = |server: &Serving, key: &str, dataset: &str| ask(server, key, dataset).unwrap().status;
        let charges = || sandbox.document(0, &["account", "show", "many"])["charges"].as_u64().unwrap();

        let mut server = Serving::start(&sandbox, &[]);
        assert_eq!(status(&server, "one", "many"), 201);
        std::fs::write(&driver.abort_file, "").unwrap();
        assert!(ask(&server, "two", "many").is_err());
        assert_eq!((server.ends(), charges()), (None, 2));

        let mut server = Serving::start(&sandbox, &[]);
        assert_eq!((status(&server, "three", "people"), status(&server, "one", "many")), (201, 200));
        let answer = ask(&server, "two", "many").unwrap();
        assert!(answer.status == 424 && answer.body.contains("no-answer"), "{}", answer.body);
        assert_eq!(charges(), 2);
        // As long as the driver is what it is, the same happens again.
        assert!(ask(&server, "four", "many").is_err());
        assert_eq!((server.ends(), charges()), (None, 3));

        std::fs::remove_file(&driver.abort_file).unwrap();
        let server = Serving::start(&sandbox, &[]);
        assert_eq!((status(&server, "four", "many"), status(&server, "five", "many")), (424, 201));
        assert_eq!(charges(), 4);
        sandbox.done(&["verify"]);
    }

    /// Many rows go to DuckDB by themselves. If it fails, SQLite has them, and the owner is told.
    #[test]
    fn rows_stay_in_sqlite_if_duckdb_fails_and_was_not_asked_for() {
        let sandbox = Sandbox::with_people();
        let library = broken_driver(&sandbox).library;
        let drivers = sandbox.path("drivers");
        std::fs::create_dir(&drivers).unwrap();
        let manifest = format!("[Driver]\nentrypoint = 'fails_later'\nshared = '{}'", library.display());
        std::fs::write(drivers.join("duckdb.toml"), manifest).unwrap();
        let rows: String = (0..500_000).map(|row| format!("{}\n", row % 100)).collect();
        std::fs::write(sandbox.path("many.csv"), format!("age\n{rows}")).unwrap();
        let run = |arguments: &[&str]| {
            let output = sandbox.command(arguments).env("TAXIMETER_DRIVERS", &drivers).output().unwrap();
            (output.status.code(), text(&output))
        };
        let add =
            ["dataset", "add", "many", "many.csv", "--unit", "row", "--bounds", "age=0..99", "--budget", "9,1e-6"];
        let (code, told) = run(&add);
        assert_eq!(code, Some(0), "{told}");
        check_contains(
            &told,
            &["note: DuckDB could not store these rows, so they are in SQLite", "dataset move many --engine duckdb"],
        );
        let data = sandbox.document(0, &["dataset", "show", "many"])["data"].clone();
        assert!(data.as_str().unwrap().ends_with("many.v1.db"), "{data}");
        let (code, told) = run(&["ask", "many", "SELECT COUNT(*) FROM many", "--epsilon", "1"]);
        assert_eq!(code, Some(0), "{told}");
        // Who asks for DuckDB gets the error.
        let (code, told) = run(&["dataset", "move", "many", "--engine", "duckdb"]);
        assert_eq!(code, Some(1), "{told}");
    }
}
