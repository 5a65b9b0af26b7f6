//! Exact decimal numbers with a sign: bounds, grids and literals, before they become anything else.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// An exact decimal number: at most 18 digits before the point and 18 behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Number(i128);

/// A number in a file: exact as text, and where it is written as a number of the file's own.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number")]
enum Written {
    Text(String),
    Integer(i64),
    Real(f64),
}

/// Units of a whole.
const WHOLE: i128 = 10i128.pow(Number::PLACES);

/// Units of a millionth.
const MILLIONTH: i128 = WHOLE / 1_000_000;

impl Number {
    /// How many decimal places there are.
    pub const PLACES: u32 = 18;
    /// The longest text that is read.
    pub(crate) const LONGEST: usize = 64;
    pub(crate) const ZERO: Number = Number(0);
    pub(crate) const ONE: Number = Number(WHOLE);
    pub(crate) const MILLIONTH: Number = Number(WHOLE / 1_000_000);

    /// Reads a number exactly; one with more digits than there are places is an error.
    pub fn parse(text: &str) -> Result<Number, Error> {
        let wrong = |why: &str| {
            let shown: String = text.chars().take(Number::LONGEST).collect();
            Error::value("number", format_args!("{shown:?}"), why)
        };
        if text.len() > Number::LONGEST {
            return Err(wrong("it is longer than 64 characters"));
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| wrong("its exponent is not a small whole number"))?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: String = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong("it must be made of digits, such as -12.5 or 1e-3"));
        }
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Ok(Number::ZERO);
        }
        let trailing = digits.len() - digits.trim_end_matches('0').len();
        // The number is `significant` · 10^power; in units of 10^-18 the power is 18 more.
        let power = i64::from(exponent) - fraction.len() as i64 + trailing as i64 + i64::from(Number::PLACES);
        if power < 0 {
            return Err(wrong("it has more than 18 decimal places"));
        }
        let too_large = || wrong("it has more than 18 digits before the point");
        if significant.len() as i64 + power > 2 * i64::from(Number::PLACES) {
            return Err(too_large());
        }
        let digits: i128 = significant.parse().map_err(|_| too_large())?;
        let units = digits * 10i128.pow(power as u32);
        Ok(Number(if negative { -units } else { units }))
    }

    /// A whole number.
    pub(crate) fn from_integer(value: i64) -> Number {
        Number(i128::from(value) * WHOLE)
    }

    /// A number of millionths.
    pub(crate) fn from_millionths(value: i64) -> Number {
        Number(i128::from(value) * MILLIONTH)
    }

    /// The same in millionths, as the embedded engine stores decimal numbers: below 10¹², with at most six decimal places. The
    /// difference of two of them fits into 64 bits.
    pub(crate) fn to_millionths(self) -> Option<i64> {
        let millionths = (self.0 % MILLIONTH == 0).then_some(self.0 / MILLIONTH)?;
        i64::try_from(millionths).ok().filter(|value| value.unsigned_abs() < 10u64.pow(18))
    }

    /// The largest multiple of a positive step that is not above it.
    pub(crate) fn floor_to(self, step: Number) -> Number {
        Number(self.0.div_euclid(step.0) * step.0)
    }

    /// A power of ten, from 10⁻¹⁸ to 10¹⁷.
    pub(crate) fn power_of_ten(exponent: i32) -> Option<Number> {
        let power = u32::try_from(exponent + Number::PLACES as i32).ok().filter(|power| *power < 36)?;
        Some(Number(10i128.pow(power)))
    }

    pub(crate) fn is_positive(self) -> bool {
        self.0 > 0
    }

    pub(crate) fn abs(self) -> Number {
        Number(self.0.abs())
    }

    pub(crate) fn plus(self, other: Number) -> Number {
        Number(self.0 + other.0)
    }

    /// What is left of it.
    pub(crate) fn minus(self, other: Number) -> Number {
        Number(self.0 - other.0)
    }

    /// The whole number, if it is one that fits.
    pub(crate) fn to_integer(self) -> Option<i64> {
        (self.0 % WHOLE == 0).then(|| i64::try_from(self.0 / WHOLE).ok()).flatten()
    }

    /// The largest whole number that is not above it.
    pub(crate) fn floor(self) -> i64 {
        i64::try_from(self.0.div_euclid(WHOLE)).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }

    /// The smallest whole number that is not below it.
    pub(crate) fn ceil(self) -> i64 {
        i64::try_from(-(-self.0).div_euclid(WHOLE)).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }

    /// How many times a positive step goes into it, if that is a whole number.
    pub(crate) fn steps(self, step: Number) -> Option<i64> {
        (step.0 > 0 && self.0 % step.0 == 0).then(|| i64::try_from(self.0 / step.0).ok()).flatten()
    }

    /// A number of steps of this size, if that fits.
    pub(crate) fn times(self, steps: i128) -> Option<Number> {
        self.0.checked_mul(steps).map(Number)
    }

    /// The nearest binary number.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().expect("a decimal number is a number")
    }

    /// The units of 10⁻¹⁸.
    pub(crate) fn units(self) -> i128 {
        self.0
    }
}

