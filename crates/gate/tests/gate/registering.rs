//! Registering data: one after the other, and nothing is believed of the gate's records that no registration would have written.

use std::time::Duration;

use crate::common::{Setup, account, answered, declaration, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{Catalog, ColumnType, Data, ErrorKind, Field, Registered, Registration, TableRows};

const VISITS: &str = "person,age\nann,30\nann,31\nann,32\nbob,40\n";

fn schema(most: u32) -> String {
    format!("unit = {{ column = \"person\", max_rows_per_unit = {most} }}\n[columns.age]\nbounds = [0, 120]")
}

fn setup() -> Setup {
    let setup = Setup::new();
    setup.add("visits", VISITS, &schema(1), "1,1e-6");
    setup
}

fn newer(setup: &Setup, csv: &str, schema: &str) -> Registration {
    Registration { new_version: true, ..setup.registration("visits", csv, schema, None) }
}

/// Two registrations at once wrote to the same file: the version of one, with its declaration of one row a person, had the rows of the
/// other, with three.
#[test]
fn a_version_is_registered_by_one_at_a_time() {
    let setup = setup();
    let (first, second) = (newer(&setup, VISITS, &schema(1)), newer(&setup, VISITS, &schema(3)));
    let mut refused = Vec::new();
    setup.gate.register(&first, &mut |_, _| refused.push(setup.register(second.clone()).unwrap_err())).unwrap();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|error| error.to_string().contains("registered already")), "{refused:?}");
    assert_eq!(setup.register(second).unwrap().dataset.version, 3);
}

#[test]
fn many_open_the_same_new_records_at_once() {
    let setup = setup();
    let ledger = setup.gate.ledger().id();
    for round in 0..10 {
        let folder = setup.path().join(format!("gate{round}"));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Catalog::open(&folder, ledger).map(|_| ()).unwrap());
            }
        });
    }
}

