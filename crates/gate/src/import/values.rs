//! What a field of a CSV file means in a column of a given type.

use std::fmt;

use rusqlite::types::ValueRef;

use crate::number::Number;
use crate::schema::{ColumnType, parse_date, parse_timestamp};

/// The longest text of a field, in bytes.
pub(super) const LONGEST_TEXT: usize = 1 << 16;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FieldValue {
    Null,
    /// A whole number: for a boolean 0 or 1, for a date days, for a timestamp microseconds, for a decimal number millionths.
    Integer(i64),
    /// Never NaN, and zero without a sign.
    Real(f64),
    /// The field as it is.
    Text,
}

impl FieldValue {
    /// As SQLite holds it, when it was read from this field.
    pub(super) fn stored(self, field: &[u8]) -> ValueRef<'_> {
        match self {
            FieldValue::Null => ValueRef::Null,
            FieldValue::Integer(value) => ValueRef::Integer(value),
            FieldValue::Real(value) => ValueRef::Real(value),
            FieldValue::Text => ValueRef::Text(field),
        }
    }
}

/// Why a field has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    NotOfType,
    /// A decimal number with more digits than are stored.
    TooFine,
    NotUtf8,
    Nul,
    TooLong,
}

/// Reads a field. An empty one is null, and so is NaN where numbers may have a fraction.
pub(super) fn read(field: &[u8], kind: ColumnType) -> Result<FieldValue, Misfit> {
    if field.is_empty() {
        return Ok(FieldValue::Null);
    }
    match kind {
        ColumnType::Integer => integer(field).map(FieldValue::Integer).ok_or(Misfit::NotOfType),
        ColumnType::Real => match real(field).ok_or(Misfit::NotOfType)? {
            value if value.is_nan() => Ok(FieldValue::Null),
            // SQLite keeps no sign of zero.
            value => Ok(FieldValue::Real(value + 0.0)),
        },
        ColumnType::Boolean => boolean(field).map(|value| FieldValue::Integer(value.into())).ok_or(Misfit::NotOfType),
        ColumnType::Date => parse_date(field).map(|days| FieldValue::Integer(days.into())).ok_or(Misfit::NotOfType),
        ColumnType::Timestamp => parse_timestamp(field).map(FieldValue::Integer).ok_or(Misfit::NotOfType),
        ColumnType::Decimal if real(field).is_some_and(f64::is_nan) => Ok(FieldValue::Null),
        ColumnType::Decimal => match decimal(field).ok_or(Misfit::NotOfType)?.to_millionths() {
            Some(millionths) => Ok(FieldValue::Integer(millionths)),
            None => Err(Misfit::TooFine),
        },
        ColumnType::Text if field.len() > LONGEST_TEXT => Err(Misfit::TooLong),
        ColumnType::Text if field.contains(&0) => Err(Misfit::Nul),
        ColumnType::Text if std::str::from_utf8(field).is_err() => Err(Misfit::NotUtf8),
        ColumnType::Text => Ok(FieldValue::Text),
    }
}

/// A whole number of 64 bits: a sign, if any, and digits.
pub(super) fn integer(field: &[u8]) -> Option<i64> {
    str::from_utf8(field).ok()?.parse().ok()
}

