//! The least, the greatest and the middle date of rows, answered as dates.

use crate::common::{Setup, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{AnswerDocument, Cell, DatedEstimate};

const SCHEMA: &str = r#"
    [columns.kind]
    type = "text"
    categories = ["early", "late"]
    [columns.day]
    type = "date"
    bounds = ["2020-01-01", "2023-12-31"]
    [columns.at]
    type = "timestamp"
    bounds = ["2021-01-01", "2021-12-31"]
"#;

/// Ten rows a day from 2021-01-01 to 2021-04-11: early days, and from 2021-02-20 on late ones; at one, two and three o'clock. The
/// last ones have no day.
fn rows() -> Vec<String> {
    let row = |row: usize| {
        let (day, hour) = (row / 10, row % 3 + 1);
        let kind = if day < 50 { "early" } else { "late" };
        let (month, first) = [(4, 90), (3, 59), (2, 31), (1, 0)].into_iter().find(|(_, first)| day >= *first).unwrap();
        let day = format!("2021-{month:02}-{:02}", day - first + 1);
        format!("{kind},{day},{day} 0{hour}:30:00")
    };
    (0..1010).map(row).chain((0..20).map(|_| "late,,".to_string())).collect()
}

/// The cells of an answer at so large an ε that it is nearly exact.
fn cells(setup: &Setup, question: &str) -> Vec<Vec<Cell>> {
    let answer = crate::common::answered(setup.ask(&request("events", question, "3000")));
    AnswerDocument::read(&answer.document).unwrap().rows
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Dated(DatedEstimate { interval: Some([low, high]), value }) => {
            assert!(low <= value && value <= high, "{low} {value} {high}");
            value.clone()
        }
        Cell::Dated(DatedEstimate { interval: None, value }) => panic!("{value} has no interval"),
        Cell::Group(value) => value.plain(),
        Cell::Estimate(estimate) => estimate.value.as_ref().map_or("none".to_string(), |value| value.to_string()),
    }
}

fn check(setup: &Setup) {
    for (question, expected) in [
        ("SELECT MIN(day), MAX(day) FROM events", "2021-01-01 2021-04-11"),
        // An odd number of days has one middle.
        ("SELECT MEDIAN(day) FROM events WHERE day < '2021-02-19'", "2021-01-25"),
        ("SELECT MIN(at), MAX(at) FROM events", "2021-01-01 01:30:00 2021-04-11 03:30:00"),
        ("SELECT MIN(CAST(at AS DATE)), MAX(day + 1) FROM events", "2021-01-01 2021-04-12"),
        (
            "SELECT MAX(DATE_TRUNC('month', day)), MIN(DATE_TRUNC('hour', at)) FROM events",
            "2021-04-01 2021-01-01 01:00:00",
        ),
        ("SELECT MAX(day) - MIN(day) AS days FROM events", "100"),
        ("SELECT EXTRACT(EPOCH FROM MAX(at) - MIN(at)) AS seconds FROM events", "8647200"),
        (
            "SELECT kind, MIN(day) AS first FROM events GROUP BY kind ORDER BY first DESC",
            "late 2021-02-20 early 2021-01-01",
        ),
        ("SELECT kind, MAX(day) FROM events GROUP BY kind HAVING MAX(day) > '2021-03-01'", "late 2021-04-11"),
        (
            "SELECT kind, MAX(at) FROM events GROUP BY kind HAVING MAX(at) < TIMESTAMP '2021-03-01 00:00:00'",
            "early 2021-02-19 03:30:00",
        ),
        ("SELECT MAX(day) FROM events WHERE day < (SELECT MAX(day) FROM events)", "2021-04-10"),
        ("SELECT MIN(CASE WHEN kind = 'late' THEN day END) FROM events", "2021-02-20"),
        ("SELECT MIN(day) FILTER (WHERE kind = 'late') FROM events", "2021-02-20"),
    ] {
        let rows = cells(setup, question);
        let text: Vec<String> = rows.iter().flatten().map(shown).collect();
        assert_eq!(text.join(" "), expected, "{question}");
    }
}