/// A unit of no rows has no sensitivity: its answers came without noise. A bound beside the grid ended the process.
#[test]
fn a_schema_that_nobody_could_declare_is_damaged() {
    for (good, bad) in [
        (r#""max_rows_per_unit":1"#, r#""max_rows_per_unit":0"#),
        (r#""grid":"1""#, r#""grid":"7""#),
        (r#""name":"person""#, r#""name":"nobody""#),
    ] {
        let setup = setup();
        let records = rusqlite::Connection::open(setup.records()).unwrap();
        assert_eq!(records.execute("UPDATE versions SET schema = replace(schema, ?1, ?2)", [good, bad]), Ok(1));
        let error = setup.gate.ask(&request("visits", "SELECT SUM(age) FROM visits", "0.1")).unwrap_err();
        assert!(error.is_integrity(), "{error}");
        assert_eq!(setup.charges("visits"), 0);
    }
}

#[test]
fn a_unit_that_the_ledger_takes_for_a_row_is_refused() {
    let setup = Setup::new();
    let lines = "Record,age\n1,30\n1,40\n";
    setup.add("visits", lines, "", "1,1e-6");
    let by_column = r#"unit = { column = "Record", max_rows_per_unit = 1 }"#;
    let error = setup.register(newer(&setup, lines, by_column)).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("rename the column"), "{error}");
}

#[test]
fn a_time_that_would_be_stored_as_none_is_refused() {
    let setup = Setup::new();
    let rules = Some(rules(FilterRule::Residue, "1,1e-6"));
    let mut short = setup.registration("visits", VISITS, &schema(1), rules);
    short.timeout = Duration::from_micros(999);
    assert!(setup.register(short).unwrap_err().is_input());
}

#[test]
fn the_same_key_gives_the_same_bytes_after_the_columns_have_changed() {
    let setup = setup();
    let first = request("visits", "SELECT SUM(age) FROM visits", "0.1");
    let answer = answered(setup.ask(&first));
    let without = r#"unit = { column = "person", max_rows_per_unit = 1 }"#;
    setup.register(newer(&setup, "person,size\nann,3\n", without)).unwrap();
    assert_eq!(answered(setup.ask(&first)).document, answer.document);
    // Under a new key it is asked of the newest version.
    let error = setup.gate.ask(&request("visits", "SELECT SUM(age) FROM visits", "0.1")).unwrap_err();
    assert!(error.to_string().contains("column \"age\" not found"), "{error}");
    assert_eq!(setup.gate.catalog().dataset(&account("visits")).unwrap().version, 2);
}

/// The data files of the gate, by name.
fn files(setup: &Setup) -> Vec<String> {
    let entries = std::fs::read_dir(setup.path().join("gate")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names.filter(|name| name.contains(".v")).collect();
    files.sort();
    files
}

/// What is left of every person's visits.
fn kept(setup: &Setup, file: &str) -> Vec<(i64, i64)> {
    let data = rusqlite::Connection::open(setup.path().join("gate").join(file)).unwrap();
    let mut rows = data.prepare("SELECT person, age FROM data ORDER BY 1, 2").unwrap();
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn other_rows_are_kept_in_another_dataset_and_the_same_ones_in_a_newer_version() {
    let setup = Setup::new();
    // One row of ten is kept of each of fifty people.
    let rows: String = (0..500).map(|row| format!("{},{}\n", row / 10, row % 10)).collect();
    let csv = format!("person,age\n{rows}");
    for name in ["visits", "others"] {
        setup.add(name, &csv, &schema(1), "1,1e-6");
    }
    setup.register(newer(&setup, &csv, &schema(1))).unwrap();
    let first = kept(&setup, "visits.v1.db");
    assert_eq!(first.len(), 50);
    assert_eq!(kept(&setup, "visits.v2.db"), first);
    assert_ne!(kept(&setup, "others.v1.db"), first);
}

/// Whatever has the name of a new version's file is taken for what a killed import left, and removed.
#[test]
fn no_two_versions_of_any_datasets_have_the_same_file() {
    let setup = setup();
    let names = [
        "Visits",
        "visits/ward",
        "visits/Ward",
        "visits_ward",
        "visits-ward",
        "visits.ward",
        "visits.v1",
        "visits.v1.db",
    ];
    for name in names {
        setup.add(name, VISITS, &schema(1), "1,1e-6");
    }
    setup.register(newer(&setup, VISITS, &schema(1))).unwrap();
    let mut files: Vec<String> = files(&setup).iter().map(|file| file.to_lowercase()).collect();
    files.dedup();
    assert_eq!(files.len(), names.len() + 2, "{files:?}");
    for dataset in setup.gate.catalog().datasets().unwrap() {
        setup.gate.catalog().check(&setup.gate.ledger().account(&dataset.name).unwrap()).unwrap();
    }
}

#[test]
fn what_is_wrong_with_an_account_is_said_before_anything_is_imported() {
    let setup = setup();
    setup.gate.add_analyst(&account("visits"), "alice", rules(FilterRule::Residue, "1,1e-6")).unwrap();
    let rules = || Some(rules(FilterRule::Residue, "1,1e-6"));
    let good = schema(1);
    for (name, schema, rules, new_version, says) in [
        ("visits", good.as_str(), None, false, "dataset visits already exists"),
        ("others", &good, rules(), true, "dataset others does not exist"),
        ("others", &good, None, false, "no account named others exists"),
        ("visits/alice", &good, rules(), false, "account visits/alice already exists"),
        ("visits/rows", "", rules(), false, "protects one person added or removed"),
        ("visits/alice", "", None, false, "protects one person added or removed"),
    ] {
        let registration = Registration { new_version, ..setup.registration(name, VISITS, schema, rules) };
        let error = setup.register(registration).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(says), "{name}: {error}");
        assert_eq!(files(&setup), ["visits.v1.db"], "{name}");
    }
}

#[test]
fn a_dataset_is_checked_against_its_data_and_its_account() {
    let tamper =
        |setup: &Setup, sql: &str| rusqlite::Connection::open(setup.records()).unwrap().execute_batch(sql).unwrap();
    let checked = |setup: &Setup| setup.gate.catalog().check(&setup.gate.ledger().account(&account("visits")).unwrap());
    let (good, other, gone) = (setup(), setup(), setup());
    assert_eq!(checked(&good).unwrap().rows, Some(2));
    tamper(&other, "UPDATE versions SET schema = replace(schema, 'add-remove', 'substitute')");
    assert!(checked(&other).unwrap_err().to_string().contains("protects"));
    std::fs::remove_file(gone.path().join("gate").join("visits.v1.db")).unwrap();
    assert!(checked(&gone).is_err());
}

#[test]
fn data_that_are_being_registered_already_are_busy() {
    let setup = setup();
    let name = format!("{}.registering", &blake3::hash(b"visits").to_hex()[..32]);
    let lock = std::fs::File::create(setup.path().join("gate").join(name)).unwrap();
    lock.lock().unwrap();
    let error = setup.register(newer(&setup, VISITS, &schema(1))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Busy(_)) && !error.is_input(), "{error}");
    drop(lock);
    setup.register(newer(&setup, VISITS, &schema(1))).unwrap();
}

#[test]
fn what_an_owner_allows_is_kept() {
    let setup = setup();
    for (reuse, timeout) in [(true, 1), (false, 1_500), (true, 86_400_000)] {
        let timeout = Duration::from_millis(timeout);
        setup.register(Registration { reuse, timeout, ..newer(&setup, VISITS, &schema(1)) }).unwrap();
        let dataset = setup.gate.catalog().dataset(&account("visits")).unwrap();
        assert_eq!((dataset.reuse, dataset.timeout), (reuse, timeout));
    }
    let long = Duration::from_millis(86_400_001);
    assert!(
        setup.register(Registration { timeout: long, ..newer(&setup, VISITS, &schema(1)) }).unwrap_err().is_input()
    );
}

#[test]
fn records_that_are_not_a_gates_or_have_another_format_are_not_opened() {
    for (sql, is_input) in [("PRAGMA application_id = 7", true), ("PRAGMA user_version = 5", false)] {
        let setup = setup();
        rusqlite::Connection::open(setup.records()).unwrap().execute_batch(sql).unwrap();
        let error = Catalog::open(&setup.path().join("gate"), setup.gate.ledger().id()).err().unwrap();
        assert_eq!(error.is_input(), is_input, "{error}");
    }
}

#[test]
fn records_of_earlier_formats_are_brought_up_to_date() {
    for older in [
        "ALTER TABLE versions DROP COLUMN min_epsilon; DROP TABLE under_way; DROP TABLE public_tables; PRAGMA user_version = 1",
        "ALTER TABLE under_way DROP COLUMN asker; DROP TABLE public_tables; PRAGMA user_version = 2",
        "DROP TABLE public_tables; PRAGMA user_version = 3",
    ] {
        let setup = setup();
        rusqlite::Connection::open(setup.records()).unwrap().execute_batch(older).unwrap();
        let catalog = Catalog::open(&setup.path().join("gate"), setup.gate.ledger().id()).unwrap();
        assert_eq!(catalog.dataset(&account("visits")).unwrap().min_epsilon, None);
        setup.ask(&request("visits", "SELECT COUNT(*) FROM visits", "0.1"));
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_records() {
    use std::os::unix::fs::PermissionsExt as _;
    let setup = setup();
    let folder = setup.path().join("gate").metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o077, 0);
    for entry in std::fs::read_dir(setup.path().join("gate")).unwrap() {
        let entry = entry.unwrap();
        let (name, metadata) = (entry.file_name(), entry.metadata().unwrap());
        // Also those that are empty: a process that can open a file can lock it and block all others.
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{name:?}");
    }
}

/// Registers rows in memory as `people`, by person.
fn add_rows(setup: &Setup, rows: Vec<Result<Vec<Field>, String>>) -> Result<Registered, taximeter_gate::Error> {
    let columns = vec![("person".to_string(), ColumnType::Text), ("age".to_string(), ColumnType::Integer)];
    let data = Data::Rows(TableRows::new(columns, rows.into_iter()));
    let rules = Some(rules(FilterRule::Basic, "1000000,0.1"));
    setup.register(Registration { rules, ..Registration::new(account("people"), declaration(&schema(2)), data) })
}

fn person(name: &str, age: i64) -> Result<Vec<Field>, String> {
    Ok(vec![Field::Text(name.to_string()), Field::Integer(age)])
}

#[test]
fn rows_in_memory_are_kept_by_unit_as_those_of_a_file_are() {
    let setup = Setup::new();
    let nameless = Ok(vec![Field::Null, Field::Integer(1)]);
    let rows =
        vec![person("ann", 30), person("ann", 31), person("ann", 32), person("bob", 40), person("", 1), nameless];
    let imported = add_rows(&setup, rows).unwrap().imported.unwrap();
    assert_eq!((imported.rows, imported.kept, imported.without_unit), (6, 3, 2));
    let answer = answered(setup.ask(&request("people", "SELECT COUNT(*) FROM people", "10000")));
    assert_eq!(answer.value(0, 0), Some(3.0));
}

#[test]
fn rows_in_memory_that_cannot_be_used_register_nothing() {
    for (row, part) in [
        (Ok(vec![Field::Text("ann".to_string())]), "a row has 1 fields"),
        (Ok(vec![Field::Integer(1), Field::Integer(1)]), "is not text"),
        (Ok(vec![Field::Text("a\0b".to_string()), Field::Null]), "NUL"),
        (Err("the stream broke".to_string()), "the stream broke"),
    ] {
        let setup = Setup::new();
        let error = add_rows(&setup, vec![person("ann", 30), row]).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(part), "{error}");
        assert!(setup.gate.catalog().datasets().unwrap().is_empty());
        assert!(setup.gate.ledger().accounts().is_empty());
    }
}
