//! What the whitehouse, zCDP and Rényi filters share: a sum of prices that must stay within a limit.

use crate::amount::FineAmount;

/// A running sum and its limit. All arithmetic is on integers, so that a charge costs the same whatever came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Additive {
    pub(crate) limit: FineAmount,
    pub(crate) spent: FineAmount,
}

impl Additive {
    /// Nothing spent yet.
    pub(crate) fn new(limit: FineAmount) -> Additive {
        Additive { limit, spent: FineAmount::ZERO }
    }

    /// Counts `times` charges of a price, if the sum stays within the limit. A price that is not known is too large.
    pub(crate) fn charge(&mut self, price: Option<FineAmount>, times: u64) -> Option<()> {
        let spent = self.spent.checked_add(price?.checked_times(times)?)?;
        (spent <= self.limit).then(|| self.spent = spent)
    }

    /// How many charges of a price still fit.
    pub(crate) fn count(&self, price: Option<FineAmount>) -> u64 {
        let left = self.limit.checked_sub(self.spent).unwrap_or(FineAmount::ZERO);
        price.map_or(0, |price| left.count_of(price))
    }
}
