//! Literals, which get their type from the column that they are compared with.

use sqlparser::ast::{Expr, UnaryOperator, Value as Written};

use super::super::Comparison;
use super::reader::{Reader, plain};
use crate::error::Error;
use crate::number::Number;
use crate::schema::{Column, ColumnType, Value};

/// A literal as it is written, and the character where it begins.
pub(super) struct Literal<'a> {
    at: usize,
    written: Content<'a>,
}

enum Content<'a> {
    /// Digits, with a minus if it was written.
    Number(String),
    Text(&'a str),
    Boolean(bool),
}

impl<'a> Literal<'a> {
    /// The literal that an expression is, if it is one.
    pub(super) fn of(reader: &Reader, expression: &'a Expr) -> Option<Literal<'a>> {
        let (sign, value) = match plain(expression) {
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => ("+", expr.as_ref()),
            other => ("", other),
        };
        let Expr::Value(value) = value else { return None };
        let written = match &value.value {
            Written::Number(digits, false) if sign == "-" => Content::Number(format!("-{digits}")),
            Written::Number(digits, false) => Content::Number(digits.clone()),
            Written::SingleQuotedString(text) if sign.is_empty() => Content::Text(text),
            Written::Boolean(value) if sign.is_empty() => Content::Boolean(*value),
            _ => return None,
        };
        Some(Literal { at: reader.start(plain(expression)), written })
    }

    /// What the column is asked to equal.
    pub(super) fn value(&self, column: &Column) -> Result<Value, Error> {
        match self.typed(column)? {
            Exact::Value(value) => Ok(value),
            Exact::Between(..) => Err(self.refusal(format!(
                "{:?} holds whole numbers, and none equals this one: write a whole number, or compare with < or >",
                column.name
            ))),
        }
    }

    /// What the column is asked to be on one side of: between two whole numbers, that is one of them.
    pub(super) fn side(&self, column: &Column, comparison: Comparison) -> Result<(Comparison, Value), Error> {
        if column.kind == ColumnType::Boolean {
            return Err(self.refusal(format!("{:?} is true or false: compare it with = or <>", column.name)));
        }
        Ok(match (self.typed(column)?, comparison) {
            (Exact::Value(value), comparison) => (comparison, value),
            (Exact::Between(below, _), Comparison::Less | Comparison::LessOrEqual) => {
                (Comparison::LessOrEqual, Value::Integer(below))
            }
            (Exact::Between(_, above), Comparison::Greater | Comparison::GreaterOrEqual) => {
                (Comparison::GreaterOrEqual, Value::Integer(above))
            }
            (Exact::Between(..), Comparison::Equal | Comparison::NotEqual) => (comparison, self.value(column)?),
        })
    }

    /// The text of a pattern.
    pub(super) fn text(&self) -> Option<&'a str> {
        match self.written {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn refusal(&self, message: impl Into<String>) -> Error {
        Error::question(self.at, message)
    }

    fn typed(&self, column: &Column) -> Result<Exact, Error> {
        let name = &column.name;
        let value = match (column.kind, &self.written) {
            (ColumnType::Integer, Content::Number(digits)) => return self.whole(digits),
            (ColumnType::Real, Content::Number(digits)) => {
                // The same zero is written in one way.
                Value::Real(digits.parse::<f64>().map_err(|_| self.refusal("this is not a number"))? + 0.0)
            }
            (ColumnType::Text, Content::Text(text)) => Value::Text(text.to_string()),
            (ColumnType::Boolean, Content::Boolean(value)) => Value::Boolean(*value),
            (kind @ (ColumnType::Date | ColumnType::Timestamp), Content::Text(text)) => {
                Value::parse(text, kind).map_err(|error| self.refusal(error.to_string()))?
            }
            (kind @ ColumnType::Decimal, Content::Number(digits)) => {
                Value::parse(digits, kind).map_err(|error| self.refusal(error.to_string()))?
            }
            (ColumnType::Date | ColumnType::Timestamp, _) => {
                return Err(self.refusal(format!("{name:?} holds {}: compare it with '2024-02-29'", column.kind)));
            }
            (ColumnType::Integer | ColumnType::Real | ColumnType::Decimal, _) => {
                return Err(self.refusal(format!("{name:?} holds numbers: compare it with a number, without quotes")));
            }
            (ColumnType::Text, _) => {
                return Err(self.refusal(format!("{name:?} holds text: compare it with text in single quotes")));
            }
            (ColumnType::Boolean, _) => {
                return Err(self.refusal(format!("{name:?} is true or false: compare it with TRUE or FALSE")));
            }
        };
        value.check().map_err(|why| self.refusal(format!("{why}: choose another literal")))?;
        Ok(Exact::Value(value))
    }

    /// A number for a column of whole ones, exactly.
    fn whole(&self, digits: &str) -> Result<Exact, Error> {
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        if unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
            let value = digits.parse().map_err(|_| {
                self.refusal("this is outside the whole numbers of 64 bits: no value of the column is out there")
            })?;
            return Ok(Exact::Value(Value::Integer(value)));
        }
        let number = Number::parse(digits).map_err(|error| self.refusal(error.to_string()))?;
        Ok(match number.to_integer() {
            Some(value) => Exact::Value(Value::Integer(value)),
            None => Exact::Between(number.floor(), number.ceil()),
        })
    }
}

/// What a literal is, for the type of a column.
enum Exact {
    Value(Value),
    /// Between two whole numbers that follow each other, in a column of whole numbers.
    Between(i64, i64),
}
