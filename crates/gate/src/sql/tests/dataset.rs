//! A dataset with columns of every type.

use taximeter_ledger::Neighbours;

use crate::schema::{Bound, Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};

pub(crate) const WHOLE: usize = 0;
pub(crate) const TENS: usize = 1;
pub(crate) const AMOUNT: usize = 2;
pub(crate) const PRICE: usize = 3;
pub(crate) const BORN: usize = 4;
pub(crate) const SEEN: usize = 5;
pub(crate) const FLAG: usize = 6;
pub(crate) const WORD: usize = 7;
pub(crate) const LABEL: usize = 8;

/// The words that are declared.
pub(crate) const WORDS: [&str; 4] = ["a", "b", "Ab", "é"];

pub(crate) fn schema() -> Schema {
    let words = WORDS.map(|word| Value::Text(word.to_string())).to_vec();
    use ColumnType::*;
    let columns = [
        ("whole", Integer, "-20", "45", "1"),
        ("tens", Integer, "-50", "100", "5"),
        ("amount", Real, "-4", "10", "0.5"),
        ("price", Decimal, "-2.5", "30", "0.05"),
        ("born", Date, "1999-11-20", "2001-03-10", "1"),
        ("seen", Timestamp, "2000-02-27", "2000-03-03", "1"),
    ];
    let bounded = columns.map(|(name, kind, low, high, grid)| {
        let end = |text: &str| Bound::parse(text).unwrap().number(kind).unwrap();
        Column::new(name, kind, Some(Bounds::new(end(low), end(high), grid.parse().unwrap()).unwrap()), None)
    });
    let others = [
        Column::new("flag", Boolean, None, None),
        Column::new("word", Text, None, Some(words)),
        Column::new("label", Text, None, None),
    ];
    let columns = bounded.into_iter().chain(others).collect::<Result<_, _>>().unwrap();
    Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap()
}

/// What may stand in a column: at the bounds, beyond them and between the points of the grid. Binary numbers are such that their place on
/// the grid is exact in floating point.
pub(crate) fn values(at: usize) -> Vec<Value> {
    let parsed = |kind, texts: &[&str]| texts.iter().map(|text| Value::parse(text, kind).unwrap()).collect();
    match at {
        WHOLE => [i64::MIN, -21, -20, -19, -7, -1, 0, 1, 2, 3, 10, 44, 45, 46, i64::MAX].map(Value::Integer).into(),
        TENS => [i64::MIN, -50, -49, -48, -47, -13, -2, 0, 2, 3, 5, 99, 100, 101, i64::MAX].map(Value::Integer).into(),
        AMOUNT => {
            let extremes = [f64::NEG_INFINITY, f64::INFINITY, f64::MIN, f64::MAX, f64::from_bits(1), -0.0];
            let others = [-4.0, -3.75, -3.765625, -0.25, 0.0, 0.25, 0.234375, 1.0, 2.5, 7.75, 9.765625, 10.0];
            extremes.into_iter().chain(others).map(Value::Real).collect()
        }
        PRICE => parsed(
            ColumnType::Decimal,
            &[
                "-999999999999.999999",
                "-2.5",
                "-2.475",
                "-0.000001",
                "0",
                "0.025",
                "0.024999",
                "1",
                "7.35",
                "29.99",
                "31",
            ],
        ),
        BORN => parsed(
            ColumnType::Date,
            &[
                "0001-01-01",
                "1999-11-20",
                "1999-12-31",
                "2000-01-01",
                "2000-02-29",
                "2000-03-01",
                "2000-12-31",
                "2001-01-01",
                "2001-03-10",
                "9999-12-31",
            ],
        ),
        SEEN => parsed(
            ColumnType::Timestamp,
            &[
                "0001-01-01",
                "2000-02-27",
                "2000-02-28 23:59:59.999999",
                "2000-02-29",
                "2000-02-29 13:45:07.5",
                "2000-03-01 12:30:15",
                "2000-03-02 23:59:59",
                "2000-03-03",
                "9999-12-31 23:59:59.999999",
            ],
        ),
        FLAG => [false, true].map(Value::Boolean).into(),
        _ => ["a", "b", "A", "Ab", "AB", "ab", "é", "É", "", "it's"].map(|text| Value::Text(text.to_string())).into(),
    }
}
