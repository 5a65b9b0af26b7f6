//! Exact amounts: ε is money, so sums are integers.
//!
//! An [`Amount`] is what a person declares (an ε, a δ, a μ, a ρ): an integer number of units of 10⁻³⁰. A [`FineAmount`] is
//! what the rules add up (ε², ρ, a Rényi divergence): units of 10⁻⁶⁰, so that the square of an amount is exact.

mod fine;
mod parse;
#[cfg(feature = "serde")]
mod stored;

use std::fmt;
use std::num::NonZeroU64;

use ethnum::U256;

use crate::numeric::Interval;

pub use fine::FineAmount;
pub use parse::Parsed;

/// A non-negative decimal amount with thirty places, held as an integer.
///
/// ```
/// use taximeter_accounting::{Amount, Rounding};
///
/// let tenth = Amount::parse("0.1", Rounding::Up)?.amount;
/// let one = (0..10).try_fold(Amount::ZERO, |sum, _| sum.checked_add(tenth));
/// assert_eq!(one.unwrap().to_string(), "1");
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(u128);

/// Which way an amount goes that has more places than are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Costs round up.
    Up,
    /// Budgets round down.
    Down,
}

impl Amount {
    /// The number of decimal places.
    pub const PLACES: u32 = 30;
    /// Nothing.
    pub const ZERO: Amount = Amount(0);
    /// The smallest positive amount, 10⁻³⁰.
    pub const UNIT: Amount = Amount(1);
    /// One.
    pub const ONE: Amount = Amount(UNITS_PER_ONE);
    /// The largest amount, about 3.4·10⁸.
    pub const MAX: Amount = Amount(u128::MAX);

    /// An amount in units of 10⁻³⁰.
    pub const fn from_units(units: u128) -> Self {
        Amount(units)
    }

    /// How many units of 10⁻³⁰ this is.
    pub const fn units(self) -> u128 {
        self.0
    }

    /// A whole number.
    pub fn from_whole(whole: u64) -> Option<Self> {
        UNITS_PER_ONE.checked_mul(whole.into()).map(Amount)
    }

    /// The whole number not above this amount, and what is above it.
    pub(crate) fn whole_and_part(self) -> (u64, Amount) {
        // The largest amount is about 3.4·10⁸.
        ((self.0 / UNITS_PER_ONE) as u64, Amount(self.0 % UNITS_PER_ONE))
    }

    /// Whether this is nothing.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, or nothing if it is too large to hold.
    pub fn checked_add(self, other: Amount) -> Option<Amount> {
        self.0.checked_add(other.0).map(Amount)
    }

    /// The difference, or nothing if `other` is larger.
    pub fn checked_sub(self, other: Amount) -> Option<Amount> {
        self.0.checked_sub(other.0).map(Amount)
    }

    /// A multiple of this amount, or nothing if it is too large to hold.
    pub fn checked_times(self, count: u64) -> Option<Amount> {
        self.0.checked_mul(count.into()).map(Amount)
    }

    /// `self / divisor`, rounded as asked; nothing if the divisor is zero or the quotient too large to hold.
    pub fn checked_div(self, divisor: Amount, rounding: Rounding) -> Option<Amount> {
        if divisor.is_zero() {
            return None;
        }
        let scaled = U256::from(self.0) * U256::from(UNITS_PER_ONE);
        let divisor = U256::from(divisor.0);
        let quotient = scaled / divisor;
        let up = rounding == Rounding::Up && scaled % divisor != U256::ZERO;
        u128::try_from(quotient).ok()?.checked_add(up.into()).map(Amount)
    }

    /// The largest cost that fits `parts` times into this budget.
    ///
    /// ```
    /// use std::num::NonZeroU64;
    /// use taximeter_accounting::{Amount, Rounding};
    ///
    /// let third = Amount::ONE.split(NonZeroU64::new(3).unwrap());
    /// assert!(third.checked_times(3).unwrap() <= Amount::ONE);
    /// assert!(third.to_string().starts_with("0.33333333"));
    /// ```
    pub fn split(self, parts: NonZeroU64) -> Amount {
        Amount(self.0 / u128::from(parts.get()))
    }

