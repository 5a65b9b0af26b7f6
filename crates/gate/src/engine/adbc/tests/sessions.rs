//! What a session can do: read its files, within its time, and nothing else.

use super::*;
use crate::engine::adbc::duckdb::SessionAccess;

#[test]
fn a_session_reads_its_own_files_and_nothing_else() {
    let mut shore = Shore::new();
    let own = shore.write("a.parquet", "SELECT 1 AS x");
    let other = shore.write("b.parquet", "SELECT 2 AS x");
    let mut connection = duckdb::open(
        &DriverChoice::default(),
        &SessionAccess::Files(std::slice::from_ref(&own)),
        &shore.gate(),
        until(),
    )
    .unwrap();
    let mut run = |sql: String| connection.query(&sql, MOST).map(|rows| rows.rows).map_err(|error| error.to_string());
    assert_eq!(run(format!("SELECT x FROM read_parquet(['{}'])", own.display())).unwrap(), [[ArrowValue::Integer(1)]]);
    let (other, new) = (other.display(), shore.path("new"));
    let new = new.display();
    for sql in [
        format!("SELECT * FROM read_parquet(['{other}'])"),
        format!("SELECT * FROM '{other}'"),
        "SELECT * FROM read_csv('/etc/passwd')".to_string(),
        "SELECT * FROM read_text('/etc/passwd')".to_string(),
        "SELECT * FROM glob('/*')".to_string(),
        format!("ATTACH '{new}' AS new"),
        format!("COPY (SELECT 1) TO '{new}'"),
        format!("COPY (SELECT 1) TO '{}'", own.display()),
        format!("EXPORT DATABASE '{new}'"),
        "INSTALL httpfs".to_string(),
        "LOAD httpfs".to_string(),
        "SELECT * FROM read_parquet(['http://127.0.0.1:9/a.parquet'])".to_string(),
        "SET enable_external_access = true".to_string(),
        "SET allowed_paths = ['/']".to_string(),
        "SET lock_configuration = false".to_string(),
        "SET memory_limit = '1TB'".to_string(),
        "SET autoload_known_extensions = true".to_string(),
        "RESET lock_configuration".to_string(),
    ] {
        assert!(run(sql.clone()).is_err(), "{sql} is possible");
    }
    assert!(!shore.path("new").exists());
}

#[test]
fn a_question_that_is_late_is_stopped_and_has_no_answer() {
    let mut shore = Shore::new();
    shore.write("a.parquet", "SELECT range AS x FROM range(10)");
    let prepared = shore.prepare("a.parquet", "").unwrap();
    let mut engine = shore.connect(&prepared).unwrap();
    engine.check(&prepared.schema, MOST).unwrap();
    let endless = format!(
        "SELECT count(*) FROM {VIEW} a, range(10000000) b, range(10000000) c WHERE a.x * b.range = c.range + 1"
    );
    let statement = Statement { sql: endless, ..count(&prepared.schema) };
    let error = engine.run(&statement, Duration::from_millis(20)).unwrap_err();
    assert!(error.contains("was stopped after 20ms"), "{error}");
}

#[test]
fn a_statement_with_parameters_is_not_run() {
    let mut shore = Shore::new();
    shore.write("a.parquet", "SELECT range AS x FROM range(10)");
    let prepared = shore.prepare("a.parquet", "").unwrap();
    let mut engine = shore.connect(&prepared).unwrap();
    let statement = Statement { parameters: vec![crate::schema::Value::Integer(1)], ..count(&prepared.schema) };
    assert!(engine.run(&statement, MOST).unwrap_err().contains("all its values in its text"));
}

#[test]
fn a_driver_that_is_missing_or_no_duckdb_is_an_error_that_says_what_to_do() {
    let shore = Shore::new();
    let open = |driver: &str, entry: Option<&str>| {
        let choice = DriverChoice { driver: driver.to_string(), entry: entry.map(str::to_string) };
        duckdb::open(&choice, &SessionAccess::Names, &shore.gate(), until()).err().unwrap().to_string()
    };
    let missing = open("nosuchdriver", None);
    assert!(missing.contains("was not found") && missing.contains("looked for in"), "{missing}");
    let library = duckdb::find(&DriverChoice::default()).unwrap().found().library.display().to_string();
    assert!(open(&library, Some("NoSuchInit")).contains("with the entry point NoSuchInit"));
    assert!(open("duck db", None).contains("not the name of a driver"));
}

/// Every condition holds of DuckDB, and an engine of which one does not is refused with the reason.
/// A collation by which capitals equal small letters, and a dialect that is not the engine's.
#[test]
fn an_engine_that_computes_otherwise_is_refused_with_the_reason() {
    let mut shore = Shore::new();
    canary::check(&mut shore.writer, Dialect::DuckDb, until()).unwrap();
    let error = canary::check(&mut shore.writer, Dialect::Spark, until()).unwrap_err().to_string();
    assert!(error.contains("does not support what every question needs"), "{error}");
    shore.execute("SET default_collation = 'nocase'");
    let error = canary::check(&mut shore.writer, Dialect::DuckDb, until()).unwrap_err().to_string();
    assert!(error.contains("for the order of text, it returned 0, expected 1"), "{error}");
}
