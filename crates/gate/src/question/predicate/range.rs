//! Which values of a column a condition leaves: bounds of WHERE, so that groups beyond them are not answered.

use dashu::base::Signed;
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::{Comparison, Operand, Predicate};
use crate::question::scalar::{Kind, Node, NumericExpr};
use crate::schema::Value;

impl Predicate {
    /// The least and the greatest steps that a column with bounds has in rows for which it holds; nothing if it says nothing about the
    /// column. Values beyond the bounds count as the bounds.
    pub(crate) fn range(&self, column: usize, of: &NumericExpr) -> Option<[i64; 2]> {
        let ranges = |parts: &[Predicate]| parts.iter().map(|part| part.range(column, of)).collect::<Vec<_>>();
        match self {
            Predicate::Compare { operand, comparison, value } if *operand == Operand::plain(column) => {
                compared(*comparison, &number(value)?, of, false)
            }
            Predicate::In { operand, values, negated: false } if *operand == Operand::plain(column) => {
                let each = |value| compared(Comparison::Equal, &number(value)?, of, false);
                hull(values.iter().map(each))
            }
            // Here it is the steps that are compared.
            Predicate::Steps { left, comparison, right } => match (left.is(of), right.is(of)) {
                (true, false) => compared(*comparison, &right.as_constant()?, of, true),
                (false, true) => compared(comparison.flipped(), &left.as_constant()?, of, true),
                _ => None,
            },
            Predicate::Is { inner, value: Some(true), negated: false } => inner.range(column, of),
            Predicate::And(parts) => {
                let both = |[low, high]: [i64; 2], [other_low, other_high]: [i64; 2]| {
                    [low.max(other_low), high.min(other_high)]
                };
                // Where nothing is left, no row is, and any range is true: that of one end.
                let range = ranges(parts).into_iter().flatten().reduce(both)?;
                Some([range[0], range[1].max(range[0])])
            }
            Predicate::Or(parts) => hull(ranges(parts).into_iter()),
            _ => None,
        }
    }
}

/// A range around all of these; nothing if one of them is not known.
fn hull(mut ranges: impl Iterator<Item = Option<[i64; 2]>>) -> Option<[i64; 2]> {
    let first = ranges.next()??;
    ranges.try_fold(first, |[low, high], range| range.map(|[least, greatest]| [low.min(least), high.max(greatest)]))
}

impl NumericExpr {
    /// Whether this is a column, with its value: on its grid, or on a finer one. A factor changes the grid, and so the value.
    fn is(&self, column: &NumericExpr) -> bool {
        match &self.node {
            Node::Column(_) => self.node == column.node && self.grid == column.grid,
            Node::Times(inner, times) => self.grid.clone() * RBig::from(*times) == inner.grid && inner.is(column),
            _ => false,
        }
    }
}

/// A literal as a number, in the units of expressions: days for dates, and seconds for times.
fn number(value: &Value) -> Option<RBig> {
    match value {
        Value::Date(days) => Some(RBig::from(*days)),
        Value::Timestamp(microseconds) => Some(RBig::from(*microseconds) / RBig::from(1_000_000)),
        other => other.exact(),
    }
}

/// The steps of a column that is compared with a number. A value is put on a step next to it, and a greater one on no lesser step: so
/// those on the side of the number are at most one step beyond it, and none where values are whole steps, or are put on the step before
/// them and the number is one.
fn compared(comparison: Comparison, value: &RBig, of: &NumericExpr, in_steps: bool) -> Option<[i64; 2]> {
    let steps = value.clone() / of.grid.clone();
    let below = floor(&steps);
    let above = if steps.is_int() { below } else { below.saturating_add(1) };
    let whole = in_steps || (matches!(of.kind, Kind::Integer | Kind::Date) && of.grid == RBig::ONE);
    let (least, greatest) = (i64::MIN, i64::MAX);
    let [low, high] = match comparison {
        Comparison::Equal => [below, above],
        Comparison::GreaterOrEqual => [below, greatest],
        Comparison::LessOrEqual => [least, above],
        Comparison::Greater if whole => [below.saturating_add(1), greatest],
        Comparison::Greater => [below, greatest],
        Comparison::Less if whole || (of.kind == Kind::Timestamp && steps.is_int()) => [least, above.saturating_sub(1)],
        Comparison::Less => [least, above],
        Comparison::NotEqual => return None,
    };
    Some([low, high].map(|end| end.clamp(of.low, of.high)))
}

/// The whole number at or below a number; the ends of 64 bits beyond them.
fn floor(steps: &RBig) -> i64 {
    let floor: IBig = steps.floor();
    let end = if floor.is_negative() { i64::MIN } else { i64::MAX };
    i64::try_from(floor).unwrap_or(end)
}
