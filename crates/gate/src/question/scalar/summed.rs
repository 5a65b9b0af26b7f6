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
        let factor = reach.div_ceil(most.unsigned_abs()).max(1);
        let to = self.grid.clone() * RBig::from(factor);
        let kind = self.kind;
        self.rounded(&to, kind).expect("a coarser grid has fewer steps")
    }

    /// What is summed: like declared bounds, within 2³⁰ steps.
    pub(crate) fn summed(self) -> NumericExpr {
        self.coarsened(SUMMED)
    }

    /// What moments are made of: at most 2¹⁵ steps between its ends, so that products fit into 32 bits.
    pub(crate) fn for_moments(self) -> NumericExpr {
        const WIDTH: u64 = 1 << 15;
        let factor = self.high.abs_diff(self.low).div_ceil(WIDTH).max(1);
        let to = self.grid.clone() * RBig::from(factor);
        let kind = self.kind;
        self.rounded(&to, kind).expect("a coarser grid has fewer steps")
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
