//! Spark's SQL, as Sail and Databricks have it too. Tried with Sail 0.7, a Spark on DataFusion.
//!
//! A sum of 64-bit numbers wraps in Sail, and fails in Spark if it is told to; one of decimal numbers of 38 digits does neither. Text is
//! written in hexadecimal: in a literal a backslash is an escape and two quotes are none, or the other way round, as a session is set.
//! The session must be in UTC, which is tried when a dataset is registered.

use super::{
    Clamped, Grammar, clamped_by_cases, days_steps, hexadecimal, is_by_coalesce, microseconds_steps, scaled_steps,
    ten_millions_times, weekday, without_escapes,
};
use crate::question::calendar::DatePart;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct SparkSql;

/// What rows may add for their sum to be one of 64 bits: it would take 2⁴³ rows, nine million million, to wrap it.
const LITTLE: u64 = 1 << 20;

impl Grammar for SparkSql {
    fn name(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "BIGINT",
            ColumnType::Real => "DOUBLE",
            ColumnType::Text => "STRING",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Date => "DATE",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::Decimal => "DECIMAL(18, 6)",
        }
    }

    fn text(&self, text: &str) -> String {
        format!("CAST(X'{}' AS STRING)", hexadecimal(text))
    }

    fn like(&self, text: &str, not: &str, pattern: &str, _: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {}", self.text(&without_escapes(pattern)))
    }

    /// Sail 0.7 cannot plan a statement in which `IS TRUE` of a condition stands twice.
    fn is(&self, condition: &str, value: Option<bool>, not: &str) -> String {
        is_by_coalesce(condition, value, not)
    }

    /// Parts of a cluster compare the bits of binary numbers, by which −0 is not 0 and there are many NaN.
    fn distinct(&self, column: String, kind: ColumnType) -> String {
        let real = |value: f64| self.real(value);
        match kind {
            ColumnType::Real => format!(
                "CASE WHEN {column} = {zero} THEN {zero} WHEN {column} > {} THEN {} ELSE {column} END",
                real(f64::INFINITY),
                real(f64::NAN),
                zero = real(0.0)
            ),
            _ => column,
        }
    }

    fn grouped(&self, column: String, kind: ColumnType) -> String {
        self.distinct(column, kind)
    }

    fn quotient(&self, one: &str, other: &str) -> String {
        format!("{one} div {other}")
    }

    /// The first day of something is counted back: Sail's `trunc` fails for dates that have no nanoseconds of 64 bits.
    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("date_from_unix_date(CAST({days} AS INT))");
        let field = |function: &str| self.wide(&format!("{function}({date})"));
        match part {
            DatePart::Year => field("year"),
            DatePart::Quarter => field("quarter"),
            DatePart::Month => field("month"),
            DatePart::Week => field("weekofyear"),
            DatePart::Day => field("day"),
            DatePart::DayOfYear => field("dayofyear"),
            DatePart::StartOfYear => format!("({days} - {} + 1)", field("dayofyear")),
            DatePart::StartOfMonth => format!("({days} - {} + 1)", field("day")),
            DatePart::StartOfQuarter => {
                let start = format!("make_date(year({date}), 3 * quarter({date}) - 2, 1)");
                self.wide(&format!("unix_date({start})"))
            }
            DatePart::DayOfWeek | DatePart::IsoDayOfWeek | DatePart::StartOfWeek => {
                weekday(part, days, self).expect("days of the week are computed")
            }
        }
    }

    /// Decimal numbers take five times as long as those of 64 bits, which are enough where rows add little.
    fn summed(&self, term: &str, reach: u64) -> String {
        if reach <= LITTLE { term.to_string() } else { format!("CAST({term} AS DECIMAL(38, 0))") }
    }

    fn centres_sums(&self, reach: u64) -> bool {
        reach <= LITTLE
    }

    fn clamped_first(&self, column: &str, _: ColumnType, low: &str, high: &str) -> Option<String> {
        Some(clamped_by_cases(column, low, high))
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        scaled_steps(&ten_millions_times(column), bounds, "DECIMAL(38, 0)", self)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("unix_date({column})"), bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        microseconds_steps(&format!("unix_micros({column})"), bounds, self)
    }
}
