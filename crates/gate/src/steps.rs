//! A column in steps of its grid, as SQL: clamped to its bounds first, so that no value of a row makes the arithmetic fail.

use crate::number::Number;
use crate::question::quoted;
use crate::schema::{Bound, Bounds, Column, ColumnType, Schema};
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
    steps_of(&schema.columns[at], quoted(&schema.columns[at].name), dialect)
}

/// The same of a column that is written with its table.
pub(crate) fn steps_of(declared: &Column, column: String, dialect: Dialect) -> String {
    let Column { kind, bounds: Some(bounds), .. } = declared else {
        unreachable!("only columns with bounds are summed")
    };
    let (low_steps, high_steps) = bounds.steps();
    let (low, high, between) = match kind {
        ColumnType::Real => real(&column, bounds, dialect),
        ColumnType::Decimal => decimal(&column, bounds, dialect),
        ColumnType::Date => date(&column, bounds, dialect),
        ColumnType::Timestamp => timestamp(&column, bounds, dialect),
        ColumnType::Integer | ColumnType::Text | ColumnType::Boolean => integer(&column, bounds, dialect),
    };
    format!("CASE WHEN {column} <= {low} THEN {low_steps} WHEN {column} >= {high} THEN {high_steps} ELSE {between} END")
}

/// The lower and the upper bound as they are compared with a column, and the steps of a value between them.
type Clamped = (String, String, String);

/// Whole numbers are put on the nearest step, and divided as such: ⌊(value − low + ⌊grid/2⌋) / grid⌋ steps above the lower bound. What is
/// divided is positive.
fn integer(column: &str, bounds: &Bounds, dialect: Dialect) -> Clamped {
    let (low, grid) = (bounds.low(), bounds.grid());
    let between = match grid == Number::ONE {
        true => column.to_string(),
        false => {
            let wide = if dialect == Dialect::Postgres { "::int8" } else { "" };
            let (half, low_steps) = (grid.floor() / 2, bounds.steps().0);
            format!("({column}{wide} - ({low}) + {half}) / {grid} + ({low_steps})")
        }
    };
    (low.to_string(), bounds.high().to_string(), between)
}

/// A binary number between the bounds is put on the nearest step: ⌊(value − (low − grid/2)) / grid⌋ steps above the lower bound. The
/// numerator is at least grid/2, so the quotient is neither below ½ nor above 2³¹ + ½, but for 2⁻²² of rounding: nothing
/// overflows or underflows, which PostgreSQL would report (it does for the smallest number divided by 10, say), and no value
/// comes to lie outside of the bounds.
fn real(column: &str, bounds: &Bounds, dialect: Dialect) -> Clamped {
    let real = |value: f64| match dialect {
        Dialect::Sqlite => format!("{value:?}"),
        Dialect::Postgres => format!("'{value:?}'::float8"),
    };
    let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(Number::to_f64);
    let low_steps = bounds.steps().0;
    let quotient = format!("({column} - ({})) / {}", real(low - grid / 2.0), real(grid));
    let between = match dialect {
        Dialect::Sqlite => format!("CAST({quotient} AS INTEGER) + ({low_steps})"),
        // Whole numbers of this size are exact, and the sum fits into 32 bits where the quotient need not.
        Dialect::Postgres => format!("(floor({quotient}) + {})::int4", real(low_steps as f64)),
    };
    (real(low), real(high), between)
}

/// A decimal number is put on the nearest step, exactly. The embedded engine has millionths below 10¹⁸; PostgreSQL divides without a
/// remainder, whatever number of digits there are, where `/` would round.
fn decimal(column: &str, bounds: &Bounds, dialect: Dialect) -> Clamped {
    let (ends, grid, low_steps) = ([bounds.low(), bounds.high()], bounds.grid(), bounds.steps().0);
    match dialect {
        Dialect::Sqlite => {
            let stored =
                |number: Number| number.to_millionths().expect("declared bounds of decimal numbers are stored");
            let ([low, high], grid) = (ends.map(stored), stored(grid));
            let between = format!("({column} - ({low}) + {}) / {grid} + ({low_steps})", grid / 2);
            (low.to_string(), high.to_string(), between)
        }
        Dialect::Postgres => {
            let numeric = |number: Number| format!("'{number}'::numeric");
            let ([low, high], grid) = (ends.map(numeric), numeric(grid));
            // ⌊(value − low) / grid + ½⌋
            let between = format!("(div(2 * ({column} - {low}) + {grid}, 2 * {grid}) + ({low_steps}))::int4");
            (low, high, between)
        }
    }
}

/// A date is a step. PostgreSQL has infinite ones, which are beyond the bounds and never subtracted from.
fn date(column: &str, bounds: &Bounds, dialect: Dialect) -> Clamped {
    match dialect {
        Dialect::Sqlite => integer(column, bounds, dialect),
        Dialect::Postgres => {
            let [low, high] =
                [bounds.low(), bounds.high()].map(|end| format!("DATE '{}'", Bound::of(end, ColumnType::Date)));
            (low, high, format!("{column} - DATE '1970-01-01'"))
        }
    }
}

/// A time is put on the step before it. The lower bound is on the grid, so what is divided is not negative. PostgreSQL has infinite
/// times, which are beyond the bounds; whole seconds of the others are exact in whatever number its version extracts.
fn timestamp(column: &str, bounds: &Bounds, dialect: Dialect) -> Clamped {
    let (ends, grid, low_steps) = ([bounds.low(), bounds.high()], bounds.grid(), bounds.steps().0);
    match dialect {
        Dialect::Sqlite => {
            let microseconds = |seconds: Number| 1_000_000 * seconds.floor();
            let ([low, high], grid) = (ends.map(microseconds), microseconds(grid));
            (low.to_string(), high.to_string(), format!("({column} - ({low})) / {grid} + ({low_steps})"))
        }
        Dialect::Postgres => {
            let [from, to] = ends.map(|end| format!("TIMESTAMP '{}'", Bound::of(end, ColumnType::Timestamp)));
            let seconds = format!("extract(epoch FROM date_trunc('second', {column}))::int8");
            (from, to, format!("({seconds} - ({})) / {grid} + ({low_steps})", bounds.low()))
        }
    }
}

#[cfg(test)]
mod tests;
