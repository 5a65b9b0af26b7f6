use std::fs;
use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::declaration::Declaration;
use crate::import::{BadRows, CsvForm, import};
use crate::measure::{Measure, Quantity};
use crate::question::predicate::{Comparison, Operand, Predicate};
use crate::sql::tests::query;
use crate::sql::{Dialect, Grouping, SqlAggregate, Target};

const LONG: Duration = Duration::from_secs(60);

/// A file with these rows, and what is declared about them.
fn imported(folder: &Path, csv: &str, declaration: &str) -> (PathBuf, Schema) {
    let source = folder.join("people.csv");
    fs::write(&source, csv).unwrap();
    let (target, declaration) = (folder.join("data"), Declaration::of_rows(declaration));
    let imported =
        import(&source, &CsvForm::default(), &declaration, &target, &[7; 32], BadRows::Refuse, &mut |_, _| {}).unwrap();
    (target, imported.schema)
}

struct Place {
    engine: Embedded,
    schema: Schema,
    _folder: TempDir,
}

impl Place {
    fn new(csv: &str, declaration: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let (path, schema) = imported(folder.path(), csv, declaration);
        let mut engine = Embedded::open(&path).unwrap();
        engine.check(&schema, LONG).unwrap();
        Place { engine, schema, _folder: folder }
    }

    fn ask(&mut self, groups: &[usize], filter: Option<Predicate>, measures: &[Measure]) -> Vec<ExactRow> {
        let target = Target { schema: &self.schema, dialect: Dialect::Sqlite, table: Embedded::TABLE, asked: &[] };
        let statement = Statement::measuring(&query(&self.schema, filter, groups), measures, target);
        self.engine.run(&statement, LONG).unwrap()
    }

    /// How many rows fit.
    fn count(&mut self, filter: Predicate) -> i64 {
        self.ask(&[], Some(filter), &[rows()])[0].measures[0]
    }
}

fn rows() -> Measure {
    Measure::of(Quantity::Rows)
}

/// A statement whose measures behind keys are sums.
fn written(sql: &str, parameters: &[Value], keys: &[ColumnType], measures: usize) -> Statement {
    Statement {
        tables: Vec::new(),
        sql: sql.to_string(),
        parameters: parameters.to_vec(),
        keys: keys.to_vec(),
        measures,
        grouping: (!keys.is_empty())
            .then(|| Grouping { values: vec![None; keys.len()], aggregates: vec![SqlAggregate::Sum; measures] }),
    }
}

#[cfg(any(feature = "server-tests", feature = "driver-tests"))]
impl Embedded {
    /// An engine whose tables can be made and changed, for tests that compare others with it.
    pub(crate) fn that_takes_writes() -> Embedded {
        let connection = Connection::open_in_memory().unwrap();
        add_functions(&connection).unwrap();
        Embedded { connection, path: PathBuf::new() }
    }

