//! The readings of an odometer for one cost charged over and over: what the stopping-time adversary waits for the loss to cross.
//!
//! Reading them once, before the runs, is also what makes a million rides affordable.

use std::sync::Arc;

use taximeter_accounting::{Cost, Odometer};

use crate::error::Error;
use crate::games::Reads;
use crate::loss::Loss;

/// On which side a bound on the loss can be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The loss is over the reading.
    Above,
    /// The loss is under the negative of the reading.
    Below,
    /// Either.
    Both,
}

impl Sides {
    /// The sides on which an odometer bounds the loss.
    pub fn of(odometer: &Odometer) -> Sides {
        if odometer.guarantee().two_sided { Sides::Both } else { Sides::Above }
    }

    /// Whether a loss is beyond a reading on these sides.
    pub fn exceeded(self, loss: Loss, reading: f64) -> bool {
        (self.has_above() && loss.exceeds(reading)) || (self.has_below() && (-loss).exceeds(reading))
    }

    /// Whether the upper side counts.
    pub fn has_above(self) -> bool {
        self != Sides::Below
    }

    /// Whether the lower side counts.
    pub fn has_below(self) -> bool {
        self != Sides::Above
    }
}

/// A reading for each number of rounds, from the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    readings: Arc<[f64]>,
}

impl Boundary {
    /// What an odometer reads after each of a number of equal charges.
    pub fn of_odometer(mut odometer: impl Reads, cost: &Cost, rounds: usize) -> Result<Boundary, Error> {
        let readings: Result<Arc<[f64]>, Error> = (0..rounds)
            .map(|_| {
                odometer.charge(cost)?;
                Ok(odometer.reading())
            })
            .collect();
        Ok(Boundary { readings: readings? })
    }

    /// A formula in the number of rounds: for heuristics that are no odometers.
    pub fn from_formula(rounds: usize, reading: impl Fn(usize) -> f64) -> Boundary {
        Boundary { readings: (1..=rounds).map(reading).collect() }
    }

    /// How many rounds are covered.
    pub fn rounds(&self) -> usize {
        self.readings.len()
    }

    /// The reading after a number of rounds; infinite before the first and after the last, where nothing is promised.
    pub fn after(&self, rounds: usize) -> f64 {
        rounds.checked_sub(1).and_then(|at| self.readings.get(at)).copied().unwrap_or(f64::INFINITY)
    }

    /// An odometer that gives these readings, for charges of one cost only.
    pub fn odometer(&self, cost: Cost) -> Tabulated {
        Tabulated { boundary: self.clone(), cost, charged: 0 }
    }
}

/// An odometer for one repeated cost, read from a table.
#[derive(Clone, Debug)]
pub struct Tabulated {
    boundary: Boundary,
    cost: Cost,
    charged: usize,
}

impl Reads for Tabulated {
    fn charge(&mut self, cost: &Cost) -> Result<(), Error> {
        if *cost != self.cost {
            return Err(Error::NotInTable { charged: *cost, table: self.cost });
        }
        self.charged += 1;
        Ok(())
    }

    fn reading(&self) -> f64 {
        self.boundary.after(self.charged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taximeter_accounting::{Amount, OdometerRule, OdometerSpec};

    #[test]
    fn a_table_reads_as_the_odometer_that_it_was_made_from() {
        let cost = Cost::parse_epsilon("0.1").unwrap().cost;
        let at_delta = Amount::parse_exact("1e-6").unwrap();
        let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, at_delta)).unwrap();
        let mut table = Boundary::of_odometer(odometer.clone(), &cost, 20).unwrap().odometer(cost);
        for _ in 0..20 {
            table.charge(&cost).unwrap();
            odometer.charge(&cost).unwrap();
            assert_eq!(table.reading(), odometer.reading().value);
        }
        assert!(table.charge(&Cost::parse_epsilon("0.2").unwrap().cost).is_err());
        table.charge(&cost).unwrap();
        assert_eq!(table.reading(), f64::INFINITY);
    }
}
