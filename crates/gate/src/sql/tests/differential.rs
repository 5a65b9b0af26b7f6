//! Every form of expression against what SQL means by it: the embedded engine computes exactly the same integers.

use std::path::PathBuf;

use rusqlite::params_from_iter;
use taximeter_testing::random_inputs;
use tempfile::TempDir;

use super::dataset::schema;
use super::meaning::Row;
use super::random::Dice;
use super::world::RandomQuestion;
use crate::engine::{Embedded, Engine};
use crate::question::commas;
use crate::sql::{Dialect, Target};

/// A file of the embedded engine with these rows.
fn stored(rows: &[Row]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let schema = schema();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let (mark, version) = (Embedded::APPLICATION_ID, Embedded::VERSION);
    let marks = format!("PRAGMA synchronous = OFF; PRAGMA application_id = {mark}; PRAGMA user_version = {version};");
    connection.execute_batch(&format!("{marks} {}", Embedded::definition(&schema))).unwrap();
    let places = commas(vec!["?"; schema.columns.len()]);
    let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", Embedded::TABLE)).unwrap();
    rows.iter().for_each(|row| assert_eq!(insert.execute(params_from_iter(row)).unwrap(), 1));
    drop(insert);
    (folder, path)
}

/// Asks questions of the embedded engine whose SQL is changed first: how many were asked, which were refused, and how the first one
/// whose answer is wrong differs.
fn compare(seeds: u64, change: impl Fn(&str) -> String) -> (usize, Vec<String>, Option<String>) {
    const QUESTIONS: usize = 40;
    let schema = schema();
    let target = Target { schema: &schema, dialect: Dialect::Sqlite, table: Embedded::TABLE, asked: &[] };
    let mut refused = Vec::new();
    for seed in 0..seeds {
        let mut dice = Dice::new(seed, schema.clone());
        let rows = dice.rows(25);
        let (_folder, path) = stored(&rows);
        let mut engine = Embedded::open(&path).unwrap();
        engine.check(&schema, std::time::Duration::from_secs(60)).unwrap();
        for _ in 0..QUESTIONS {
            let question = RandomQuestion::random(&mut dice);
            match question.difference(&rows, &mut engine, target, &change) {
                Ok(None) => {}
                Ok(difference) => return (QUESTIONS, refused, difference),
                Err(why) => refused.push(format!("{why}: {}", question.text)),
            }
        }
    }
    (QUESTIONS * seeds as usize, refused, None)
}

#[test]
fn the_embedded_engine_computes_what_expressions_mean() {
    let (asked, refused, difference) = compare(random_inputs(150).into(), str::to_string);
    assert_eq!(difference, None, "{}", difference.as_deref().unwrap_or_default());
    // What is refused may get too large, or counts the different values of a literal.
    assert!(10 * refused.len() < asked, "{} of {asked} were refused: {refused:#?}", refused.len());
}

#[test]
fn wrong_sql_is_found() {
    for (right, wrong) in [
        (" + ", " - "),
        (" / ", " * "),
        (" % ", " / "),
        ("abs(", "("),
        ("min(", "max("),
        ("coalesce(", "nullif("),
        ("nullif(", "coalesce("),
        (" AND ", " OR "),
        (" < ", " <= "),
        (" >= ", " > "),
        ("NOT (", "("),
        ("NOT IN", "IN"),
        ("NOT LIKE", "LIKE"),
        ("lower(", "upper("),
        (") IS NOT TRUE", ") IS FALSE"),
        ("ELSE", "WHEN NULL THEN"),
        ("start_of_", ""),
        ("_isodow", "_dow"),
        ("count(DISTINCT ", "count("),
        (" FILTER (WHERE ", " FILTER (WHERE NOT "),
        (" in steps\"", "\""),
    ] {
        let (_, _, difference) = compare(150, |sql| sql.replace(right, wrong));
        assert!(difference.is_some(), "{wrong} for {right}: nobody noticed");
    }
}
