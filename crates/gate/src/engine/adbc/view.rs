//! What DuckDB is asked: a view of the rows, with every column that has bounds in steps of its grid beside it, and dates within their
//! bounds too.
//!
//! A column is clamped before it is put on its grid. Where all values were found to be within their bounds when the files were
//! registered, clamping changes none, and is left out: it takes longer than reading the column. That is said of those bytes alone. It
//! holds for files that nothing was changed about since, by a time that no program can set; otherwise the view clamps.
//!
//! Statements are the same either way, so what an analyst is shown of them says nothing about the values.

use std::collections::BTreeMap;
use std::time::Instant;

use taximeter_engine_adbc::{AdbcConnection, ArrowValue};

use super::duckdb;
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::schema::{Bounds, Column, ColumnType, Schema};
use crate::sql::Dialect;
use crate::steps::{clamped_value, date_name, steps, steps_name, steps_within, within_bounds};

/// The name of the view, quoted.
pub(crate) const VIEW: &str = "\"asked\"";

/// Columns whose values are all within their bounds, and these bounds.
pub(crate) type ColumnsWithin = BTreeMap<String, Bounds>;

/// Makes the view, or makes it anew.
pub(super) fn create(
    connection: &mut AdbcConnection,
    rows: &str,
    schema: &Schema,
    within: &ColumnsWithin,
    until: Instant,
) -> Result<(), Error> {
    duckdb::execute(connection, &sql(rows, schema, within), until)
}

/// The statement that makes it.
pub(super) fn sql(rows: &str, schema: &Schema, within: &ColumnsWithin) -> String {
    let in_steps = |at: usize| {
        let column = &schema.columns[at];
        let is_within = column.bounds.is_some() && within.get(&column.name) == column.bounds.as_ref();
        let steps = if is_within { steps_within } else { steps };
        let steps = format!(", {} AS {}", steps(schema, at, Dialect::DuckDb), quoted(&steps_name(schema, at)));
        if column.kind != ColumnType::Date {
            return steps;
        }
        let clamped = if is_within { None } else { clamped_value(schema, at, Dialect::DuckDb) };
        let date = clamped.unwrap_or_else(|| quoted(&column.name));
        format!("{steps}, {date} AS {}", quoted(&date_name(schema, at)))
    };
    let in_steps: String = bounded(schema).map(|(at, _)| in_steps(at)).collect();
    format!("CREATE OR REPLACE TEMP VIEW {VIEW} AS SELECT *{in_steps} FROM ({rows})")
}

/// Which columns have no value outside of their bounds. Every value is looked at: what a file says about its values may be wrong, and is
/// used by the engine for the least and the greatest one, but not for the values that go with those.
pub(super) fn columns_within(
    connection: &mut AdbcConnection,
    rows: &str,
    schema: &Schema,
    until: Instant,
) -> Result<ColumnsWithin, Error> {
    let bounded: Vec<(usize, &Column)> = bounded(schema).collect();
    if bounded.is_empty() {
        return Ok(ColumnsWithin::new());
    }
    let ends = bounded.iter().map(|(at, column)| {
        let name = quoted(&column.name);
        format!("arg_min({name}, {name}) AS least{at}, arg_max({name}, {name}) AS greatest{at}")
    });
    let found = bounded.iter().map(|(at, column)| {
        let both =
            [format!("least{at}"), format!("greatest{at}")].map(|end| within_bounds(column, &end, Dialect::DuckDb));
        format!("coalesce({}, FALSE)", both.join(" AND "))
    });
    let sql = format!("SELECT {} FROM (SELECT {} FROM ({rows}))", commas(found), commas(ends));
    let answer = duckdb::query(connection, &sql, until)?;
    let found = answer.rows.first().into_iter().flatten();
    let within = bounded.iter().zip(found).filter(|(_, found)| **found == ArrowValue::Boolean(true));
    Ok(within.filter_map(|((_, column), _)| Some((column.name.clone(), column.bounds?))).collect())
}

/// Whether the view clamps as it must, tried with all values. An engine leaves out a comparison that is never true by what the files say
/// about their values: where that is wrong, a value could come through.
pub(super) fn check(connection: &mut AdbcConnection, schema: &Schema, until: Instant) -> Result<(), Error> {
    let bounded: Vec<(usize, &Column)> = bounded(schema).collect();
    if bounded.is_empty() {
        return Ok(());
    }
    let ends = bounded.iter().map(|(at, _)| {
        let steps = quoted(&steps_name(schema, *at));
        format!("CAST(arg_min({steps}, {steps}) AS BIGINT), CAST(arg_max({steps}, {steps}) AS BIGINT)")
    });
    let answer = duckdb::query(connection, &format!("SELECT {} FROM {VIEW}", commas(ends)), until)?;
    let found = answer.rows.first().map(Vec::as_slice).unwrap_or_default();
    for ((_, column), ends) in bounded.iter().zip(found.chunks(2)) {
        let (low, high) = column.bounds.map(|bounds| bounds.steps()).unwrap_or_default();
        let is_outside = |end: &ArrowValue| end.integer().is_some_and(|steps| steps < low || steps > high);
        if ends.iter().any(is_outside) {
            let (name, why) =
                (&column.name, "contradict the minimum or maximum that the files state; write the files again");
            return Err(Error::input("files", format!("the values of the column {name:?} {why}")));
        }
    }
    Ok(())
}

fn bounded(schema: &Schema) -> impl Iterator<Item = (usize, &Column)> {
    schema.columns.iter().enumerate().filter(|(_, column)| column.bounds.is_some())
}
