//! DuckDB: sums of 64-bit numbers have 128 bits, and CASE computes a branch for its own rows alone. Tried with version 1.5.

use super::{Clamped, Grammar, days_steps, microseconds_steps, scaled_steps, ten_millions_times, weekday};
use crate::question::calendar::DatePart;
use crate::question::commas;
use crate::question::scalar::Kind;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct DuckDbSql;

impl Grammar for DuckDbSql {
    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "BIGINT",
            ColumnType::Real => "DOUBLE",
            ColumnType::Text => "VARCHAR",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Date => "DATE",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::Decimal => "DECIMAL(18, 6)",
        }
    }

    /// No pattern has an escape unless it is given.
    fn like(&self, text: &str, not: &str, pattern: &str, _: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {}", self.text(pattern))
    }

    /// `/` would be a division of binary numbers.
    fn quotient(&self, one: &str, other: &str) -> String {
        format!("{one} // {other}")
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("(DATE '1970-01-01' + CAST({days} AS INTEGER))");
        match (weekday(part, days, self), part.kind()) {
            (Some(weekday), _) => weekday,
            (None, Kind::Date) => {
                format!("(CAST(date_trunc('{}', {date}) AS DATE) - DATE '1970-01-01')", part.name())
            }
            (None, _) => self.wide(&format!("extract({} FROM {date})", part.name())),
        }
    }

    fn hash(&self, parts: &str) -> Option<String> {
        Some(format!("sha256(concat_ws(' ', {parts}))"))
    }

    /// The sum of 64-bit numbers is a HUGEINT.
    fn summed(&self, term: &str) -> String {
        self.wide(term)
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        scaled_steps(&ten_millions_times(column), bounds, "HUGEINT", self)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("({column} - DATE '1970-01-01')"), bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        microseconds_steps(&format!("epoch_us({column})"), bounds, self)
    }

    fn table(&self, name: &str, columns: &[(String, ColumnType)], rows: &[String]) -> String {
        let names = columns.iter().map(|(name, _)| name);
        format!("{name} ({}) AS MATERIALIZED (VALUES {})", commas(names), commas(rows))
    }
}
