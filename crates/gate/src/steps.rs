//! A column in steps of its grid, as SQL: clamped to its bounds first, so that no value of a row makes the arithmetic fail.

use crate::sql::Dialect;
use crate::number::Number;
use crate::question::quoted;
use crate::schema::{Bound, Bounds, Column, ColumnType, Schema};

/// The columns that the embedded engine has beside the declared ones: every column with bounds, clamped and put on its grid once, when
/// a row is written. Names and expressions.
pub(crate) fn steps_columns(schema: &Schema) -> Vec<(String, String)> {
    let bounded = (0..schema.columns.len()).filter(|at| schema.columns[*at].bounds.is_some());
    bounded.map(|at| (steps_name(schema, at), steps(schema, at, Dialect::Sqlite))).collect()
}

/// The name of the column that has another one in steps: one that no declared column has.
pub(crate) fn steps_name(schema: &Schema, at: usize) -> String {
    let mut name = format!("{} in steps", schema.columns[at].name);
    while schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
        name.push('\'');
    }
    name
}

/// A column, clamped to its bounds and put on its grid: the steps of the grid that it is away from 0. A date is the number of days
/// since 1970-01-01.
pub(crate) fn steps(schema: &Schema, at: usize, dialect: Dialect) -> String {
    let Column { name, kind, bounds: Some(bounds), .. } = &schema.columns[at] else {
        unreachable!("only columns with bounds are summed")
    };
    let column = quoted(name);
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
mod tests {
    use taximeter_ledger::Neighbours;

    use super::*;
    use crate::engine::Embedded;
    use crate::schema::PrivacyUnit;

    fn bounds(low: &str, high: &str, grid: &str) -> Option<Bounds> {
        let number = |text: &str| Number::parse(text).unwrap();
        Some(Bounds::new(number(low), number(high), number(grid)).unwrap())
    }

    fn schema() -> Schema {
        let columns = vec![
            Column::new("age", ColumnType::Integer, bounds("-10", "120", "1"), None).unwrap(),
            Column::new("debt", ColumnType::Integer, bounds("-500", "1000", "100"), None).unwrap(),
            Column::new("income", ColumnType::Real, bounds("-1", "3", "0.5"), None).unwrap(),
        ];
        Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap()
    }

    #[test]
    fn a_value_is_clamped_before_it_is_calculated_with() {
        let age = r#"CASE WHEN "age" <= -10 THEN -10 WHEN "age" >= 120 THEN 120 ELSE "age" END"#;
        let debt = |wide| {
            format!(
                r#"CASE WHEN "debt" <= -500 THEN -5 WHEN "debt" >= 1000 THEN 10 ELSE ("debt"{wide} - (-500) + 50) / 100 + (-5) END"#
            )
        };
        let real = r#"CASE WHEN "income" <= -1.0 THEN -2 WHEN "income" >= 3.0 THEN 6 ELSE CAST(("income" - (-1.25)) / 0.5 AS INTEGER) + (-2) END"#;
        let float8 = r#"CASE WHEN "income" <= '-1.0'::float8 THEN -2 WHEN "income" >= '3.0'::float8 THEN 6 ELSE (floor(("income" - ('-1.25'::float8)) / '0.5'::float8) + '-2.0'::float8)::int4 END"#;
        for (column, sqlite, postgres) in [(0, age, age), (1, &debt(""), &debt("::int8")), (2, real, float8)] {
            assert_eq!(steps(&schema(), column, Dialect::Sqlite), sqlite);
            assert_eq!(steps(&schema(), column, Dialect::Postgres), postgres);
        }
    }

    #[test]
    fn the_column_in_steps_has_a_name_of_its_own() {
        let column = |name: &str| Column::new(name, ColumnType::Integer, bounds("0", "1", "1"), None).unwrap();
        let columns = vec![column("age"), column("AGE in steps"), column("Age In Steps'")];
        let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap();
        let names: Vec<String> = steps_columns(&schema).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["age in steps''", "AGE in steps in steps", "Age In Steps' in steps"]);
    }

    #[test]
    fn a_value_is_put_on_the_nearest_step_within_the_bounds() {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        sqlite.execute_batch(&Embedded::definition(&schema())).unwrap();
        for (name, value, steps) in [
            ("age", "-11", -10),
            ("age", "7", 7),
            ("age", "9223372036854775807", 120),
            ("debt", "-9223372036854775808", -5),
            ("debt", "-451", -5),
            ("debt", "-450", -4),
            ("debt", "0", 0),
            ("debt", "149", 1),
            ("debt", "150", 2),
            ("debt", "999", 10),
            ("income", "-9e999", -2),
            ("income", "-0.7500001", -2),
            ("income", "-0.75", -1),
            ("income", "-4.9e-324", 0),
            ("income", "0.2499999", 0),
            ("income", "0.25", 1),
            ("income", "2.9999999", 6),
            ("income", "9e999", 6),
            ("income", "NULL", 0),
        ] {
            sqlite.execute_batch(&format!("DELETE FROM data; INSERT INTO data ({name}) VALUES ({value})")).unwrap();
            let statement = format!("SELECT \"{name} in steps\" FROM data");
            let found: Option<i64> = sqlite.query_row(&statement, [], |row| row.get(0)).unwrap();
            assert_eq!(found, (value != "NULL").then_some(steps), "{name} = {value}");
        }
    }
}
