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

    /// The sum after so many charges that this branch admits; nothing if it does not admit them.
    pub(crate) fn after(&self, cost: &Cost, times: u64) -> Option<Basic> {
        let basic = self.counting(cost, times);
        (basic.spent? <= self.limit).then_some(basic)
    }

    /// The sum after so many charges that were admitted, by this branch or by the other.
    pub(crate) fn counting(&self, cost: &Cost, times: u64) -> Basic {
        let added = cost.epsilon().and_then(|epsilon| epsilon.checked_times(times));
        let spent = self.spent.zip(added).and_then(|(spent, added)| spent.checked_add(added));
        Basic { spent, ..*self }
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
