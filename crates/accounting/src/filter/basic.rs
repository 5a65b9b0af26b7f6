//! *Basic composition.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Theorem 3.4.
//!
//! Continues iff Σε_i ≤ ε_g and Σδ_i ≤ δ_g. Guarantee: (ε_g, δ_g)-DP; with every δ_i = 0 the loss never exceeds ε_g. The sums
//! are integers, so nothing is rounded.
//!
//! The same sum is the free branch beside the other rules. There it counts **every** admitted charge, whichever branch admitted
//! it, and a charge without a finite ε counts as +∞: it closes this branch for good.

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;

/// Σε_i over all admitted charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    limit: Amount,
    /// Nothing once a charge without a finite ε was admitted.
    spent: Option<Amount>,
}

impl Basic {
    pub(crate) fn new(limit: Amount) -> Basic {
        Basic { limit, spent: Some(Amount::ZERO) }
    }

    /// Whether this branch admits so many charges.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        self.sum_after(cost, times).is_some_and(|sum| sum <= self.limit)
    }

    /// Counts a charge that was admitted, by this branch or by the other.
    pub(crate) fn count_admitted(&mut self, cost: &Cost) {
        self.spent = self.sum_after(cost, 1);
    }

    fn sum_after(&self, cost: &Cost, times: u64) -> Option<Amount> {
        self.spent?.checked_add(cost.epsilon()?.checked_times(times)?)
    }

    /// How many charges of a cost still fit.
    pub(crate) fn count(&self, cost: &Cost) -> u64 {
        match (self.left(), cost.epsilon()) {
            (Some(left), Some(epsilon)) => FineAmount::from(left).count_of(epsilon.into()),
            _ => 0,
        }
    }

    /// Σε_i; nothing if it is infinite.
    pub(crate) fn spent(&self) -> Option<Amount> {
        self.spent
    }

    /// What is left of ε_g; nothing if Σε_i is infinite or past ε_g.
    pub(crate) fn left(&self) -> Option<Amount> {
        self.limit.checked_sub(self.spent?)
    }

    /// ε_g.
    pub(crate) fn limit(&self) -> Amount {
        self.limit
    }
}
