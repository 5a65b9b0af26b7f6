//! What is read as what, what is refused where, and that no text does harm.

mod accepted;
mod extremes;
mod inline;
mod refused;
mod round_trip;

use taximeter_ledger::Neighbours;

use crate::Error;
use crate::question::Question;
use crate::schema::{Bound, Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};

const DATASET: &str = "census";

/// People: one unit is a person, of whom three rows count.
fn schema() -> Schema {
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 3 };
    Schema::new(unit, Neighbours::AddRemove, columns()).unwrap()
}

fn columns() -> Vec<Column> {
    let bounds = |low: &str, high: &str, kind| {
        Some(Bounds::with_default_grid(low.parse().unwrap(), high.parse().unwrap(), kind).unwrap())
    };
    let words = |words: &[&str]| Some(words.iter().map(|word| Value::Text(word.to_string())).collect());
    let numbers = |most: i64| Some((1..=most).map(Value::Integer).collect());
    let calendar = |low: &str, high: &str, kind| {
        let [low, high] = [low, high].map(|end| Bound::parse(end).unwrap().number(kind).unwrap());
        Some(Bounds::with_default_grid(low, high, kind).unwrap())
    };
    let cents = Bounds::new("0".parse().unwrap(), "5000".parse().unwrap(), "0.01".parse().unwrap()).unwrap();
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    [
        Column::new("person", Integer, None, None),
        Column::new("age", Integer, bounds("0", "120", Integer), None),
        Column::new("income", Real, bounds("0", "200000", Real), None),
        Column::new("height", Real, None, None),
        Column::new("name", Text, None, None),
        Column::new("region", Text, None, words(&["north", "south", "it's"])),
        Column::new("employed", Boolean, None, Some(vec![Value::Boolean(false), Value::Boolean(true)])),
        Column::new("year", Integer, None, numbers(101)),
        Column::new("zone", Integer, None, numbers(100)),
        Column::new("date", Text, None, None),
        Column::new("filter", Integer, None, None),
        Column::new("b", Boolean, None, None),
        Column::new("like", Integer, None, None),
        Column::new("_Odd \"one\"", Integer, bounds("-5", "5", Integer), None),
        Column::new("born", Date, calendar("1950-01-01", "2020-12-31", Date), None),
        Column::new("seen", Timestamp, calendar("2024-01-01", "2024-12-31 23:59:00", Timestamp), None),
        Column::new("wage", Decimal, Some(cents), None),
        Column::new("größe", Integer, bounds("0", "250", Integer), None),
    ]
    .into_iter()
    .collect::<Result<_, _>>()
    .unwrap()
}

fn read(text: &str) -> Result<Question, Error> {
    Question::parse(text, DATASET, &schema())
}
