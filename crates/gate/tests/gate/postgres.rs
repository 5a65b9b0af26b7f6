//! PostgreSQL as the engine and as the ledger at once.

use std::time::Duration;

use crate::common::{Setup, account, answered, declaration, document, group_counts, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{Data, Error, ErrorKind, GateOutcome, ImportedRows, Registration};
use taximeter_ledger::Location;
use taximeter_testing::{PrivatePostgres, query, wait_until};

/// Visits of five hundred people, some of whom have more rows than count.
const VISITS: &str = "
    CREATE TABLE visits AS
    SELECT 'p' || (row % 500) AS person, (row % 90)::int4 AS age, row::float8 / 10 AS cost, row % 2 = 0 AS urgent
    FROM generate_series(1, 5000) row;
    INSERT INTO visits VALUES (NULL, 40, 1, true);
";

const SCHEMA: &str = r#"
    unit = { column = "person", max_rows_per_unit = 3 }
    [columns.age]
    bounds = [0, 120]
    [columns.cost]
    bounds = [0, 1000]
    [columns.urgent]
    categories = [true, false]
"#;

/// A gate whose ledger is in one database and whose data are in another.
fn setup() -> (Setup, String) {
    let server = PrivatePostgres::shared();
    let ledger = Location::parse(&server.new_database().unwrap()).unwrap();
    (Setup::with_ledger(tempfile::tempdir().unwrap(), &ledger), server.new_database().unwrap())
}

fn registration(url: &str, name: &str, table: &str, schema: &str) -> Registration {
    let data = Data::Postgres { url: url.to_string(), table: table.to_string() };
    let rules = Some(rules(FilterRule::Residue, "1000,1e-6"));
    Registration { rules, ..Registration::new(account(name), declaration(schema), data) }
}

#[test]
fn questions_are_charged_in_one_database_and_answered_from_another() {
    let (setup, url) = setup();
    query(&url, VISITS).unwrap();
    let registered = setup.register(registration(&url, "visits", "visits", SCHEMA)).unwrap();
    let counted = ImportedRows { rows: 5001, kept: 1500, without_unit: 1, ..ImportedRows::default() };
    assert_eq!((registered.dataset.rows, registered.imported), (Some(1500), Some(counted)));
    let question = "SELECT urgent, COUNT(*), COUNT(DISTINCT person), AVG(age) FROM visits GROUP BY urgent";
    let first = request("visits", question, "100");
    let answer = answered(setup.ask(&first));
    assert_eq!(answered(setup.ask(&first)).document, answer.document);
    let count = |row: usize| answer.value(row, 1).unwrap();
    assert!((count(0) + count(1) - 1500.0).abs() < 20.0, "{}", answer.document);
    assert_eq!(setup.charges("visits"), 1);
    assert_eq!(document(&answer)["protects"], "one person added or removed");
}

#[test]
fn groups_that_the_question_names_are_answered_with_those_that_no_row_has() {
    let (setup, url) = setup();
    query(
        &url,
        "CREATE TABLE trips AS SELECT 'é' AS town, 7::int2 AS size, NULL::text AS none FROM generate_series(1, 100)",
    )
    .unwrap();
    query(&url, "INSERT INTO trips VALUES ('E', 8, NULL), (NULL, 7, NULL), ('e', 7, NULL)").unwrap();
    let free = Some(rules(FilterRule::Basic, "1000000,1e-6"));
    setup.register(Registration { rules: free, ..registration(&url, "trips", "trips", "") }).unwrap();
    let counts = |question: &str| group_counts(&setup, "trips", question);
    let expected = |groups: &[(&str, f64)]| groups.iter().map(|(key, n)| (key.to_string(), *n)).collect::<Vec<_>>();
    let by_town = "SELECT town, COUNT(*) FROM trips WHERE town = 'e' OR town IN ('é', 'nowhere') GROUP BY town";
    assert_eq!(counts(by_town), expected(&[("e", 1.0), ("nowhere", 0.0), ("é", 100.0)]));
    let by_size = "SELECT size, COUNT(*) FROM trips WHERE size BETWEEN 7 AND 9 GROUP BY size";
    assert_eq!(counts(by_size), expected(&[("7", 102.0), ("8", 1.0), ("9", 0.0)]));
    assert_eq!(counts("SELECT none, COUNT(*) FROM trips WHERE none IN ('a') GROUP BY none"), expected(&[("a", 0.0)]));
}

#[test]
fn two_tables_of_one_database_are_joined_on_their_unit() {
    let (setup, url) = setup();
    query(&url, VISITS).unwrap();
    query(
        &url,
        "CREATE TABLE people AS SELECT 'p' || row AS person, row::int4 AS age, ('w' || row % 2)::varchar AS ward
         FROM generate_series(0, 699) row;
         INSERT INTO people VALUES (NULL, 1, 'w0'), ('P1', 1, 'w0')",
    )
    .unwrap();
    let schema = "unit = { column = \"person\", max_rows_per_unit = 1 }\n[columns.age]\nbounds = [0, 120]";
    for (name, table, schema) in [("visits", "visits", SCHEMA), ("people", "people", schema)] {
        let free = Some(rules(FilterRule::Basic, "1000000,1e-6"));
        setup.register(Registration { rules: free, ..registration(&url, name, table, schema) }).unwrap();
    }
    let value =
        |question: &str| answered(setup.ask(&request("people", question, "20000"))).value(0, 0).unwrap().round();
    assert_eq!(value("SELECT COUNT(*) FROM people JOIN visits USING (person)"), 1500.0);
    assert_eq!(value("SELECT COUNT(DISTINCT p.person) FROM visits v JOIN people p ON p.person = v.person"), 500.0);
    assert_eq!(value("SELECT COUNT(*) FROM people p LEFT JOIN visits v USING (person) WHERE v.age IS NULL"), 201.0);
    assert_eq!(value("SELECT SUM(p.age) FROM people p JOIN visits v USING (person) WHERE p.age <= 10"), 165.0);
    let wards = "SELECT ward, COUNT(*) FROM people JOIN visits USING (person) WHERE ward IN ('w0', 'W0') GROUP BY ward";
    assert_eq!(group_counts(&setup, "people", wards), [("W0".to_string(), 0.0), ("w0".to_string(), 750.0)]);
    assert_eq!((setup.charges("people"), setup.charges("visits")), (5, 5));
    // What is joined is looked at before the charge, too.
    query(&url, "DO $$ BEGIN EXECUTE (SELECT 'DROP TABLE taximeter_gate.' || tablename FROM pg_tables WHERE schemaname = \
                 'taximeter_gate' AND tablename IN (SELECT c.table_name FROM information_schema.columns c WHERE c.column_name = \
                 'urgent')); END $$")
        .unwrap();
    let error =
        setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people JOIN visits USING (person)", "1")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataAway { dataset, .. } if dataset.as_str() == "visits"), "{error}");
    // Data in two places are not read by one statement.
    setup.add("others", "person,n\np1,1\n", "unit = { column = \"person\", max_rows_per_unit = 1 }", "10,1e-6");
    let error =
        setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people JOIN others USING (person)", "1")).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("under one URL"), "{error}");
    assert_eq!((setup.charges("people"), setup.charges("visits")), (5, 5));
}

#[test]
fn a_refreshed_dataset_has_the_new_rows_and_the_same_budget() {
    let (setup, url) = setup();
    query(&url, VISITS).unwrap();
    setup.register(registration(&url, "visits", "visits", SCHEMA)).unwrap();
    answered(setup.ask(&request("visits", "SELECT COUNT(*) FROM visits", "100")));
    query(&url, "INSERT INTO visits SELECT 'new' || row, 20, 5, true FROM generate_series(1, 100) row").unwrap();
    let before = answered(setup.ask(&request("visits", "SELECT COUNT(*) FROM visits", "100")));
    assert!((before.value(0, 0).unwrap() - 1500.0).abs() < 2.0, "what is asked does not change under the analyst");
    assert_eq!(setup.gate.refresh(&account("visits")).unwrap().dataset.version, 2);
    let after = answered(setup.ask(&request("visits", "SELECT COUNT(*) FROM visits", "100")));
    assert!((after.value(0, 0).unwrap() - 1600.0).abs() < 2.0);
    assert_eq!(setup.charges("visits"), 3);
    let kept = query(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'taximeter_gate'").unwrap();
    assert_eq!(kept.trim(), "1", "the older version's table is gone");
}

/// The gate's tables, and what is in them.
fn kept(url: &str) -> Vec<(String, String)> {
    let names = query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'taximeter_gate' ORDER BY 1").unwrap();
    let rows = |name: &str| query(url, &format!("SELECT * FROM taximeter_gate.{name} ORDER BY person, cost")).unwrap();
    names.split_whitespace().map(|name| (name.to_string(), rows(name))).collect()
}

#[test]
fn two_datasets_of_one_table_keep_rows_of_their_own_and_the_same_ones_when_they_are_refreshed() {
    let (setup, url) = setup();
    query(&url, VISITS).unwrap();
    setup.register(registration(&url, "visits", "visits", SCHEMA)).unwrap();
    let [first] = &kept(&url)[..] else { panic!("one table") };
    assert_eq!(setup.register(registration(&url, "others", "visits", SCHEMA)).unwrap().same_data, ["visits"]);
    let both = kept(&url);
    let [other] = &both.iter().filter(|table| *table != first).collect::<Vec<_>>()[..] else { panic!("another table") };
    assert_ne!(other.1, first.1);
    assert_eq!(setup.gate.refresh(&account("others")).unwrap().same_data, ["visits"]);
    let refreshed = (other.0.replace("_v1", "_v2"), other.1.clone());
    let after = kept(&url);
    assert!(after.len() == 2 && after.contains(first) && after.contains(&refreshed));
    for dataset in ["visits", "others"] {
        let count = answered(setup.ask(&request(dataset, &format!("SELECT COUNT(*) FROM {dataset}"), "100")));
        assert!((count.value(0, 0).unwrap() - 1500.0).abs() < 2.0);
    }
}

/// A process that was killed between keeping the rows and writing the version down left a table, and no refresh went past it.
#[test]
fn what_a_refresh_left_that_was_killed_is_not_in_the_way() {
    let (setup, url) = setup();
    query(&url, VISITS).unwrap();
    setup.register(registration(&url, "visits", "visits", SCHEMA)).unwrap();
    let name = query(&url, "SELECT tablename FROM pg_tables WHERE schemaname = 'taximeter_gate'").unwrap();
    let leftover = name.trim().replace("_v1", "_v2");
    query(&url, &format!("CREATE TABLE taximeter_gate.{leftover} (person text)")).unwrap();
    let refreshed = setup.gate.refresh(&account("visits")).unwrap();
    assert_eq!((refreshed.dataset.version, refreshed.dataset.rows), (2, Some(1500)));
}

#[test]
fn a_question_that_takes_too_long_is_charged_and_leaves_nothing_running() {
    let (setup, url) = setup();
    query(&url, "CREATE TABLE people AS SELECT 40 AS age").unwrap();
    let mut slow = registration(&url, "people", "people", "[columns.age]\nbounds = [0, 120]");
    slow.timeout = Duration::from_secs(3);
    setup.register(slow).unwrap();
    // A change of the table holds questions for longer than their timeout.
    let (here, lock) = (url.clone(), "BEGIN; LOCK TABLE people; SELECT pg_sleep(6)");
    let changing = std::thread::spawn(move || query(&here, lock).unwrap());
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'people'::regclass";
    wait_until("the table is locked", || query(&url, locked).unwrap() == "1");
    let request = request("people", "SELECT SUM(age) FROM people", "0.1");
    let outcome = setup.ask(&request);
    assert!(matches!(outcome, GateOutcome::NoAnswer(_)), "{outcome:?}");
    changing.join().unwrap();
    // Other tests use other databases of the same server.
    let running = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()";
    wait_until("nothing runs", || query(&url, running).unwrap() == "0");
    assert!(matches!(setup.ask(&request), GateOutcome::NoAnswer(_)));
    assert_eq!(setup.charges("people"), 1);
}

#[test]
fn a_table_that_became_a_view_is_noticed_before_anybody_pays() {
    let (setup, url) = setup();
    query(&url, "CREATE TABLE people (age int4)").unwrap();
    setup.register(registration(&url, "people", "people", "")).unwrap();
    assert!(setup.gate.refresh(&account("people")).unwrap_err().to_string().contains("nothing to refresh"));
    query(&url, "ALTER TABLE people RENAME TO hidden; CREATE VIEW people AS SELECT 1 / (age - 40) AS age FROM hidden")
        .unwrap();
    assert!(setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "0.1")).is_err());
    assert_eq!(setup.charges("people"), 0);
}

