//! Whether an engine computes what the gate's SQL means: tried before data are registered there.

use std::time::Instant;

use taximeter_engine_adbc::{AdbcConnection, ArrowValue};

use super::duckdb;
use crate::error::Error;
use crate::sql::{Dialect, canaries};

/// Lets an engine answer statements whose answers are known. One that answers otherwise would break what the declaration promises, and
/// is refused with the reason.
pub(super) fn check(connection: &mut AdbcConnection, dialect: Dialect, until: Instant) -> Result<(), Error> {
    let refused = |why: String| {
        Error::storage(format!(
            "the engine cannot be used, because {why}; use a version and settings with which it answers right, or move the data to another \
             engine"
        ))
    };
    for canary in canaries(dialect) {
        let answer = duckdb::query(connection, &canary.sql, until)
            .map_err(|error| refused(format!("it does not answer what every question needs ({error})")))?;
        let rows: Vec<Vec<Option<i128>>> = answer
            .rows
            .iter()
            .map(|row| row.iter().map(number).collect::<Result<_, _>>())
            .collect::<Result<_, _>>()
            .map_err(refused)?;
        if let Some(why) = canary.wrong(&rows) {
            return Err(refused(why));
        }
    }
    Ok(())
}

fn number(value: &ArrowValue) -> Result<Option<i128>, String> {
    match value {
        ArrowValue::Null => Ok(None),
        ArrowValue::Integer(value) | ArrowValue::Decimal(value, 0) => Ok(Some(*value)),
        ArrowValue::Boolean(value) => Ok(Some(i128::from(*value))),
        other => Err(format!("it answers {other:?} where a whole number is right")),
    }
}
