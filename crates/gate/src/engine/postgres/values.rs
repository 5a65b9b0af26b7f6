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
        i64::from_sql(&Type::INT8, raw).map(|time| Microseconds(time.saturating_add(MICROSECONDS_UNTIL_2000)))
    }

    accepts!(TIMESTAMP, TIMESTAMPTZ);
}
