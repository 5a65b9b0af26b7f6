//! Composition theorems for parameters that are all fixed in advance: yardsticks, not meters.
//!
//! Used on parameters that were chosen along the way these theorems are **wrong**: as an odometer the advanced theorem fails
//! with up to ten times its δ, and as a filter the optimal one with 1.12 times and more. So their results have a type of their
//! own, [`FixedInAdvance`], which neither a filter nor an odometer takes or gives.
//!
//! ```compile_fail,E0308
//! use taximeter_accounting::{Amount, Cost, Reading, reference::FixedRounds};
//! fn show(reading: Reading) {}
//! let cost = Cost::parse_epsilon("0.01")?.cost;
//! show(FixedRounds::new(&cost, 1000)?.advanced_epsilon(Amount::parse_exact("1e-6")?).unwrap());
//! # Ok::<(), taximeter_accounting::Error>(())
//! ```

mod binomial;
mod fixed_rounds;
mod gaussian_rounds;
mod mixed_rounds;

pub use fixed_rounds::FixedRounds;
pub use gaussian_rounds::GaussianRounds;
pub use mixed_rounds::MixedRounds;

use crate::amount::Amount;
use crate::cost::Cost;
use crate::error::{Error, ErrorKind};

/// An ε or a δ that holds only if every parameter was fixed before the first answer.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct FixedInAdvance(f64);

impl FixedInAdvance {
    /// The number, never below the truth.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The ε of a cost. These theorems are about (ε, δ)-DP, so a cost without one is an error.
fn epsilon_of(cost: &Cost) -> Result<Amount, Error> {
    let without = || Error::new(ErrorKind::UnsupportedCost { rule: "fixed in advance", cost: *cost });
    cost.epsilon().ok_or_else(without)
}