impl FromStr for Number {
    type Err = Error;
    fn from_str(text: &str) -> Result<Number, Error> {
        Number::parse(text)
    }
}

impl TryFrom<Written> for Number {
    type Error = Error;
    fn try_from(written: Written) -> Result<Number, Error> {
        match written {
            Written::Text(text) => Number::parse(&text),
            Written::Integer(value) => Number::parse(&value.to_string()),
            Written::Real(value) => Number::parse(&value.to_string()),
        }
    }
}

impl From<Number> for String {
    fn from(number: Number) -> String {
        number.to_string()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        let (whole, fraction) = (units / WHOLE as u128, units % WHOLE as u128);
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{fraction:018}");
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly_and_written_back() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("1.50", "1.5"),
            ("+12", "12"),
            ("-0.01", "-0.01"),
            ("1e3", "1000"),
            ("25e-4", "0.0025"),
            ("0.000000000000000001", "0.000000000000000001"),
            ("999999999999999999", "999999999999999999"),
            (".5", "0.5"),
            ("100e-2", "1"),
        ] {
            assert_eq!(Number::parse(text).map(|number| number.to_string()), Ok(shown.to_string()), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let long = "1".repeat(1_000_000);
        for text in
            ["", "-", ".", "1e", "NaN", "inf", "1e19", "1e-19", "0x10", "1_000", "1 ", "--1", "1e999999999999", &long]
        {
            assert!(Number::parse(text).is_err(), "{}", &text[..text.len().min(20)]);
        }
    }

    #[test]
    fn whole_numbers_are_found_on_both_sides() {
        let number = |text| Number::parse(text).unwrap();
        assert_eq!((number("-1.5").floor(), number("-1.5").ceil()), (-2, -1));
        assert_eq!((number("1.5").floor(), number("1.5").ceil()), (1, 2));
        assert_eq!((number("3").floor(), number("3").ceil(), number("3").to_integer()), (3, 3, Some(3)));
        assert_eq!(number("0.5").to_integer(), None);
        assert_eq!(number("-2.5").steps(number("0.5")), Some(-5));
        assert_eq!(number("1").steps(number("0.3")), None);
        assert_eq!(number("-61").floor_to(number("60")), number("-120"));
    }

    #[test]
    fn decimals_are_stored_in_millionths_if_they_fit() {
        for (text, millionths) in [
            ("0", Some(0)),
            ("-0.000001", Some(-1)),
            ("12.5", Some(12_500_000)),
            ("999999999999.999999", Some(999_999_999_999_999_999)),
            ("-999999999999.999999", Some(-999_999_999_999_999_999)),
            ("1e12", None),
            ("-1e12", None),
            ("0.0000001", None),
        ] {
            let number = Number::parse(text).unwrap();
            assert_eq!(number.to_millionths(), millionths, "{text}");
            assert!(millionths.is_none_or(|stored| Number::from_millionths(stored) == number), "{text}");
        }
    }
}
