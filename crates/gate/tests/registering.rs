//! Registering data: one after the other, and nothing is believed of the gate's records that no registration would have written.

mod common;

use std::time::Duration;

use common::{House, account, answered, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{Catalog, Registration};

const VISITS: &str = "person,age\nann,30\nann,31\nann,32\nbob,40\n";

fn schema(most: u32) -> String {
    format!("unit = {{ column = \"person\", max_rows_per_unit = {most} }}\n[columns.age]\nbounds = [0, 120]")
}

fn house() -> House {
    let house = House::new();
    house.add("visits", VISITS, &schema(1), "1,1e-6");
    house
}

fn newer(house: &House, csv: &str, schema: &str) -> Registration {
    Registration { new_version: true, ..house.registration("visits", csv, schema, None) }
}

/// Two registrations at once wrote to the same file: the version of one, with its declaration of one row a person, had the rows of the
/// other, with three.
#[test]
fn a_version_is_registered_by_one_at_a_time() {
    let house = house();
    let (first, second) = (newer(&house, VISITS, &schema(1)), newer(&house, VISITS, &schema(3)));
    let mut refused = Vec::new();
    house.gate.register(&first, &mut |_, _| refused.push(house.register(second.clone()).unwrap_err())).unwrap();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|error| error.to_string().contains("registered already")), "{refused:?}");
    assert_eq!(house.register(second).unwrap().dataset.version, 3);
}

#[test]
fn many_open_the_same_new_records_at_once() {
    let house = house();
    let ledger = house.gate.ledger().id();
    for round in 0..10 {
        let folder = house.path().join(format!("gate{round}"));
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
        let house = house();
        let records = rusqlite::Connection::open(house.records()).unwrap();
        assert_eq!(records.execute("UPDATE versions SET schema = replace(schema, ?1, ?2)", [good, bad]), Ok(1));
        let error = house.gate.ask(&request("visits", "SELECT SUM(age) FROM visits", "0.1")).unwrap_err();
        assert!(error.is_integrity(), "{error}");
        assert_eq!(house.charges("visits"), 0);
    }
}

#[test]
fn a_unit_that_the_ledger_takes_for_a_row_is_refused() {
    let house = House::new();
    let lines = "Record,age\n1,30\n1,40\n";
    house.add("visits", lines, "", "1,1e-6");
    let by_column = r#"unit = { column = "Record", max_rows_per_unit = 1 }"#;
    let error = house.register(newer(&house, lines, by_column)).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("rename the column"), "{error}");
}

#[test]
fn a_time_that_would_be_stored_as_none_is_refused() {
    let house = House::new();
    let rules = Some(rules(FilterRule::Residue, "1,1e-6"));
    let mut short = house.registration("visits", VISITS, &schema(1), rules);
    short.timeout = Duration::from_micros(999);
    assert!(house.register(short).unwrap_err().is_input());
}

#[test]
fn the_same_key_gives_the_same_bytes_after_the_columns_have_changed() {
    let house = house();
    let first = request("visits", "SELECT SUM(age) FROM visits", "0.1");
    let answer = answered(house.ask(&first));
    let without = r#"unit = { column = "person", max_rows_per_unit = 1 }"#;
    house.register(newer(&house, "person,size\nann,3\n", without)).unwrap();
    assert_eq!(answered(house.ask(&first)).document, answer.document);
    // Under a new key it is asked of the newest version.
    let error = house.gate.ask(&request("visits", "SELECT SUM(age) FROM visits", "0.1")).unwrap_err();
    assert!(error.to_string().contains("no column \"age\""), "{error}");
    assert_eq!(house.gate.catalog().dataset(&account("visits")).unwrap().version, 2);
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_records() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = house();
    for entry in std::fs::read_dir(house.path().join("gate")).unwrap() {
        let entry = entry.unwrap();
        let (name, metadata) = (entry.file_name(), entry.metadata().unwrap());
        assert!(metadata.len() == 0 || metadata.permissions().mode() & 0o077 == 0, "{name:?}");
    }
}
