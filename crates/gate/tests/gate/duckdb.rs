//! Data that DuckDB reads, seen from outside: Parquet files where they are, files that are imported there, and datasets that move there.

use std::fs;
use std::path::PathBuf;

use taximeter_accounting::FilterRule;
use taximeter_engine_adbc::{AdbcConnection, AdbcDriver, AdbcOptions, DriverSpec, Search};
use taximeter_gate::{
    CsvEngine, CsvForm, Data, DriverChoice, ErrorKind, GateOutcome, Origin, Registered, Registration,
};
use taximeter_testing::PATIENCE;

use crate::common::{Setup, account, answered, declaration, group_counts, request, rules};

/// Writes what a query returns into a Parquet file of the setup.
pub(super) fn parquet(setup: &Setup, name: &str, query: &str) -> PathBuf {
    let driver = AdbcDriver::find(&DriverSpec::Name("duckdb".to_string()), &Search::of_this_machine()).unwrap();
    let mut writer = AdbcConnection::open(&driver, AdbcOptions::default().with("path", ":memory:"), PATIENCE).unwrap();
    let path = setup.path().join(name);
    writer.execute(&format!("COPY ({query}) TO '{}' (FORMAT parquet)", path.display()), PATIENCE).unwrap();
    path
}

fn lake(setup: &Setup, name: &str, pattern: &str, schema: &str) -> Registration {
    let pattern = setup.path().join(pattern).display().to_string();
    let data = Data::Parquet { pattern, driver: DriverChoice::default() };
    let rules = Some(rules(FilterRule::Basic, "100000,1e-6"));
    Registration { rules, ..Registration::new(account(name), declaration(schema), data) }
}

fn csv(setup: &Setup, name: &str, text: &str, schema: &str, engine: CsvEngine) -> Registered {
    let (path, form, bad_rows) = (setup.csv(text), CsvForm::default(), Default::default());
    let data = Data::Csv { path, form, bad_rows, engine };
    let rules = Some(rules(FilterRule::Basic, "100000,1e-6"));
    setup.register(Registration { rules, ..Registration::new(account(name), declaration(schema), data) }).unwrap()
}

/// A price at which the noise of a sum of ages is 0, but for one answer in 10¹⁷.
const EXACT: &str = "5000";

/// The answer without noise.
pub(super) fn value(setup: &Setup, dataset: &str, question: &str) -> f64 {
    answered(setup.ask(&request(dataset, question, EXACT))).value(0, 0).unwrap().round()
}

const AGES: &str = "[columns.age]\nbounds = [0, 120]";

#[test]
fn parquet_files_are_asked_where_they_are() {
    let setup = Setup::new();
    parquet(
        &setup,
        "a.parquet",
        "SELECT (range % 50)::INTEGER AS age, range % 2 = 0 AS even, [1] AS list FROM range(1000)",
    );
    parquet(&setup, "b.parquet", "SELECT 200 AS age, FALSE AS even, [1] AS list FROM range(10)");
    let registered = setup.register(lake(&setup, "visits", "*.parquet", AGES)).unwrap();
    assert_eq!(registered.imported.unwrap().kept, 1010);
    assert_eq!(registered.left_out, [("list".to_string(), "INTEGER[]".to_string())]);
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits WHERE even"), 500.0);
    // What is beyond the bounds is clamped.
    assert_eq!(value(&setup, "visits", "SELECT SUM(age) FROM visits WHERE NOT even AND age > 100"), 1200.0);
    assert!(registered.dataset.data().contains("2 Parquet files"), "{}", registered.dataset.data());
    assert!(!registered.dataset.is_in_postgres());
}

#[test]
fn a_file_that_was_changed_is_refused_before_the_charge_and_read_again_on_request() {
    let setup = Setup::new();
    let path = parquet(&setup, "a.parquet", "SELECT 30 AS age FROM range(100)");
    setup.register(lake(&setup, "visits", "a.parquet", AGES)).unwrap();
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits"), 100.0);
    parquet(&setup, "a.parquet", "SELECT 30 AS age FROM range(200)");
    let refused = |part: &str| {
        let error = setup.gate.ask(&request("visits", "SELECT COUNT(*) FROM visits", "50")).unwrap_err();
        let ErrorKind::DataAway { why, .. } = error.kind() else { panic!("{error}") };
        assert!(why.contains(part), "{why}");
        // An analyst is not told where the data are.
        assert!(!error.to_string().contains("parquet"), "{error}");
        assert_eq!(setup.charges("visits"), 1);
    };
    refused("register the data again, as a new version");
    let refreshed = setup.gate.refresh(&account("visits")).unwrap();
    assert_eq!((refreshed.dataset.version, refreshed.imported.unwrap().kept), (2, 200));
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits WHERE age > 1"), 200.0);
    fs::remove_file(path).unwrap();
    let error = setup.gate.ask(&request("visits", "SELECT COUNT(*) FROM visits", "50")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataAway { .. }), "{error}");
    assert_eq!(setup.charges("visits"), 2);
}

