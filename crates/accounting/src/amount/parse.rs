//! Reading amounts from text, exactly.

use super::{Amount, Rounding};
use crate::error::{Error, excerpt};

/// An amount read from text, and whether digits were lost in reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The amount.
    pub amount: Amount,
    /// Whether the text had more places than an amount keeps, so that it was rounded.
    pub rounded: bool,
}

impl Amount {
    /// Reads a decimal number such as `0.1`, `25` or `1e-6`, in time linear in its length.
    ///
    /// What has more than thirty places is rounded as asked and marked; a positive number rounded up is at least one unit.
    pub fn parse(text: &str, rounding: Rounding) -> Result<Parsed, Error> {
        let trimmed = text.trim();
        let fail = |why: &str| Err(Error::text(format!("{} {why}", excerpt(trimmed))));
        let unsigned = trimmed.strip_prefix('+').unwrap_or(trimmed);
        match unsigned.to_ascii_lowercase().trim_start_matches('-') {
            "" => return Err(Error::text("an amount is missing; write a decimal number such as 0.1")),
            "nan" => return fail("is not a number; write a decimal number such as 0.1"),
            "inf" | "infinity" => return fail("is infinite; write a finite decimal number such as 0.1"),
            _ => {}
        }
        if unsigned.starts_with('-') {
            return fail("has a minus sign; amounts are zero or positive");
        }
        if unsigned.contains('/') {
            let third = if rounding == Rounding::Up { "0.334" } else { "0.333" };
            return fail(&format!("is a fraction; write it as a decimal number, for instance {third} for 1/3"));
        }
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], &unsigned[at + 1..]),
            None => (unsigned, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
            return fail("is not a decimal number; write one such as 0.1, 25 or 1e-6, without spaces or separators");
        }
        let Some(exponent) = parse_exponent(exponent) else {
            return fail("has an exponent that is not a whole number; write for instance 1e-6");
        };

        // The digits with the leading zeros gone, and where the first unit place lies among them.
        let digits = || whole.bytes().chain(fraction.bytes());
        let zeros = digits().take_while(|&digit| digit == b'0').count();
        let significant = digits().count() - zeros;
        if significant == 0 {
            return Ok(Parsed { amount: Amount::ZERO, rounded: false });
        }
        let point = (whole.len() as i64 - zeros as i64).saturating_add(exponent);
        let kept = point.saturating_add(i64::from(Amount::PLACES));
        let too_large = || {
            let largest = Amount::MAX.units() / Amount::ONE.units();
            fail(&format!("is larger than any amount that can be kept (about {largest}); no budget admits it"))
        };
        if kept > 39 {
            return too_large();
        }
        let kept = kept.max(0) as usize;
        let mut units: u128 = 0;
        for digit in digits().skip(zeros).chain(std::iter::repeat(b'0')).take(kept) {
            match units.checked_mul(10).and_then(|units| units.checked_add(u128::from(digit - b'0'))) {
                Some(next) => units = next,
                None => return too_large(),
            }
        }
        let rounded = digits().skip(zeros + kept).any(|digit| digit != b'0');
        if rounded && rounding == Rounding::Up {
            match units.checked_add(1) {
                Some(next) => units = next,
                None => return too_large(),
            }
        }
        Ok(Parsed { amount: Amount::from_units(units), rounded })
    }

    /// Parses an amount that must not need rounding: a stored value or a parameter.
    pub fn parse_exact(text: &str) -> Result<Amount, Error> {
        let parsed = Amount::parse(text, Rounding::Down)?;
        if parsed.rounded {
            let (text, places) = (excerpt(text), Amount::PLACES);
            return Err(Error::text(format!("{text} has more than {places} decimal places; write it with fewer")));
        }
        Ok(parsed.amount)
    }
}

/// A decimal exponent, saturating far outside what matters; nothing if it is not one.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits
        .bytes()
        .fold(0i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
        .min(i64::MAX / 4);
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, rounding: Rounding, expected: Result<(&str, bool), &str>) {
        match (Amount::parse(text, rounding), expected) {
            (Ok(parsed), Ok((shown, rounded))) => {
                assert_eq!((parsed.amount.to_string().as_str(), parsed.rounded), (shown, rounded), "{text:?}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text:?}: {error}"),
            (got, expected) => panic!("{text:?}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn decimal_text_is_read_exactly() {
        for (text, shown) in [
            ("0.1", "0.1"),
            ("1e-6", "1e-6"),
            ("1E-3", "0.001"),
            ("+2.50", "2.5"),
            (" 7 ", "7"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0", "0"),
            ("0e999999999999999999999", "0"),
            ("000123.4500e2", "12345"),
            ("1e-30", "1e-30"),
            ("0.123456789012345678901234567891", "0.123456789012345678901234567891"),
            ("340282366.920938463463374607431768211455", "340282366.920938463463374607431768211455"),
        ] {
            check(text, Rounding::Up, Ok((shown, false)));
            check(text, Rounding::Down, Ok((shown, false)));
        }
    }

    #[test]
    fn costs_round_up_and_budgets_down() {
        check("1e-31", Rounding::Up, Ok(("1e-30", true)));
        check("1e-31", Rounding::Down, Ok(("0", true)));
        check("1e-300", Rounding::Up, Ok(("1e-30", true)));
        check("1e-99999999999999999999", Rounding::Up, Ok(("1e-30", true)));
        check("0.3333333333333333333333333333333", Rounding::Up, Ok(("0.333333333333333333333333333334", true)));
        check("0.3333333333333333333333333333333", Rounding::Down, Ok(("0.333333333333333333333333333333", true)));
    }

    #[test]
    fn what_is_no_amount_says_why() {
        for (text, part) in [
            ("", "missing"),
            ("-", "missing"),
            ("-0", "minus sign"),
            ("-1", "minus sign"),
            ("nan", "not a number"),
            ("-NaN", "not a number"),
            ("inf", "infinite"),
            ("-Infinity", "infinite"),
            ("1/3", "fraction"),
            ("0x10", "not a decimal"),
            ("1,5", "not a decimal"),
            ("1e", "exponent"),
            ("1e1.5", "exponent"),
            (".", "not a decimal"),
            ("١", "not a decimal"),
            ("1e400", "larger than any amount"),
            ("340282366.920938463463374607431768211456", "larger than any amount"),
        ] {
            check(text, Rounding::Up, Err(part));
        }
        check("340282366.9209384634633746074317682114551", Rounding::Up, Err("larger than any amount"));
    }

    #[test]
    fn a_million_digits_are_read_in_linear_time() {
        let long = format!("0.{}1", "0".repeat(1_000_000));
        check(&long, Rounding::Up, Ok(("1e-30", true)));
        check(&long, Rounding::Down, Ok(("0", true)));
        check(&"9".repeat(1_000_000), Rounding::Up, Err("more characters"));
        check(&format!("{}.5", "0".repeat(1_000_000)), Rounding::Up, Ok(("0.5", false)));
        check(&format!("1e{}", "9".repeat(1_000_000)), Rounding::Up, Err("larger"));
        check(
            &format!("{}e-999999", "1".repeat(1_000_000)),
            Rounding::Up,
            Ok(("1.111111111111111111111111111112", true)),
        );
    }
}
