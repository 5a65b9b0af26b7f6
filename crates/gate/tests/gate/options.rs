//! What an analyst may ask for beside the question: fewer groups of a unit, and a count of clamped rows.

use crate::common::{Setup, account, amount, answered};
use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{AnswerDocument, Data, Declaration, Error, Price, Registration, Request, Rules};

const SCHEMA: &str = r#"
    unit = { column = "person", max_rows_per_unit = 6 }
    [columns.person]
    type = "integer"
    [columns.town]
    type = "text"
    [columns.spent]
    type = "integer"
    bounds = [0, 100]
    [columns.hours]
    type = "real"
    bounds = [0, 24]
    grid = 0.5
    [columns.sex]
    type = "text"
    categories = ["f", "m"]
"#;

/// Three hundred people who are in three of four towns each, twice. Everyone spends 50, and every tenth 500 in one of their rows.
fn rows() -> Vec<String> {
    let row = |row: usize| {
        let (person, visit) = (row / 6, row % 6);
        let town = ["Ulm", "Jena", "Köln", "Trier"][(person + visit / 2) % 4];
        let spent = if person % 10 == 0 && visit == 0 { 500 } else { 50 };
        let sex = if person % 2 == 0 { "f" } else { "m" };
        format!("{person},{town},{spent},{},{sex}", visit as f64 + 0.5)
    };
    (0..1800).map(row).collect()
}

/// The dataset, with a δ for mechanisms.
fn registration(data: Data) -> Registration {
    let budget = Budget::parse("100000,0.5").unwrap().with_mechanism_delta(amount("0.4")).unwrap();
    let rules = Rules {
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    };
    let declaration = Declaration::parse(SCHEMA).unwrap();
    Registration { rules: Some(rules), ..Registration::new(account("visits"), declaration, data) }
}

fn setup() -> Setup {
    setup_with(|data| data)
}

/// With the data where they are moved to.
fn setup_with(moved: impl FnOnce(Data) -> Data) -> Setup {
    let setup = Setup::new();
    let path = setup.csv(&format!("person,town,spent,hours,sex\n{}\n", rows().join("\n")));
    setup.register(registration(moved(Data::csv(path)))).unwrap();
    setup
}

fn asked(question: &str, epsilon: &str, most: Option<u32>, count_clamped: bool) -> Request {
    let price = Price::Approximate { epsilon: amount(epsilon), delta: amount("1e-6") };
    let request = Request::new(&account("visits"), question, price).unwrap();
    Request { max_groups_per_unit: most, count_clamped, ..request }
}

fn document(setup: &Setup, request: &Request) -> AnswerDocument {
    AnswerDocument::read(&answered(setup.ask(request)).document).unwrap()
}

/// The sum of a column over all rows of an answer.
fn total(answer: &AnswerDocument, column: usize) -> f64 {
    answer.rows.iter().map(|row| row[column].estimate().unwrap().nearest().unwrap()).sum()
}

