//! `dataset`: registering data and its analysts.

use serde_json::Value;

use crate::questions::COUNT;
use crate::sandbox::{Sandbox, here_and_at_a_server, text};

here_and_at_a_server! {
    an_account_that_protects_something_else_is_refused_before_the_data_are_imported,
    an_analyst_has_the_rule_of_the_dataset_unless_another_is_chosen,
    a_dataset_below_another_one_is_not_its_analyst,
    what_cannot_be_declared_is_refused_with_what_to_do,
    newer_data_keep_what_was_declared_unless_it_is_said_again,
    a_dataset_may_stand_below_an_account_that_is_there,
    the_same_data_twice_are_warned_about,
    a_dataset_with_units_says_which_rows_count,
    whose_privacy_is_protected_must_be_said,
}

#[test]
fn flags_that_would_change_nothing_are_refused() {
    let sandbox = Sandbox::with_people();
    for arguments in [
        vec!["ask", "people", COUNT, "--epsilon", "0.1", "--noise", "gaussian"],
        vec!["dataset", "add", "more", "people.csv", "--table", "people", "--budget", "1,1e-6"],
        vec!["dataset", "add", "people", "--analyst", "alice", "--budget", "1,1e-6", "--schema", "people.toml"],
        vec!["dataset", "add", "people", "--analyst", "alice", "--budget", "1,1e-6", "--allow-reuse"],
    ] {
        assert!(sandbox.fails(2, &arguments).contains("cannot be used with"), "{arguments:?}");
    }
}

#[test]
fn a_public_table_is_registered_joined_replaced_and_removed() {
    let sandbox = Sandbox::with_people();
    std::fs::write(sandbox.path("regions.csv"), "region,capital\nnorth,Kiel\nsouth,Munich\n").unwrap();
    let add = ["dataset", "public", "regions", "regions.csv"];
    assert!(sandbox.done(&add).contains("a public table of 2 rows"));
    assert!(sandbox.fails(2, &add).contains("already exists"));
    assert_eq!(sandbox.document(0, &[&add[..], &["--replace"]].concat())["columns"][0]["unique"], true);
    for command in [&["dataset", "list"][..], &["dataset", "public"], &["dataset", "show", "regions"]] {
        assert!(sandbox.done(command).contains("capital"), "{command:?}");
    }
    assert_eq!(sandbox.document(0, &["dataset", "public"])[0]["public_table"], "regions");
    let question = "SELECT capital, COUNT(*) FROM people JOIN regions USING (region) GROUP BY capital";
    let ask = ["ask", "people", question, "--epsilon", "0.1"];
    assert!(sandbox.done(&ask).contains("Munich"));
    assert!(sandbox.done(&["dataset", "public", "regions", "--remove"]).contains("removed"));
    assert!(sandbox.fails(2, &ask).contains("neither a public table nor another dataset"));
    assert!(sandbox.fails(2, &["dataset", "public", "people", "regions.csv"]).contains("taken by a dataset"));
}

fn an_account_that_protects_something_else_is_refused_before_the_data_are_imported(sandbox: &Sandbox) {
    sandbox.add_people();
    sandbox.done(&["account", "create", "town", "--budget", "2,1e-6", "--unit", "household"]);
    let add = ["dataset", "add", "town/people", "people.csv", "--unit", "row", "--budget", "1,1e-6"];
    assert!(sandbox.fails(2, &add).contains("--unit"));
    assert!(!sandbox.path("taximeter.db.gate/town%2Fpeople.v1.db").exists());
}

fn an_analyst_has_the_rule_of_the_dataset_unless_another_is_chosen(sandbox: &Sandbox) {
    sandbox.add_people();
    sandbox.done(&["dataset", "add", "others", "people.csv", "--unit", "row", "--budget", "1,1e-6", "--rule", "zcdp"]);
    sandbox.done(&["dataset", "add", "others", "--analyst", "alice", "--budget", "0.5,1e-6"]);
    let rule = |account| sandbox.document(0, &["account", "show", account])["filter"]["rule"].clone();
    assert_eq!(rule("others/alice"), "zcdp");
    sandbox.done(&["ask", "others", "SELECT COUNT(*) FROM others", "--gaussian", "0.05", "--by", "alice"]);
    sandbox.done(&["dataset", "add", "others", "--analyst", "bob", "--budget", "0.5,1e-6", "--rule", "residue"]);
    assert_eq!(rule("others/bob"), "residue");
}

