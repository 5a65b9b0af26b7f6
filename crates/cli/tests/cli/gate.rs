//! Data behind a budget, as one uses it at the command line.

use crate::desk::{Desk, at_both_desks, text};
use serde_json::Value;

at_both_desks! {
    a_file_becomes_a_dataset_that_answers,
    the_same_key_prints_the_same_bytes,
    a_budget_that_is_gone_refuses_with_3_and_a_question_without_an_answer_ends_with_5,
    an_explanation_charges_nothing,
    what_is_wrong_with_a_question_is_marked,
    a_question_that_is_only_explained_is_marked_as_well,
    the_history_shows_what_was_asked,
    an_account_that_protects_something_else_is_refused_before_the_data_are_imported,
    an_analyst_has_the_rule_of_the_dataset_unless_another_is_chosen,
    a_dataset_below_another_one_is_not_its_analyst,
    an_analyst_pays_from_a_budget_of_their_own,
    what_cannot_be_declared_is_refused_with_what_to_do,
    newer_data_keep_what_was_declared_unless_it_is_said_again,
    a_dataset_may_stand_below_an_account_that_is_there,
    the_same_data_twice_are_warned_about,
    questions_are_read_line_by_line_from_a_pipe,
    every_line_for_programs_is_a_document,
    a_dataset_with_units_says_which_rows_count,
    whose_privacy_is_protected_must_be_said,
    a_floor_keeps_questions_from_being_too_cheap,
    an_average_tells_what_was_paid_for,
    a_bad_question_from_a_pipe_does_not_end_the_others,
    a_question_may_have_several_lines,
    a_mistake_in_a_pipe_is_told_with_its_line_and_the_rest_goes_on,
}

/// A desk with the dataset `people`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.add_people();
    desk
}

const COUNT: &str = "SELECT COUNT(*) FROM people";

fn value(answer: &Value) -> f64 {
    answer["rows"][0][0]["value"].as_f64().unwrap()
}

