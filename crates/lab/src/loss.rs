//! The privacy loss of what was seen: ln P[view in world 0]/P[view in world 1].

use std::ops::{Add, Neg};

use taximeter_accounting::Amount;

use crate::world::World;

/// A privacy loss, towards world 0 if it is positive.
///
/// Losses of randomized response are sums of decimal amounts, and an odometer may read exactly such a sum: in floating point three
/// losses of 0.1 would exceed a reading of 0.3. What is decimal is therefore kept in exact units, beside a real part for
/// continuous noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The decimal part, in units of 10⁻³⁰.
    units: i128,
    /// The part that is no decimal amount.
    real: f64,
    /// The world that an outright leak gave away: the loss is infinite.
    revealed: Option<World>,
}

impl Loss {
    /// Nothing was learnt.
    pub const ZERO: Loss = Loss { units: 0, real: 0.0, revealed: None };

    /// The loss of an answer that is possible in one world only.
    pub fn revealing(world: World) -> Loss {
        Loss { revealed: Some(world), ..Loss::ZERO }
    }

    pub(crate) fn from_units(units: i128) -> Loss {
        Loss { units, ..Loss::ZERO }
    }

    pub(crate) fn from_real(real: f64) -> Loss {
        Loss { real, ..Loss::ZERO }
    }

    /// The loss as a number; infinite if a world was given away.
    pub fn value(self) -> f64 {
        match self.revealed {
            None => self.units as f64 * 1e-30 + self.real,
            Some(World::Zero) => f64::INFINITY,
            Some(World::One) => f64::NEG_INFINITY,
        }
    }

    /// By how much this is above an amount, which decimal parts are compared with exactly.
    pub(crate) fn beyond(self, amount: Amount) -> f64 {
        let short = i128::try_from(amount.units()).unwrap_or(i128::MAX);
        match self.revealed {
            None => self.units.saturating_sub(short) as f64 * 1e-30 + self.real,
            Some(_) => self.value(),
        }
    }

    /// The loss towards the world that was played in.
    pub fn towards(self, world: World) -> Loss {
        match world {
            World::Zero => self,
            World::One => -self,
        }
    }

    /// Whether this is more than a number, without an error of rounding where both are decimal. A bound that is not a number
    /// is always exceeded.
    pub fn exceeds(self, bound: f64) -> bool {
        let value = self.value();
        let difference = value - bound;
        let is_close = difference.abs() <= 1e-12 * (1.0 + value.abs());
        if !is_close || self.real != 0.0 || self.revealed.is_some() {
            return !(value <= bound);
        }
        // The largest amount not above the bound decides, in whole units.
        let units = |amount: Amount| i128::try_from(amount.units()).unwrap_or(i128::MAX);
        if bound >= 0.0 {
            return self.units > units(Amount::at_most(bound));
        }
        match Amount::at_least(-bound) {
            Some(amount) => self.units > -units(amount),
            None => true,
        }
    }
}

impl Add for Loss {
    type Output = Loss;

    fn add(self, other: Loss) -> Loss {
        let revealed = self.revealed.or(other.revealed);
        match self.units.checked_add(other.units) {
            Some(units) => Loss { units, real: self.real + other.real, revealed },
            // Beyond 10⁸ no bound is close enough for the last digit to matter.
            None => Loss { units: self.units, real: self.real + other.real + other.units as f64 * 1e-30, revealed },
        }
    }
}

impl Neg for Loss {
    type Output = Loss;

    fn neg(self) -> Loss {
        Loss { units: -self.units, real: -self.real, revealed: self.revealed.map(World::other) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Loss = Loss { units: 10i128.pow(29), real: 0.0, revealed: None };

    #[test]
    fn three_tenths_do_not_exceed_a_reading_of_three_tenths() {
        let sum = TENTH + TENTH + TENTH;
        let rounded: f64 = [0.1; 3].iter().sum();
        assert!(rounded > 0.3, "this is why losses are not summed in floating point");
        let reading = Amount::parse_exact("0.3").unwrap().upper();
        assert!(!sum.exceeds(reading));
        assert!(sum.exceeds(reading.next_down().next_down()));
        assert!((sum + Loss::from_units(1)).exceeds(0.3));
        assert!(!(-sum).exceeds(-0.3f64.next_down()));
        assert!((-sum).exceeds(-0.3f64.next_up().next_up()));
    }

    #[test]
    fn a_leak_is_infinite_and_stays_so() {
        let leak = Loss::revealing(World::Zero) + -TENTH;
        assert_eq!(leak.value(), f64::INFINITY);
        assert!(leak.exceeds(1e300));
        assert!(!leak.exceeds(f64::INFINITY), "an infinite reading promises nothing");
        assert_eq!(leak.towards(World::One).value(), f64::NEG_INFINITY);
        assert!(TENTH.exceeds(f64::NAN));
    }
}