#[test]
fn of_every_unit_at_most_the_declared_rows_count() {
    let setup = Setup::new();
    parquet(&setup, "a.parquet", "SELECT 'p' || (range % 10) AS person, 30 AS age FROM range(1000)");
    let schema = format!("unit = {{ column = \"person\", max_rows_per_unit = 3 }}\n{AGES}");
    let registered = setup.register(lake(&setup, "visits", "a.parquet", &schema)).unwrap();
    assert_eq!(registered.imported.unwrap().kept, 30);
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits"), 30.0);
    // Other files count when the owner says so.
    parquet(&setup, "a.parquet", "SELECT 'p' || (range % 20) AS person, 30 AS age FROM range(1000)");
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits WHERE age = 30"), 30.0);
    assert_eq!(setup.gate.refresh(&account("visits")).unwrap().imported.unwrap().kept, 60);
    assert_eq!(value(&setup, "visits", "SELECT COUNT(*) FROM visits WHERE age = 30"), 60.0);
}

const PEOPLE: &str = "person,age,region\nann,30,north\nann,31,north\nann,32,south\nbob,40,south\n";

#[test]
fn a_dataset_moves_to_duckdb_with_the_same_rows_budget_and_answers() {
    let setup = Setup::new();
    let schema = format!("unit = {{ column = \"person\", max_rows_per_unit = 1 }}\n{AGES}");
    csv(&setup, "people", PEOPLE, &schema, CsvEngine::Sqlite);
    csv(&setup, "others", PEOPLE, &schema, CsvEngine::Duckdb(DriverChoice::default()));
    let first = request("people", "SELECT SUM(age) FROM people", EXACT);
    let before = answered(setup.ask(&first));
    let moved = setup.gate.move_to_duckdb(&account("people"), DriverChoice::default()).unwrap();
    assert_eq!((moved.dataset.version, moved.dataset.rows, moved.unchanged), (2, Some(2), true));
    assert!(moved.dataset.data().contains("DuckDB"), "{}", moved.dataset.data());
    let question = "SELECT SUM(age) FROM people WHERE age > 0";
    assert_eq!(value(&setup, "people", question), before.value(0, 0).unwrap().round());
    assert_eq!(setup.charges("people"), 2);
    // An answer of the version before is given again as it was.
    let again = answered(setup.ask(&first));
    assert_eq!((again.document, again.origin), (before.document, Origin::Replayed));
    let error = setup.gate.move_to_duckdb(&account("people"), DriverChoice::default()).unwrap_err();
    assert!(error.is_input(), "{error}");
    assert_eq!(value(&setup, "others", "SELECT COUNT(*) FROM others"), 2.0);
    let named = "SELECT region, COUNT(*) FROM others WHERE region IN ('south', 'South') GROUP BY region";
    let groups = group_counts(&setup, "others", named);
    assert_eq!((groups[0].clone(), groups[1].0.as_str()), (("South".to_string(), 0.0), "south"));
    let files: Vec<String> = fs::read_dir(setup.path().join("gate"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("others"))
        .collect();
    assert_eq!(files, ["others.v1.duckdb"]);
}

#[test]
fn a_small_file_stays_in_the_embedded_engine_unless_it_is_said() {
    let setup = Setup::new();
    let registered = csv(&setup, "people", PEOPLE, "", CsvEngine::Automatic);
    assert!(registered.dataset.data().ends_with(".db"), "{}", registered.dataset.data());
    let many: String = (0..500_000).map(|row| format!("{}\n", row % 120)).collect();
    let registered = csv(&setup, "many", &format!("age\n{many}"), AGES, CsvEngine::Automatic);
    assert!(registered.dataset.data().contains("DuckDB"), "{}", registered.dataset.data());
    assert_eq!(value(&setup, "many", "SELECT COUNT(*) FROM many"), 500_000.0);
}

/// A file of the gate's own that is damaged behind its back fails after the charge, with one outcome.
#[test]
fn a_damaged_file_is_refused_or_charged_without_an_answer() {
    let setup = Setup::new();
    let text: String = (0..200_000).map(|row| format!("{},{}\n", row % 120, row * 7919 % 100_003)).collect();
    csv(&setup, "people", &format!("age,code\n{text}"), AGES, CsvEngine::Duckdb(DriverChoice::default()));
    let file = setup.path().join("gate/people.v1.duckdb");
    let mut bytes = fs::read(&file).unwrap();
    let length = bytes.len();
    bytes[length / 4..length * 3 / 4].fill(0xa5);
    fs::write(&file, &bytes).unwrap();
    match setup.gate.ask(&request("people", "SELECT SUM(age) FROM people", "50")) {
        Err(_) => assert_eq!(setup.charges("people"), 0),
        Ok(GateOutcome::NoAnswer(_)) => assert_eq!(setup.charges("people"), 1),
        Ok(other) => panic!("{other:?}"),
    }
    fs::remove_file(&file).unwrap();
    let charges = setup.charges("people");
    assert!(setup.gate.ask(&request("people", "SELECT COUNT(*) FROM people", "50")).is_err());
    assert_eq!(setup.charges("people"), charges);
}

#[test]
fn a_driver_that_is_not_there_is_an_error_before_anything_is_made() {
    let setup = Setup::new();
    parquet(&setup, "a.parquet", "SELECT 30 AS age");
    let mut registration = lake(&setup, "visits", "a.parquet", AGES);
    let Data::Parquet { driver, .. } = &mut registration.data else { panic!() };
    driver.driver = "nosuchdriver".to_string();
    let error = setup.register(registration).unwrap_err();
    assert!(error.to_string().contains("nosuchdriver was not found"), "{error}");
    assert!(setup.gate.catalog().datasets().unwrap().is_empty());
    assert!(setup.gate.ledger().account(&account("visits")).is_err());
}

/// What happens to a file of the owner after it was registered, and is noticed before the charge.
#[test]
fn a_file_that_is_cut_in_half_or_has_another_type_is_refused_before_the_charge() {
    let setup = Setup::new();
    let path = parquet(&setup, "a.parquet", "SELECT (range % 100)::INTEGER AS age FROM range(100000)");
    setup.register(lake(&setup, "visits", "a.parquet", AGES)).unwrap();
    let whole = fs::read(&path).unwrap();
    let changes: [(&str, &dyn Fn()); 3] = [
        ("half of it", &|| fs::write(&path, &whole[..whole.len() / 2]).unwrap()),
        ("text", &|| drop(parquet(&setup, "a.parquet", "SELECT 'thirty' AS age FROM range(100000)"))),
        ("another column", &|| drop(parquet(&setup, "a.parquet", "SELECT 30 AS years FROM range(100000)"))),
    ];
    for (what, change) in changes {
        change();
        let error = setup.gate.ask(&request("visits", "SELECT SUM(age) FROM visits", "50")).unwrap_err();
        let ErrorKind::DataAway { why, .. } = error.kind() else { panic!("{what}: {error}") };
        assert!(why.contains("was changed since it was registered"), "{what}: {why}");
        assert_eq!(setup.charges("visits"), 0, "{what}");
    }
    // Reading them again says what is wrong with them.
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = setup.gate.refresh(&account("visits")).unwrap_err().to_string();
    assert!(error.contains("a.parquet"), "{error}");
    parquet(&setup, "a.parquet", "SELECT 'thirty' AS age FROM range(10)");
    let error = setup.gate.refresh(&account("visits")).unwrap_err().to_string();
    assert!(error.contains("age"), "{error}");
    assert_eq!(setup.charges("visits"), 0);
}

/// A disk that returns other bytes than it was given, of the same number and with the same time.
#[test]
fn pages_that_break_later_are_charged_without_an_answer() {
    let setup = Setup::new();
    let path = parquet(&setup, "a.parquet", "SELECT range * 7919 % 100003 AS age FROM range(100000)");
    setup.register(lake(&setup, "visits", "a.parquet", AGES)).unwrap();
    let modified = path.metadata().unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..2000].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let asked = request("visits", "SELECT SUM(age) FROM visits", "50");
    for _ in 0..2 {
        assert!(matches!(setup.ask(&asked), GateOutcome::NoAnswer(_)));
        assert_eq!(setup.charges("visits"), 1);
    }
    let why = format!("{:?}", setup.gate.catalog().failures(1).unwrap());
    assert!(why.contains("duckdb"), "{why}");
}
