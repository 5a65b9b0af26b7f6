//! Sums of expressions of dates and timestamps, and groups by them: no neighbours lie further apart than is claimed, and some as far.

use super::expressions::check_sums;
use super::*;
use crate::plan::{Plan, Price, Weights};
use crate::question::Question;
use crate::schema::{MICROSECONDS_PER_SECOND, SECONDS_PER_DAY, parse_date};
use taximeter_accounting::Amount;

/// Expressions, and whether some row reaches the end of the derived bounds that is further from 0.
const EXPRESSIONS: [(&str, bool); 22] = [
    ("DATE '2000-03-01' - born", true),
    ("born - DATE '2000-03-01'", true),
    ("DATE '2000-04-01' - DATE_TRUNC('month', born)", true),
    ("CAST(seen AS DATE) - born", true),
    ("EXTRACT(YEAR FROM born)", true),
    ("EXTRACT(QUARTER FROM born)", true),
    ("EXTRACT(MONTH FROM born)", true),
    ("EXTRACT(DAY FROM born)", true),
    ("EXTRACT(DOW FROM born)", true),
    ("EXTRACT(ISODOW FROM born)", true),
    ("EXTRACT(WEEK FROM born)", true),
    ("EXTRACT(DOY FROM born)", true),
    ("EXTRACT(YEAR FROM born + INTERVAL '1 year')", true),
    ("EXTRACT(DAY FROM born + INTERVAL '1 month')", true),
    ("DATE_DIFF('day', born, DATE '2000-03-01')", true),
    ("EXTRACT(HOUR FROM seen)", true),
    ("EXTRACT(EPOCH FROM seen - TIMESTAMP '1999-12-31 22:00:00')", true),
    ("born >= DATE '2000-01-01'", true),
    ("seen < TIMESTAMP '2000-01-01 00:00:00'", true),
    ("seen - TIMESTAMP '1999-12-31 23:00:00' <= INTERVAL '15 minutes'", true),
    ("CASE WHEN born < DATE '2000-01-01' THEN -7 ELSE 3 END", true),
    // December is in the one year, and March in the other.
    ("DATE_DIFF('month', born, DATE '2000-03-01')", false),
];

/// Days around the turn of a year with a leap day, and hours around midnight.
fn schema(neighbours: Neighbours, most: u32) -> Schema {
    let day = |text: &str| Number::from_integer(parse_date(text.as_bytes()).unwrap().into());
    let hour = |hour: i64| {
        let midnight = day("2000-01-01").to_integer().unwrap() * SECONDS_PER_DAY;
        Number::from_integer(midnight + 3600 * hour)
    };
    let born = Bounds::with_default_grid(day("1999-12-29"), day("2000-03-01"), ColumnType::Date).unwrap();
    let seen = Bounds::with_default_grid(hour(-2), hour(2), ColumnType::Timestamp).unwrap();
    let texts = ["a", "b"].map(|text| Value::Text(text.to_string())).to_vec();
    let columns = [
        Column::new("person", ColumnType::Integer, None, None),
        Column::new("group", ColumnType::Text, None, Some(texts)),
        Column::new("born", ColumnType::Date, Some(born), None),
        Column::new("seen", ColumnType::Timestamp, Some(seen), None),
    ];
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap()
}

/// All that one more unit may be: days at the bounds, beyond them and at the turns of months, each with times at the bounds, beyond
/// them and at midnight.
fn family(schema: &Schema) -> Family {
    let day = |text: &str| i64::from(parse_date(text.as_bytes()).unwrap());
    let midnight = day("2000-01-01") * SECONDS_PER_DAY * MICROSECONDS_PER_SECOND;
    let time = |seconds: i64| Cell::Integer(midnight + seconds * MICROSECONDS_PER_SECOND);
    let row = |person: i64, group: &str, born: Cell, seen: Cell| -> Row {
        vec![Cell::Integer(person), Cell::Text(group.to_string()), born, seen]
    };
    let days = [
        "0001-01-01",
        "1999-12-29",
        "1999-12-31",
        "2000-01-01",
        "2000-01-02",
        "2000-02-29",
        "2000-03-01",
        "9999-12-31",
    ];
    let mut rows = Vec::new();
    for group in ["a", "b"] {
        let times = [time(-7200), time(-3600), time(-1), time(0), time(7200), Cell::Null];
        for born in days.map(|text| Cell::Integer(day(text))).into_iter().chain([Cell::Null]) {
            rows.extend([time(-90_000), time(90_000)].map(|seen| row(9, group, born.clone(), seen)));
        }
        rows.extend(times.map(|seen| row(9, group, Cell::Integer(day("2000-01-31")), seen)));
    }
    rows.push(row(9, "z", Cell::Integer(day("2000-03-01")), time(0)));
    let rest = vec![row(1, "a", Cell::Integer(day("2000-01-15")), time(60)), row(2, "b", Cell::Null, time(-60))];
    Family { rest, units: multisets(&rows, schema.rows_per_unit() as usize) }
}

#[test]
fn sums_of_dates_move_as_far_as_their_derived_bounds_and_no_further() {
    check_sums(&EXPRESSIONS, schema, family);
}

#[test]
fn counts_in_groups_of_dates_move_as_far_as_is_claimed_and_no_further() {
    let price = Price::Epsilon(Amount::parse_exact("1").unwrap());
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        for most in [1, 2] {
            let schema = schema(neighbours, most);
            let family = family(&schema);
            for key in [
                "DATE_TRUNC('month', born)",
                "EXTRACT(MONTH FROM born)",
                "TO_CHAR(born, 'YYYY-MM')",
                "CAST(seen AS DATE)",
                "EXTRACT(HOUR FROM seen)",
            ] {
                let text = format!("SELECT {key}, COUNT(*), COUNT(DISTINCT person), COUNT(seen) FROM t GROUP BY 1");
                let question = Question::parse(&text, "t", &schema).unwrap_or_else(|why| panic!("{text}: {why}"));
                let plan = Plan::new(&question, &schema, price, &Weights::default()).unwrap();
                let measures: Vec<Measure> = plan.parts().map(|part| part.measure.clone()).collect();
                let query = &question.queries[0];
                let checked = family.check(&schema, query, &measures, keeping::by_contents, Sensitivity::new);
                let reaches = checked.unwrap_or_else(|why| panic!("{text}: {why}"));
                for (reach, part) in reaches.into_iter().zip(plan.parts()) {
                    let Sensitivity { l1, l2_squared } = part.sensitivity;
                    assert_eq!(reach, Reach { l1, l2_squared }, "{text}, {neighbours:?}, {most}: {:?}", part.measure);
                }
            }
        }
    }
}