#[test]
fn dates_are_sorted_in_the_embedded_engine() {
    let setup = Setup::new();
    let csv = format!("kind,day,at\n{}\n", rows().join("\n"));
    setup.register(setup.registration("events", &csv, SCHEMA, Some(rules(FilterRule::Basic, "100000,1e-6")))).unwrap();
    check(&setup);
    for question in [
        "SELECT MAX(day) + 1 FROM events",
        "SELECT ROUND(MAX(day)) FROM events",
        "SELECT MAX(day) - MIN(at) FROM events",
        "SELECT MAX(at) - MIN(at) FROM events",
        "SELECT MAX(day) - 3 FROM events",
        "SELECT COUNT(*) FROM events HAVING MAX(day) > 5",
        "SELECT COUNT(*) FROM events HAVING MAX(day) > MAX(at)",
        "SELECT COUNT(*) FROM events HAVING MAX(day) > 'soon'",
        "SELECT AVG(day) FROM events",
        "SELECT (SELECT MAX(day) FROM events)",
        "SELECT EXTRACT(EPOCH FROM MAX(at)) FROM events",
        "SELECT COUNT(*) FROM events WHERE at > (SELECT MAX(day) - MIN(day) FROM events)",
    ] {
        let error = setup.gate.ask(&request("events", question, "1")).unwrap_err();
        assert!(error.is_input() && error.position().is_some(), "{question}: {error}");
    }
}

/// The interval of a difference has both ends in it, and that of a date the truth.
#[test]
fn intervals_of_dates_hold_the_truth() {
    let setup = Setup::new();
    let csv = format!("kind,day,at\n{}\n", rows().join("\n"));
    setup.register(setup.registration("events", &csv, SCHEMA, Some(rules(FilterRule::Basic, "100000,1e-6")))).unwrap();
    let (mut held, mut difference) = (0, 0);
    for _ in 0..40 {
        let question = "SELECT MEDIAN(day), MEDIAN(day) - QUANTILE(day, 0.1) AS days FROM events";
        let answer = crate::common::answered(setup.ask(&request("events", question, "0.9")));
        let rows = AnswerDocument::read(&answer.document).unwrap().rows;
        let [Cell::Dated(DatedEstimate { interval: Some([low, high]), .. }), Cell::Estimate(days)] = rows[0].as_slice()
        else {
            panic!("{rows:?}")
        };
        held += usize::from(low.as_str() <= "2021-02-20" && "2021-02-20" <= high.as_str());
        let [low, high] = days.interval.as_ref().unwrap().each_ref().map(|end| end.as_f64().unwrap());
        difference += usize::from(low <= 40.0 && 40.0 <= high);
    }
    // Each misses with at most 5 %: six of forty or more by chance with a probability below 0.02, eleven below 10⁻⁵.
    assert!(held >= 30 && difference >= 30, "{held} {difference}");
}

#[cfg(feature = "server-tests")]
#[test]
fn dates_are_sorted_in_postgresql() {
    use taximeter_gate::{Data, Registration};
    use taximeter_testing::{PrivatePostgres, query};
    let url = PrivatePostgres::shared().new_database().unwrap();
    query(&url, "CREATE TABLE events (kind text, day date, at timestamp)").unwrap();
    let value = |field: &str| if field.is_empty() { "NULL".to_string() } else { format!("'{field}'") };
    let values: Vec<String> =
        rows().iter().map(|row| format!("({})", row.split(',').map(value).collect::<Vec<_>>().join(", "))).collect();
    query(&url, &format!("INSERT INTO events VALUES {}", values.join(", "))).unwrap();
    let setup = Setup::new();
    let rules = Some(rules(FilterRule::Basic, "100000,1e-6"));
    let data = Data::Postgres { url, table: "events".to_string() };
    let (name, declaration) = (crate::common::account("events"), crate::common::declaration(SCHEMA));
    setup.register(Registration { rules, ..Registration::new(name, declaration, data) }).unwrap();
    check(&setup);
}
