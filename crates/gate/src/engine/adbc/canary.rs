//! Known extremes: whether a driver computes what sensitivities rely on. Asked before a dataset is registered.

use std::time::Instant;

use taximeter_engine_adbc::{AdbcConnection, ArrowValue};

use super::duckdb;
use crate::error::Error;
use crate::question::commas;

/// What an engine must do, and a condition that holds if it does.
pub(super) type Extreme = (&'static str, &'static str);

/// In the words of DuckDB.
pub(super) const DUCKDB: [Extreme; 12] = [
    (
        "add up large numbers without wrapping",
        "(SELECT sum(CAST(x AS BIGINT)) FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(x)) = 18446744073709551614",
    ),
    (
        "add up small numbers without wrapping",
        "(SELECT sum(CAST(x AS BIGINT)) FROM (VALUES (-9223372036854775808), (-9223372036854775808)) AS t(x)) = -18446744073709551616",
    ),
    (
        "return null for the sum of no rows",
        "(SELECT sum(CAST(x AS BIGINT)) FROM (VALUES (1)) AS t(x) WHERE x > 1) IS NULL",
    ),
    ("divide whole numbers towards 0", "7 // 2 = 3 AND -7 // 2 = -3 AND 7 // -2 = -3 AND -7 % 2 = -1"),
    (
        "round down",
        "CAST(floor(CAST('2.9999999999999996' AS DOUBLE)) AS BIGINT) = 2 AND CAST(floor(CAST('-0.5' AS DOUBLE)) AS BIGINT) = -1",
    ),
    (
        "divide binary numbers exactly",
        "CAST('1' AS DOUBLE) / CAST('3' AS DOUBLE) = CAST('0.3333333333333333' AS DOUBLE)",
    ),
    (
        "take NaN for the greatest number",
        "CAST('NaN' AS DOUBLE) > CAST('Infinity' AS DOUBLE) AND CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)",
    ),
    ("take -0 for 0", "CAST('-0' AS DOUBLE) = CAST('0' AS DOUBLE)"),
    ("compare text by its bytes", "'Z' < 'a' AND 'z' < 'é' AND 'a' <> 'A' AND 'a' <> 'a ' AND 'e' || chr(769) <> 'é'"),
    (
        "find patterns without escapes",
        "'é' LIKE '_' AND 'a\\' LIKE 'a\\' AND NOT 'a%' LIKE 'a\\%' AND NOT 'A' LIKE 'a'",
    ),
    (
        "count days from 1970",
        "DATE '1969-12-31' - DATE '1970-01-01' = -1 AND DATE '9999-12-31' - DATE '1970-01-01' = 2932896",
    ),
    (
        "count microseconds from 1970",
        "epoch_us(TIMESTAMP '1969-12-31 23:59:59.999999') = -1 AND epoch_us(TIMESTAMP '0001-01-01') = -62135596800000000",
    ),
];

/// Refuses an engine of which a condition does not hold.
pub(super) fn check(connection: &mut AdbcConnection, extremes: &[Extreme], until: Instant) -> Result<(), Error> {
    let conditions = commas(extremes.iter().map(|(_, condition)| format!("({condition})")));
    let answer = duckdb::query(connection, &format!("SELECT {conditions}"), until)?;
    let row = answer.rows.first().map_or(&[][..], Vec::as_slice);
    let wrong: Vec<&str> = extremes
        .iter()
        .enumerate()
        .filter(|(at, _)| row.get(*at) != Some(&ArrowValue::Boolean(true)))
        .map(|(_, (what, _))| *what)
        .collect();
    match wrong.as_slice() {
        [] => Ok(()),
        wrong => Err(Error::storage(format!(
            "the driver's engine does not {}, which answers rely on: use another version of it; nothing was registered",
            wrong.join(", nor ")
        ))),
    }
}
