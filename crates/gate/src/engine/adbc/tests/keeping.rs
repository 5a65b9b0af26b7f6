//! Which rows are kept of a unit: by their contents alone. And files of the gate's own.

use std::collections::BTreeMap;

use super::keep::{ROOM, Room, keep};
use super::own::NewOwn;
use super::*;
use crate::import::{BadRows, CsvForm, import};
use crate::schema::{Column, PrivacyUnit};
use crate::sql::{Grouping, SqlAggregate};

const BY_PERSON: &str =
    "unit = { column = \"person\", max_rows_per_unit = 2 }\n[columns.age]\nbounds = [0, 120]\ntype = \"integer\"";

/// What is in a file of the gate's own, sorted.
fn rows_of(shore: &Shore, source: &Source) -> Vec<String> {
    let Source::Adbc(source) = source else { panic!("{source:?}") };
    let own = shore.gate().join(source.own_file().unwrap());
    let mut connection = own::open(&source.driver, &own, &shore.gate(), until()).unwrap();
    let mut rows: Vec<String> = connection
        .query(&format!("SELECT * FROM {TABLE}"), MOST)
        .unwrap()
        .rows
        .iter()
        .map(|row| format!("{row:?}"))
        .collect();
    rows.sort();
    rows
}

fn prepared(shore: &Shore, pattern: &str) -> crate::engine::PreparedLake {
    fs::remove_file(shore.gate().join("own")).ok();
    let driver = DriverChoice::default();
    let pattern = shore.path(pattern).display().to_string();
    prepare_lake(&driver, &pattern, &Declaration::parse(BY_PERSON).unwrap(), &[7; 32], Path::new("own"), &shore.gate())
        .unwrap()
}

