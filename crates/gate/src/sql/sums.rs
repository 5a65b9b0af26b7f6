//! Sums of steps.

use super::Writer;
use super::dialect::{SqlAggregate, only_where};
use crate::measure::{Centred, Quantity};
use crate::question::predicate::Predicate;
use crate::question::scalar::Node;
use crate::steps::steps_name;

impl Writer<'_> {
    /// The sum of a column as a whole, from which its middle is taken afterwards, where that is faster.
    pub(super) fn sum(&mut self, Centred { scalar, centre }: &Centred, filter: Option<&Predicate>) -> Option<String> {
        let Node::Column(at) = scalar.node else { return None };
        let plain = Quantity::Sum(Centred::plain(scalar.clone()));
        let (grammar, reach) = (self.grammar(), plain.reach());
        if self.aggregates.is_some() || self.is_public(at) || *centre != 0 && !grammar.centres_sums(reach) {
            return None;
        }
        let filter = filter.map(|filter| self.predicate(filter));
        let own = self.own(&steps_name(self.target.schema, at));
        let stored = grammar.stored_sum(&own, self.kind(at), reach, &only_where(filter.as_deref()));
        let sum = match stored.filter(|_| grammar.stores_steps()) {
            Some(sum) => sum,
            None => grammar.aggregate(SqlAggregate::Sum, &self.scalar(scalar), reach, filter.as_deref()),
        };
        if *centre == 0 {
            return Some(sum);
        }
        let count = grammar.aggregate(SqlAggregate::Count, &self.column(at), 1, filter.as_deref());
        Some(format!("{sum} - ({centre}) * {count}"))
    }

    pub(super) fn centred(&mut self, Centred { scalar, centre }: &Centred) -> String {
        let steps = self.scalar(scalar);
        if *centre == 0 { steps } else { format!("{steps} - ({centre})") }
    }
}