    /// The square, exactly.
    pub fn square(self) -> FineAmount {
        FineAmount::product(self, self)
    }

    /// This amount to a number of significant digits, rounded down.
    pub fn significant(self, digits: u32) -> Amount {
        let unit = self.last_place(digits);
        Amount(self.0 / unit * unit)
    }

    /// This amount to a number of significant digits, rounded up; nothing if it is too large to hold.
    pub fn significant_up(self, digits: u32) -> Option<Amount> {
        let unit = self.last_place(digits);
        self.0.div_ceil(unit).checked_mul(unit).map(Amount)
    }

    /// The units of the last significant digit that is kept.
    fn last_place(self, digits: u32) -> u128 {
        let length = self.0.checked_ilog10().map_or(0, |log| log + 1);
        10u128.pow(length.saturating_sub(digits))
    }

    /// The largest amount not above a number; zero for what is not a positive number.
    pub fn at_most(value: f64) -> Amount {
        FineAmount::at_most(value).map_or(Amount::MAX, |fine| fine.coarse(Rounding::Down))
    }

    /// The smallest amount not below a number; nothing if there is none.
    pub fn at_least(value: f64) -> Option<Amount> {
        let fine = FineAmount::at_least(value)?;
        (fine.coarse(Rounding::Down) < Amount::MAX).then(|| fine.coarse(Rounding::Up))
    }

    /// An interval of floating-point numbers that holds this amount.
    pub(crate) fn interval(self) -> Interval {
        // Three roundings to nearest: the units, the constant and the product.
        Interval::around(self.0 as f64 * 1e-30, 3)
    }

    /// A floating-point number that is not below this amount, and whose shortest decimal form is not below it either; the smallest
    /// one or its neighbour.
    pub fn upper(self) -> f64 {
        self.printed_from(FineAmount::from(self).upper())
    }

    /// The smallest floating-point number whose shortest decimal form is not below this amount; where the amount has few digits, it
    /// prints as the amount itself.
    pub fn printed(self) -> f64 {
        self.printed_from(self.approximate())
    }

    /// A number, or the next one if its shortest decimal form is below this amount.
    fn printed_from(self, value: f64) -> f64 {
        let prints_below = Amount::parse(&value.to_string(), Rounding::Up).is_ok_and(|printed| printed.amount < self);
        if prints_below { value.next_up() } else { value }
    }

    /// The nearest floating-point number: for showing, not for deciding.
    pub fn approximate(self) -> f64 {
        self.to_string().parse().expect("an amount prints as a decimal number")
    }
}

const UNITS_PER_ONE: u128 = 10u128.pow(Amount::PLACES);

impl fmt::Display for Amount {
    /// Prints every digit, in plain or scientific notation, whichever is shorter; parsing gives the same amount back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&decimal(&self.0.to_string(), Amount::PLACES as usize))
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes an integer in units of the last decimal place: plain if that is short, else with an exponent.
fn decimal(digits: &str, places: usize) -> String {
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_string();
    }
    let point = digits.len() as i64 - places as i64;
    let exponent = point - 1;
    let plain = if point <= 0 {
        ["0.", &"0".repeat(point.unsigned_abs() as usize), significant].concat()
    } else if significant.len() as i64 <= point {
        [significant, &"0".repeat(point as usize - significant.len())].concat()
    } else {
        [&significant[..point as usize], ".", &significant[point as usize..]].concat()
    };
    if (-4..=6).contains(&exponent) {
        return plain;
    }
    let (first, rest) = significant.split_at(1);
    let scientific = match rest {
        "" => format!("{first}e{exponent}"),
        rest => format!("{first}.{rest}e{exponent}"),
    };
    if plain.len() <= scientific.len() { plain } else { scientific }
}