fn a_dataset_below_another_one_is_not_its_analyst(sandbox: &Sandbox) {
    sandbox.add_people();
    sandbox.done(&["dataset", "add", "people/sample", "people.csv", "--unit", "row", "--budget", "0.5,1e-6"]);
    assert!(sandbox.done(&["dataset", "show", "people"]).contains("none but the owner"));
    let question = "SELECT COUNT(*) FROM people/sample";
    let message = sandbox.fails(2, &["ask", "people/sample", question, "--epsilon", "0.1"]);
    assert!(message.contains("write \"people/sample\", with the quotes"), "{message}");
}

#[cfg(unix)]
#[test]
fn other_users_may_not_look_into_the_folder_of_the_gate() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_people();
    for (name, mode) in [("taximeter.db.gate", 0o700), ("taximeter.db.gate/gate.db", 0o600)] {
        let permissions = std::fs::metadata(sandbox.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn other_separators_encodings_and_words_for_missing_values_are_read() {
    let sandbox = Sandbox::new();
    let shown = |name: &str, bytes: &[u8], form: &[&str]| {
        std::fs::write(sandbox.path("people.csv"), bytes).unwrap();
        let add = ["dataset", "add", name, "people.csv", "--unit", "row", "--budget", "1,1e-6"];
        let schema = sandbox.document(0, &[&add[..], form].concat())["schema"].clone();
        let columns = schema["columns"].as_array().unwrap().iter();
        columns.map(|column| format!("{} {}", column["name"], column["type"]).replace('"', "")).collect::<Vec<_>>()
    };
    assert_eq!(shown("semicolons", b"age;region\n30;north\n", &[]), ["age integer", "region text"]);
    assert_eq!(shown("tabs", b"age\tregion\n30\tnorth\n", &[]), ["age integer", "region text"]);
    assert_eq!(shown("said", b"a,ge;region\n30;north\n", &["--delimiter", ";"]), ["a,ge integer", "region text"]);
    assert_eq!(shown("latin", b"gr\xf6\xdfe\n180\n", &["--encoding", "latin1"]), ["größe integer"]);
    assert_eq!(shown("missing", b"age,sex\n30,m\nNA,-\n", &["--na", "NA", "--na", "-"])[0], "age integer");
}

#[test]
fn a_file_without_a_header_is_noticed() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("people.csv"), "30,north\n").unwrap();
    let output = sandbox.run(&["dataset", "add", "rows", "people.csv", "--unit", "row", "--budget", "1,1e-6"]);
    for part in ["a column is called 30", "no rows count"] {
        assert!(text(&output).contains(part), "{}", text(&output));
    }
}

#[test]
fn what_is_no_csv_file_makes_no_ledger() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("people.parquet"), b"PAR1\x15\x04\x15\x00PAR1").unwrap();
    for (file, part) in
        [("missing.csv", "file not found"), ("people.parquet", "it is a Parquet file"), (".", "a folder")]
    {
        let message = sandbox.fails(2, &["dataset", "add", "people", file, "--unit", "row", "--budget", "1,1e-6"]);
        assert!(message.contains(part), "{message}");
        assert!(!sandbox.path("taximeter.db").exists(), "{file}");
    }
}

#[test]
fn a_declared_column_that_the_file_lacks_makes_nothing() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("people.csv"), "age\n30\n").unwrap();
    let add = ["dataset", "add", "people", "people.csv", "--budget", "1,1e-6"];
    for declared in [
        &["--unit", "nosuch", "--max-rows-per-unit", "1"][..],
        &["--unit", "row", "--bounds", "AGE=0..120"],
        &["--unit", "row", "--categories", "region=north"],
        &["--unit", "row", "--type", "zip=text"],
    ] {
        let message = sandbox.fails(2, &[&add[..], declared].concat());
        assert!(message.contains("column") && message.contains("age"), "{message}");
        let made: Vec<_> =
            std::fs::read_dir(sandbox.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(made, ["people.csv"], "{declared:?}");
    }
}

