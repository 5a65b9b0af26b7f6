//! PostgreSQL: literals are parameters of their types, and the collation is given, since a database's own may depend on the machine.

use super::{Clamped, Grammar, Supply, days_steps, ends, real_quotient};
use crate::number::Number;
use crate::question::calendar::DatePart;
use crate::question::predicate::LetterCase;
use crate::question::scalar::Kind;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct PostgresSql;

impl Grammar for PostgresSql {
    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "int8",
            ColumnType::Real => "float8",
            ColumnType::Text => "text",
            ColumnType::Boolean => "bool",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
            ColumnType::Decimal => "numeric",
        }
    }

    fn literal(&self, value: &Value, parameters: &mut Vec<Value>) -> String {
        parameters.push(value.clone());
        // A decimal number is sent as text. Literals have few digits: the cast cannot fail.
        let first = if value.kind() == ColumnType::Decimal { "text::" } else { "" };
        format!("${}::{first}{}", parameters.len(), self.type_name(value.kind()))
    }

    /// In 64 bits from the beginning.
    fn integer(&self, value: i64) -> String {
        format!("({value})::int8")
    }

    fn real(&self, value: f64) -> String {
        format!("'{value:?}'::float8")
    }

    fn null(&self, kind: ColumnType) -> String {
        format!("NULL::{}", self.type_name(kind))
    }

    fn wide(&self, expression: &str) -> String {
        format!("({expression})::int8")
    }

    fn compared(&self, column: String, kind: ColumnType) -> String {
        match kind {
            ColumnType::Text => format!("{column} COLLATE \"C\""),
            _ => column,
        }
    }

    fn grouped(&self, column: String, kind: ColumnType) -> String {
        match kind {
            ColumnType::Integer => format!("{column}::int8"),
            ColumnType::Text => format!("{column}::text COLLATE \"C\""),
            // 1.5 and 1.50 are the same group; as text, since a number has any number of digits.
            ColumnType::Decimal => format!("trim_scale({column})::text"),
            _ => column,
        }
    }

    fn letters(&self, text: String, case: LetterCase) -> String {
        match case {
            LetterCase::AsWritten => text,
            LetterCase::Lower => format!("lower({text})"),
            LetterCase::Upper => format!("upper({text})"),
        }
    }

    /// A backslash is an escape unless there is none, and fails at the end of a pattern if a row gets there.
    fn like(&self, text: &str, not: &str, pattern: &str, parameters: &mut Vec<Value>) -> String {
        format!("{text} {not}LIKE {} ESCAPE ''", self.literal(&Value::Text(pattern.to_string()), parameters))
    }

    fn truth(&self, condition: &str) -> String {
        format!("(({condition})::int4)::int8")
    }

    fn quotient(&self, one: &str, other: &str) -> String {
        format!("{one} / {other}")
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("(DATE '1970-01-01' + ({days})::int4)");
        match part.kind() {
            Kind::Date => {
                let start = format!("date_trunc('{}', {date}::timestamp)::date", part.name());
                format!("({start} - DATE '1970-01-01')::int8")
            }
            _ => format!("extract({} FROM {date})::int8", part.name()),
        }
    }

    /// The sum of 32-bit integers is a 64-bit one; that of 64-bit ones is a slow decimal number.
    fn summed(&self, term: &str, _: u64) -> String {
        format!("({term})::int4")
    }

    /// Whole numbers of this size are exact, and the sum fits into 32 bits where the quotient need not.
    fn real_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let (low, high, quotient) = real_quotient(column, bounds, |value| self.real(value));
        (low, high, format!("(floor({quotient}) + {})::int4", self.real(bounds.steps().0 as f64)))
    }

    /// It divides without a remainder, whatever number of digits there are, where `/` would round: ⌊(value − low) / grid + ½⌋.
    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let numeric = |number: Number| format!("'{number}'::numeric");
        let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(numeric);
        let steps = bounds.steps().0;
        let between = format!("(div(2 * ({column} - {low}) + {grid}, 2 * {grid}) + ({steps}))::int4");
        (low, high, between)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("{column} - DATE '1970-01-01'"), bounds)
    }

    /// Whole seconds are exact in whatever number its version extracts.
    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let [from, to] = ends(bounds, ColumnType::Timestamp).map(|end| format!("TIMESTAMP '{end}'"));
        let seconds = format!("extract(epoch FROM date_trunc('second', {column}))::int8");
        let (low, grid, steps) = (bounds.low(), bounds.grid(), bounds.steps().0);
        (from, to, format!("({seconds} - ({low})) / {grid} + ({steps})"))
    }

    /// Text was converted by the same function when the rows were copied: it cannot fail here.
    fn hash(&self, parts: &str) -> Option<String> {
        Some(format!("sha256(convert_to(concat_ws(' ', {parts}), 'UTF8'))"))
    }

    fn supply(&self) -> Supply {
        Supply::Json
    }
}
