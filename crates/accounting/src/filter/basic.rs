//! *Basic composition.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Theorem 3.4.
//!
//! Continues iff Σε_i ≤ ε_g and Σδ_i ≤ δ_g. Guarantee: (ε_g, δ_g)-DP; with every δ_i = 0 the loss never exceeds ε_g. The sums
//! are integers, so nothing is rounded.

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;

/// The sum of all admitted charges, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Basic {
    /// ε_g.
    pub(crate) limit: Amount,
    /// Σε_i.
    pub(crate) spent: Amount,
}

impl Basic {
    pub(crate) fn new(limit: Amount) -> Basic {
        Basic { limit, spent: Amount::ZERO }
    }

    /// Counts `times` charges, if the filter continues; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        let sum = self.spent.checked_add(cost.epsilon()?.checked_times(times)?)?;
        (sum <= self.limit).then(|| self.spent = sum)
    }

    /// How many charges of a cost still fit.
    pub(crate) fn count(&self, cost: &Cost) -> u64 {
        let left = self.limit.checked_sub(self.spent).unwrap_or(Amount::ZERO);
        cost.epsilon().map_or(0, |epsilon| FineAmount::from(left).count_of(epsilon.into()))
    }
}
