//! A column in steps of its grid, as SQL: clamped to its bounds first, so that no value of a row makes the arithmetic fail.

use crate::schema::{Bounds, Column, ColumnType, Schema};
use crate::sql::{Clamped, Dialect};

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

/// The name of the column that has dates within their bounds.
pub(crate) fn date_name(schema: &Schema, at: usize) -> String {
    unused_name(schema, &format!("{} within bounds", schema.columns[at].name))
}

/// The name of the column that says whether another one has one of its categories.
pub(crate) fn category_name(schema: &Schema, at: usize) -> String {
    unused_name(schema, &format!("{} has a category", schema.columns[at].name))
}

/// The condition that a column has one of its categories, in an engine without parameters.
#[cfg(feature = "adbc")]
pub(crate) fn has_category(schema: &Schema, at: usize, dialect: Dialect) -> String {
    let (grammar, column) = (dialect.grammar(), &schema.columns[at]);
    let categories = column.categories.iter().flatten().map(|value| grammar.literal(value, &mut Vec::new()));
    let name = grammar.compared(grammar.name(&column.name), column.kind);
    grammar.is_in_a_group(format!("{name} IN ({})", crate::question::commas(categories)))
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
    let grammar = dialect.grammar();
    let column = grammar.compared(column, declared.kind);
    let (low, high, _) = clamped(declared, &column, dialect);
    if let Some(within) = grammar.clamped_first(&column, declared.kind, &low, &high) {
        return clamped(declared, &within, dialect).2;
    }
    let (low_steps, high_steps) = bounds(declared).steps();
    let (_, _, between) = clamped(declared, &grammar.within(&column, &low, &high), dialect);
    format!("CASE WHEN {column} <= {low} THEN {low_steps} WHEN {column} >= {high} THEN {high_steps} ELSE {between} END")
}

/// A column within its bounds, where an engine clamps before anything else.
#[cfg(feature = "adbc")]
pub(crate) fn clamped_value(schema: &Schema, at: usize, dialect: Dialect) -> Option<String> {
    let (column, name) = (&schema.columns[at], dialect.grammar().name(&schema.columns[at].name));
    let (low, high, _) = clamped(column, &name, dialect);
    dialect.grammar().clamped_first(&name, column.kind, &low, &high)
}

/// The steps of a column of which all values are known to be within the bounds.
#[cfg(feature = "adbc")]
pub(crate) fn steps_within(schema: &Schema, at: usize, dialect: Dialect) -> String {
    let column = &schema.columns[at];
    clamped(column, &dialect.grammar().name(&column.name), dialect).2
}

/// The condition that a value of a column is within its bounds.
#[cfg(feature = "adbc")]
pub(crate) fn within_bounds(declared: &Column, value: &str, dialect: Dialect) -> String {
    let (low, high, _) = clamped(declared, value, dialect);
    format!("{value} >= {low} AND {value} <= {high}")
}

/// The bounds of a column as they are compared with it, and the steps of a value between them.
fn clamped(declared: &Column, value: &str, dialect: Dialect) -> Clamped {
    let (grammar, bounds) = (dialect.grammar(), bounds(declared));
    match declared.kind {
        ColumnType::Real => grammar.real_steps(value, bounds),
        ColumnType::Decimal => grammar.decimal_steps(value, bounds),
        ColumnType::Date => grammar.date_steps(value, bounds),
        ColumnType::Timestamp => grammar.timestamp_steps(value, bounds),
        ColumnType::Integer | ColumnType::Text | ColumnType::Boolean => grammar.integer_steps(value, bounds),
    }
}

fn bounds(declared: &Column) -> &Bounds {
    declared.bounds.as_ref().expect("only columns with bounds are summed")
}

#[cfg(test)]
mod tests;
