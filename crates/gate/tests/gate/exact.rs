//! Questions whose answers are known: `exact.sql` of the corpus, asked almost without noise on every engine, and compared with what
//! DuckDB computed from the CSV files alone (`exact.json`).

use serde_json::Value as Json;
use taximeter_gate::{AnswerDocument, CsvEngine, Price, Request};

use crate::common::{Setup, account, amount, answered};
use crate::corpus::{questions, setup_with, text};

#[test]
fn answers_are_those_of_sql() {
    check("sqlite", |name, schema| setup_with(name, schema, CsvEngine::Sqlite));
}

#[test]
#[cfg(feature = "driver-tests")]
fn answers_are_those_of_sql_by_duckdb() {
    let engine = CsvEngine::Duckdb(taximeter_gate::DriverChoice::default());
    check("duckdb", |name, schema| setup_with(name, schema, engine.clone()));
}

#[test]
#[cfg(feature = "server-tests")]
fn answers_are_those_of_sql_by_postgres() {
    check("postgres", crate::corpus::setup_on_postgres);
}

/// A row is the unit there: all rows of a patient count, so the answers are the same.
#[test]
#[cfg(feature = "driver-tests")]
fn answers_are_those_of_sql_on_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let sail = taximeter_testing::PrivateSail::start(2, folder.path()).unwrap_or_else(|message| panic!("{message}"));
    check("sail", |name, schema| crate::corpus::setup_on_sail(name, schema, &sail));
}

fn check(engine: &str, setup: impl Fn(&str, &str) -> Setup) {
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for name in ["labour", "health", "flights"] {
        // No patient has more stays, so that all rows count.
        let schema = text(name, "schema.toml").replace("max_rows_per_unit = 4", "max_rows_per_unit = 6");
        let setup = setup(name, &schema);
        let expected: Vec<Json> = serde_json::from_str(&text(name, "exact.json")).unwrap();
        let questions = questions(name, "exact.sql");
        assert_eq!(questions.len(), expected.len());
        for (question, expected) in questions.iter().zip(&expected) {
            asked += 1;
            if let Err(why) = check_one(&setup, name, question, expected) {
                wrong.push(format!("{name}: {why}\n{question}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{engine}: {} of {asked} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_one(setup: &Setup, name: &str, question: &str, expected: &Json) -> Result<(), String> {
    let price = Price::Approximate { epsilon: amount("8000000"), delta: amount("1e-6") };
    let request = Request::new(&account(name), question, price).unwrap();
    let answer = answered(setup.gate.ask(&request).map_err(|error| error.to_string())?);
    let document: Json = serde_json::from_str(&answer.document).unwrap();
    let columns = AnswerDocument::read(&answer.document).unwrap().columns;
    let rows = document["rows"].as_array().unwrap();
    let is_key = |at: usize| columns[at].parts.is_empty() && columns[at].aggregate.is_none();
    let key = |row: &Json| -> Vec<String> {
        (0..columns.len()).filter(|at| is_key(*at)).map(|at| as_text(&row[at])).collect()
    };
    // Quantiles lie anywhere between two values of the rows, and the least and the greatest value are extreme quantiles.
    let within = expected["within"].as_f64().unwrap_or(0.002);
    let expected: Vec<&Json> = expected["rows"].as_array().unwrap().iter().collect();
    for row in &expected {
        // Rows without a key belong to no group.
        if (0..columns.len()).any(|at| is_key(at) && row[at].is_null()) {
            continue;
        }
        let Some(found) = rows.iter().find(|other| key(other) == key(row)) else {
            return Err(format!("there is no row {:?} in {}", key(row), document["rows"]));
        };
        for at in (0..columns.len()).filter(|at| !is_key(*at)) {
            let (value, wanted) = (&found[at]["value"], &row[at]);
            if !is_near(value, wanted, within) {
                return Err(format!("{:?} of {:?} is {value}, and should be {wanted}", columns[at].name, key(row)));
            }
        }
    }
    for row in rows.iter().filter(|row| !expected.iter().any(|other| key(other) == key(row))) {
        // Every declared group is answered: one that no row is in has a count of 0, and no average.
        let is_empty = |at: usize| row[at]["value"].as_f64().is_none_or(|value| value.abs() < 1e-3);
        let is_count = |at: &usize| columns[*at].aggregate.as_deref() == Some("COUNT(*)");
        if expected.is_empty() || !(0..columns.len()).filter(is_count).all(is_empty) {
            return Err(format!("the row {row} should not be there"));
        }
    }
    Ok(())
}

fn as_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.strip_suffix(" 00:00:00").unwrap_or(text).to_string(),
        Json::Number(number) => number.as_f64().unwrap().to_string(),
        other => other.to_string(),
    }
}

/// Whether two are the same, but for the grid of their columns.
fn is_near(value: &Json, wanted: &Json, within: f64) -> bool {
    match (value.as_f64(), wanted.as_f64()) {
        (Some(value), Some(wanted)) => (value - wanted).abs() <= within * wanted.abs().max(1.0),
        _ => as_text(value) == as_text(wanted),
    }
}