fn a_file_becomes_a_dataset_that_answers(desk: &Desk) {
    desk.add_people();
    let answer = desk.document(0, &["ask", "people", COUNT, "--epsilon", "0.5"]);
    assert!((value(&answer) - 3000.0).abs() < 100.0);
    let shown =
        desk.done(&["ask", "people", "SELECT region, COUNT(*) FROM people GROUP BY region", "--epsilon", "0.1"]);
    for part in
        ["north", "south", "95% interval", "charged", "discrete-laplace", "one record added or removed", "reading"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let list = desk.document(0, &["dataset", "list"]);
    assert_eq!((&list[0]["dataset"], &list[0]["rows"]), (&"people".into(), &3000.into()));
    let show = desk.done(&["dataset", "show", "people"]);
    assert!(show.contains("0 to 120 in steps of 1") && show.contains("'north', 'south'"), "{show}");
    assert!(desk.done(&["dataset", "check", "people"]).contains("as it was registered"));
    assert!(desk.done(&["history", "people"]).contains("charge"));
    desk.done(&["verify"]);
}

fn the_same_key_prints_the_same_bytes(desk: &Desk) {
    desk.add_people();
    let ask = ["ask", "people", COUNT, "--epsilon", "0.1", "--key", "k", "--json"];
    assert_eq!(desk.done(&ask), desk.done(&ask));
    let again = desk.run(&ask);
    assert!(text(&again).contains("nothing was charged now"));
    assert!(desk.fails(2, &["ask", "people", COUNT, "--epsilon", "0.2", "--key", "k"]).contains("another question"));
}

fn a_budget_that_is_gone_refuses_with_3_and_a_question_without_an_answer_ends_with_5(desk: &Desk) {
    desk.add_people();
    let ask = ["ask", "people", COUNT, "--epsilon", "0.6", "--key", "k"];
    desk.done(&ask);
    let refused = desk.document(3, &["ask", "people", COUNT, "--epsilon", "0.6"]);
    assert_eq!((&refused["outcome"], &refused["refused"][0]["account"]), (&"refused".into(), &"people".into()));
    let records = rusqlite::Connection::open(desk.path("taximeter.db.gate/gate.db")).unwrap();
    records.execute_batch("DELETE FROM answers").unwrap();
    drop(records);
    assert!(desk.ends(5, &ask).contains("charged, but there is no answer (no-answer)"));
    assert_eq!(desk.document(5, &ask)["code"], "no-answer");
}

fn an_explanation_charges_nothing(desk: &Desk) {
    desk.add_people();
    let question = "SELECT SUM(age) FROM people WHERE region = 'north'";
    let explained = desk.done(&["ask", "people", question, "--epsilon", "0.1", "--explain"]);
    for part in ["WHERE \"region\" = ?1", "'north'", "1,200", "discrete-laplace", "ε = 0.1", "would be answered"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let document = desk.document(0, &["ask", "people", question, "--error", "500", "--explain"]);
    assert_eq!(document["parts"][0]["half_width"], 500);
    assert!(desk.ends(3, &["ask", "people", question, "--epsilon", "7", "--explain"]).contains("would be refused"));
    assert_eq!(desk.document(0, &["account", "show", "people"])["charges"], 0);
}

fn what_is_wrong_with_a_question_is_marked(desk: &Desk) {
    desk.add_people();
    let message = desk.fails(2, &["ask", "people", "SELECT COUNT(*) FROM people WHERE wage > 3", "--epsilon", "0.1"]);
    assert!(message.contains("at character 35"), "{message}");
    let lines: Vec<&str> = message.lines().collect();
    let mark = lines.iter().position(|line| line.trim() == "^").expect("a mark");
    assert_eq!(&lines[mark - 1][lines[mark].len() - 1..lines[mark].len() + 3], "wage");
}

fn a_question_that_is_only_explained_is_marked_as_well(desk: &Desk) {
    desk.add_people();
    let message = desk.fails(2, &["ask", "people", "SELECT COUNT(*) FROM men", "--epsilon", "0.1", "--explain"]);
    assert!(message.lines().any(|line| line.trim() == "^"), "{message}");
    assert!(!desk.fails(2, &["ask", "people", "", "--epsilon", "0.1"]).contains('^'));
}

#[test]
fn flags_that_would_change_nothing_are_refused() {
    let desk = desk();
    for arguments in [
        vec!["ask", "people", COUNT, "--epsilon", "0.1", "--noise", "gaussian"],
        vec!["dataset", "add", "more", "people.csv", "--table", "people", "--budget", "1,1e-6"],
        vec!["dataset", "add", "people", "--analyst", "alice", "--budget", "1,1e-6", "--schema", "people.toml"],
        vec!["dataset", "add", "people", "--analyst", "alice", "--budget", "1,1e-6", "--allow-reuse"],
    ] {
        assert!(desk.fails(2, &arguments).contains("cannot be used with"), "{arguments:?}");
    }
}

#[test]
fn asking_makes_no_folder() {
    let desk = desk();
    assert!(desk.fails(2, &["ask", "people", COUNT, "--epsilon", "0.1", "--data", "nowhere"]).contains("--data"));
    assert!(!desk.path("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn other_users_may_not_look_into_the_folder_of_the_gate() {
    use std::os::unix::fs::PermissionsExt;
    let desk = desk();
    for (name, mode) in [("taximeter.db.gate", 0o700), ("taximeter.db.gate/gate.db", 0o600)] {
        let permissions = std::fs::metadata(desk.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
}

fn the_history_shows_what_was_asked(desk: &Desk) {
    desk.add_people();
    desk.done(&["ask", "people", COUNT, "--epsilon", "0.1"]);
    let history = desk.done(&["history", "people"]);
    assert!(history.contains("SELECT COUNT(*)"), "{history}");
}

fn an_account_that_protects_something_else_is_refused_before_the_data_are_imported(desk: &Desk) {
    desk.add_people();
    desk.done(&["account", "create", "town", "--budget", "2,1e-6", "--unit", "household"]);
    let add = ["dataset", "add", "town/people", "people.csv", "--unit", "row", "--budget", "1,1e-6"];
    assert!(desk.fails(2, &add).contains("--unit"));
    assert!(!desk.path("taximeter.db.gate/town%2Fpeople.v1.db").exists());
}

fn an_analyst_has_the_rule_of_the_dataset_unless_another_is_chosen(desk: &Desk) {
    desk.add_people();
    desk.done(&["dataset", "add", "others", "people.csv", "--unit", "row", "--budget", "1,1e-6", "--rule", "zcdp"]);
    desk.done(&["dataset", "add", "others", "--analyst", "alice", "--budget", "0.5,1e-6"]);
    let rule = |account| desk.document(0, &["account", "show", account])["filter"]["rule"].clone();
    assert_eq!(rule("others/alice"), "zcdp");
    desk.done(&["ask", "others", "SELECT COUNT(*) FROM others", "--gaussian", "0.05", "--by", "alice"]);
    desk.done(&["dataset", "add", "others", "--analyst", "bob", "--budget", "0.5,1e-6", "--rule", "residue"]);
    assert_eq!(rule("others/bob"), "residue");
}

fn a_dataset_below_another_one_is_not_its_analyst(desk: &Desk) {
    desk.add_people();
    desk.done(&["dataset", "add", "people/sample", "people.csv", "--unit", "row", "--budget", "0.5,1e-6"]);
    assert!(desk.done(&["dataset", "show", "people"]).contains("none but the owner"));
    let question = "SELECT COUNT(*) FROM people/sample";
    let message = desk.fails(2, &["ask", "people/sample", question, "--epsilon", "0.1"]);
    assert!(message.contains("write \"people/sample\", with the quotes"), "{message}");
}

#[test]
fn other_separators_encodings_and_words_for_missing_values_are_read() {
    let desk = Desk::new();
    let shown = |name: &str, bytes: &[u8], form: &[&str]| {
        std::fs::write(desk.path("people.csv"), bytes).unwrap();
        let add = ["dataset", "add", name, "people.csv", "--unit", "row", "--budget", "1,1e-6"];
        let schema = desk.document(0, &[&add[..], form].concat())["schema"].clone();
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
    let desk = Desk::new();
    std::fs::write(desk.path("people.csv"), "30,north\n").unwrap();
    let output = desk.run(&["dataset", "add", "rows", "people.csv", "--unit", "row", "--budget", "1,1e-6"]);
    for part in ["a column is called 30", "no row counts"] {
        assert!(text(&output).contains(part), "{}", text(&output));
    }
}

#[test]
fn what_is_no_csv_file_makes_no_ledger() {
    let desk = Desk::new();
    std::fs::write(desk.path("people.parquet"), b"PAR1\x15\x04\x15\x00PAR1").unwrap();
    for (file, part) in
        [("missing.csv", "file not found"), ("people.parquet", "it is a Parquet file"), (".", "a folder")]
    {
        let message = desk.fails(2, &["dataset", "add", "people", file, "--unit", "row", "--budget", "1,1e-6"]);
        assert!(message.contains(part), "{message}");
        assert!(!desk.path("taximeter.db").exists(), "{file}");
    }
}

#[test]
fn a_declared_column_that_the_file_lacks_makes_nothing() {
    let desk = Desk::new();
    std::fs::write(desk.path("people.csv"), "age\n30\n").unwrap();
    let add = ["dataset", "add", "people", "people.csv", "--budget", "1,1e-6"];
    for declared in [
        &["--unit", "nosuch", "--max-rows-per-unit", "1"][..],
        &["--unit", "row", "--bounds", "AGE=0..120"],
        &["--unit", "row", "--categories", "region=north"],
        &["--unit", "row", "--type", "zip=text"],
    ] {
        let message = desk.fails(2, &[&add[..], declared].concat());
        assert!(message.contains("column") && message.contains("age"), "{message}");
        let made: Vec<_> =
            std::fs::read_dir(desk.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(made, ["people.csv"], "{declared:?}");
    }
}

#[test]
fn a_file_in_another_encoding_names_the_flag() {
    let desk = Desk::new();
    let add = ["dataset", "add", "people", "people.csv", "--unit", "row", "--budget", "1,1e-6"];
    for bytes in [b"gr\xf6\xdfe\n180\n".as_slice(), b"name\nJ\xfcrgen\n"] {
        std::fs::write(desk.path("people.csv"), bytes).unwrap();
        let message = desk.fails(2, &add);
        assert!(message.contains("not UTF-8") && message.contains("--encoding latin1"), "{message}");
    }
}

fn whose_privacy_is_protected_must_be_said(desk: &Desk) {
    desk.add_people();
    let add = ["dataset", "add", "others", "people.csv", "--budget", "1,1e-6"];
    let message = desk.fails(2, &add);
    assert!(message.contains("--unit row") && message.contains("--max-rows-per-unit"), "{message}");
    // A schema file may say it, and newer data are about the same.
    std::fs::write(desk.path("others.toml"), "unit = \"row\"\n").unwrap();
    desk.done(&[&add[..], &["--schema", "others.toml"]].concat());
    std::fs::write(desk.path("newer.toml"), "[columns.age]\nbounds = [0, 90]\n").unwrap();
    let newer = ["dataset", "add", "others", "people.csv", "--new-version", "--schema", "newer.toml"];
    assert_eq!(desk.document(0, &newer)["schema"]["unit"], "row");
}

fn a_floor_keeps_questions_from_being_too_cheap(desk: &Desk) {
    desk.add_people();
    let add = ["dataset", "add", "dear", "people.csv", "--unit", "row", "--budget", "1,1e-6", "--min-epsilon", "0.05"];
    desk.done(&add);
    assert!(desk.done(&["dataset", "show", "dear"]).contains("at least ε = 0.05"));
    let question = "SELECT COUNT(*) FROM dear";
    let message = desk.fails(2, &["ask", "dear", question, "--epsilon", "0.01"]);
    assert!(message.contains("at least ε = 0.05") && message.contains("ε = 0.01"), "{message}");
    assert_eq!(desk.document(0, &["account", "show", "dear"])["charges"], 0);
    let explained = desk.document(0, &["ask", "dear", question, "--error", "10000", "--explain"]);
    assert_eq!(explained["cost"]["epsilon"], "0.05", "an error is made smaller than was asked for");
    desk.done(&["ask", "dear", question, "--epsilon", "0.05"]);
    desk.done(&["dataset", "add", "dear", "people.csv", "--new-version"]);
    desk.fails(2, &["ask", "dear", question, "--epsilon", "0.01"]);
}

fn an_average_tells_what_was_paid_for(desk: &Desk) {
    desk.add_people();
    let question = "SELECT region, AVG(age) FROM people GROUP BY region";
    let explained = desk.done(&["ask", "people", question, "--epsilon", "0.002", "--explain"]);
    assert!(
        explained.contains("warning: AVG(age) needs at least") && explained.contains("about 1,500 rows"),
        "{explained}"
    );
    let explained = desk.done(&["ask", "people", question, "--epsilon", "0.5", "--explain"]);
    assert!(explained.contains("note: AVG(age) needs at least") && !explained.contains("warning"), "{explained}");
    // The noise on the count is a hundred times the count: there is no average to tell.
    let answer = desk.done(&["ask", "people", question, "--epsilon", "0.00002"]);
    assert!(answer.contains("unknown: sum "), "{answer}");
}

fn an_analyst_pays_from_a_budget_of_their_own(desk: &Desk) {
    desk.add_people();
    let added = desk.done(&["dataset", "add", "people", "--analyst", "alice", "--budget", "0.2,1e-6"]);
    assert!(added.contains("alice may ask"), "{added}");
    desk.done(&["ask", "people", COUNT, "--epsilon", "0.15", "--by", "alice"]);
    desk.ends(3, &["ask", "people", COUNT, "--epsilon", "0.15", "--by", "alice"]);
    assert!(desk.fails(2, &["ask", "people", COUNT, "--epsilon", "0.1", "--by", "bob"]).contains("no analyst"));
    desk.done(&["ask", "people", COUNT, "--epsilon", "0.15"]);
}

#[test]
fn bad_rows_are_listed_with_their_lines_and_nothing_is_imported_unless_they_may_be_skipped() {
    let desk = Desk::new();
    std::fs::write(desk.path("people.csv"), "age,region\n30,north\nold,south\n50\n60,north\n").unwrap();
    let add =
        ["dataset", "add", "people", "people.csv", "--unit", "row", "--type", "age=integer", "--budget", "1,1e-6"];
    let message = desk.fails(2, &add);
    assert!(
        message.contains("line 3") && message.contains("line 4") && message.contains("--skip-bad-rows"),
        "{message}"
    );
    let output = desk.run(&[&add[..], &["--skip-bad-rows", "--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((&document["imported"]["kept"], &document["imported"]["bad_rows"]), (&2.into(), &2.into()));
    assert!(text(&output).contains("line 3"));
}

fn what_cannot_be_declared_is_refused_with_what_to_do(desk: &Desk) {
    desk.add_people();
    for (arguments, part) in [
        (vec!["--bounds", "age=120..0"], "below the upper"),
        (vec!["--bounds", "age=0..NaN"], "the number \"NaN\": it must be made of digits"),
        (vec!["--bounds", "age=0..120/0.5"], "whole number"),
        (vec!["--bounds", "age=0..120/7"], "not on the grid"),
        (vec!["--bounds", "region=0..1"], "has no bounds"),
        (vec!["--bounds", "wage=0..1"], "do not have"),
        (vec!["--categories", "age=1,2,1"], "twice"),
        (vec!["--bounds", "age=0..120", "--bounds", "age = 0..90"], "--bounds is there twice for the column age"),
        (vec!["--type", "age=real", "--type", "age=integer"], "--type is there twice"),
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
        let message = desk.fails(2, &[&add[..], unit, &arguments[..]].concat());
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
    assert!(desk.fails(2, &["dataset", "add", "others", "people.csv", "--unit", "row"]).contains("--budget"));
    assert!(desk.fails(2, &["dataset", "add", "people", "people.csv", "--unit", "row"]).contains("--new-version"));
    assert!(desk.fails(2, &["dataset", "add", "others", "--budget", "1,1e-6"]).contains("CSV file"));
    assert_eq!(desk.document(0, &["dataset", "list"]).as_array().unwrap().len(), 1);
}

fn newer_data_keep_what_was_declared_unless_it_is_said_again(desk: &Desk) {
    desk.add_people();
    std::fs::write(desk.path("newer.csv"), "age,region\n1,north\n200,south\n").unwrap();
    let newer =
        |more: &[&str]| desk.document(0, &[&["dataset", "add", "people", "newer.csv", "--new-version"], more].concat());
    let second = newer(&["--allow-reuse", "--timeout", "5"]);
    assert_eq!((&second["version"], &second["schema"]["columns"][0]["bounds"][1]), (&2.into(), &"120".into()));
    assert_eq!(second["schema"]["columns"][1]["categories"][1], "south");
    let third = newer(&["--bounds", "age=0..90"]);
    assert_eq!(third["schema"]["columns"][0]["bounds"][1], "90");
    let shown = desk.document(0, &["dataset", "show", "people"]);
    assert_eq!((&shown["reuse"], &shown["timeout_seconds"]), (&true.into(), &5.0.into()));
    newer(&["--allow-reuse=false"]);
    assert_eq!(desk.document(0, &["dataset", "show", "people"])["reuse"], false);
    assert!(
        desk.fails(2, &["dataset", "add", "others", "newer.csv", "--new-version"]).contains("dataset others not found")
    );
}

fn a_dataset_may_stand_below_an_account_that_is_there(desk: &Desk) {
    desk.add_people();
    desk.done(&["account", "create", "town", "--budget", "1,1e-6"]);
    desk.done(&["dataset", "add", "town/people", "people.csv", "--unit", "row", "--budget", "0.5,1e-6"]);
    desk.done(&["ask", "town/people", "SELECT COUNT(*) FROM \"town/people\"", "--epsilon", "0.1"]);
    assert_eq!(desk.document(0, &["account", "show", "town"])["charges"], 1);
}

fn the_same_data_twice_are_warned_about(desk: &Desk) {
    desk.add_people();
    let output = desk.run(&["dataset", "add", "copy", "people.csv", "--unit", "row", "--budget", "1,1e-6"]);
    assert!(text(&output).contains("the same data are registered as people"), "{}", text(&output));
}

fn questions_are_read_line_by_line_from_a_pipe(desk: &Desk) {
    desk.add_people();
    let script = format!(
        "\\epsilon 0.3\n{COUNT}\n\n\\explain {COUNT}\n\\meter\n\\columns\n\\help\n{COUNT}\n{COUNT}\n{COUNT}\n\\quit\nnonsense\n"
    );
    let output = desk.command(&["ask", "people"]).write_stdin(script).output().unwrap();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert_eq!(printed.matches("charged; people:").count(), 3, "{printed}");
    assert!(printed.contains("refused") && printed.contains("would be answered") && printed.contains("standing"));
    let failed = desk.command(&["ask", "people"]).write_stdin("\n\\error much\n").output().unwrap();
    assert!(text(&failed).contains("line 2: \\error: the number \"much\": "), "{}", text(&failed));
    let endless = desk.command(&["ask", "people"]).write_stdin("x".repeat(1 << 20)).output().unwrap();
    assert!(
        endless.status.code() == Some(2) && text(&endless).contains("longer than 65536 bytes"),
        "{}",
        text(&endless)
    );
    let unpriced = desk.command(&["ask", "people"]).write_stdin(COUNT).output().unwrap();
    assert!(text(&unpriced).contains("\\epsilon 0.01"));
}

fn a_bad_question_from_a_pipe_does_not_end_the_others(desk: &Desk) {
    desk.add_people();
    let script = format!("{COUNT}\nSELECT COUNT(*) FROM men\n{COUNT}\n");
    let output = desk.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
    assert!(text(&output).contains("line 2: "), "{}", text(&output));
}

fn a_question_may_have_several_lines(desk: &Desk) {
    desk.add_people();
    let script =
        "SELECT COUNT(*)\nFROM people\nWHERE age > 30;\nSELECT COUNT(*)\nFROM people\n\nSELECT COUNT(*)\nFROM men\n";
    let output = desk.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
    assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
    let told = text(&output);
    assert!(told.contains("line 8, in the question that begins in line 7: at character 22"), "{told}");
    assert_eq!(output.status.code(), Some(2), "{told}");
}

fn a_mistake_in_a_pipe_is_told_with_its_line_and_the_rest_goes_on(desk: &Desk) {
    desk.add_people();
    for (bad, why) in [
        (COUNT.replace("SELECT", "SELEC").into_bytes(), "line 2: at character 1"),
        (b"SELECT \xff FROM people".to_vec(), "line 2: the line is not UTF-8"),
        (vec![b'x'; 70_000], "line 2: the line is longer than 65536 bytes"),
    ] {
        let script = [COUNT.as_bytes(), &bad, COUNT.as_bytes()].join(&b'\n');
        let output = desk.command(&["ask", "people", "--epsilon", "0.01"]).write_stdin(script).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
        assert!(text(&output).contains(why), "{why}: {}", text(&output));
    }
}

#[test]
fn a_token_speaks_for_its_own_person_alone() {
    let desk = Desk::at_server();
    desk.add_people();
    for analyst in ["alice", "bob"] {
        desk.done(&["dataset", "add", "people", "--analyst", analyst, "--budget", "0.2,1e-6"]);
    }
    let token = desk.token("alice", "analyst", &["--account", "people/alice", "--dataset", "people"]);
    let run = |arguments: &[&str]| desk.command(arguments).env("TAXIMETER_TOKEN", &token).output().unwrap();
    let asked = run(&["ask", "people", COUNT, "--epsilon", "0.1", "--by", "bob"]);
    let told = text(&asked);
    assert_eq!(asked.status.code(), Some(2), "{told}");
    assert!(told.contains("this token belongs to alice; leave --by out, or use bob's token"), "{told}");
    let charged = run(&["charge", "people/alice", "--epsilon", "0.1", "--by", "bob"]);
    let told = text(&charged);
    assert_eq!(charged.status.code(), Some(2), "{told}");
    assert!(told.contains("this token belongs to alice") && told.contains("leave --by out"), "{told}");
    let other = run(&["charge", "people/bob", "--epsilon", "0.1"]);
    assert!(text(&other).contains("alice's token does not cover the account people/bob"), "{}", text(&other));
    for by in [&[][..], &["--by", "alice"]] {
        let asked = run(&[&["ask", "people", COUNT, "--epsilon", "0.05"][..], by].concat());
        assert_eq!(asked.status.code(), Some(0), "{}", text(&asked));
    }
}

fn every_line_for_programs_is_a_document(desk: &Desk) {
    desk.add_people();
    let script = format!("\\help\n{COUNT};\n\\explain {COUNT}\n\\meter\n\\columns\nquit;\nnonsense\n");
    let output = desk.command(&["ask", "people", "--epsilon", "0.1", "--json"]).write_stdin(script).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(documents.len(), 4);
    assert_eq!((&documents[1]["admitted"], &documents[2]["account"]), (&true.into(), &"people".into()));
    assert_eq!(documents[3]["columns"][0]["name"], "age");
}

fn a_dataset_with_units_says_which_rows_count(desk: &Desk) {
    let rows: String = (0..90).map(|row| format!("p{},{}\n", row % 10, row)).collect();
    std::fs::write(desk.path("visits.csv"), format!("person,cost\n{rows},5\n")).unwrap();
    let shown = desk.done(&[
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
    let explained = desk.document(0, &["ask", "visits", "SELECT SUM(cost) FROM visits", "--epsilon", "1", "--explain"]);
    assert_eq!(explained["parts"][0]["sensitivity"], 300);
}

#[test]
fn demo_rides_until_the_filter_halts() {
    let desk = Desk::new();
    let demo = desk.document(0, &["demo"]);
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
        let drawn = std::fs::read_to_string(desk.path(figure.as_str().unwrap())).unwrap();
        assert!(drawn.starts_with("<svg") && (drawn.contains("polyline") || drawn.contains("circle")), "{figure}");
    }
    let shown = desk.done(&["demo", "--seed", "8"]);
    assert!(shown.contains("halt:") && shown.contains("taximeter-demo-2"), "{shown}");
    assert!(desk.fails(2, &["demo", "--folder", "taximeter-demo"]).contains("--folder"));
    let people = |folder: &str| std::fs::read(desk.path(folder).join("people.csv")).unwrap();
    assert_ne!(people("taximeter-demo"), people("taximeter-demo-2"));
    desk.done(&["demo", "--folder", "again"]);
    assert_eq!(people("taximeter-demo"), people("again"), "a seed makes the people repeatable");
}

/// A process that is killed anywhere between the question and the answer: whoever asks again with the same key pays once, and gets one
/// answer or none, for good.
#[test]
fn a_question_that_is_killed_is_charged_at_most_once_and_never_answered_anew() {
    let desk = desk();
    let (mut charged, mut without) = (0, 0);
    for round in 0u32..40 {
        let key = format!("k{round}");
        let ask = ["ask", "people", COUNT, "--epsilon", "0.001", "--key", &key, "--json"];
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("taximeter"))
            .args(ask)
            .current_dir(desk.folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // From before the ledger is open to after the answer is printed.
        std::thread::sleep(std::time::Duration::from_micros(u64::from(round) * 700));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
        let before = desk.document(0, &["account", "show", "people"])["charges"].as_u64().unwrap();
        let first = desk.run(&ask);
        let again = desk.run(&ask);
        assert_eq!((first.status.code(), &first.stdout), (again.status.code(), &again.stdout), "{}", text(&again));
        assert!(matches!(first.status.code(), Some(0 | 5)), "{}", text(&first));
        charged += 1;
        without += u32::from(first.status.code() == Some(5));
        let after = desk.document(0, &["account", "show", "people"])["charges"].as_u64().unwrap();
        assert!(after == charged && before >= charged - 1, "round {round}: {before} and {after} charges");
    }
    assert!(without < 40, "no question survived");
    desk.done(&["verify"]);
}