#[test]
fn at_most_the_declared_number_of_rows_of_every_unit_are_kept_in_a_private_file() {
    let mut shore = Shore::new();
    shore.write(
        "a.parquet",
        "SELECT CASE WHEN range % 10 < 9 THEN 'p' || (range % 10) END AS person, range::INTEGER AS age FROM range(100)",
    );
    // A registration that was killed left something behind.
    fs::create_dir(shore.gate().join(".own.importing")).unwrap();
    fs::write(shore.gate().join(".own.importing/data"), "half").unwrap();
    let lake = prepared(&shore, "a.parquet");
    assert_eq!((lake.imported.rows, lake.imported.kept, lake.imported.without_unit), (100, 18, 10));
    assert!(matches!(lake.schema.unit(), PrivacyUnit::Column { .. }));
    let mut engine = shore.connect(&lake).unwrap();
    assert_eq!(counted(&mut *engine, &lake.schema), 18);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(shore.gate().join("own")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // The owner's files are not read any more.
    fs::remove_file(shore.path("a.parquet")).unwrap();
    assert_eq!(counted(&mut *shore.connect(&lake).unwrap(), &lake.schema), 18);
    let left: Vec<_> = fs::read_dir(shore.gate()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["own"]);
}

/// Every unit taken out in turn: the others keep the same rows, whatever the order of the file.
#[test]
fn what_is_kept_of_a_unit_depends_on_its_own_rows_alone() {
    let mut shore = Shore::new();
    let table = "SELECT 'p' || (range % 7) AS person, (range * 31 % 50)::INTEGER AS age, range % 3 = 0 AS flag, range / 7 AS share,
                 CASE WHEN range % 5 > 0 THEN repeat('x', (range % 4)::INTEGER) END AS note FROM range(60)";
    shore.write("a.parquet", table);
    let all = rows_of(&shore, &prepared(&shore, "a.parquet").source);
    shore.write("a.parquet", &format!("SELECT * FROM ({table}) ORDER BY hash(age, note, person)"));
    assert_eq!(rows_of(&shore, &prepared(&shore, "a.parquet").source), all, "the order matters");
    for person in 0..7 {
        let name = format!("\"p{person}\"");
        shore.write("a.parquet", &format!("SELECT * FROM ({table}) WHERE person <> 'p{person}'"));
        let others: Vec<String> = all.iter().filter(|row| !row.contains(&name)).cloned().collect();
        assert_eq!(others.len(), all.len() - 2);
        assert_eq!(rows_of(&shore, &prepared(&shore, "a.parquet").source), others, "without {name}");
    }
}

/// The rows that one plain statement keeps.
fn kept_by_one_statement(shore: &mut Shore, file: &str, names: &[&str]) -> Vec<String> {
    let encoded = |name: &&str| {
        let text = format!("CAST(\"{name}\" AS VARCHAR)");
        format!("coalesce('v' || octet_length(encode({text})) || ':' || {text}, 'n')")
    };
    let contents = names.iter().map(encoded).collect::<Vec<_>>().join(" || ");
    let sql = format!(
        "SELECT * EXCLUDE (place) FROM (
             SELECT *, row_number() OVER (PARTITION BY person ORDER BY sha256('{}'::BLOB || encode({contents}))) AS place
             FROM '{}' WHERE person IS NOT NULL
         ) WHERE place <= 2",
        "\\x07".repeat(32),
        shore.path(file).display()
    );
    let mut rows: Vec<String> =
        shore.writer.query(&sql, MOST).unwrap().rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// Registers a file with this memory.
fn kept_within(shore: &Shore, file: &str, room: &Room) -> Result<Vec<String>, Error> {
    fs::remove_file(shore.gate().join("own")).ok();
    let lake = shore.open(file)?;
    let schema = Declaration::parse(BY_PERSON)?.schema(&lake.columns())?;
    let (choice, own) = (DriverChoice::default(), shore.gate().join("own"));
    keep(&choice, &shore.find(file)?, &schema, &[7; 32], &own, room, until())?;
    let data = AdbcData::Own { file: PathBuf::from("own") };
    Ok(rows_of(shore, &Source::Adbc(AdbcSource { driver: choice, data })))
}

/// Units of every type that a unit can have.
#[test]
fn the_same_rows_are_kept_in_however_many_parts() {
    let mut shore = Shore::new();
    for unit in ["'p' || (range * 7 % 90)", "(range * 7 % 90)::BIGINT", "DATE '2024-02-29' + (range * 7 % 90)::INTEGER"]
    {
        let table = format!(
            "SELECT {unit} AS person, (range * 31 % 50)::INTEGER AS age, range / 7 AS share,
             CASE WHEN range % 5 > 0 THEN repeat('x', (range % 40)::INTEGER) END AS note FROM range(2000)"
        );
        shore.write("a.parquet", &table);
        let expected = kept_by_one_statement(&mut shore, "a.parquet", &["person", "age", "share", "note"]);
        for part in [u64::MAX, 100_000, 20_000] {
            let room = Room { part, ..ROOM };
            assert_eq!(kept_within(&shore, "a.parquet", &room).unwrap(), expected, "{unit}, {part}");
        }
    }
}

/// Units with fewer rows than count, as many, and more, side by side.
#[test]
fn all_rows_are_kept_of_units_that_have_no_more_than_count() {
    let mut shore = Shore::new();
    let unit = "CASE WHEN range < 50 THEN range WHEN range < 150 THEN 100 + range // 2 WHEN range % 13 > 0 THEN 1000 + range % 40 END";
    shore.write("a.parquet", &format!("SELECT {unit} AS person, (range % 50)::INTEGER AS age FROM range(1000)"));
    let expected = kept_by_one_statement(&mut shore, "a.parquet", &["person", "age"]);
    assert_eq!(expected.len(), 50 + 100 + 2 * 40);
    for part in [u64::MAX, 20_000] {
        assert_eq!(kept_within(&shore, "a.parquet", &Room { part, ..ROOM }).unwrap(), expected, "{part}");
    }
}

/// With memory for a fraction of the rows, and with one unit that has nearly all of them.
#[test]
fn more_rows_than_fit_into_memory_are_kept_in_parts() {
    let mut shore = Shore::new();
    let table = |unit: &str| {
        format!(
            "SELECT {unit} AS person, (hash(range) % 100)::BIGINT AS age, 'city-' || hash(range) % 300 AS city,
             hash(range) / 1e9 AS income, 'north' AS region, hash(range, 1)::VARCHAR AS one, hash(range, 2)::VARCHAR AS two
             FROM range(200000)"
        )
    };
    shore.write("a.parquet", &table("range // 4"));
    let memory = "96MB";
    let Err(error) = kept_within(&shore, "a.parquet", &Room { memory, part: u64::MAX }) else {
        panic!("all rows fit into {memory}; the test needs more of them")
    };
    assert!(error.to_string().contains("Out of Memory"), "{error}");
    let room = Room { memory, part: 12_000_000 };
    assert_eq!(kept_within(&shore, "a.parquet", &room).unwrap().len(), 100_000);
    // Where nothing is chosen, all rows together need no more.
    shore.write("a.parquet", &table("range // 2"));
    assert_eq!(kept_within(&shore, "a.parquet", &Room { memory, part: u64::MAX }).unwrap().len(), 200_000);
    shore.write("b.parquet", &table("CASE WHEN range < 100 THEN range ELSE -1 END"));
    assert_eq!(kept_within(&shore, "b.parquet", &room).unwrap().len(), 102);
    // Nothing is left of the rows that do not count.
    let left: Vec<_> = fs::read_dir(shore.gate()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["own"]);
}

#[cfg(unix)]
#[test]
fn temporary_files_of_a_registration_are_in_a_folder_that_no_one_else_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let shore = Shore::new();
    let own = shore.gate().join("own");
    let (new, mut connection) = NewOwn::create(&DriverChoice::default(), &own, &[], "50MB", until()).unwrap();
    let folder = shore.gate().join(".own.importing");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    // More than fits is written there, and nowhere else.
    let rows = "SELECT range AS x, hash(range)::VARCHAR AS y FROM range(2000000)";
    duckdb::execute(&mut connection, &format!("CREATE TEMP TABLE spilled AS {rows}"), until()).unwrap();
    assert!(fs::read_dir(folder.join(duckdb::TEMPORARY)).unwrap().next().is_some());
    drop((connection, new));
    assert_eq!(fs::read_dir(shore.gate()).unwrap().count(), 0);
}

