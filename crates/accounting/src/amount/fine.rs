//! Sums of squares and divergences, in units of 10⁻⁶⁰.

use std::fmt;

use ethnum::U256;

use super::{Amount, Rounding, UNITS_PER_ONE, decimal};
use crate::numeric::Interval;

/// A non-negative decimal number with sixty places, held as an integer: what the rules add up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FineAmount(pub(super) U256);

impl FineAmount {
    /// The number of decimal places.
    pub const PLACES: u32 = 2 * Amount::PLACES;
    /// Nothing.
    pub const ZERO: FineAmount = FineAmount(U256::ZERO);
    /// The largest fine amount, about 1.2·10¹⁷.
    pub(crate) const MAX: FineAmount = FineAmount(U256::MAX);

    /// Whether this is nothing.
    pub fn is_zero(self) -> bool {
        self.0 == U256::ZERO
    }

    /// Whether this is the largest there is.
    #[inline]
    pub(crate) fn is_max(self) -> bool {
        // Word by word: compared as one block of bytes, a sum that was written just now is waited for.
        let (high, low) = self.0.into_words();
        high == u128::MAX && low == u128::MAX
    }

    /// The product of two amounts, exactly: two factors of 128 bits always fit.
    pub fn product(left: Amount, right: Amount) -> FineAmount {
        FineAmount(U256::from(left.units()) * U256::from(right.units()))
    }

    /// The sum, or nothing if it is too large to hold.
    pub fn checked_add(self, other: FineAmount) -> Option<FineAmount> {
        self.0.checked_add(other.0).map(FineAmount)
    }

    /// The difference, or nothing if `other` is larger.
    pub fn checked_sub(self, other: FineAmount) -> Option<FineAmount> {
        self.0.checked_sub(other.0).map(FineAmount)
    }

    /// A multiple of this, or nothing if it is too large to hold.
    pub fn checked_times(self, count: u64) -> Option<FineAmount> {
        if count == 1 {
            return Some(self);
        }
        self.0.checked_mul(U256::from(count)).map(FineAmount)
    }

    /// How often `other` goes into this; the largest number if that is more, or if `other` is nothing.
    pub(crate) fn count_of(self, other: FineAmount) -> u64 {
        if other.is_zero() {
            return u64::MAX;
        }
        u64::try_from(self.0 / other.0).unwrap_or(u64::MAX)
    }

    /// How many units of 10⁻⁶⁰ this is.
    #[cfg(test)]
    pub(crate) fn units(self) -> U256 {
        self.0
    }

    /// Half of this, rounded up.
    pub(crate) fn half(self) -> FineAmount {
        FineAmount((self.0 >> 1) + (self.0 & U256::ONE))
    }

    /// The smallest fine amount not below a number: what a charge adds. Nothing for what is too large or not a number.
    pub fn at_least(value: f64) -> Option<FineAmount> {
        from_float(value, Rounding::Up)
    }

    /// The largest fine amount not above a number: what a budget holds. Nothing for what is too large or not a number.
    pub fn at_most(value: f64) -> Option<FineAmount> {
        from_float(value, Rounding::Down)
    }

    /// An interval of floating-point numbers that holds this amount.
    pub(crate) fn interval(self) -> Interval {
        let (high, low) = self.0.into_words();
        // Both words are rounded, and so are their sum, the constant and the product.
        const TWO_TO_128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
        Interval::around((high as f64 * TWO_TO_128 + low as f64) * 1e-60, 5)
    }

    /// The smallest floating-point number that is not below this amount.
    pub(crate) fn upper(self) -> f64 {
        let reaches = |value: f64| FineAmount::at_most(value).is_none_or(|value| value >= self);
        let mut upper = self.interval().middle();
        while !reaches(upper) {
            upper = upper.next_up();
        }
        while upper > 0.0 && reaches(upper.next_down()) {
            upper = upper.next_down();
        }
        upper
    }

