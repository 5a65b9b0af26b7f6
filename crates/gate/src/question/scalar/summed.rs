//! Expressions on grids that are coarse enough to be summed.

use dashu::rational::RBig;

use super::{Kind, Node, NumericExpr};
use crate::schema::Schema;

/// The most steps from 0 of what is summed, as for declared bounds.
const SUMMED: i64 = crate::schema::Bounds::STEPS;

impl NumericExpr {
    /// The same on a grid so coarse that no more than this many steps lie between 0 and a value; rounded.
    pub(crate) fn coarsened(self, most: i64) -> NumericExpr {
        let reach = self.low.unsigned_abs().max(self.high.unsigned_abs());
        self.on_coarser_grid(reach.div_ceil(most.unsigned_abs()))
    }

    /// What is summed: like declared bounds, within 2³⁰ steps.
    pub(crate) fn summed(self) -> NumericExpr {
        self.coarsened(SUMMED)
    }

    /// What moments are made of: at most 2¹⁵ steps between its ends, so that products fit into 32 bits.
    pub(crate) fn for_moments(self) -> NumericExpr {
        const WIDTH: u64 = 1 << 15;
        let factor = self.high.abs_diff(self.low).div_ceil(WIDTH);
        self.on_coarser_grid(factor)
    }

    /// On a grid at least this many times as coarse. An even number of times would leave halves, and to round all of them away from 0
    /// would move a mean. The first and the last times could leave the calendar: times have no mean, and are rounded towards 1970.
    fn on_coarser_grid(self, factor: u64) -> NumericExpr {
        let to = self.grid.clone() * RBig::from(factor | 1);
        let kind = self.kind;
        let coarser = match kind {
            Kind::Date | Kind::Timestamp => self.truncated(&to, kind),
            Kind::Integer | Kind::Decimal | Kind::Duration => self.rounded(&to, kind),
        };
        coarser.expect("a coarser grid has fewer steps, and no time gets further from 1970")
    }

    /// What it is, for people: a column by its name, and anything else by its range.
    pub(crate) fn describe(&self, schema: &Schema) -> String {
        match &self.node {
            Node::Column(at) => schema.columns[*at].name.clone(),
            Node::Rounded(inner, _) | Node::Times(inner, _) => inner.describe(schema),
            _ => {
                let [low, high] = match self.kind {
                    Kind::Date | Kind::Timestamp => [self.low, self.high].map(|end| self.value(end).plain()),
                    _ => self.range().map(|end| end.to_f64().value().to_string()),
                };
                format!("an expression from {low} to {high}")
            }
        }
    }

    /// The point of the grid in the middle of the range, in steps.
    pub(crate) fn centre(&self) -> i64 {
        self.low + (self.high - self.low) / 2
    }

    /// The ends of the range as numbers.
    pub(crate) fn range(&self) -> [RBig; 2] {
        [self.low, self.high].map(|steps| self.grid.clone() * RBig::from(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarser_grid_has_no_halves_to_round() {
        for (high, coarser) in [(1000, 1), (32_768, 1), (32_769, 3), (100_000, 5), (1_000_000, 31)] {
            let column = NumericExpr::steps(high, Kind::Integer, RBig::ONE);
            let of = NumericExpr { low: 0, ..column };
            assert_eq!(of.for_moments().grid, RBig::from(coarser), "{high}");
        }
    }

    /// The ends of the calendar, and the range of bounds whose grid is an hour, in seconds.
    #[test]
    fn no_time_on_a_coarser_grid_leaves_the_calendar() {
        let (first, last) = (-62_135_596_800, 253_402_300_799);
        for [low, high] in [[first, last], [first + 1, last], [first + 1, last - 3598], [last - 3000, last]] {
            for most in [SUMMED, 1 << 20, 1000, 1] {
                let times = NumericExpr { low, high, ..NumericExpr::steps(0, Kind::Timestamp, RBig::ONE) };
                let coarser = times.coarsened(most);
                let [from, to] = coarser.range();
                assert!(RBig::from(first) <= from && from <= to && to <= RBig::from(last), "{low} {high} {most}");
                assert!(-most <= coarser.low && coarser.high <= most, "{low} {high} {most}");
            }
        }
    }
}
