//! How far one unit can move an answer. DESIGN of the gate: with m rows a unit at most and bounds \[lo, hi\],
//! B = max(|lo|, |hi|), hi⁺ = max(hi, 0), lo⁻ = min(lo, 0):
//!
//! | | COUNT | SUM |
//! |---|---|---|
//! | add-remove | L1 = L2 = m | L1 = L2 = m·B |
//! | substitute, ungrouped | m | m·(hi⁺ − lo⁻) |
//! | substitute, grouped | L1 2m, L2 √2·m | L1 2m·B, L2 max(m·(hi⁺ − lo⁻), √2·m·B) |
//!
//! A row that WHERE leaves out counts as 0, which is why 0 belongs to every range. Under add-remove a unit's m rows may all fall into
//! one group, which is the worst case for L2 as well. COUNT(DISTINCT unit) counts a unit at most once in a group, and in at most m of
//! them: with k = min(m, number of groups), L1 k and L2 √k under add-remove; under substitute a group changes by at most 1, and
//! min(2m, number of groups) of them do. COUNT(DISTINCT column) moves by 1 for a row, as COUNT does. Where a unit counts in at most K
//! groups, k = min(m, K, number of groups) instead, and likewise 2K; of counts and sums of rows nothing changes, since all m rows of a
//! unit may be in one of its groups.
//!
//! All are squares of integers or twice such, so L2 is kept as its square, exactly.

use taximeter_ledger::Neighbours;

use crate::measure::Quantity;
use crate::schema::Schema;

/// The sensitivity of a list of integers, one for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sensitivity {
    /// The most that the absolute changes add up to.
    pub(crate) l1: u128,
    /// The most that the squares of the changes add up to.
    pub(crate) l2_squared: u128,
}

impl Sensitivity {
    /// The sensitivity of a quantity, over all groups together: how many there are, if that is known. One group is all rows.
    pub(crate) fn new(quantity: &Quantity, schema: &Schema, groups: Option<usize>) -> Sensitivity {
        Sensitivity::limited(quantity, schema, groups, schema.rows_per_unit())
    }

    /// The same where a unit counts in at most this number of groups.
    pub(crate) fn limited(quantity: &Quantity, schema: &Schema, groups: Option<usize>, most: u32) -> Sensitivity {
        let rows = u128::from(schema.rows_per_unit());
        let substitute = schema.neighbours == Neighbours::Substitute;
        if *quantity == Quantity::Units {
            let most = rows.min(most.into());
            let moved = if substitute && groups != Some(1) { 2 * most } else { most };
            let moved = groups.map_or(moved, |groups| moved.min(groups as u128));
            return Sensitivity { l1: moved, l2_squared: moved };
        }
        let (low, high) = quantity.of_a_row();
        let largest = rows * u128::from(low.unsigned_abs().max(high.unsigned_abs()));
        let spread = rows * u128::from(high.max(0).abs_diff(low.min(0)));
        match (substitute, groups) {
            (false, _) => Sensitivity { l1: largest, l2_squared: largest * largest },
            (true, Some(1)) => Sensitivity { l1: spread, l2_squared: spread * spread },
            (true, _) => Sensitivity { l1: 2 * largest, l2_squared: (spread * spread).max(2 * largest * largest) },
        }
    }
}

#[cfg(test)]
mod tests;
