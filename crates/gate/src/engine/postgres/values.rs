//! Values on their way to PostgreSQL and back.

use std::error::Error as StdError;

use bytes::BytesMut;
use taximeter_postgres::SessionError;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::number::Number;
use crate::schema::{ColumnType, Value};

/// A literal as a parameter of its own type; a decimal number as text.
pub(super) fn parameter(value: &Value) -> Box<dyn ToSql + Sync + '_> {
    match value {
        Value::Boolean(value) => Box::new(value),
        Value::Integer(value) => Box::new(value),
        Value::Real(value) => Box::new(value),
        Value::Text(text) => Box::new(text),
        Value::Date(days) => Box::new(Days(*days)),
        Value::Timestamp(microseconds) => Box::new(Microseconds(*microseconds)),
        Value::Decimal(number) => Box::new(number.to_string()),
    }
}

/// The key of a group.
pub(super) fn key(row: &Row, at: usize, kind: ColumnType) -> Result<Value, SessionError> {
    Ok(match kind {
        ColumnType::Boolean => Value::Boolean(row.try_get(at)?),
        ColumnType::Integer => Value::Integer(row.try_get(at)?),
        ColumnType::Real => Value::Real(row.try_get(at)?),
        ColumnType::Text => Value::Text(row.try_get(at)?),
        ColumnType::Date => Value::Date(row.try_get::<_, Days>(at)?.0),
        ColumnType::Timestamp => Value::Timestamp(row.try_get::<_, Microseconds>(at)?.0),
        ColumnType::Decimal => {
            let number = Number::parse(row.try_get(at)?);
            Value::Decimal(number.map_err(|error| SessionError::Failed(error.to_string()))?)
        }
    })
}

/// Days since 1970-01-01. PostgreSQL counts from 2000-01-01, and keeps the largest number for infinity.
#[derive(Debug)]
struct Days(i32);

/// Microseconds since 1970-01-01, counted in the same way.
#[derive(Debug)]
struct Microseconds(i64);

const DAYS_UNTIL_2000: i32 = 10_957;
const MICROSECONDS_UNTIL_2000: i64 = DAYS_UNTIL_2000 as i64 * 86_400_000_000;

type Written = Result<IsNull, Box<dyn StdError + Sync + Send>>;

impl ToSql for Days {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Written {
        self.0.saturating_sub(DAYS_UNTIL_2000).to_sql(&Type::INT4, out)
    }

    accepts!(DATE);
    to_sql_checked!();
}

impl ToSql for Microseconds {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Written {
        self.0.saturating_sub(MICROSECONDS_UNTIL_2000).to_sql(&Type::INT8, out)
    }

    accepts!(TIMESTAMP);
    to_sql_checked!();
}

impl FromSql<'_> for Days {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Days, Box<dyn StdError + Sync + Send>> {
        i32::from_sql(&Type::INT4, raw).map(|days| Days(days.saturating_add(DAYS_UNTIL_2000)))
    }

    accepts!(DATE);
}

impl FromSql<'_> for Microseconds {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Microseconds, Box<dyn StdError + Sync + Send>> {
        // Beyond the largest number it goes on from the smallest one: no two times are one group.
        i64::from_sql(&Type::INT8, raw).map(|time| Microseconds(time.wrapping_add(MICROSECONDS_UNTIL_2000)))
    }

    accepts!(TIMESTAMP, TIMESTAMPTZ);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of what PostgreSQL has, infinity among them, and what lies around the numbers at which 64 bits are full.
    #[test]
    fn different_dates_and_times_are_different_groups() {
        let full = i64::MAX - MICROSECONDS_UNTIL_2000;
        let times = [i64::MIN, i64::MIN + 1, -211_813_488_000_000_000, -1, 0, 1, full - 1, full, full + 1];
        let last = [9_223_371_331_199_999_999, i64::MAX - 1, i64::MAX];
        let read = |time: &i64| Microseconds::from_sql(&Type::TIMESTAMP, &time.to_be_bytes()).unwrap().0;
        let found: std::collections::BTreeSet<i64> = times.iter().chain(&last).map(read).collect();
        assert_eq!(found.len(), times.len() + last.len());
        assert_eq!((read(&-MICROSECONDS_UNTIL_2000), read(&0)), (0, MICROSECONDS_UNTIL_2000));

        let days = [i32::MIN, -2_451_545, 0, 2_145_031_948, i32::MAX];
        let read = |day: &i32| Days::from_sql(&Type::DATE, &day.to_be_bytes()).unwrap().0;
        let found: std::collections::BTreeSet<i32> = days.iter().map(read).collect();
        assert_eq!(found.len(), days.len());
    }
}
