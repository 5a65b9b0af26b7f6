//! Division by an expression that is 0 for no row: by its bounds, or because NULLIF makes 0 null.
//!
//! It is arithmetic of whole numbers, so every engine gives the same. The quotient of two whole numbers is rounded towards 0, as SQL has
//! it. Any other is put on a grid of its own: with steps a and b of what is divided and of the divisor, it is a·K/b rounded to the nearest,
//! where K is the largest power of ten with which a·K/b stays within the 2³⁰ steps that a sum may have.

use dashu::rational::RBig;

use super::grid::wide;
use super::{Kind, LARGEST, Node, NumericExpr, TooLarge};
use crate::question::predicate::{Comparison, Predicate};
use crate::schema::Bounds;

impl NumericExpr {
    /// Whether it is 0 for no row, whatever the data are.
    pub(crate) fn is_never_zero(&self) -> bool {
        let all = |parts: &[NumericExpr]| parts.iter().all(NumericExpr::is_never_zero);
        self.low > 0
            || self.high < 0
            || match &self.node {
                Node::Null => true,
                Node::NullIf(_, other) => other.node == Node::Constant(0),
                Node::Times(inner, _) | Node::Negative(inner) | Node::Absolute(inner) => inner.is_never_zero(),
                Node::Product(one, other) => one.is_never_zero() && other.is_never_zero(),
                Node::Least(parts) | Node::Greatest(parts) | Node::Coalesce(parts) => all(parts),
                Node::Case { branches, otherwise } => {
                    let mut values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                    values.all(NumericExpr::is_never_zero)
                }
                _ => false,
            }
    }

    /// The quotient by an expression that is never 0: of two whole numbers, if both are.
    pub(crate) fn divided_by(self, divisor: NumericExpr, kind: Kind) -> Result<NumericExpr, TooLarge> {
        let nearest = kind != Kind::Integer;
        let (one, divisor) = if nearest { (self, divisor) } else { (self.whole()?, divisor.whole()?) };
        let (least, greatest) = (divisor.low.max(-divisor.high).max(1), divisor.high.max(-divisor.low).max(1));
        let (one, other) = match (divisor.low >= 0, divisor.high <= 0) {
            (true, _) => (one, divisor),
            (_, true) => (one.negative(), divisor.negative()),
            _ => {
                let zero = NumericExpr::steps(0, divisor.kind, divisor.grid.clone());
                let below = Predicate::Steps { left: divisor.clone(), comparison: Comparison::Less, right: zero };
                (NumericExpr::case(vec![(below, one.clone().negative())], Some(one))?, divisor.absolute())
            }
        };
        let finer = if nearest { finer(&one, least) } else { 1 };
        let one = one.rescaled(&(one.grid.clone() / RBig::from(finer)))?;
        let grid = one.grid.clone() / other.grid.clone();
        let ends = |steps: i64| [least, greatest].map(|by| quotient(steps, by, nearest));
        let (lows, highs) = (ends(one.low), ends(one.high));
        let (low, high) = (lows[0].min(lows[1]), highs[0].max(highs[1]));
        NumericExpr::new(Node::Quotient { one: Box::new(one), other: Box::new(other), nearest }, kind, grid, low, high)
    }
}

/// How many times finer the grid of a quotient is than without.
fn finer(one: &NumericExpr, least: i64) -> i64 {
    let reach = wide(one.low).abs().max(wide(one.high).abs()).max(1);
    let fits = |times: i64| {
        let steps = reach * wide(times);
        steps <= LARGEST && steps / wide(least) <= wide(Bounds::STEPS)
    };
    (1..=9).map(|digits| 10i64.pow(digits)).take_while(|times| fits(*times)).last().unwrap_or(1)
}

/// A quotient by a positive number, rounded towards 0 or to the nearest.
fn quotient(steps: i64, by: i64, nearest: bool) -> i128 {
    let (steps, by) = (wide(steps), wide(by));
    if nearest { (2 * steps + by * steps.signum()) / (2 * by) } else { steps / by }
}
