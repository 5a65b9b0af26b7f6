//! A column in steps of its grid, as SQL: clamped to its bounds first, so that no value of a row makes the arithmetic fail.

use crate::schema::{Column, ColumnType, Schema};
use crate::sql::Dialect;

/// The columns that the embedded engine has beside the declared ones: every column with bounds, clamped and put on its grid once, when
/// a row is written. Names and expressions.
pub(crate) fn steps_columns(schema: &Schema) -> Vec<(String, String)> {
    let bounded = (0..schema.columns.len()).filter(|at| schema.columns[*at].bounds.is_some());
    bounded.map(|at| (steps_name(schema, at), steps(schema, at, Dialect::Sqlite))).collect()
}

/// The name of the column that has another one in steps: one that no declared column has.
pub(crate) fn steps_name(schema: &Schema, at: usize) -> String {
    unused_name(schema, &format!("{} in steps", schema.columns[at].name))
}

/// A name that no declared column has.
pub(crate) fn unused_name(schema: &Schema, wanted: &str) -> String {
    let mut name = wanted.to_string();
    while schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
        name.push('\'');
    }
    name
}

/// A column, clamped to its bounds and put on its grid: the steps of the grid that it is away from 0. A date is the number of days
/// since 1970-01-01.
pub(crate) fn steps(schema: &Schema, at: usize, dialect: Dialect) -> String {
    let column = &schema.columns[at];
    steps_of(column, dialect.grammar().name(&column.name), dialect)
}

/// The same of a column that is written with its table.
pub(crate) fn steps_of(declared: &Column, column: String, dialect: Dialect) -> String {
    let Column { kind, bounds: Some(bounds), .. } = declared else {
        unreachable!("only columns with bounds are summed")
    };
    let grammar = dialect.grammar();
    let (low_steps, high_steps) = bounds.steps();
    let column = grammar.compared(column, *kind);
    let clamped = |column: &str| match kind {
        ColumnType::Real => grammar.real_steps(column, bounds),
        ColumnType::Decimal => grammar.decimal_steps(column, bounds),
        ColumnType::Date => grammar.date_steps(column, bounds),
        ColumnType::Timestamp => grammar.timestamp_steps(column, bounds),
        ColumnType::Integer | ColumnType::Text | ColumnType::Boolean => grammar.integer_steps(column, bounds),
    };
    let (low, high, _) = clamped(&column);
    let (_, _, between) = clamped(&grammar.within(&column, &low, &high));
    format!("CASE WHEN {column} <= {low} THEN {low_steps} WHEN {column} >= {high} THEN {high_steps} ELSE {between} END")
}

#[cfg(test)]
mod tests;