    /// What it reads from.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

#[test]
fn infinities_are_clamped_and_what_is_no_number_is_not_there() {
    let csv = "income\n1.5\ninf\n-inf\nNaN\n\"\"\n1e400\n-Infinity\n";
    let mut place = Place::new(csv, "[columns.income]\nbounds = [-1, 10]\ngrid = 0.5");
    let sum = |centre| Measure::sum(&place.schema, 0, centre);
    let measures = [rows(), Measure::non_null(0), sum(0), sum(5)];
    // 1.5 is 3 steps; twice 10, and twice -1.
    let sum = 3 + 20 - 2 + 20 - 2;
    let answer = place.ask(&[], None, &measures);
    assert_eq!(answer, [ExactRow { keys: Vec::new(), measures: vec![7, 5, sum, sum - 5 * 5] }]);
}

#[test]
fn sums_of_nothing_are_0() {
    let mut place = Place::new("income\n", "[columns.income]\ntype = \"integer\"\nbounds = [-1, 10]");
    let sum = Measure::sum(&place.schema, 0, 0);
    let answer = place.ask(&[], None, &[rows(), sum]);
    assert_eq!(answer, [ExactRow { keys: Vec::new(), measures: vec![0, 0] }]);
}

#[test]
fn groups_come_with_keys_of_their_columns_types() {
    let csv = "region,floor,lift\nnorth,1,true\nnorth,1,TRUE\nNorth,1,true\nsouth,-2,false\nsouth,3,false\n,1,true\nnorth,,\n";
    let declaration = "[columns]\nregion.categories = [\"north\", \"south\"]\nfloor.categories = [1, -2]\nlift.categories = [true, false]";
    let mut place = Place::new(csv, declaration);
    let mut answer = place.ask(&[0, 1, 2], None, &[rows()]);
    answer.sort_by_key(|row| row.measures[0]);
    let row = |region: &str, floor, lift, count| ExactRow {
        keys: vec![Value::Text(region.to_string()), Value::Integer(floor), Value::Boolean(lift)],
        measures: vec![count],
    };
    assert_eq!(answer, [row("south", -2, false, 1), row("north", 1, true, 2)]);
}

#[test]
fn conditions_compare_values_of_the_columns_types() {
    let csv = "name,age,height,member\nAnn,10,1.5,true\nann,9,1.25,false\nBo,-1,,\n";
    let mut place = Place::new(csv, "");
    let compare = |column, comparison, value| Predicate::Compare { operand: Operand::plain(column), comparison, value };
    let like =
        |pattern: &str, negated| Predicate::Like { operand: Operand::plain(0), pattern: pattern.to_string(), negated };
    for (filter, expected) in [
        (like("A%", false), 1),
        (like("a%", false), 1),
        (like("_nn", false), 2),
        (like("A%", true), 2),
        (compare(0, Comparison::Equal, Value::Text("ann".to_string())), 1),
        (compare(0, Comparison::Greater, Value::Text("Bo".to_string())), 1),
        (compare(1, Comparison::Less, Value::Integer(10)), 2),
        (compare(2, Comparison::GreaterOrEqual, Value::Real(1.5)), 1),
        (compare(3, Comparison::Equal, Value::Boolean(true)), 1),
        (compare(3, Comparison::NotEqual, Value::Boolean(true)), 1),
        (Predicate::IsNull { column: 2, negated: false }, 1),
        (
            Predicate::In {
                operand: Operand::plain(1),
                values: vec![Value::Integer(9), Value::Integer(-1)],
                negated: false,
            },
            2,
        ),
    ] {
        assert_eq!(place.count(filter.clone()), expected, "{filter:?}");
    }
}

#[test]
fn groups_are_those_that_sql_makes() {
    // Empty fields are null; keys that run into each other when they are written one behind the other; the extremes of a type.
    let texts = ["", "a", "ab", "b", "O'Neil", "Zo\u{eb}", "1"];
    let (integers, reals) =
        (["", "0", "1", "-1", "9223372036854775807", "-9223372036854775808"], ["", "0", "-0.0", "1.5", "-inf"]);
    let mut csv = "one,other,code,size,member,amount\n".to_string();
    for row in 0..3000_usize {
        let member = ["", "true", "false"][row / 7 % 3];
        let (one, other) = (texts[row % 7], texts[row / 5 % 7]);
        csv += &format!("{one},{other},{},{},{member},{}\n", integers[row / 3 % 6], reals[row / 11 % 5], row % 100);
    }
    let mut place = Place::new(&csv, "");
    let file = Connection::open(&place.engine.path).unwrap();
    use ColumnType::{Boolean, Integer, Real, Text};
    for (keys, kinds) in [
        ("one", &[Text][..]),
        ("one, other", &[Text, Text]),
        ("code, size", &[Integer, Real]),
        ("member, other, amount % 7", &[Boolean, Text, Integer]),
    ] {
        let known: Vec<_> = keys.split(", ").map(|key| format!("{key} IS NOT NULL")).collect();
        let grouped = format!(
            "SELECT {keys}, count(*), count(code), count(DISTINCT one), count(DISTINCT code), count(DISTINCT size), sum(amount) FROM data \
             WHERE {} GROUP BY {}",
            known.join(" AND "),
            commas(1..=kinds.len())
        );
        let mut sorted = file.prepare(&grouped).unwrap();
        let row = |row: &Row<'_>| {
            Ok(ExactRow {
                keys: (0..kinds.len()).map(|at| key(row, at, kinds[at])).collect::<Result<_, _>>()?,
                measures: (kinds.len()..kinds.len() + 6).map(|at| measure(row, at)).collect::<Result<_, _>>()?,
            })
        };
        let expected: Vec<ExactRow> = sorted.query_map([], row).unwrap().map(Result::unwrap).collect();
        use SqlAggregate::{Count, CountDistinct, Sum};
        let aggregates = vec![Count, Count, CountDistinct, CountDistinct, CountDistinct, Sum];
        let mut statement =
            written(&format!("SELECT {keys}, 1, code, one, code, size, amount FROM data"), &[], kinds, 6);
        statement.grouping = Some(Grouping { values: vec![None; kinds.len()], aggregates });
        let mut found = place.engine.run(&statement, LONG).unwrap();
        assert_eq!(found.len(), expected.len(), "{keys}");
        let order = |one: &ExactRow, other: &ExactRow| {
            let pairs = one.keys.iter().zip(&other.keys);
            pairs
                .map(|(one, other)| one.compare(other))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        found.sort_by(order);
        assert_eq!(found, expected, "{keys}");
    }
}

#[test]
fn only_declared_values_make_groups() {
    let mut place = Place::new("region,age\nnorth,1\nsouth,2\n,3\nNorth,4\nnorth,\nwest,5\n", "");
    let mut statement = written("SELECT region, age FROM data", &[], &[ColumnType::Text], 1);
    let declared = ["north", "east"].map(|region| Value::Text(region.to_string()));
    statement.grouping = Some(Grouping { values: vec![Some(declared.to_vec())], aggregates: vec![SqlAggregate::Sum] });
    let north = ExactRow { keys: vec![Value::Text("north".to_string())], measures: vec![1] };
    assert_eq!(place.engine.run(&statement, LONG), Ok(vec![north]));
}

#[test]
fn a_statement_that_takes_too_long_is_stopped_and_the_next_one_runs() {
    let mut place = Place::new("age\n1\n2\n", "");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";
    let counted = written(&format!("{endless} count(*) FROM n"), &[], &[], 1);
    let grouped = written(&format!("{endless} i % 7, 1 FROM n"), &[], &[ColumnType::Integer], 1);
    let limits = [Duration::ZERO, Duration::from_millis(50)];
    for (most, statement) in limits.into_iter().flat_map(|most| [(most, &counted), (most, &grouped)]) {
        let started = Instant::now();
        let why = place.engine.run(statement, most).unwrap_err();
        assert!(why.contains("stopped after"), "{why}");
        assert!(started.elapsed() >= most && started.elapsed() < LONG);
        assert_eq!(place.ask(&[], None, &[rows()])[0].measures, [2]);
    }
}

#[test]
fn what_goes_wrong_is_an_error_and_the_next_statement_runs() {
    let mut place = Place::new("age,name\n1,a\n2,\n", "");
    let integer = &[ColumnType::Integer][..];
    for statement in [
        written("SELECT \"height\" FROM data", &[], &[], 1),
        written("SELECT count(*) FROM data WHERE age = ?1", &[], &[], 1),
        written("SELECT count(*) FROM data", &[Value::Integer(1)], &[], 1),
        written("SELECT name, 1 FROM data", &[], integer, 1),
        written("SELECT 1.5", &[], &[], 1),
        written("SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)", &[], &[], 1),
        written("SELECT 1, x FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)", &[], integer, 1),
        written("SELECT 1, 1.5", &[], integer, 1),
        written("SELECT 1", &[], integer, 1),
        written("DELETE FROM data", &[], &[], 0),
        written("CREATE TEMP TABLE mine (x)", &[], &[], 0),
    ] {
        assert!(place.engine.run(&statement, LONG).is_err(), "{}", statement.sql);
        assert_eq!(place.ask(&[], None, &[rows()])[0].measures, [2]);
    }
}

#[test]
fn files_are_found_whatever_their_paths_look_like() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain", "with blank", "100%", "%41", "a?mode=memory", "a#b", "a&b=c", "Zoë", "a:b", "'\""] {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let (path, schema) = imported(&folder, "age\n1\n", "");
        assert_eq!(Embedded::open(&path).unwrap().check(&schema, LONG), Ok(()), "{name}");
        let doubled = PathBuf::from(format!("/{}", path.display()));
        assert_eq!(Embedded::open(&doubled).unwrap().check(&schema, LONG), Ok(()), "{name}");
    }
    assert_eq!(Embedded::address(Path::new("data/a b"), "mode=ro"), "file:data/a%20b?mode=ro");
}

