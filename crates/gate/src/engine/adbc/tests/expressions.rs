//! Expressions mean the same in DuckDB and on a cluster: exactly the same integers as an evaluator in rational numbers.

use taximeter_testing::random_inputs;

use super::cluster::Cluster;
use super::*;
use crate::question::commas;
use crate::sql::tests::dataset::schema as world;
use crate::sql::tests::meaning::Row;
use crate::sql::tests::random::Dice;
use crate::sql::tests::world::RandomQuestion;

/// The columns of the dataset that all expressions are about.
const COLUMNS: &str =
    "whole BIGINT, tens BIGINT, amount DOUBLE, price DECIMAL(18, 6), born DATE, seen TIMESTAMP, flag BOOLEAN,
    word VARCHAR, label VARCHAR";

/// Writes rows into a file of their own: an engine may remember what it knows of a file.
fn written(shore: &mut Shore, rows: &[Row], number: u64) -> PathBuf {
    let grammar = Dialect::DuckDb.grammar();
    let field = |(field, column): (&Option<crate::schema::Value>, &crate::schema::Column)| match field {
        None => grammar.null(column.kind),
        Some(value) => grammar.literal(value, &mut Vec::new()),
    };
    let schema = world();
    let rows = rows.iter().map(|row| format!("({})", commas(row.iter().zip(&schema.columns).map(field))));
    let insert = format!("CREATE OR REPLACE TABLE w ({COLUMNS}); INSERT INTO w VALUES {}", commas(rows));
    shore.execute(&insert);
    shore.write(&format!("w{number}.parquet"), "SELECT * FROM w")
}

/// An engine in front of a file, how SQL is written there, and the table.
type Opened = (Box<dyn Engine>, Dialect, String);

/// Asks an engine whose SQL is changed first: how many questions were asked, how many were refused, and how the first one whose answer is
/// wrong differs.
fn compare(
    seeds: u64,
    questions: usize,
    open: impl Fn(&Shore, &Path) -> Opened,
    change: impl Fn(&str) -> String,
) -> (usize, usize, Option<String>) {
    let (schema, mut shore, mut refused) = (world(), Shore::new(), 0);
    for seed in 0..seeds {
        let mut dice = Dice::new(seed, schema.clone());
        let rows = dice.rows(25);
        let path = written(&mut shore, &rows, seed);
        let (mut engine, dialect, table) = open(&shore, &path);
        engine.check(&schema, MOST).unwrap();
        let target = Target { schema: &schema, dialect, table: &table, asked: &[] };
        for _ in 0..questions {
            match RandomQuestion::random(&mut dice).difference(&rows, &mut *engine, target, &change) {
                Ok(None) => {}
                Ok(difference) => return (questions, refused, difference),
                Err(_) => refused += 1,
            }
        }
    }
    (questions * seeds as usize, refused, None)
}

/// DuckDB with a view that is changed first. Columns that are within their bounds are not clamped.
fn duckdb_with(shore: &Shore, path: &Path, change: impl Fn(&str) -> String) -> Opened {
    let files = vec![LakeFile::look(path).unwrap()];
    let mut lake = Lake::open(&DriverChoice::default(), files, &shore.gate(), until()).unwrap();
    let within = lake.columns_within(&world(), until()).unwrap();
    let mut engine = lake.engine(&world(), within, until()).unwrap();
    let view = view::sql(&engine.rows, &world(), &engine.within);
    duckdb::execute(&mut engine.connection, &change(&view), until()).unwrap();
    (Box::new(engine), Dialect::DuckDb, VIEW.to_string())
}

fn duckdb_of(shore: &Shore, path: &Path) -> Opened {
    duckdb_with(shore, path, str::to_string)
}

#[test]
fn duckdb_computes_what_expressions_mean() {
    let (asked, refused, difference) = compare(random_inputs(60).into(), 40, duckdb_of, str::to_string);
    assert_eq!(difference, None, "{}", difference.as_deref().unwrap_or_default());
    assert!(10 * refused < asked, "{refused} of {asked} were refused");
}

#[test]
fn a_cluster_computes_what_expressions_mean() {
    let cluster = Cluster::start();
    let open = |_: &Shore, path: &Path| cluster.opened(path);
    let (asked, refused, difference) = compare(random_inputs(8).into(), 30, open, str::to_string);
    assert_eq!(difference, None, "{}", difference.as_deref().unwrap_or_default());
    assert!(10 * refused < asked, "{refused} of {asked} were refused");
}

#[test]
fn wrong_sql_is_found_in_duckdb() {
    for (right, wrong) in [
        (" // ", " * "),
        (" % ", " // "),
        ("abs(", "("),
        ("least(", "greatest("),
        ("coalesce(", "greatest("),
        (" AND ", " OR "),
        (" < ", " <= "),
        ("NOT (", "("),
        ("NOT IN", "IN"),
        (") IS NOT TRUE", ") IS FALSE"),
        ("date_trunc('month'", "date_trunc('year'"),
        ("+ 719163)", "+ 719162)"),
        ("count(DISTINCT ", "count("),
        (" FILTER (WHERE ", " FILTER (WHERE NOT "),
        ("'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'", "'AB', 'xy'"),
    ] {
        let (_, _, difference) = compare(150, 40, duckdb_of, |sql| sql.replace(right, wrong));
        assert!(difference.is_some(), "{wrong} for {right} makes no difference");
    }
    for (right, wrong) in [
        ("floor(", "ceil("),
        ("least(", "greatest("),
        ("CAST('-4.25' AS DOUBLE)", "CAST('-4.0' AS DOUBLE)"),
        (" IS NULL THEN", " IS NULL AND FALSE THEN"),
        (" > ", " < "),
    ] {
        let open = |shore: &Shore, path: &Path| duckdb_with(shore, path, |sql| sql.replace(right, wrong));
        let (_, _, difference) = compare(150, 40, open, str::to_string);
        assert!(difference.is_some(), "{wrong} for {right} makes no difference in the view");
    }
}
