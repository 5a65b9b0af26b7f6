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
//! them: ungrouped 1 under both relations; grouped L1 m and L2 √m under add-remove, twice and √2 times that under substitute.
//!
//! All are squares of integers or twice such, so L2 is kept as its square, exactly.

use taximeter_ledger::Neighbours;

use crate::measure::Measure;
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
    /// The sensitivity of a measure, over all groups together.
    pub(crate) fn new(measure: Measure, schema: &Schema, grouped: bool) -> Sensitivity {
        let rows = u128::from(schema.rows_per_unit());
        let substitute = schema.neighbours == Neighbours::Substitute;
        let (low, high) = match measure {
            Measure::Units => return Sensitivity::of_units(rows, substitute, grouped),
            Measure::Rows | Measure::NonNull(_) => (0, 1),
            Measure::Steps { column, centre } => {
                let Some(bounds) = schema.columns[column].bounds else {
                    unreachable!("only columns with bounds are summed")
                };
                let (low, high) = bounds.steps();
                (low - centre, high - centre)
            }
        };
        let largest = rows * u128::from(low.unsigned_abs().max(high.unsigned_abs()));
        let spread = rows * u128::from((high.max(0) - low.min(0)).unsigned_abs());
        match (substitute, grouped) {
            (false, _) => Sensitivity { l1: largest, l2_squared: largest * largest },
            (true, false) => Sensitivity { l1: spread, l2_squared: spread * spread },
            (true, true) => Sensitivity { l1: 2 * largest, l2_squared: (spread * spread).max(2 * largest * largest) },
        }
    }

    fn of_units(rows: u128, substitute: bool, grouped: bool) -> Sensitivity {
        match (substitute, grouped) {
            (_, false) => Sensitivity { l1: 1, l2_squared: 1 },
            (false, true) => Sensitivity { l1: rows, l2_squared: rows },
            (true, true) => Sensitivity { l1: 2 * rows, l2_squared: 2 * rows },
        }
    }
}

#[cfg(test)]
mod tests;