#[test]
fn a_file_in_another_encoding_names_the_flag() {
    let sandbox = Sandbox::new();
    let add = ["dataset", "add", "people", "people.csv", "--unit", "row", "--budget", "1,1e-6"];
    for bytes in [b"gr\xf6\xdfe\n180\n".as_slice(), b"name\nJ\xfcrgen\n"] {
        std::fs::write(sandbox.path("people.csv"), bytes).unwrap();
        let message = sandbox.fails(2, &add);
        assert!(message.contains("not UTF-8") && message.contains("--encoding latin1"), "{message}");
    }
}

fn whose_privacy_is_protected_must_be_said(sandbox: &Sandbox) {
    sandbox.add_people();
    let add = ["dataset", "add", "others", "people.csv", "--budget", "1,1e-6"];
    let message = sandbox.fails(2, &add);
    assert!(message.contains("--unit row") && message.contains("--max-rows-per-unit"), "{message}");
    // A schema file may say it, and newer data are about the same.
    std::fs::write(sandbox.path("others.toml"), "unit = \"row\"\n").unwrap();
    sandbox.done(&[&add[..], &["--schema", "others.toml"]].concat());
    std::fs::write(sandbox.path("newer.toml"), "[columns.age]\nbounds = [0, 90]\n").unwrap();
    let newer = ["dataset", "add", "others", "people.csv", "--new-version", "--schema", "newer.toml"];
    assert_eq!(sandbox.document(0, &newer)["schema"]["unit"], "row");
}

