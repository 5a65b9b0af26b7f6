//! What DuckDB is asked: a view of the rows, with every column that has bounds in steps of its grid beside it, dates within their bounds
//! too, and for every text with categories whether it has one of them.
//!
//! A column is clamped before it is put on its grid. Where all values were found to be within their bounds when the files were
//! registered, clamping changes none, and is left out: it takes longer than reading the column. A text is not compared with its categories
//! where it was found to have no other values. That is said of those bytes alone. It holds for files that nothing was changed about since,
//! by a time that no program can set; otherwise the view clamps and compares.
//!
//! Statements are the same either way, so what an analyst is shown of them says nothing about the values.

use std::collections::BTreeSet;
use std::time::Instant;

use taximeter_engine_adbc::{AdbcConnection, ArrowValue};

use super::duckdb;
use crate::engine::driver_source::ColumnsWithin;
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::schema::{Column, ColumnType, Schema, Value};
use crate::sql::Dialect;
use crate::steps::{
    category_name, clamped_value, date_name, has_category, steps, steps_name, steps_within, within_bounds,
};

/// The name of the view, quoted.
pub(crate) const VIEW: &str = "\"asked\"";

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
    let bounded_columns = |at: usize| {
        let column = &schema.columns[at];
        let is_within = column.bounds.is_some() && within.bounds.get(&column.name) == column.bounds.as_ref();
        let expression = if is_within { steps_within } else { steps }(schema, at, Dialect::DuckDb);
        let steps_column = format!(", {expression} AS {}", quoted(&steps_name(schema, at)));
        if column.kind != ColumnType::Date {
            return steps_column;
        }
        let clamped = if is_within { None } else { clamped_value(schema, at, Dialect::DuckDb) };
        let date = clamped.unwrap_or_else(|| quoted(&column.name));
        format!("{steps_column}, {date} AS {}", quoted(&date_name(schema, at)))
    };
    let category_column = |(at, column, categories): (usize, &Column, Vec<String>)| {
        let condition = match within.categories.get(&column.name) == Some(&categories) {
            true => format!("{} IS NOT NULL", quoted(&column.name)),
            false => has_category(schema, at, Dialect::DuckDb),
        };
        format!(", {condition} AS {}", quoted(&category_name(schema, at)))
    };
    let bounds: String = bounded(schema).map(|(at, _)| bounded_columns(at)).collect();
    let categories: String = with_categories(schema).map(category_column).collect();
    format!("CREATE OR REPLACE TEMP VIEW {VIEW} AS SELECT *{bounds}{categories} FROM ({rows})")
}

/// Which columns have no value outside of their bounds, or other than their categories. Every value is looked at: what a file says about
/// its values may be wrong, and is used by the engine for the least and the greatest one, but not for the values that go with those.
pub(super) fn columns_within(
    connection: &mut AdbcConnection,
    rows: &str,
    schema: &Schema,
    until: Instant,
) -> Result<ColumnsWithin, Error> {
    let bounded: Vec<(usize, &Column)> = bounded(schema).collect();
    let texts: Vec<(usize, &Column, Vec<String>)> = with_categories(schema).collect();
    if bounded.is_empty() && texts.is_empty() {
        return Ok(ColumnsWithin::default());
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
    let others = texts.iter().map(|(at, column, _)| {
        let is_other =
            format!("{} IS NOT NULL AND NOT {}", quoted(&column.name), has_category(schema, *at, Dialect::DuckDb));
        format!("count(CASE WHEN {is_other} THEN 1 END) AS others{at}")
    });
    let none = texts.iter().map(|(at, ..)| format!("others{at} = 0"));
    let (found, values) = (commas(found.chain(none)), commas(ends.chain(others)));
    let answer = duckdb::query(connection, &format!("SELECT {found} FROM (SELECT {values} FROM ({rows}))"), until)?;
    let is_within = |at: usize| answer.rows.first().and_then(|row| row.get(at)) == Some(&ArrowValue::Boolean(true));
    let of_bounds = bounded.iter().enumerate().filter(|(at, _)| is_within(*at));
    let of_categories = texts.into_iter().enumerate().filter(|(at, _)| is_within(bounded.len() + at));
    Ok(ColumnsWithin {
        bounds: of_bounds.filter_map(|(_, (_, column))| Some((column.name.clone(), column.bounds?))).collect(),
        categories: of_categories.map(|(_, (_, column, values))| (column.name.clone(), values)).collect(),
    })
}

/// Whether the view clamps as it must, and finds the categories, tried with all values. An engine leaves out a condition that is never true
/// by what the files say about their values: where that is wrong, a value could come through.
pub(super) fn check(connection: &mut AdbcConnection, schema: &Schema, until: Instant) -> Result<(), Error> {
    check_bounds(connection, schema, until)?;
    schema.columns.iter().enumerate().try_for_each(|(at, column)| match (column.kind, &column.categories) {
        (ColumnType::Text, Some(categories)) => check_categories(connection, schema, at, categories, until),
        _ => Ok(()),
    })
}

fn check_bounds(connection: &mut AdbcConnection, schema: &Schema, until: Instant) -> Result<(), Error> {
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
            return Err(contradicts(column, "the minimum or maximum that the files state"));
        }
    }
    Ok(())
}

/// The texts that make groups are read as a question reads them, and compared with the categories here.
fn check_categories(
    connection: &mut AdbcConnection,
    schema: &Schema,
    at: usize,
    categories: &[Value],
    until: Instant,
) -> Result<(), Error> {
    let (column, has_category) = (&schema.columns[at], quoted(&category_name(schema, at)));
    let (name, most) = (quoted(&column.name), categories.len() + 1);
    let sql = format!("SELECT {name} FROM {VIEW} WHERE {has_category} GROUP BY 1 LIMIT {most}");
    let found = duckdb::query(connection, &sql, until)?;
    let known: BTreeSet<String> = categories.iter().map(Value::plain).collect();
    let is_category = |row: &Vec<ArrowValue>| match row.as_slice() {
        [ArrowValue::Text(text)] => known.contains(text),
        _ => false,
    };
    match found.rows.iter().all(is_category) {
        true => Ok(()),
        false => Err(contradicts(column, "what the files state about them")),
    }
}

fn contradicts(column: &Column, what: &str) -> Error {
    Error::input(
        "files",
        format!("the values of the column {:?} contradict {what}; write the files again", column.name),
    )
}

fn bounded(schema: &Schema) -> impl Iterator<Item = (usize, &Column)> {
    schema.columns.iter().enumerate().filter(|(_, column)| column.bounds.is_some())
}

/// The texts with categories, and these.
fn with_categories(schema: &Schema) -> impl Iterator<Item = (usize, &Column, Vec<String>)> {
    let texts = schema.columns.iter().enumerate().filter(|(_, column)| column.kind == ColumnType::Text);
    texts.filter_map(|(at, column)| {
        let categories = column.categories.as_ref()?;
        Some((at, column, categories.iter().map(Value::to_string).collect()))
    })
}