#[test]
fn a_ledger_that_has_stopped_is_told_from_a_charge_that_nobody_knows_of() {
    let url = PrivatePostgres::shared().new_database().unwrap();
    let setup = Setup::with_ledger(tempfile::tempdir().unwrap(), &Location::parse(&url).unwrap());
    setup.add("people", "age\n40\n", "", "1,1e-6");
    query(&url, "DELETE FROM taximeter.head").unwrap();
    let ask = || setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "0.1")).unwrap_err();
    let (first, second) = (ask(), ask());
    let is_stopped = |error: &Error| matches!(error.kind(), ErrorKind::Ledger(error) if error.is_stopped());
    assert!(first.is_unknown_outcome() && !is_stopped(&first), "{first}");
    assert!(is_stopped(&second) && !second.is_unknown_outcome(), "{second}");
}

#[test]
fn a_database_that_is_down_costs_nothing_and_tells_its_place_to_the_owner_alone() {
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    query(&url, "CREATE TABLE people (age int); INSERT INTO people VALUES (40)").unwrap();
    let setup = Setup::new();
    setup.register(registration(&url, "people", "people", "unit = \"row\"")).unwrap();
    let ask = || setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "0.1"));
    answered(ask().unwrap());
    server.stop_immediate().unwrap();
    let error = ask().unwrap_err();
    assert!(error.to_string().contains("nothing was charged") && !error.to_string().contains("postgres://"), "{error}");
    assert!(matches!(error.kind(), ErrorKind::DataAway { why, .. } if why.contains("postgres://")), "{error:?}");
    assert_eq!(setup.charges("people"), 1);
    server.start_again().unwrap();
    answered(ask().unwrap());
}