/// The nearest binary number; `inf`, `infinity` and `nan` are numbers here, in any case.
pub(super) fn real(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A decimal number, exactly.
fn decimal(field: &[u8]) -> Option<Number> {
    Number::parse(std::str::from_utf8(field).ok()?).ok()
}

/// `true` or `false`, in any case.
pub(super) fn boolean(field: &[u8]) -> Option<bool> {
    match field {
        field if field.eq_ignore_ascii_case(b"true") => Some(true),
        field if field.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// A field in a message: its beginning, in quotes.
pub(super) struct Shown<'a>(pub(super) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 40;
        let beginning = String::from_utf8_lossy(&self.0[..self.0.len().min(4 * MOST)]);
        let shown: String = beginning.chars().take(MOST).collect();
        let more = if shown.len() < self.0.len() { "…" } else { "" };
        write!(f, "{shown:?}{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_by_the_type_of_their_column() {
        use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
        let check =
            |kind, field: &str, expected| assert_eq!(read(field.as_bytes(), kind), expected, "{kind} {field:?}");
        for kind in [Integer, Real, Text, Boolean, Date, Timestamp, Decimal] {
            check(kind, "", Ok(FieldValue::Null));
        }
        for (field, value) in [
            ("0", 0),
            ("-0", 0),
            ("+7", 7),
            ("007", 7),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            check(Integer, field, Ok(FieldValue::Integer(value)));
        }
        for field in [
            "9223372036854775808",
            "-9223372036854775809",
            "-",
            "+",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "--1",
            "٣",
            "NaN",
            "true",
        ] {
            check(Integer, field, Err(Misfit::NotOfType));
        }
        for (field, value) in [
            ("1", 1.0),
            ("-1.5", -1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1e-400", 0.0),
            ("1e400", f64::INFINITY),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            check(Real, field, Ok(FieldValue::Real(value)));
        }
        check(Real, "NaN", Ok(FieldValue::Null));
        check(Real, "-nan", Ok(FieldValue::Null));
        for field in ["1,5", "0x10", " 1", "1_000", "e5", ".", "infinit"] {
            check(Real, field, Err(Misfit::NotOfType));
        }
        for (field, value) in [("true", 1), ("TRUE", 1), ("fAlSe", 0)] {
            check(Boolean, field, Ok(FieldValue::Integer(value)));
        }
        for field in ["1", "yes", "t", "true "] {
            check(Boolean, field, Err(Misfit::NotOfType));
        }
        for (kind, field, value) in [
            (Date, "1970-01-02", 1),
            (Date, "0001-01-01", -719_162),
            (Timestamp, "1970-01-01T00:00:01.5Z", 1_500_000),
            (Timestamp, "1969-12-31", -86_400_000_000),
            (Decimal, "12.50", 12_500_000),
            (Decimal, "-1e-6", -1),
            (Decimal, "7", 7_000_000),
        ] {
            check(kind, field, Ok(FieldValue::Integer(value)));
        }
        check(Decimal, "NaN", Ok(FieldValue::Null));
        for field in ["2023-02-29", "infinity", "1970-01-02 00:00", "0"] {
            check(Date, field, Err(Misfit::NotOfType));
        }
        check(Timestamp, "1970-01-01 24:00", Err(Misfit::NotOfType));
        for (field, misfit) in [
            ("1,5", Misfit::NotOfType),
            ("inf", Misfit::NotOfType),
            ("1e12", Misfit::TooFine),
            ("1e-7", Misfit::TooFine),
        ] {
            check(Decimal, field, Err(misfit));
        }
        check(Text, " Zoë ", Ok(FieldValue::Text));
        check(Text, "a\0b", Err(Misfit::Nul));
        check(Text, &"x".repeat(LONGEST_TEXT), Ok(FieldValue::Text));
        check(Text, &"x".repeat(LONGEST_TEXT + 1), Err(Misfit::TooLong));
        assert_eq!(read(b"\xff", Text), Err(Misfit::NotUtf8));
        assert_eq!(read(b"\xff", Real), Err(Misfit::NotOfType));
    }

    #[test]
    fn zero_has_no_sign() {
        let Ok(FieldValue::Real(zero)) = read(b"-0.0", ColumnType::Real) else { panic!("a number") };
        assert_eq!(zero.to_bits(), 0);
    }

    #[test]
    fn long_fields_are_shortened_in_messages() {
        assert_eq!(Shown(b"a\"b").to_string(), r#""a\"b""#);
        assert_eq!(Shown("ä".repeat(1000).as_bytes()).to_string(), format!("\"{}\"…", "ä".repeat(40)));
        assert_eq!(Shown(b"\xff").to_string(), "\"\u{fffd}\"");
    }
}