#[test]
fn bad_rows_are_listed_with_their_lines_and_nothing_is_imported_unless_they_may_be_skipped() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("people.csv"), "age,region\n30,north\nold,south\n50\n60,north\n").unwrap();
    let add =
        ["dataset", "add", "people", "people.csv", "--unit", "row", "--type", "age=integer", "--budget", "1,1e-6"];
    let message = sandbox.fails(2, &add);
    assert!(
        message.contains("line 3") && message.contains("line 4") && message.contains("--skip-bad-rows"),
        "{message}"
    );
    let output = sandbox.run(&[&add[..], &["--skip-bad-rows", "--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((&document["imported"]["kept"], &document["imported"]["bad_rows"]), (&2.into(), &2.into()));
    assert!(text(&output).contains("line 3"));
}

fn what_cannot_be_declared_is_refused_with_what_to_do(sandbox: &Sandbox) {
    sandbox.add_people();
    for (arguments, part) in [
        (vec!["--bounds", "age=120..0"], "below the upper"),
        (vec!["--bounds", "age=0..NaN"], "the number \"NaN\": it must be made of digits"),
        (vec!["--bounds", "age=0..120/0.5"], "whole number"),
        (vec!["--bounds", "age=0..120/7"], "not on the grid"),
        (vec!["--bounds", "region=0..1"], "has no bounds"),
        (vec!["--bounds", "wage=0..1"], "do not have"),
        (vec!["--categories", "age=1,2,1"], "twice"),
        (vec!["--bounds", "age=0..120", "--bounds", "age = 0..90"], "--bounds is given twice for the column age"),
        (vec!["--type", "age=real", "--type", "age=integer"], "--type is given twice"),
        (vec!["--min-epsilon", "little"], "--min-epsilon"),
        (vec!["--unit", "age"], "--max-rows-per-unit 1"),
        (vec!["--unit", "wage", "--max-rows-per-unit", "1"], "which the data do not have"),
        (vec!["--unit", "age", "--max-rows-per-unit", "0"], "between 1"),
        (vec!["--timeout", "-1"], "--timeout"),
        (vec!["--timeout", "NaN"], "--timeout"),
        (vec!["--timeout", "0"], "at least a millisecond"),
        (vec!["--schema", "missing.toml"], "cannot be read"),
    ] {
        let unit: &[&str] = if arguments[0] == "--unit" { &[] } else { &["--unit", "row"] };
        let add = ["dataset", "add", "others", "people.csv", "--budget", "1,1e-6"];
        let message = sandbox.fails(2, &[&add[..], unit, &arguments[..]].concat());
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
    assert!(sandbox.fails(2, &["dataset", "add", "others", "people.csv", "--unit", "row"]).contains("--budget"));
    assert!(sandbox.fails(2, &["dataset", "add", "people", "people.csv", "--unit", "row"]).contains("--new-version"));
    assert!(sandbox.fails(2, &["dataset", "add", "others", "--budget", "1,1e-6"]).contains("CSV file"));
    assert_eq!(sandbox.document(0, &["dataset", "list"]).as_array().unwrap().len(), 1);
}

fn newer_data_keep_what_was_declared_unless_it_is_said_again(sandbox: &Sandbox) {
    sandbox.add_people();
    std::fs::write(sandbox.path("newer.csv"), "age,region\n1,north\n200,south\n").unwrap();
    let newer = |more: &[&str]| {
        sandbox.document(0, &[&["dataset", "add", "people", "newer.csv", "--new-version"], more].concat())
    };
    let second = newer(&["--allow-reuse", "--timeout", "5"]);
    assert_eq!((&second["version"], &second["schema"]["columns"][0]["bounds"][1]), (&2.into(), &"120".into()));
    assert_eq!(second["schema"]["columns"][1]["categories"][1], "south");
    let third = newer(&["--bounds", "age=0..90"]);
    assert_eq!(third["schema"]["columns"][0]["bounds"][1], "90");
    let shown = sandbox.document(0, &["dataset", "show", "people"]);
    assert_eq!((&shown["reuse"], &shown["timeout_seconds"]), (&true.into(), &5.0.into()));
    newer(&["--allow-reuse=false"]);
    assert_eq!(sandbox.document(0, &["dataset", "show", "people"])["reuse"], false);
    assert!(
        sandbox
            .fails(2, &["dataset", "add", "others", "newer.csv", "--new-version"])
            .contains("dataset others not found")
    );
}

fn a_dataset_may_stand_below_an_account_that_is_there(sandbox: &Sandbox) {
    sandbox.add_people();
    sandbox.done(&["account", "create", "town", "--budget", "1,1e-6"]);
    sandbox.done(&["dataset", "add", "town/people", "people.csv", "--unit", "row", "--budget", "0.5,1e-6"]);
    sandbox.done(&["ask", "town/people", "SELECT COUNT(*) FROM \"town/people\"", "--epsilon", "0.1"]);
    assert_eq!(sandbox.document(0, &["account", "show", "town"])["charges"], 1);
}

fn the_same_data_twice_are_warned_about(sandbox: &Sandbox) {
    sandbox.add_people();
    let output = sandbox.run(&["dataset", "add", "copy", "people.csv", "--unit", "row", "--budget", "1,1e-6"]);
    assert!(text(&output).contains("the same data are registered as people"), "{}", text(&output));
}

fn a_dataset_with_units_says_which_rows_count(sandbox: &Sandbox) {
    let rows: String = (0..90).map(|row| format!("p{},{}\n", row % 10, row)).collect();
    std::fs::write(sandbox.path("visits.csv"), format!("person,cost\n{rows},5\n")).unwrap();
    let shown = sandbox.done(&[
        "dataset",
        "add",
        "visits",
        "visits.csv",
        "--unit",
        "person",
        "--max-rows-per-unit",
        "3",
        "--bounds",
        "cost=0..100",
        "--budget",
        "1,1e-6",
    ]);
    assert!(
        shown.contains("30 of 91; left out: 1 without a unit, 60 over the limit per unit, 0 that cannot be read"),
        "{shown}"
    );
    let explained =
        sandbox.document(0, &["ask", "visits", "SELECT SUM(cost) FROM visits", "--epsilon", "1", "--explain"]);
    assert_eq!(explained["parts"][0]["sensitivity"], 300);
}
