//! SQLite: numbers of 64 bits and 64-bit sums that fail if they overflow; days, microseconds and millionths are whole numbers.

use super::{Clamped, Extreme, Grammar, Supply, pairwise, real_quotient};
use crate::number::Number;
use crate::question::calendar::DatePart;
use crate::question::predicate::LetterCase;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct SqliteSql;

impl Grammar for SqliteSql {
    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Text => "TEXT",
            ColumnType::Real => "REAL",
            _ => "INTEGER",
        }
    }

    fn literal(&self, value: &Value, parameters: &mut Vec<Value>) -> String {
        parameters.push(value.clone());
        format!("?{}", parameters.len())
    }

    fn integer(&self, value: i64) -> String {
        if value < 0 { format!("({value})") } else { value.to_string() }
    }

    fn real(&self, value: f64) -> String {
        format!("{value:?}")
    }

    fn null(&self, _: ColumnType) -> String {
        "NULL".to_string()
    }

    fn wide(&self, expression: &str) -> String {
        expression.to_string()
    }

    fn letters(&self, text: String, case: LetterCase) -> String {
        match case {
            LetterCase::AsWritten => text,
            LetterCase::Lower => format!("lower({text})"),
            LetterCase::Upper => format!("upper({text})"),
        }
    }

    fn like(&self, text: &str, not: &str, pattern: &str, parameters: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {}", self.literal(&Value::Text(pattern.to_string()), parameters))
    }

    fn truth(&self, condition: &str) -> String {
        format!("({condition})")
    }

    fn quotient(&self, one: &str, other: &str) -> String {
        format!("{one} / {other}")
    }

    fn extreme(&self, parts: Vec<String>, extreme: Extreme) -> String {
        match extreme {
            Extreme::Least => pairwise("min", parts),
            Extreme::Greatest => pairwise("max", parts),
        }
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        format!("{}({days})", part.function())
    }

    fn summed(&self, term: &str, _: u64) -> String {
        term.to_string()
    }

    fn hash(&self, parts: &str) -> Option<String> {
        Some(format!("taximeter_hash({parts})"))
    }

    fn stores_steps(&self) -> bool {
        true
    }

    fn engine_groups(&self) -> bool {
        true
    }

    fn real_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let (low, high, quotient) = real_quotient(column, bounds, |value| self.real(value));
        (low, high, format!("CAST({quotient} AS INTEGER) + ({})", bounds.steps().0))
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let stored = |number: Number| number.to_millionths().expect("declared bounds of decimal numbers are stored");
        let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(stored);
        let between = format!("({column} - ({low}) + {}) / {grid} + ({})", grid / 2, bounds.steps().0);
        (low.to_string(), high.to_string(), between)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        self.integer_steps(column, bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let microseconds = |seconds: Number| 1_000_000 * seconds.floor();
        let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(microseconds);
        let between = format!("({column} - ({low})) / {grid} + ({})", bounds.steps().0);
        (low.to_string(), high.to_string(), between)
    }

    fn supply(&self) -> Supply {
        Supply::Temporary
    }

    /// There it means that the rows of the dataset are gone through, and not those of the public table.
    fn join(&self) -> &'static str {
        "CROSS JOIN"
    }

    /// Where a condition leaves out what has no counterpart, SQLite would make a plain join of a LEFT JOIN, and go through all rows of the
    /// dataset for each of the public table. It does not look into functions.
    fn perhaps(&self, column: String) -> String {
        format!("coalesce({column}, NULL)")
    }
}
