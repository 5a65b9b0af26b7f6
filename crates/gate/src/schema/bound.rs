//! One end of the bounds of a column, as it is written: a number, a day or a time.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ColumnType;
use super::calendar::{
    MICROSECONDS_PER_SECOND, SECONDS_PER_DAY, parse_date, parse_timestamp, show_date, show_timestamp,
};
use crate::error::Error;
use crate::number::Number;

/// One end of the bounds of a column, before it becomes a number: `120`, `1900-01-01` or `2024-02-29 13:05:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub enum Bound {
    /// A number.
    Number(Number),
    /// A day: how many there are since 1970-01-01.
    Date(i32),
    /// A time in UTC: the microseconds since 1970-01-01.
    Timestamp(i64),
}

/// A bound in a file: TOML has dates of its own.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number, or a date in quotes")]
enum Written {
    Number(Number),
    Text(String),
    Calendar(toml::value::Datetime),
}

impl Bound {
    /// Reads a bound.
    pub fn parse(text: &str) -> Result<Bound, Error> {
        let date = || parse_date(text.as_bytes()).map(Bound::Date);
        let time = || parse_timestamp(text.as_bytes()).map(Bound::Timestamp);
        let is_calendar = || text.bytes().skip(1).any(|byte| matches!(byte, b'-' | b':')) && !text.contains(['e', 'E']);
        Number::parse(text).map(Bound::Number).or_else(|error| match date().or_else(time) {
            Some(bound) => Ok(bound),
            None if is_calendar() => {
                let shown: String = text.chars().take(Number::LONGEST).collect();
                let needs =
                    "a date is written as 2024-02-29 and a time as 2024-02-29 13:05:00, from 0001-01-01 to 9999-12-31";
                Err(Error::value("bound", format_args!("{shown:?}"), needs))
            }
            None => Err(error),
        })
    }

    /// The bound of a column of this type as a number: of days since 1970-01-01 for dates, of seconds for times.
    pub(crate) fn number(self, kind: ColumnType) -> Result<Number, Error> {
        use ColumnType::{Date, Timestamp};
        match (self, kind) {
            (Bound::Date(days), Date) => Ok(Number::from_integer(days.into())),
            (Bound::Date(days), Timestamp) => Ok(Number::from_integer(i64::from(days) * SECONDS_PER_DAY)),
            (Bound::Timestamp(time), Timestamp) => Ok(Number::from_millionths(time)),
            (Bound::Timestamp(_), Date) | (Bound::Number(_), Date | Timestamp) => Err(Error::schema(format!(
                "it holds {kind}, and the bound {self} is none: write it as {}",
                if kind == Date { "1900-01-01" } else { "1900-01-01 or 2024-02-29 13:05:00" }
            ))),
            (Bound::Number(number), _) => Ok(number),
            (Bound::Date(_) | Bound::Timestamp(_), _) => {
                Err(Error::schema(format!("it holds {kind}, and its bounds are not dates such as {self}")))
            }
        }
    }

    /// The bound that is this number in a column of this type.
    pub(crate) fn of(number: Number, kind: ColumnType) -> Bound {
        match kind {
            ColumnType::Date => Bound::Date(i32::try_from(number.floor()).unwrap_or(i32::MAX)),
            ColumnType::Timestamp => Bound::Timestamp(number.floor().saturating_mul(MICROSECONDS_PER_SECOND)),
            _ => Bound::Number(number),
        }
    }
}

impl TryFrom<Written> for Bound {
    type Error = Error;
    fn try_from(written: Written) -> Result<Bound, Error> {
        match written {
            Written::Number(number) => Ok(Bound::Number(number)),
            Written::Text(text) => Bound::parse(&text),
            Written::Calendar(time) => Bound::parse(&time.to_string()),
        }
    }
}

impl From<Bound> for String {
    fn from(bound: Bound) -> String {
        bound.to_string()
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Number(number) => number.fmt(f),
            Bound::Date(days) => f.write_str(&show_date(*days)),
            Bound::Timestamp(time) => f.write_str(&show_timestamp(*time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_they_are_written_and_back() {
        for (text, shown) in [
            ("-0.50", "-0.5"),
            ("2024", "2024"),
            ("1900-01-01", "1900-01-01"),
            ("2024-02-29T13:05:00+01:00", "2024-02-29 12:05:00"),
        ] {
            let bound = Bound::parse(text).unwrap();
            assert_eq!((bound.to_string().as_str(), Bound::parse(shown).unwrap()), (shown, bound), "{text}");
        }
        for (text, why) in [
            ("2023-02-29", "a date is written as 2024-02-29"),
            ("2024-02-29 25:00", "from 0001-01-01"),
            ("1e-19", "more than 18 decimal places"),
            ("low", "made of digits"),
        ] {
            let error = Bound::parse(text).unwrap_err();
            assert!(error.is_input() && error.to_string().contains(why), "{text}: {error}");
        }
    }
}
