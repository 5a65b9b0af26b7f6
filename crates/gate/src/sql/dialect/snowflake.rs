//! Snowflake, by its documentation: no account was at hand to try it.
//!
//! Numbers are decimal ones of 38 digits, and so are sums. Aggregates have no FILTER, and a quotient is rounded behind the point. A branch
//! of CASE may be computed for the rows of another one, so what could fail is clamped first.

use super::{
    Clamped, Extreme, Grammar, SqlAggregate, days_steps, hexadecimal, is_by_coalesce, microseconds_steps, scaled_steps,
    ten_millions_times, weekday, where_it_holds,
};
use crate::question::calendar::DatePart;
use crate::question::commas;
use crate::question::scalar::Kind;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct SnowflakeSql;

impl Grammar for SnowflakeSql {
    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "NUMBER(38, 0)",
            ColumnType::Real => "DOUBLE",
            ColumnType::Text => "VARCHAR",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Date => "DATE",
            ColumnType::Timestamp => "TIMESTAMP_NTZ",
            ColumnType::Decimal => "NUMBER(18, 6)",
        }
    }

    /// A backslash is an escape in a literal.
    fn text(&self, text: &str) -> String {
        format!("hex_decode_string('{}')", hexadecimal(text))
    }

    /// No pattern has an escape unless it is given.
    fn like(&self, text: &str, not: &str, pattern: &str, _: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {}", self.text(pattern))
    }

    fn is(&self, condition: &str, value: Option<bool>, not: &str) -> String {
        is_by_coalesce(condition, value, not)
    }

    /// Without its remainder a quotient is exact.
    fn quotient(&self, one: &str, other: &str) -> String {
        self.wide(&format!("({one} - {one} % {other}) / {other}"))
    }

    fn extreme(&self, parts: Vec<String>, extreme: Extreme) -> String {
        match extreme {
            Extreme::Least => format!("least_ignore_nulls({})", commas(parts)),
            Extreme::Greatest => format!("greatest_ignore_nulls({})", commas(parts)),
        }
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("dateadd(day, {days}, DATE '1970-01-01')");
        match (weekday(part, days, self), part.kind()) {
            (Some(weekday), _) => weekday,
            (None, Kind::Date) => format!("datediff(day, DATE '1970-01-01', date_trunc('{}', {date}))", part.name()),
            (None, _) => {
                let name = match part {
                    DatePart::Week => "weekiso",
                    DatePart::DayOfYear => "dayofyear",
                    _ => part.name(),
                };
                format!("{name}({date})")
            }
        }
    }

    fn summed(&self, term: &str, _: u64) -> String {
        term.to_string()
    }

    fn aggregate(&self, aggregate: SqlAggregate, term: &str, reach: u64, filter: Option<&str>) -> String {
        where_it_holds(aggregate, term, reach, filter, self)
    }

    fn within(&self, column: &str, low: &str, high: &str) -> String {
        format!("least(greatest({column}, {low}), {high})")
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        scaled_steps(&ten_millions_times(column), bounds, "NUMBER(38, 0)", self)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("datediff(day, DATE '1970-01-01', {column})"), bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        microseconds_steps(&format!("date_part(epoch_microsecond, {column})"), bounds, self)
    }
}
