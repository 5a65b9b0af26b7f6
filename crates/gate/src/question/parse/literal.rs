//! Literals, which get their type from the column that they are compared with.

use dashu::rational::RBig;
use sqlparser::ast::{DataType, Expr, UnaryOperator, Value as Written};

use super::super::predicate::Comparison;
use super::super::scalar::{Kind, NumericExpr};
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
    /// A date or a time, of a type that is written before it.
    Dated(Value),
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

    /// True or false, if it is one.
    pub(super) fn boolean(&self) -> Option<bool> {
        match self.written {
            Content::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<Number> {
        match &self.written {
            Content::Number(digits) => Number::parse(digits).ok(),
            _ => None,
        }
    }

    /// A literal with a type before it: `DATE '2024-02-29'`.
    pub(super) fn dated(
        reader: &Reader,
        expression: &Expr,
        to: &DataType,
        value: &'a Written,
    ) -> Result<Literal<'a>, Error> {
        let at = reader.start(expression);
        match value {
            Written::SingleQuotedString(text) => Literal { at, written: Content::Text(text) }.dated_as(to),
            _ => Err(Error::question(at, "a date is written in single quotes, such as DATE '2024-02-29'")),
        }
    }

    /// The date or time that its text is.
    pub(super) fn dated_as(&self, to: &DataType) -> Result<Literal<'a>, Error> {
        let kind = match to {
            DataType::Date => ColumnType::Date,
            DataType::Timestamp(..) => ColumnType::Timestamp,
            _ => return Err(self.refusal("only DATE and TIMESTAMP stand before text")),
        };
        let text = self.text().ok_or_else(|| self.refusal("a date is written in single quotes"))?;
        let value = Value::parse(text, kind).map_err(|error| self.refusal(error.to_string()))?;
        Ok(Literal { at: self.at, written: Content::Dated(value) })
    }

    /// The number, date or time that it is by itself.
    pub(super) fn scalar(&self) -> Result<NumericExpr, Error> {
        match &self.written {
            Content::Number(digits) => {
                let kind = if digits.contains(['.', 'e', 'E']) { Kind::Decimal } else { Kind::Integer };
                let number = Number::parse(digits).map_err(|error| self.refusal(error.to_string()))?;
                NumericExpr::constant(number, kind)
                    .map_err(|_| self.refusal("this number has too many digits: shorten it"))
            }
            Content::Dated(Value::Date(days)) => Ok(NumericExpr::steps(i64::from(*days), Kind::Date, RBig::ONE)),
            Content::Dated(Value::Timestamp(micros)) => {
                let grid = RBig::from_parts(1.into(), 1_000_000u32.into());
                let whole = micros % 1_000_000 == 0;
                Ok(match whole {
                    true => NumericExpr::steps(micros / 1_000_000, Kind::Timestamp, RBig::ONE),
                    false => NumericExpr::steps(*micros, Kind::Timestamp, grid),
                })
            }
            Content::Boolean(value) => Ok(NumericExpr::steps(i64::from(*value), Kind::Integer, RBig::ONE)),
            Content::Text(_) | Content::Dated(_) => {
                Err(self.refusal("this is text, and a number is needed here: write it without quotes"))
            }
        }
    }

    /// What it is beside something of a kind: text beside a date is a date.
    pub(super) fn scalar_beside(&self, kind: Kind) -> Result<NumericExpr, Error> {
        match kind {
            Kind::Date if self.text().is_some_and(|text| text.trim().len() > 10) => {
                self.dated_as(&DataType::Timestamp(None, sqlparser::ast::TimezoneInfo::None))?.scalar()
            }
            Kind::Date => self.dated_as(&DataType::Date)?.scalar(),
            Kind::Timestamp => self.dated_as(&DataType::Timestamp(None, sqlparser::ast::TimezoneInfo::None))?.scalar(),
            _ => self.scalar(),
        }
    }

    /// The date or time that its text is, whichever it looks like.
    pub(super) fn date_or_time(&self, _: &Reader) -> Result<NumericExpr, Error> {
        match &self.written {
            Content::Dated(_) => self.scalar(),
            _ => self.scalar_beside(Kind::Date),
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
                let kind = if column.kind == ColumnType::Date { "dates" } else { "times" };
                return Err(self.refusal(format!("{name:?} holds {kind}: compare it with text such as '2024-02-29'")));
            }
            (ColumnType::Integer | ColumnType::Real | ColumnType::Decimal, _) => {
                return Err(self.refusal(format!("{name:?} holds numbers: compare it with a number, without quotes")));
            }
            (ColumnType::Text, _) => {
                return Err(self.refusal(format!("{name:?} holds text: compare it with text in single quotes")));
            }
            // As databases without booleans have them.
            (ColumnType::Boolean, _) if [Some(Number::ZERO), Some(Number::ONE)].contains(&self.number()) => {
                Value::Boolean(self.number() == Some(Number::ONE))
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
                self.refusal(
                    "this is outside the whole numbers of 64 bits: no value of the column is that large or that small",
                )
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
