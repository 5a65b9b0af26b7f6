//! Runs the program without a ledger.

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

pub fn taximeter(arguments: &[&str], input: impl Into<Vec<u8>>) -> Output {
    let mut command = Command::cargo_bin("taximeter").expect("the program is built");
    command.args(arguments).write_stdin(input).output().expect("the program runs")
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("the program was not killed")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one JSON document on standard output.
pub fn document(arguments: &[&str]) -> Value {
    let output = taximeter(arguments, "");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// One JSON document a line.
pub fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON document a line")).collect()
}
