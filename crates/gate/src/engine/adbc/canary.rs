//! Whether an engine computes what the gate's SQL means: tried before data are registered there.

use std::time::Instant;

use taximeter_engine_adbc::{AdbcConnection, ArrowValue};

use super::duckdb;
use crate::error::Error;
use crate::sql::{Canary, Dialect, canaries};

/// Lets an engine answer statements whose answers are known. One that answers otherwise would break what the declaration promises, and
/// is refused with the reason.
pub(super) fn check(connection: &mut AdbcConnection, dialect: Dialect, until: Instant) -> Result<(), Error> {
    canaries(dialect).iter().try_for_each(|canary| ask(connection, canary, until))
}

/// Lets it answer one of them.
pub(super) fn ask(connection: &mut AdbcConnection, canary: &Canary, until: Instant) -> Result<(), Error> {
    let refused = |why: String| {
        Error::storage(format!(
            "the engine cannot be used, because {why}; use a version and settings with which it answers correctly, or move the data to \
             another engine"
        ))
    };
    let answer = duckdb::query(connection, &canary.sql, until)
        .map_err(|error| refused(format!("it does not support what every question needs ({error})")))?;
    let row = |row: &Vec<ArrowValue>| row.iter().map(number).collect::<Result<Vec<_>, _>>();
    let rows = answer.rows.iter().map(row).collect::<Result<Vec<_>, _>>().map_err(refused)?;
    canary.wrong(&rows).map_or(Ok(()), |why| Err(refused(why)))
}

fn number(value: &ArrowValue) -> Result<Option<i128>, String> {
    match value {
        ArrowValue::Null => Ok(None),
        ArrowValue::Integer(value) | ArrowValue::Decimal(value, 0) => Ok(Some(*value)),
        ArrowValue::Boolean(value) => Ok(Some(i128::from(*value))),
        other => Err(format!("it returned {other:?}, expected a whole number")),
    }
}
