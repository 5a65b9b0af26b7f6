//! Every form of expression against what SQL means by it: the embedded engine computes exactly the same integers.

use std::path::PathBuf;

use rusqlite::params_from_iter;
use taximeter_testing::random_inputs;
use tempfile::TempDir;

use super::meaning::Row;
use super::random::Dice;
use super::world::{Asked, schema};
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

#[test]
fn the_embedded_engine_computes_what_expressions_mean() {
    const QUESTIONS: usize = 40;
    let schema = schema();
    let target = Target { schema: &schema, dialect: Dialect::Sqlite, table: Embedded::TABLE, asked: &[] };
    let (mut asked, mut refused) = (0, Vec::new());
    for seed in 0..random_inputs(150).into() {
        let mut dice = Dice::new(seed, schema.clone());
        let rows = dice.rows(25);
        let (_folder, path) = stored(&rows);
        let mut engine = Embedded::open(&path).unwrap();
        engine.check(&schema, std::time::Duration::from_secs(60)).unwrap();
        for _ in 0..QUESTIONS {
            let question = Asked::random(&mut dice);
            asked += 1;
            if let Err(why) = question.check(&rows, &mut engine, target) {
                refused.push(format!("{why}: {}", question.text));
            }
        }
    }
    // What is refused may get too large, has too many values to group by, or is the same for every row.
    assert!(10 * refused.len() < asked, "{} of {asked} were refused: {:#?}", refused.len(), &refused[..20]);
}
