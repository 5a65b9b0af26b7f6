//! How a value is shown, and how large an expression gets in an engine.

use dashu::rational::RBig;

use super::{Kind, Node, NumericExpr};
use crate::schema::Value;

impl NumericExpr {
    /// A number of steps as it is shown.
    pub(crate) fn value(&self, steps: i64) -> Value {
        let exact = self.grid.clone() * RBig::from(steps);
        let whole = |exact: &RBig| exact.is_int().then(|| i64::try_from(exact.numerator().clone()).ok()).flatten();
        match (self.kind, whole(&exact)) {
            (Kind::Date, Some(days)) => Value::Date(i32::try_from(days).expect("dates are in the calendar")),
            (Kind::Timestamp, _) => {
                let microseconds = (exact * RBig::from(1_000_000)).floor();
                Value::Timestamp(i64::try_from(microseconds).expect("times are in the calendar"))
            }
            (_, Some(whole)) => Value::Integer(whole),
            _ => Value::Real(exact.to_f64().value()),
        }
    }

    /// How large it gets in an engine: some parts are written there more than once.
    pub(crate) fn weight(&self) -> u64 {
        let of = |parts: &[NumericExpr]| parts.iter().map(NumericExpr::weight).fold(0, u64::saturating_add);
        let inner = match &self.node {
            Node::Column(_) | Node::Constant(_) | Node::Subquery(..) | Node::Null => 0,
            Node::Truth(predicate) => predicate.weight(),
            Node::Sum(one, other) | Node::Product(one, other) | Node::NullIf(one, other) => {
                one.weight().saturating_add(other.weight())
            }
            // The divisor is written twice, and what is divided to see whether it is negative.
            Node::Quotient { one, other, .. } => one.weight().saturating_add(other.weight()).saturating_mul(2),
            Node::Negative(one)
            | Node::Absolute(one)
            | Node::Times(one, _)
            | Node::Floor(one, _)
            | Node::Truncated(one, _)
            | Node::Remainder(one, _)
            | Node::Calendar(_, one) => one.weight(),
            Node::Rounded(one, _) => one.weight().saturating_mul(2),
            Node::Least(parts) | Node::Greatest(parts) => of(parts).saturating_mul(2),
            Node::Coalesce(parts) => of(parts),
            Node::Case { branches, otherwise } => {
                let branches =
                    branches.iter().map(|(condition, value)| condition.weight().saturating_add(value.weight()));
                branches.fold(otherwise.as_ref().map_or(0, |value| value.weight()), u64::saturating_add)
            }
        };
        inner.saturating_add(1)
    }
}
