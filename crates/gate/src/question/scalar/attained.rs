//! Which values an expression may have: of all rows, or of rows in which columns have only some of their values.
//!
//! Interval arithmetic over an expression that is read once, with the declared bounds. A condition on the rows narrows the values that are
//! listed here, never the expression that an engine computes, its range or its sensitivity.

use std::collections::BTreeSet;

use super::grid::{products, wide};
use super::{Node, NumericExpr};

/// The least and the greatest step of a column in the rows in question; nothing where these are the declared bounds.
pub(crate) type ColumnRanges<'a> = dyn Fn(usize) -> Option<[i64; 2]> + 'a;

impl NumericExpr {
    /// All values, in steps, that it may have in rows in which columns have these ranges, if there are no more than this; null aside.
    pub(crate) fn values_where(&self, columns: &ColumnRanges, most: usize) -> Option<BTreeSet<i64>> {
        let of = |part: &NumericExpr| part.values_where(columns, most);
        let union = |parts: &mut dyn Iterator<Item = &NumericExpr>| {
            let mut all = BTreeSet::new();
            for part in parts {
                all.extend(of(part)?);
            }
            (all.len() <= most).then_some(all)
        };
        match &self.node {
            Node::Constant(steps) => Some(BTreeSet::from([*steps])),
            Node::Null => Some(BTreeSet::new()),
            Node::Case { branches, otherwise } => {
                union(&mut branches.iter().map(|(_, value)| value).chain(otherwise.as_deref()))
            }
            Node::Coalesce(parts) => union(&mut parts.iter()),
            Node::NullIf(one, _) => of(one),
            Node::Times(one, times) => Some(of(one)?.into_iter().map(|steps| steps * times).collect()),
            Node::Negative(one) => Some(of(one)?.into_iter().map(|steps| -steps).collect()),
            Node::Calendar(part, days) => {
                let [low, high] = days.range_where(columns);
                part.values(low, high, most)
            }
            Node::Sum(one, other) => self.sums(&of(one), &of(other), most).or_else(|| self.between(columns, most)),
            _ => self.between(columns, most),
        }
    }

    /// The sums of two sets, where there are few.
    fn sums(&self, one: &Option<BTreeSet<i64>>, other: &Option<BTreeSet<i64>>, most: usize) -> Option<BTreeSet<i64>> {
        let (one, other) = (one.as_ref()?, other.as_ref()?);
        if one.len().saturating_mul(other.len()) > most {
            return None;
        }
        let sums = one.iter().flat_map(|left| other.iter().map(move |right| left.saturating_add(*right)));
        Some(sums.filter(|sum| (self.low..=self.high).contains(sum)).collect())
    }

    /// All steps of its range.
    fn between(&self, columns: &ColumnRanges, most: usize) -> Option<BTreeSet<i64>> {
        let [low, high] = self.range_where(columns);
        let between = usize::try_from(wide(high) - wide(low)).ok()?;
        (between < most).then(|| (low..=high).collect())
    }

    /// A range around its values in rows in which columns have these ranges.
    fn range_where(&self, columns: &ColumnRanges) -> [i64; 2] {
        let of = |part: &NumericExpr| part.range_where(columns);
        // Of functions that never fall, and of those that never rise.
        let ends = |part: &NumericExpr, end: &dyn Fn(i128) -> i128| {
            let ends = of(part).map(|steps| end(wide(steps)));
            [ends[0].min(ends[1]), ends[0].max(ends[1])]
        };
        let hull = |parts: &mut dyn Iterator<Item = &NumericExpr>| {
            let around = |[low, high]: [i64; 2], [least, most]: [i64; 2]| [low.min(least), high.max(most)];
            parts.filter(|part| !part.is_null()).map(of).reduce(around).map(|range| range.map(wide))
        };
        let all = [wide(self.low), wide(self.high)];
        let [low, high] = match &self.node {
            Node::Column(at) => columns(*at).map_or(all, |range| range.map(wide)),
            Node::Sum(one, other) => {
                let ([low, high], [other_low, other_high]) = (of(one), of(other));
                [wide(low) + wide(other_low), wide(high) + wide(other_high)]
            }
            Node::Product(one, other) => products(of(one).into(), of(other).into()).into(),
            Node::Negative(one) => ends(one, &|steps| -steps),
            Node::Times(one, times) => ends(one, &|steps| steps * wide(*times)),
            Node::Floor(one, size) => ends(one, &|steps| steps.div_euclid(wide(*size))),
            Node::Truncated(one, size) => ends(one, &|steps| steps / wide(*size)),
            Node::Calendar(part, days) => {
                let [low, high] = of(days);
                <[i64; 2]>::from(part.range(low, high)).map(wide)
            }
            Node::Coalesce(parts) | Node::Least(parts) | Node::Greatest(parts) => {
                hull(&mut parts.iter()).unwrap_or(all)
            }
            Node::NullIf(one, _) => of(one).map(wide),
            Node::Case { branches, otherwise } => {
                let mut values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                hull(&mut values).unwrap_or(all)
            }
            // Of these no more is known than of all rows.
            Node::Constant(_)
            | Node::Null
            | Node::Subquery(..)
            | Node::Truth(_)
            | Node::Absolute(_)
            | Node::Rounded(..)
            | Node::Quotient { .. }
            | Node::Remainder(..) => all,
        };
        // Both ranges hold: what is left is not empty, unless no row is. Then any range is true.
        let narrow = |end: i128| i64::try_from(end.clamp(all[0], all[1])).unwrap_or(self.low);
        [narrow(low), narrow(high)]
    }
}
