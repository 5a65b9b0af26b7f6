//! Grids: the steps that the values of expressions are multiples of.

use dashu::base::{Abs, Gcd};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::{Kind, Node, NumericExpr, TooLarge};
use crate::number::Number;

/// What kind of number stands for all of these.
pub(super) fn common_kind(parts: &[NumericExpr]) -> Kind {
    let mut kinds = parts.iter().filter(|part| !part.is_null()).map(|part| part.kind);
    let kind = kinds.next().unwrap_or(Kind::Integer);
    if kinds.all(|other| other == kind) { kind } else { Kind::Decimal }
}

/// The range of all of these; null is left out.
pub(super) fn hull(parts: &[NumericExpr]) -> (i64, i64) {
    let known = || parts.iter().filter(|part| !part.is_null());
    (known().map(|part| part.low).min().unwrap_or(0), known().map(|part| part.high).max().unwrap_or(0))
}

/// The same values, all on the coarsest grid of which the grids of all are multiples.
pub(crate) fn on_one_grid([one, other]: [NumericExpr; 2]) -> Result<[NumericExpr; 2], TooLarge> {
    let grid = common(&one.grid, &other.grid);
    Ok([one.rescaled(&grid)?, other.rescaled(&grid)?])
}

pub(super) fn all_on_one_grid(parts: Vec<NumericExpr>) -> Result<Vec<NumericExpr>, TooLarge> {
    // Null and the value 0 are on every grid.
    let is_free = |part: &NumericExpr| matches!(part.node, Node::Constant(0) | Node::Null);
    let grids = parts.iter().filter(|part| !is_free(part)).map(|part| part.grid.clone());
    let grid = grids.reduce(|one, other| common(&one, &other)).unwrap_or(RBig::ONE);
    let moved = |part: NumericExpr| match is_free(&part) {
        true => Ok(NumericExpr { grid: grid.clone(), ..part }),
        false => part.rescaled(&grid),
    };
    parts.into_iter().map(moved).collect()
}

/// The greatest number of which both are multiples.
pub(super) fn common(one: &RBig, other: &RBig) -> RBig {
    // gcd(a/b, c/d) = gcd(a·d, c·b) / (b·d).
    let numerator = |one: &RBig, other: &RBig| one.numerator().clone().abs() * IBig::from(other.denominator().clone());
    let (left, right) = (numerator(one, other), numerator(other, one));
    let divisor: UBig = left.gcd(right);
    RBig::from_parts(divisor.into(), one.denominator() * other.denominator())
}

/// The least and the greatest product of two ranges.
pub(crate) fn products(one: (i64, i64), other: (i64, i64)) -> (i128, i128) {
    let corners = [one.0, one.1].into_iter().flat_map(|left| [other.0, other.1].map(|right| wide(left) * wide(right)));
    corners.fold((i128::MAX, i128::MIN), |(low, high), product| (low.min(product), high.max(product)))
}

pub(super) fn wide(steps: i64) -> i128 {
    i128::from(steps)
}

/// A decimal number as a fraction.
pub(crate) fn rational(number: Number) -> RBig {
    RBig::from_parts(number.units().into(), UBig::from(10u8).pow(Number::PLACES as usize))
}