fn check_groups(setup: &Setup) {
    const UNITS: &str = "SELECT town, COUNT(DISTINCT person) AS n FROM visits GROUP BY town";
    // Everyone is in three towns.
    for (most, expected) in [(None, 900.0), (Some(1), 300.0), (Some(2), 600.0), (Some(3), 900.0), (Some(6), 900.0)] {
        let answer = document(setup, &asked(UNITS, "300", most, false));
        assert!((total(&answer, 1) - expected).abs() < 5.0, "{most:?}: {:?}", answer.rows);
        let limited = answer.post_processing.iter().any(|said| said.contains("a unit counts in at most"));
        assert_eq!(limited, most.is_some_and(|most| most < 6), "{:?}", answer.post_processing);
        assert!(answer.post_processing.iter().any(|said| said.contains("noisy number of units")));
        // The noise follows from the number of groups.
        let sensitivity = answer.columns[1].parts[0].sensitivity.as_f64().unwrap();
        assert_eq!(sensitivity, f64::from(most.unwrap_or(6).min(6)));
    }
    // All rows of the chosen groups count, and conditions come first.
    let question =
        "SELECT town, COUNT(*), SUM(spent), MEDIAN(spent) FROM visits WHERE sex = 'f' AND spent < 100 GROUP BY town";
    let answer = document(setup, &asked(question, "900", Some(2), false));
    // 150 women, two of their three towns each, two visits a town; but for 30, one visit of one town does not count.
    let rows = total(&answer, 1);
    assert!((570.0..=600.0).contains(&rows) && (total(&answer, 2) - 50.0 * rows).abs() < 50.0, "{:?}", answer.rows);
    // Together with a declared column, groups are of both.
    let question = "SELECT town, sex, COUNT(DISTINCT person) FROM visits GROUP BY town, sex";
    let answer = document(setup, &asked(question, "300", Some(2), false));
    assert!((total(&answer, 2) - 600.0).abs() < 8.0, "{:?}", answer.rows);
}

fn check_clamped(setup: &Setup) {
    let clamped = |answer: &AnswerDocument| total(answer, answer.columns.len() - 1).round();
    for (question, expected) in [
        ("SELECT SUM(spent) FROM visits", 30.0),
        ("SELECT AVG(spent), SUM(hours), COUNT(*) FROM visits", 30.0),
        ("SELECT sex, AVG(spent * hours) FROM visits GROUP BY sex", 30.0),
        ("SELECT AVG(spent) FROM visits WHERE spent <= 100", 0.0),
        ("SELECT SUM(spent) FILTER (WHERE spent < 100) FROM visits", 0.0),
        ("SELECT SUM(CASE WHEN spent / 2 > 10 THEN 1 ELSE 0 END) FROM visits", 30.0),
        ("SELECT MEDIAN(spent), CORR(spent, hours) FROM visits WHERE sex = 'm'", 0.0),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT SUM(spent) FROM visits", 30.0),
    ] {
        let answer = document(setup, &asked(question, "3000", None, true));
        assert_eq!(clamped(&answer), expected, "{question}: {:?}", answer.rows);
        let column = answer.columns.last().unwrap();
        assert_eq!(column.name, "clamped rows");
        // A tenth of what its SELECT gets of the price: of two, of which one has nothing to clamp, 10/19.
        let paid: f64 = column.parts.iter().map(|part| part.cost.size().approximate()).sum();
        let whole = if question.contains("UNION") { 3000.0 * 10.0 / 19.0 } else { 3000.0 };
        assert!((paid - whole / 10.0).abs() < 1e-9, "{question}: {paid}");
    }
}

#[test]
fn units_count_in_some_of_their_groups_in_the_embedded_engine() {
    let setup = setup();
    check_groups(&setup);
    // The same groups of a unit are chosen every time, and questions differ by their options.
    let first = asked("SELECT town, COUNT(DISTINCT person) FROM visits GROUP BY town", "3000", Some(1), false);
    let again = Request { key: taximeter_ledger::Key::generate().unwrap(), ..first.clone() };
    let values = |request: &Request| {
        let rows = document(&setup, request).rows;
        rows.into_iter().map(|row| row[1].estimate().unwrap().nearest().unwrap().round()).collect::<Vec<_>>()
    };
    assert_eq!(values(&first), values(&again));
    let other = Request { max_groups_per_unit: Some(2), ..first };
    assert!(setup.gate.ask(&other).unwrap_err().to_string().contains("key"));
}

#[test]
fn clamped_rows_are_counted_in_the_embedded_engine() {
    check_clamped(&setup());
}

