//! `ask` without a question: lines from a pipe.

use serde_json::Value;

use crate::questions::COUNT;
use crate::sandbox::{Sandbox, here_and_at_a_server, text};

here_and_at_a_server! {
    questions_are_read_line_by_line_from_a_pipe,
    every_line_for_programs_is_a_document,
    a_bad_question_from_a_pipe_does_not_end_the_others,
    a_question_may_have_several_lines,
    a_mistake_in_a_pipe_is_told_with_its_line_and_the_rest_goes_on,
    a_question_from_a_pipe_is_never_cut,
    a_question_with_a_with_on_its_own_line_is_one,
}

fn questions_are_read_line_by_line_from_a_pipe(sandbox: &Sandbox) {
    sandbox.add_people();
    let script = format!(
        "\\epsilon 0.3\n\\delta 1e-9\n{COUNT}\n\n\\explain {COUNT}\n\\meter\n\\columns\n\\help\n{COUNT}\n{COUNT}\n{COUNT}\n\\quit\n\
         nonsense\n"
    );
    let output = sandbox.command(&["ask", "people"]).write_stdin(script).output().unwrap();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert_eq!(printed.matches("charged; people:").count(), 3, "{printed}");
    assert!(printed.contains("refused") && printed.contains("would be answered") && printed.contains("standing"));
    let failed = sandbox.command(&["ask", "people"]).write_stdin("\n\\error much\n").output().unwrap();
    assert!(text(&failed).contains("line 2: \\error: the number \"much\": "), "{}", text(&failed));
    let endless = sandbox.command(&["ask", "people"]).write_stdin("x".repeat(1 << 20)).output().unwrap();
    assert!(
        endless.status.code() == Some(2) && text(&endless).contains("longer than 65536 bytes"),
        "{}",
        text(&endless)
    );
    let unpriced = sandbox.command(&["ask", "people"]).write_stdin(COUNT).output().unwrap();
    assert!(text(&unpriced).contains("\\epsilon 0.01"));
}

fn a_bad_question_from_a_pipe_does_not_end_the_others(sandbox: &Sandbox) {
    sandbox.add_people();
    let script = format!("{COUNT}\nSELECT COUNT(*) FROM men\n{COUNT}\n");
    let output = sandbox.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
    assert!(text(&output).contains("line 2: "), "{}", text(&output));
}

fn a_question_may_have_several_lines(sandbox: &Sandbox) {
    sandbox.add_people();
    let script =
        "SELECT COUNT(*)\nFROM people\nWHERE age > 30;\nSELECT COUNT(*)\nFROM people\n\nSELECT COUNT(*)\nFROM men\n";
    let output = sandbox.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
    assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
    let told = text(&output);
    assert!(told.contains("line 8, in the question that begins in line 7: at character 22"), "{told}");
    assert_eq!(output.status.code(), Some(2), "{told}");
}

fn a_mistake_in_a_pipe_is_told_with_its_line_and_the_rest_goes_on(sandbox: &Sandbox) {
    sandbox.add_people();
    for (bad, why) in [
        (COUNT.replace("SELECT", "SELEC").into_bytes(), "line 3: at character 1"),
        (b"SELECT \xff FROM people".to_vec(), "line 3: the line is not UTF-8"),
        (vec![b'x'; 70_000], "line 3: the line is longer than 65536 bytes"),
    ] {
        let script = [COUNT.as_bytes(), b"", &bad, b"", COUNT.as_bytes()].join(&b'\n');
        let output = sandbox.command(&["ask", "people", "--epsilon", "0.01"]).write_stdin(script).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert_eq!(text(&output).matches("charged; people:").count(), 2, "{}", text(&output));
        assert!(text(&output).contains(why), "{why}: {}", text(&output));
    }
}

/// The first line of the question was asked, and charged.
fn a_question_from_a_pipe_is_never_cut(sandbox: &Sandbox) {
    sandbox.add_people();
    let before = sandbox.document(0, &["account", "show", "people"]);
    for rest in ["RIGHT JOIN visits v ON v.age = people.age", "EXCEPT", "a_word_of_tomorrow b c"] {
        let script = format!("{COUNT}\n{rest}\n");
        let output = sandbox.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{rest}: {}", text(&output));
    }
    assert_eq!(sandbox.document(0, &["account", "show", "people"]), before);
}

/// Both lines were errors.
fn a_question_with_a_with_on_its_own_line_is_one(sandbox: &Sandbox) {
    sandbox.add_people();
    let script = "WITH old AS (SELECT age FROM people WHERE age > 30)\nSELECT COUNT(*) FROM old\n";
    let output = sandbox.command(&["ask", "people", "--epsilon", "0.1"]).write_stdin(script).output().unwrap();
    assert_eq!((output.status.code(), text(&output).matches("charged; people:").count()), (Some(0), 1), "{output:?}");
}

fn every_line_for_programs_is_a_document(sandbox: &Sandbox) {
    sandbox.add_people();
    let script = format!("\\help\n{COUNT};\n\\explain {COUNT}\n\\meter\n\\columns\nquit;\nnonsense\n");
    let output =
        sandbox.command(&["ask", "people", "--epsilon", "0.1", "--json"]).write_stdin(script).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(documents.len(), 4);
    assert_eq!((&documents[1]["admitted"], &documents[2]["account"]), (&true.into(), &"people".into()));
    assert_eq!(documents[3]["columns"][0]["name"], "age");
}
