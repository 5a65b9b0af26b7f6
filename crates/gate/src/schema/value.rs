//! Literals, categories and the keys of groups.

use std::cmp::Ordering;
use std::fmt;

use dashu::rational::RBig;
use serde::{Deserialize, Serialize};
use serde_json::{Number as JsonNumber, Value as Json};

use super::ColumnType;
use super::calendar::{DAYS, MICROSECONDS, parse_date, parse_timestamp, show_date, show_timestamp};
use crate::error::Error;
use crate::number::Number;
use crate::question::scalar::rational;

/// A literal of a question, a category, or the key of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A binary floating-point number, always finite.
    Real(f64),
    /// Text.
    Text(String),
    /// A day: how many there are since 1970-01-01.
    Date(i32),
    /// A time in UTC: the microseconds since 1970-01-01.
    Timestamp(i64),
    /// A decimal number.
    Decimal(Number),
}

/// Which days there are.
const CALENDAR: &str = "from 0001-01-01 to 9999-12-31";

impl Value {
    /// The longest text of a literal or a category, in bytes.
    pub const TEXT: usize = 1000;

    /// The type of column that it can be compared with.
    pub fn kind(&self) -> ColumnType {
        match self {
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Integer(_) => ColumnType::Integer,
            Value::Real(_) => ColumnType::Real,
            Value::Text(_) => ColumnType::Text,
            Value::Date(_) => ColumnType::Date,
            Value::Timestamp(_) => ColumnType::Timestamp,
            Value::Decimal(_) => ColumnType::Decimal,
        }
    }

    /// The same as text, without quotes.
    pub fn plain(&self) -> String {
        match self {
            Value::Boolean(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => JsonNumber::from_f64(*value).map_or("null".to_string(), |number| number.to_string()),
            Value::Text(text) => text.clone(),
            Value::Date(days) => show_date(*days),
            Value::Timestamp(microseconds) => show_timestamp(*microseconds),
            Value::Decimal(number) => number.to_string(),
        }
    }

    /// The same as JSON: days and times are text.
    pub fn json(&self) -> Json {
        match self {
            Value::Boolean(value) => Json::Bool(*value),
            Value::Integer(value) => Json::Number((*value).into()),
            Value::Real(value) => JsonNumber::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Decimal(number) => Json::Number(JsonNumber::from_string_unchecked(number.to_string())),
            Value::Text(_) | Value::Date(_) | Value::Timestamp(_) => Json::String(self.plain()),
        }
    }

    /// The value of a JSON string, number or boolean; nothing for anything else.
    pub(crate) fn from_json(json: Json) -> Option<Value> {
        match json {
            Json::Bool(value) => Some(Value::Boolean(value)),
            Json::Number(number) => {
                let real = || number.as_str().parse().ok().map(Value::Real);
                number.as_str().parse().ok().map(Value::Integer).or_else(real)
            }
            Json::String(text) => Some(Value::Text(text)),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The order of two values: numbers by their size, whatever types they have, and values that cannot be compared by their types.
    pub(crate) fn compare(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Boolean(one), Value::Boolean(other)) => one.cmp(other),
            (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
            (Value::Real(one), Value::Real(other)) => one.partial_cmp(other).unwrap_or_else(|| one.total_cmp(other)),
            (Value::Text(one), Value::Text(other)) => one.cmp(other),
            (Value::Date(one), Value::Date(other)) => one.cmp(other),
            (Value::Timestamp(one), Value::Timestamp(other)) => one.cmp(other),
            (Value::Decimal(one), Value::Decimal(other)) => one.cmp(other),
            (one, other) => match (one.exact(), other.exact()) {
                (Some(one), Some(other)) => one.cmp(&other),
                _ => one.place_of_type().cmp(&other.place_of_type()),
            },
        }
    }

    /// Where values of its type are among those that it cannot be compared with.
    fn place_of_type(&self) -> u8 {
        match self {
            Value::Boolean(_) => 0,
            Value::Integer(_) | Value::Real(_) | Value::Decimal(_) => 1,
            Value::Date(_) => 2,
            Value::Timestamp(_) => 3,
            Value::Text(_) => 4,
        }
    }

    /// A number, exactly; an infinite one is beyond all of the other types.
    pub(crate) fn exact(&self) -> Option<RBig> {
        match self {
            Value::Integer(value) => Some(RBig::from(*value)),
            Value::Real(value) => RBig::try_from(value.clamp(f64::MIN, f64::MAX)).ok(),
            Value::Decimal(number) => Some(rational(*number)),
            Value::Boolean(_) | Value::Text(_) | Value::Date(_) | Value::Timestamp(_) => None,
        }
    }

    /// Whether every engine can hold it.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Value::Text(text) if text.len() > Value::TEXT => Err(format!("text is longer than {} bytes", Value::TEXT)),
            Value::Text(text) if text.contains('\0') => {
                Err("text has a NUL character, which no engine holds".to_string())
            }
            Value::Real(value) if !value.is_finite() => Err("a number must be finite".to_string()),
            Value::Date(days) if !(DAYS[0]..=DAYS[1]).contains(days) => Err(format!("a date is {CALENDAR}")),
            Value::Timestamp(time) if !(MICROSECONDS[0]..=MICROSECONDS[1]).contains(time) => {
                Err(format!("a timestamp is {CALENDAR}"))
            }
            Value::Decimal(number) if number.to_millionths().is_none() => {
                Err("a decimal number has at most 12 digits before the point and 6 after it".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Reads a value of a column's type from text.
    pub(crate) fn parse(text: &str, kind: ColumnType) -> Result<Value, Error> {
        let wrong = || {
            let form = match kind {
                ColumnType::Date => format!("write it as 2024-02-29, {CALENDAR}"),
                ColumnType::Timestamp => format!("write it as 2024-02-29 13:05:00, {CALENDAR}"),
                ColumnType::Decimal => {
                    "write it as -12.5, with at most 12 digits before the point and 6 after it".to_string()
                }
                _ => "correct it, or declare another type for the column".to_string(),
            };
            Error::schema(format!("{text:?} is not a value of a column that holds {kind}; {form}"))
        };
        match kind {
            ColumnType::Date => parse_date(text.as_bytes()).map(Value::Date).ok_or_else(wrong),
            ColumnType::Timestamp => parse_timestamp(text.as_bytes()).map(Value::Timestamp).ok_or_else(wrong),
            ColumnType::Decimal => {
                let number = Number::parse(text).ok().filter(|number| number.to_millionths().is_some());
                number.map(Value::Decimal).ok_or_else(wrong)
            }
            ColumnType::Text => Ok(Value::Text(text.to_string())),
            ColumnType::Integer => text.parse().map(Value::Integer).map_err(|_| wrong()),
            ColumnType::Real => {
                text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Real).ok_or_else(wrong)
            }
            ColumnType::Boolean => match text {
                "true" => Ok(Value::Boolean(true)),
                "false" => Ok(Value::Boolean(false)),
                _ => Err(wrong()),
            },
        }
    }
}

impl fmt::Display for Value {
    /// As a question writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(true) => f.write_str("TRUE"),
            Value::Boolean(false) => f.write_str("FALSE"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Date(_) => write!(f, "DATE '{}'", self.plain()),
            Value::Timestamp(_) => write!(f, "TIMESTAMP '{}'", self.plain()),
            Value::Decimal(number) => write!(f, "{number}"),
        }
    }
}

/// A value in JSON without its type.
pub(crate) mod plain {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Json, Value};

    pub(crate) fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
        value.json().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        Value::from_json(Json::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("not a value of a group"))
    }
}
