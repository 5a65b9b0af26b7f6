//! BigQuery, by its documentation: no account was at hand to try it.
//!
//! A sum of INT64 fails if it overflows, one of NUMERIC has 29 digits. Aggregates have no FILTER, and NaN is beside the order of numbers.

use super::{
    Clamped, Extreme, Grammar, SqlAggregate, days_steps, hexadecimal, microseconds_steps, pairwise, scaled_steps,
    weekday, where_it_holds, without_escapes,
};
use crate::question::calendar::DatePart;
use crate::question::commas;
use crate::question::scalar::Kind;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct BigQuerySql;

impl Grammar for BigQuerySql {
    fn name(&self, name: &str) -> String {
        format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
    }

    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "INT64",
            ColumnType::Real => "FLOAT64",
            ColumnType::Text => "STRING",
            ColumnType::Boolean => "BOOL",
            ColumnType::Date => "DATE",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::Decimal => "NUMERIC",
        }
    }

    fn text(&self, text: &str) -> String {
        format!("CAST(from_hex('{}') AS STRING)", hexadecimal(text))
    }

    /// No comparison with NaN holds there. Elsewhere it is above every number, as infinity is.
    fn compared(&self, column: String, kind: ColumnType) -> String {
        match kind {
            ColumnType::Real => format!("if(is_nan({column}), CAST('inf' AS FLOAT64), {column})"),
            _ => column,
        }
    }

    fn like(&self, text: &str, not: &str, pattern: &str, _: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {}", self.text(&without_escapes(pattern)))
    }

    fn quotient(&self, one: &str, other: &str) -> String {
        format!("div({one}, {other})")
    }

    fn remainder(&self, one: &str, other: &str) -> String {
        format!("mod({one}, {other})")
    }

    fn extreme(&self, parts: Vec<String>, extreme: Extreme) -> String {
        match extreme {
            Extreme::Least => pairwise("least", parts),
            Extreme::Greatest => pairwise("greatest", parts),
        }
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("date_from_unix_date({days})");
        match (weekday(part, days, self), part.kind()) {
            (Some(weekday), _) => weekday,
            (None, Kind::Date) => format!("unix_date(date_trunc({date}, {}))", part.name()),
            (None, _) => {
                let name = match part {
                    DatePart::Week => "isoweek",
                    DatePart::DayOfYear => "dayofyear",
                    _ => part.name(),
                };
                format!("extract({name} FROM {date})")
            }
        }
    }

    fn summed(&self, term: &str, _: u64) -> String {
        format!("CAST({term} AS NUMERIC)")
    }

    fn aggregate(&self, aggregate: SqlAggregate, term: &str, reach: u64, filter: Option<&str>) -> String {
        where_it_holds(aggregate, term, reach, filter, self)
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        scaled_steps(&format!("{column} * 10000000"), bounds, "NUMERIC", self)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("unix_date({column})"), bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        microseconds_steps(&format!("unix_micros({column})"), bounds, self)
    }

    fn table(&self, name: &str, columns: &[(String, ColumnType)], rows: &[String]) -> String {
        let fields = columns.iter().map(|(name, kind)| format!("{name} {}", self.type_name(*kind)));
        format!("{name} AS (SELECT * FROM unnest(ARRAY<STRUCT<{}>>[{}]))", commas(fields), commas(rows))
    }
}
