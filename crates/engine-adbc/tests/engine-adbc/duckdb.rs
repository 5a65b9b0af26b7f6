//! A real driver: DuckDB, wherever it is found on this machine.

use std::time::{Duration, Instant};

use taximeter_engine_adbc::{
    AdbcConnection, AdbcDriver, AdbcError, AdbcOptions, ArrowKind, ArrowValue, DriverSpec, NewColumn, NewRows, Search,
};

const MOST: Duration = Duration::from_secs(600);

fn driver() -> AdbcDriver {
    AdbcDriver::find(&DriverSpec::Name("duckdb".to_string()), &Search::of_this_machine()).unwrap()
}

fn connection() -> AdbcConnection {
    AdbcConnection::open(&driver(), AdbcOptions::default().with("path", ":memory:"), MOST).unwrap()
}

/// Takes longer than anyone waits.
const ENDLESS: &str =
    "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c WHERE a.range * b.range + c.range = 7";

#[test]
fn a_driver_answers_with_values_of_every_type() {
    let mut connection = connection();
    let sql = "SELECT 1::TINYINT AS a, 2::UBIGINT AS b, 0.5::FLOAT AS c, 'é' AS d, TRUE AS e, DATE '1970-01-03' AS f,
               TIMESTAMP '1970-01-01 00:00:01' AS g, 1.25::DECIMAL(5, 2) AS h, NULL::INTEGER AS i,
               170141183460469231731687303715884105727 AS j, TIMESTAMPTZ '1970-01-01 00:00:01+00' AS k";
    let answer = connection.query(sql, MOST).unwrap();
    let expected = [
        ArrowValue::Integer(1),
        ArrowValue::Integer(2),
        ArrowValue::Real(0.5),
        ArrowValue::Text("é".to_string()),
        ArrowValue::Boolean(true),
        ArrowValue::Date(2),
        ArrowValue::Timestamp(1_000_000),
        ArrowValue::Decimal(125, 2),
        ArrowValue::Null,
        ArrowValue::Decimal(i128::MAX, 0),
        ArrowValue::Timestamp(1_000_000),
    ];
    assert_eq!(answer.rows, [expected]);
    assert_eq!(answer.columns[10].kind, Some(ArrowKind::Timestamp { zoned: true }));
    let lists = connection.query("SELECT [1] AS list WHERE FALSE", MOST).unwrap();
    assert_eq!((lists.columns[0].kind, lists.rows.len()), (None, 0));
    assert!(matches!(connection.query("SELECT [1] AS list", MOST), Err(AdbcError::Failed { .. })));
}

#[test]
fn rows_are_appended_to_a_table_as_they_are() {
    let mut connection = connection();
    let types = "a BOOLEAN, b BIGINT, c DOUBLE, d VARCHAR, e DATE, f TIMESTAMP, g DECIMAL(18, 6)";
    connection.execute(&format!("CREATE TABLE t ({types})"), MOST).unwrap();
    let columns = [
        NewColumn::Boolean(vec![Some(true), None]),
        NewColumn::Integer(vec![Some(i64::MIN), None]),
        NewColumn::Real(vec![Some(-0.0), None]),
        NewColumn::Text(vec![Some("a'\"é".to_string()), None]),
        NewColumn::Date(vec![Some(-5), None]),
        NewColumn::Timestamp(vec![Some(-5), None]),
        NewColumn::Millionths(vec![Some(999_999_999_999_999_999), None]),
    ];
    let columns = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_string).into_iter().zip(columns).collect();
    connection.append("t", NewRows { columns }, MOST).unwrap();
    let answer = connection.query("SELECT * FROM t ORDER BY b NULLS LAST", MOST).unwrap();
    let expected = [
        ArrowValue::Boolean(true),
        ArrowValue::Integer(i128::from(i64::MIN)),
        ArrowValue::Real(-0.0),
        ArrowValue::Text("a'\"é".to_string()),
        ArrowValue::Date(-5),
        ArrowValue::Timestamp(-5),
        ArrowValue::Decimal(999_999_999_999_999_999, 6),
    ];
    assert_eq!(answer.rows, [expected.to_vec(), vec![ArrowValue::Null; 7]]);
}

#[test]
fn a_statement_that_is_late_is_cancelled_and_the_session_goes_on() {
    let mut connection = connection();
    let started = Instant::now();
    let error = connection.query(ENDLESS, Duration::from_millis(50)).unwrap_err();
    assert!(matches!(&error, AdbcError::Late { .. }), "{error}");
    // Uncancelled it would be under way until the machine is switched off.
    assert!(started.elapsed() < MOST, "{:?}", started.elapsed());
    assert_eq!(connection.query("SELECT 1", MOST).unwrap().rows, [[ArrowValue::Integer(1)]]);
}

#[test]
fn an_error_of_the_driver_says_what_is_wrong_without_secrets() {
    let mut connection = connection();
    let error = connection.query("SELECT nothing FROM nowhere", MOST).unwrap_err().to_string();
    assert!(error.starts_with("duckdb: ") && error.contains("nowhere"), "{error}");
    let options = AdbcOptions::default().with_secret("path", "/no/such/folder/hunter2.db");
    assert!(!format!("{options:?}").contains("hunter2"));
    let Err(error) = AdbcConnection::open(&driver(), options, MOST) else { panic!("it was opened") };
    assert!(!error.to_string().contains("hunter2") && error.to_string().contains("***"), "{error}");
}

#[test]
fn what_is_no_driver_is_not_loaded_and_the_error_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let library = |path: &std::path::Path, entry: Option<&str>| DriverSpec::Library {
        path: path.to_path_buf(),
        entry: entry.map(str::to_string),
    };
    let text = folder.path().join("libtext.so");
    std::fs::write(&text, "this is no library").unwrap();
    let half = folder.path().join("libhalf.so");
    let whole = std::fs::read(&driver().found().library).unwrap();
    std::fs::write(&half, &whole[..4096]).unwrap();
    let search = Search::of_this_machine();
    for (spec, part) in [
        (library(&folder.path().join("none.so"), None), "file not found"),
        (library(&text, None), "must be a driver of ADBC 1.1"),
        (library(&half, None), "cut off"),
        (library(&driver().found().library, Some("NoSuchInit")), "with the entry point NoSuchInit"),
        (DriverSpec::Name("nosuchdriver".to_string()), "was not found"),
    ] {
        let Err(error) = AdbcDriver::find(&spec, &search) else { panic!("{spec} was loaded") };
        assert!(error.to_string().contains(part), "{spec}: {error}");
    }
}