    /// The amount of thirty places beside this one; the largest amount for what is larger.
    pub(crate) fn coarse(self, rounding: Rounding) -> Amount {
        let one = U256::from(UNITS_PER_ONE);
        let up = rounding == Rounding::Up && self.0 % one != U256::ZERO;
        let units = u128::try_from(self.0 / one).ok().and_then(|units| units.checked_add(up.into()));
        units.map_or(Amount::MAX, Amount::from_units)
    }

    /// The nearest floating-point number or one beside it: for showing, not for deciding.
    pub fn approximate(self) -> f64 {
        self.to_string().parse().expect("a fine amount prints as a decimal number")
    }
}

impl From<Amount> for FineAmount {
    fn from(amount: Amount) -> Self {
        FineAmount(U256::from(amount.units()) * U256::from(UNITS_PER_ONE))
    }
}

/// 10⁶⁰.
const FINE_UNITS_PER_ONE: U256 = U256::from_words(0x9f_4f27_2617_9a22_4501, 0xd762_422c_9465_90d9_1000_0000_0000_0000);

/// The exact value of a floating-point number times 10⁶⁰, rounded to an integer.
fn from_float(value: f64, rounding: Rounding) -> Option<FineAmount> {
    if value.is_nan() || value == f64::INFINITY {
        return None;
    }
    if value <= 0.0 {
        return Some(FineAmount::ZERO);
    }
    let bits = value.to_bits();
    let field = (bits >> 52) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    let scaled = FINE_UNITS_PER_ONE * U256::from(mantissa);
    if exponent >= 0 {
        let exponent = exponent as u32;
        return (exponent <= scaled.leading_zeros()).then(|| FineAmount(scaled << exponent));
    }
    let shift = exponent.unsigned_abs();
    let (whole, lost) =
        if shift >= 256 { (U256::ZERO, true) } else { (scaled >> shift, scaled.trailing_zeros() < shift) };
    let up = lost && rounding == Rounding::Up;
    whole.checked_add(U256::from(u8::from(up))).map(FineAmount)
}

impl fmt::Display for FineAmount {
    /// Prints every digit, in plain or scientific notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&decimal(&self.0.to_string(), FineAmount::PLACES as usize))
    }
}

impl fmt::Debug for FineAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_units_without_loss_and_round_the_way_asked() {
        assert_eq!(FineAmount::at_least(0.5).unwrap().to_string(), "0.5");
        assert_eq!(
            FineAmount::at_least(0.1).unwrap().to_string(),
            "0.1000000000000000055511151231257827021181583404541015625"
        );
        assert_eq!(FineAmount::at_most(1e-70).unwrap(), FineAmount::ZERO);
        assert_eq!(FineAmount::at_least(1e-70).unwrap(), FineAmount(U256::ONE));
        assert_eq!(FineAmount::at_least(5e-324).unwrap(), FineAmount(U256::ONE));
        assert_eq!(FineAmount::at_least(-0.0).unwrap(), FineAmount::ZERO);
        assert!(FineAmount::at_least(1e17).is_some());
        for beyond in [2e17, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(FineAmount::at_least(beyond), None);
        }
    }

    #[test]
    fn one_is_ten_to_the_sixty_units() {
        assert_eq!(FINE_UNITS_PER_ONE, U256::from(10u8).pow(60));
    }

    #[test]
    fn an_interval_holds_the_amount_it_was_made_from() {
        for value in [1e-60, 3e-41, 1.0 / 3.0, 0.05602896382526067, 1.0, 123456.789, 1e17] {
            let fine = FineAmount::at_least(value).unwrap();
            let interval = fine.interval();
            assert!(FineAmount::at_most(interval.lo()).unwrap() <= fine, "{value}");
            assert!(FineAmount::at_least(interval.hi()).unwrap() >= fine, "{value}");
            assert!(interval.hi() - interval.lo() <= 1e-14 * interval.hi());
        }
    }
}
