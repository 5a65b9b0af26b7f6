//! What the whitehouse, zCDP and Rényi filters share: a sum of prices that must stay within a limit.

use crate::amount::FineAmount;

/// A running sum and its limit. All arithmetic is on integers, so that a charge costs the same whatever came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Additive {
    limit: FineAmount,
    spent: FineAmount,
}

impl Additive {
    /// Nothing spent yet.
    pub(crate) fn new(limit: FineAmount) -> Additive {
        Additive { limit, spent: FineAmount::ZERO }
    }

    /// Counts `times` charges of a price, if the sum stays within the limit. A price that is not known is too large.
    pub(crate) fn charge(&mut self, price: Option<FineAmount>, times: u64) -> Option<()> {
        let price = if times == 1 { price? } else { price?.checked_times(times)? };
        let spent = self.spent.checked_add(price)?;
        if spent > self.limit {
            return None;
        }
        self.spent = spent;
        Some(())
    }

    /// How many charges of a price still fit.
    pub(crate) fn count(&self, price: Option<FineAmount>) -> u64 {
        price.map_or(0, |price| self.left().count_of(price))
    }

    /// What is spent.
    pub(crate) fn spent(&self) -> FineAmount {
        self.spent
    }

    /// The limit.
    pub(crate) fn limit(&self) -> FineAmount {
        self.limit
    }

    fn left(&self) -> FineAmount {
        self.limit.checked_sub(self.spent).unwrap_or(FineAmount::ZERO)
    }
}