#[test]
fn a_copy_of_the_embedded_engines_file_has_the_same_rows() {
    let shore = Shore::new();
    let csv = shore.path("people.csv");
    let text: String = (0..5000)
        .map(|row| {
            format!(
                "p{},{},{}.5,{},2024-02-{:02},{}.25,2024-02-29 10:00:{:02}\n",
                row % 900,
                row % 120,
                row,
                row % 2 == 0,
                1 + row % 28,
                row,
                row % 60
            )
        })
        .collect();
    fs::write(&csv, format!("person,age,income,member,day,wage,seen\n{text},,,,,,\n")).unwrap();
    let schema = "unit = { column = \"person\", max_rows_per_unit = 3 }\n[columns.wage]\ntype = \"decimal\"";
    let declaration = Declaration::parse(schema).unwrap();
    let (form, target) = (CsvForm::default(), shore.gate().join("data.db"));
    let imported = import(&csv, &form, &declaration, &target, &[7; 32], BadRows::Refuse, &mut |_, _| {}).unwrap();
    let own = shore.gate().join("own");
    let copied = copy_of_embedded(&DriverChoice::default(), &target, &imported.schema, &own).unwrap();
    assert_eq!(copied, imported.rows.kept);
    let mut embedded = crate::engine::Embedded::open(&target).unwrap();
    let data = AdbcData::Own { file: PathBuf::from("own") };
    let source = Source::Adbc(AdbcSource { driver: DriverChoice::default(), data });
    let mut duckdb = source.connect(&shore.gate(), &imported.schema, MOST).unwrap();
    duckdb.check(&imported.schema, MOST).unwrap();
    // Every column as the key of groups: the same values, the same number of times.
    for at in 0..imported.schema.columns.len() {
        let Column { name, kind, .. } = &imported.schema.columns[at];
        let column = crate::question::quoted(name);
        let ask = |engine: &mut dyn Engine, sql: String, grouping: Option<Grouping>| {
            let (tables, parameters, keys) = (Vec::new(), Vec::new(), vec![*kind]);
            let rows = engine.run(&Statement { tables, sql, parameters, keys, measures: 1, grouping }, MOST).unwrap();
            rows.into_iter().map(|row| (format!("{:?}", row.keys), row.measures)).collect::<BTreeMap<_, _>>()
        };
        // The embedded engine makes groups itself.
        let grouping = Grouping { values: vec![None], aggregates: vec![SqlAggregate::Count] };
        let read = format!("SELECT {column}, 1 FROM {}", crate::engine::Embedded::TABLE);
        let one = ask(&mut embedded, read, Some(grouping));
        let grouped = format!("SELECT {column}, count(*) FROM {TABLE} WHERE {column} IS NOT NULL GROUP BY 1");
        assert_eq!(one, ask(&mut *duckdb, grouped, None), "{name}");
        assert!(!one.is_empty());
    }
}