#[test]
fn files_that_no_import_made_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let check = |part: &str, is_integrity| {
        let error = Embedded::open(&path).err().expect("an error");
        assert!(error.to_string().contains(part) && error.is_integrity() == is_integrity, "{error}");
    };
    check("cannot be opened", false);
    fs::write(&path, "").unwrap();
    check("not one that an import made", true);
    fs::write(&path, "age,name\n".repeat(1000)).unwrap();
    check("not one that an import made", true);
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE data (age INTEGER) STRICT").unwrap();
    check("not one that an import made", true);
    other.pragma_update(None, "application_id", Embedded::APPLICATION_ID).unwrap();
    other.pragma_update(None, "user_version", Embedded::VERSION + 1).unwrap();
    check("use a newer program", false);
    drop(other);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("not one that an import made", true);
}

#[test]
fn a_table_that_differs_from_the_schema_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, schema) = imported(folder.path(), "age,name\n1,a\n", "");
    let other = |csv: &str| {
        let folder = tempfile::tempdir().unwrap();
        imported(folder.path(), csv, "").1
    };
    for (registered, part) in [
        (
            other("age\n1\n"),
            "(\"age\" INTEGER, \"name\" TEXT) STRICT, and not CREATE TABLE \"data\" (\"age\" INTEGER) STRICT",
        ),
        (
            other("age,title\n1,a\n"),
            "\"name\" TEXT) STRICT, and not CREATE TABLE \"data\" (\"age\" INTEGER, \"title\" TEXT)",
        ),
        (other("age,Name\n1,a\n"), "and not CREATE TABLE \"data\" (\"age\" INTEGER, \"Name\" TEXT)"),
        (other("age,name\n1.5,a\n"), "and not CREATE TABLE \"data\" (\"age\" REAL, \"name\" TEXT)"),
    ] {
        let error = Embedded::open(&path).unwrap().check(&registered, LONG).unwrap_err();
        assert!(error.is_integrity() && error.to_string().contains(part), "{error}");
    }
    for change in ["CREATE INDEX by_age ON data (age)", "CREATE TABLE other (x)"] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(change).unwrap();
        drop(connection);
        let error = Embedded::open(&path).unwrap().check(&schema, LONG).unwrap_err();
        assert!(error.is_integrity() && error.to_string().contains(change), "{error}");
    }
}