#[cfg(feature = "driver-tests")]
#[test]
fn groups_of_a_unit_and_clamped_rows_in_duckdb() {
    use taximeter_gate::{CsvEngine, DriverChoice};
    let setup = setup_with(|data| match data {
        Data::Csv { path, form, bad_rows, .. } => {
            Data::Csv { path, form, bad_rows, engine: CsvEngine::Duckdb(DriverChoice::default()) }
        }
        data => data,
    });
    check_groups(&setup);
    check_clamped(&setup);
}

#[test]
fn options_that_change_nothing_are_refused_with_the_reason() {
    let setup = setup();
    let refused = |request: &Request| -> Error { setup.gate.ask(request).unwrap_err() };
    for (request, reason) in [
        (asked("SELECT town, COUNT(*) FROM visits GROUP BY town", "1", Some(0), false), "at least one group"),
        (asked("SELECT sex, COUNT(*) FROM visits GROUP BY sex", "1", Some(1), false), "declared"),
        (asked("SELECT COUNT(*) FROM visits", "1", Some(1), false), "declared"),
        (asked("SELECT COUNT(*) FROM visits", "1", None, true), "no value is clamped"),
        (asked("SELECT COUNT(hours) FROM visits", "1", None, true), "no value is clamped"),
        (asked("SELECT SUM(spent) AS \"Clamped Rows\" FROM visits", "1", None, true), "rename"),
    ] {
        let error = refused(&request);
        assert!(error.is_input() && error.to_string().contains(reason), "{}: {error}", request.question);
    }
    setup.add("people", "town,age\nUlm,3\n", "[columns.age]\nbounds = [0, 100]", "10,1e-6");
    let price = Price::Approximate { epsilon: amount("1"), delta: amount("1e-6") };
    let rows = Request::new(&account("people"), "SELECT town, COUNT(*) FROM people GROUP BY town", price).unwrap();
    let error = refused(&Request { max_groups_per_unit: Some(1), ..rows });
    assert!(error.to_string().contains("a row is the unit"), "{error}");
}

#[test]
fn the_key_that_chooses_groups_is_not_shown() {
    let setup = setup();
    let request = asked("SELECT town, COUNT(*) FROM visits GROUP BY town", "1", Some(1), false);
    let prepared = taximeter_gate::Prepared::new(setup.gate.catalog(), &request).unwrap();
    let statements = prepared.sql();
    assert!(
        statements
            .iter()
            .any(|(sql, parameters)| sql.contains("dense_rank()") && parameters.contains(&"a secret key".to_string())),
        "{statements:?}"
    );
    assert!(!format!("{statements:?}").contains(&"0123456789abcdef".repeat(4)));
    let longest = statements.iter().flat_map(|(_, parameters)| parameters).map(String::len).max();
    assert!(longest < Some(64), "{statements:?}");
}

#[cfg(feature = "server-tests")]
#[test]
fn groups_of_a_unit_and_clamped_rows_in_postgresql() {
    use taximeter_testing::{PrivatePostgres, query};
    let url = PrivatePostgres::shared().new_database().unwrap();
    query(&url, "CREATE TABLE visits (person int, town text, spent int, hours float8, sex text)").unwrap();
    let quoted = |row: &String| format!("('{}')", row.replace(',', "', '"));
    let values: Vec<String> = rows().iter().map(quoted).collect();
    query(&url, &format!("INSERT INTO visits VALUES {}", values.join(", "))).unwrap();
    let setup = Setup::new();
    setup.register(registration(Data::Postgres { url: url.clone(), table: "visits".to_string() })).unwrap();
    check_groups(&setup);
    check_clamped(&setup);
    // NaN is above every bound.
    query(&url, "INSERT INTO visits VALUES (9999, 'Ulm', 50, 'NaN', 'f')").unwrap();
    setup.gate.refresh(&account("visits")).unwrap();
    let answer = document(&setup, &asked("SELECT SUM(hours) FROM visits", "3000", None, true));
    assert_eq!(answer.rows[0][1].estimate().unwrap().nearest(), Some(1.0), "{:?}", answer.rows);
}
