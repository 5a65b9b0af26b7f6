//! *Gaussian composition*, exact. Dong, Roth, Su, arXiv:1905.02383v3, Corollary 3.3: k rounds of μ-GDP are √k·μ-GDP.

use super::FixedInAdvance;
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::filter::Count;
use crate::numeric::normal;

/// A number of rounds of a continuous Gaussian.
#[derive(Clone, Copy, Debug)]
pub struct GaussianRounds {
    mu: Amount,
    rounds: u64,
}

impl GaussianRounds {
    /// A number of rounds of μ-GDP.
    pub fn new(mu: Amount, rounds: u64) -> GaussianRounds {
        GaussianRounds { mu, rounds }
    }

    /// The smallest ε at which they are (ε, δ_g)-DP, rounded up; nothing if the sum is too large.
    pub fn optimal_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        let variance = self.mu.square().checked_times(self.rounds)?;
        Some(FixedInAdvance(normal::smallest_epsilon(variance.interval(), delta_g.interval())))
            .filter(|bound| bound.0.is_finite())
    }

    /// How many rounds of μ-GDP fit a budget.
    pub fn optimal_count(mu: Amount, budget: &Budget) -> Count {
        let variance = normal::largest_variance(budget.epsilon().interval(), budget.delta().interval());
        Count::exactly(FineAmount::at_most(variance).map_or(0, |variance| variance.count_of(mu.square())))
    }
}
