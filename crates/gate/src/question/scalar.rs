//! Expressions over the columns of a row whose value is a whole number of steps of a grid, or null.
//!
//! A column with bounds is clamped to them and put on its grid; from there on everything is arithmetic of whole numbers whose
//! ranges are known, so nothing overflows, nothing fails on any row, and every engine gives the same number. A literal factor or
//! divisor changes the grid and leaves the steps as they are.

mod attained;
mod grid;
mod quotient;
mod shifted;
mod summed;
mod values;

use dashu::base::{Abs, Signed};
use dashu::integer::IBig;
use dashu::rational::RBig;

pub(crate) use self::attained::ColumnRanges;
use self::grid::{all_on_one_grid, common, common_kind, hull, wide};
pub(crate) use self::grid::{on_one_grid, products, rational};
use super::calendar::DatePart;
use super::predicate::Predicate;
use crate::number::Number;
use crate::schema::{Column, ColumnType};

/// An expression with its grid and its range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumericExpr {
    pub(crate) node: Node,
    pub(crate) kind: Kind,
    /// What one step is worth: a positive number; of days for dates, of seconds for times.
    pub(crate) grid: RBig,
    /// The least value in steps.
    pub(crate) low: i64,
    /// The greatest value in steps.
    pub(crate) high: i64,
}

/// What the value of an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number; the quotient of two is a whole number, rounded towards 0.
    Integer,
    /// Any other number.
    Decimal,
    /// Days since 1970-01-01.
    Date,
    /// Seconds since 1970-01-01 00:00.
    Timestamp,
    /// Seconds between two timestamps.
    Duration,
}

/// How the steps of an expression are computed from those of its parts. Null if a part is null, unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A column with bounds, clamped and on its grid.
    Column(usize),
    Constant(i64),
    Null,
    /// The answer of a sub-query, by its place, in steps of a grid of its own: known once that is asked. A factor changes the grid of the
    /// expression, and not this one.
    Subquery(usize, RBig),
    /// 1 where a condition holds, 0 where it does not.
    Truth(Box<Predicate>),
    /// The sum of parts on one grid.
    Sum(Box<NumericExpr>, Box<NumericExpr>),
    Product(Box<NumericExpr>, Box<NumericExpr>),
    Negative(Box<NumericExpr>),
    Absolute(Box<NumericExpr>),
    /// The steps a whole number of times.
    Times(Box<NumericExpr>, i64),
    /// The steps divided by a positive number, rounded down.
    Floor(Box<NumericExpr>, i64),
    /// The same, rounded towards 0.
    Truncated(Box<NumericExpr>, i64),
    /// The same, rounded to the nearest, halves away from 0.
    Rounded(Box<NumericExpr>, i64),
    /// The steps of the first divided by those of the second, which are positive or null: rounded towards 0, or to the nearest with halves
    /// away from 0.
    Quotient {
        one: Box<NumericExpr>,
        other: Box<NumericExpr>,
        nearest: bool,
    },
    /// What is left of the steps by a positive number, with the sign of the steps.
    Remainder(Box<NumericExpr>, i64),
    /// The least of those that are not null.
    Least(Vec<NumericExpr>),
    /// The greatest of those that are not null.
    Greatest(Vec<NumericExpr>),
    /// The first that is not null.
    Coalesce(Vec<NumericExpr>),
    /// The first, or null where both are equal.
    NullIf(Box<NumericExpr>, Box<NumericExpr>),
    /// The value of the first branch whose condition holds; null without one.
    Case {
        branches: Vec<(Predicate, NumericExpr)>,
        otherwise: Option<Box<NumericExpr>>,
    },
    /// A part of the date that the steps are the days of.
    Calendar(DatePart, Box<NumericExpr>),
}

/// Why an expression cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooLarge {
    /// It may have more steps than whole numbers of 64 bits hold safely.
    Range,
}

/// The most steps from 0 that a part of an expression may have: sums and products are checked before they are made, in 64 bits.
const LARGEST: i128 = 1 << 60;

impl NumericExpr {
    /// A column with bounds.
    pub(crate) fn column(at: usize, column: &Column) -> Option<NumericExpr> {
        let bounds = column.bounds?;
        let (low, high) = bounds.steps();
        let kind = match column.kind {
            ColumnType::Integer => Kind::Integer,
            ColumnType::Real | ColumnType::Decimal => Kind::Decimal,
            ColumnType::Date => Kind::Date,
            ColumnType::Timestamp => Kind::Timestamp,
            ColumnType::Text | ColumnType::Boolean => return None,
        };
        Some(NumericExpr { node: Node::Column(at), kind, grid: rational(bounds.grid()), low, high })
    }

    /// An exact number.
    pub(crate) fn constant(value: Number, kind: Kind) -> Result<NumericExpr, TooLarge> {
        let exact = rational(value);
        if exact.is_zero() {
            return Ok(NumericExpr::steps(0, kind, RBig::ONE));
        }
        // The grid is the fraction's own unit, so that a whole number has the grid 1.
        let grid = RBig::from_parts(IBig::ONE, exact.denominator().clone());
        let steps = i64::try_from(exact.numerator().clone()).map_err(|_| TooLarge::Range)?;
        NumericExpr::new(Node::Constant(steps), kind, grid, steps.into(), steps.into())
    }

    /// A number of steps of a grid.
    pub(crate) fn steps(steps: i64, kind: Kind, grid: RBig) -> NumericExpr {
        NumericExpr { node: Node::Constant(steps), kind, grid, low: steps, high: steps }
    }

    /// 1 where a condition holds, 0 where it does not, null where it is unknown.
    pub(crate) fn truth(predicate: Predicate) -> NumericExpr {
        NumericExpr { node: Node::Truth(Box::new(predicate)), kind: Kind::Integer, grid: RBig::ONE, low: 0, high: 1 }
    }

    /// The answer of a sub-query, put on a grid within a range.
    pub(crate) fn subquery(at: usize, grid: RBig, [low, high]: [i64; 2]) -> NumericExpr {
        NumericExpr { node: Node::Subquery(at, grid.clone()), kind: Kind::Decimal, grid, low, high }
    }

    /// Null, whatever the row.
    pub(crate) fn null() -> NumericExpr {
        NumericExpr { node: Node::Null, kind: Kind::Integer, grid: RBig::ONE, low: 0, high: 0 }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node == Node::Null
    }

    fn new(node: Node, kind: Kind, grid: RBig, low: i128, high: i128) -> Result<NumericExpr, TooLarge> {
        // The calendar of all engines: from year 1 to year 9999.
        let (first, last) = (-719_162, 2_932_896);
        let seconds = |steps: i128| grid.clone() * RBig::from(steps);
        let in_calendar = match kind {
            Kind::Date => low >= first && high <= last,
            Kind::Timestamp => {
                seconds(low) >= RBig::from(first * 86_400) && seconds(high) < RBig::from((last + 1) * 86_400)
            }
            _ => true,
        };
        if low < -LARGEST || high > LARGEST || !in_calendar {
            return Err(TooLarge::Range);
        }
        let narrow = |steps: i128| i64::try_from(steps).map_err(|_| TooLarge::Range);
        Ok(NumericExpr { node, kind, grid, low: narrow(low)?, high: narrow(high)? })
    }

    /// The number, if it is the same for every row.
    pub(crate) fn as_constant(&self) -> Option<RBig> {
        match self.node {
            Node::Constant(steps) => Some(self.grid.clone() * RBig::from(steps)),
            _ => None,
        }
    }

    pub(crate) fn plus(self, other: NumericExpr, kind: Kind) -> Result<NumericExpr, TooLarge> {
        let [one, other] = on_one_grid([self, other])?;
        let (low, high) = (wide(one.low) + wide(other.low), wide(one.high) + wide(other.high));
        let grid = one.grid.clone();
        if let (Node::Constant(_), Node::Constant(_), Ok(steps)) = (&one.node, &other.node, i64::try_from(low)) {
            return NumericExpr::new(Node::Constant(steps), kind, grid, low, high);
        }
        NumericExpr::new(Node::Sum(Box::new(one), Box::new(other)), kind, grid, low, high)
    }

    pub(crate) fn negative(self) -> NumericExpr {
        let NumericExpr { kind, ref grid, low, high, .. } = self;
        let grid = grid.clone();
        match self.node {
            Node::Constant(steps) => NumericExpr::steps(-steps, kind, grid),
            _ => NumericExpr { node: Node::Negative(Box::new(self)), kind, grid, low: -high, high: -low },
        }
    }

    pub(crate) fn times(self, other: NumericExpr, kind: Kind) -> Result<NumericExpr, TooLarge> {
        match (self.as_constant(), other.as_constant()) {
            (None, Some(factor)) if !factor.is_zero() => Ok(self.scaled(&factor, kind)),
            (Some(factor), None) if !factor.is_zero() => Ok(other.scaled(&factor, kind)),
            _ => {
                let (low, high) = products((self.low, self.high), (other.low, other.high));
                // A square is not below 0.
                let low = if self == other { low.max(0) } else { low };
                let grid = self.grid.clone() * other.grid.clone();
                NumericExpr::new(Node::Product(Box::new(self), Box::new(other)), kind, grid, low, high)
            }
        }
    }

    /// A multiple by a number other than 0: the steps stay, and are worth more or less.
    pub(crate) fn scaled(mut self, factor: &RBig, kind: Kind) -> NumericExpr {
        self.kind = kind;
        let scaled = if factor.is_negative() { self.negative() } else { self };
        let grid = scaled.grid.clone() * factor.clone().abs();
        NumericExpr { grid, ..scaled }
    }

    /// A whole number in steps of 1, on whatever grid it is: `NULLIF(age, 0.5)` is on a finer one.
    fn whole(self) -> Result<NumericExpr, TooLarge> {
        self.truncated(&RBig::ONE, Kind::Integer)
    }

    /// The quotient of two whole numbers, as SQL has it: rounded towards 0.
    pub(crate) fn quotient(self, divisor: i64) -> Result<NumericExpr, TooLarge> {
        let whole = self.whole()?;
        let whole = if divisor < 0 { whole.negative() } else { whole };
        let size = i64::try_from(divisor.unsigned_abs()).map_err(|_| TooLarge::Range)?;
        let (low, high) = (whole.low / size, whole.high / size);
        NumericExpr::new(Node::Truncated(Box::new(whole), size), Kind::Integer, RBig::ONE, low.into(), high.into())
    }

    /// What is left of a whole number by another one.
    pub(crate) fn remainder(self, divisor: i64) -> Result<NumericExpr, TooLarge> {
        let whole = self.whole()?;
        let size = i64::try_from(divisor.unsigned_abs()).map_err(|_| TooLarge::Range)?;
        let most = size - 1;
        let (low, high) = ((-most).max(whole.low.min(0)), most.min(whole.high.max(0)));
        NumericExpr::new(Node::Remainder(Box::new(whole), size), Kind::Integer, RBig::ONE, low.into(), high.into())
    }

    pub(crate) fn absolute(self) -> NumericExpr {
        let NumericExpr { kind, low, high, .. } = self;
        let grid = self.grid.clone();
        let (least, greatest) = (low.max(-high).max(0), high.max(-low));
        NumericExpr { node: Node::Absolute(Box::new(self)), kind, grid, low: least, high: greatest }
    }

    /// Rounded down to a multiple of a positive number.
    pub(crate) fn floor(self, to: &RBig, kind: Kind) -> Result<NumericExpr, TooLarge> {
        self.divided(to, kind, Node::Floor, |steps, size| steps.div_euclid(size))
    }

    /// Rounded up.
    pub(crate) fn ceil(self, to: &RBig, kind: Kind) -> Result<NumericExpr, TooLarge> {
        Ok(self.negative().floor(to, kind)?.negative())
    }

    /// Rounded to the nearest multiple, halves away from 0.
    pub(crate) fn rounded(self, to: &RBig, kind: Kind) -> Result<NumericExpr, TooLarge> {
        self.divided(to, kind, Node::Rounded, |steps, size| {
            let (steps, size) = (i128::from(steps), i128::from(size));
            let away = (2 * steps.abs() + size) / (2 * size) * steps.signum();
            i64::try_from(away).expect("a quotient is not above what is divided")
        })
    }

    /// Rounded towards 0.
    pub(crate) fn truncated(self, to: &RBig, kind: Kind) -> Result<NumericExpr, TooLarge> {
        self.divided(to, kind, Node::Truncated, |steps, size| steps / size)
    }

    fn divided(
        self,
        to: &RBig,
        kind: Kind,
        node: impl Fn(Box<NumericExpr>, i64) -> Node,
        by: impl Fn(i64, i64) -> i64,
    ) -> Result<NumericExpr, TooLarge> {
        let finer = self.rescaled(&common(&self.grid, to))?;
        let size = to.clone() / finer.grid.clone();
        let size = i64::try_from(size.numerator().clone()).map_err(|_| TooLarge::Range)?;
        // The engines add up to twice the divisor to what is divided.
        if wide(size) > LARGEST {
            return Err(TooLarge::Range);
        }
        if size == 1 {
            return Ok(NumericExpr { kind, ..finer });
        }
        let (low, high) = (by(finer.low, size), by(finer.high, size));
        NumericExpr::new(node(Box::new(finer), size), kind, to.clone(), low.into(), high.into())
    }

    /// The least of those that are not null: where one is null, that may be the greatest of the others. It is not above one that is
    /// never null.
    pub(crate) fn least(parts: Vec<NumericExpr>) -> Result<NumericExpr, TooLarge> {
        let mut least = NumericExpr::of_several(parts, Node::Least)?;
        if let Node::Least(parts) = &least.node {
            let most = parts.iter().filter(|part| part.is_never_null()).map(|part| part.high).min();
            least.high = most.map_or(least.high, |most| most.min(least.high));
        }
        Ok(least)
    }

    /// The greatest of those that are not null. It is not below one that is never null.
    pub(crate) fn greatest(parts: Vec<NumericExpr>) -> Result<NumericExpr, TooLarge> {
        let mut greatest = NumericExpr::of_several(parts, Node::Greatest)?;
        if let Node::Greatest(parts) = &greatest.node {
            let least = parts.iter().filter(|part| part.is_never_null()).map(|part| part.low).max();
            greatest.low = least.map_or(greatest.low, |least| least.max(greatest.low));
        }
        Ok(greatest)
    }

    /// Whether it is known to be a number for every row.
    fn is_never_null(&self) -> bool {
        match &self.node {
            Node::Constant(_) => true,
            Node::Least(parts) | Node::Greatest(parts) | Node::Coalesce(parts) => {
                parts.iter().any(NumericExpr::is_never_null)
            }
            Node::Times(inner, _) | Node::Negative(inner) => inner.is_never_null(),
            _ => false,
        }
    }

    /// The first that is not null.
    pub(crate) fn coalesce(parts: Vec<NumericExpr>) -> Result<NumericExpr, TooLarge> {
        NumericExpr::of_several(parts, Node::Coalesce)
    }

    fn of_several(parts: Vec<NumericExpr>, node: impl Fn(Vec<NumericExpr>) -> Node) -> Result<NumericExpr, TooLarge> {
        let kind = common_kind(&parts);
        let parts = all_on_one_grid(parts)?;
        let (low, high) = hull(&parts);
        let grid = parts.first().map_or(RBig::ONE, |part| part.grid.clone());
        NumericExpr::new(node(parts), kind, grid, low.into(), high.into())
    }

    pub(crate) fn null_if(self, other: NumericExpr) -> Result<NumericExpr, TooLarge> {
        let kind = self.kind;
        let [one, other] = on_one_grid([self, other])?;
        let (grid, low, high) = (one.grid.clone(), one.low, one.high);
        NumericExpr::new(Node::NullIf(Box::new(one), Box::new(other)), kind, grid, low.into(), high.into())
    }

    /// The value of the first branch whose condition holds, at least one.
    pub(crate) fn case(
        branches: Vec<(Predicate, NumericExpr)>,
        otherwise: Option<NumericExpr>,
    ) -> Result<NumericExpr, TooLarge> {
        let has_else = otherwise.is_some();
        let (conditions, mut values): (Vec<_>, Vec<_>) = branches.into_iter().unzip();
        values.extend(otherwise);
        let kind = common_kind(&values);
        let mut values = all_on_one_grid(values)?;
        let (low, high) = hull(&values);
        let grid = values.first().map_or(RBig::ONE, |value| value.grid.clone());
        let otherwise = if has_else { values.pop().map(Box::new) } else { None };
        let branches = conditions.into_iter().zip(values).collect();
        NumericExpr::new(Node::Case { branches, otherwise }, kind, grid, low.into(), high.into())
    }

    /// A part of a date.
    pub(crate) fn calendar(self, part: DatePart) -> Result<NumericExpr, TooLarge> {
        let days = self.floor(&RBig::ONE, Kind::Date)?;
        let (low, high) = part.range(days.low, days.high);
        NumericExpr::new(Node::Calendar(part, Box::new(days)), part.kind(), RBig::ONE, low.into(), high.into())
    }

    /// The same value in steps of a finer grid, of which its own is a multiple.
    pub(crate) fn rescaled(&self, grid: &RBig) -> Result<NumericExpr, TooLarge> {
        let times = self.grid.clone() / grid.clone();
        if times == RBig::ONE {
            return Ok(self.clone());
        }
        // Where its own grid is coarser by no whole number, the common one is finer than both.
        let times = i64::try_from(times.numerator().clone()).map_err(|_| TooLarge::Range)?;
        let (low, high) = (wide(self.low) * wide(times), wide(self.high) * wide(times));
        let node = match self.node {
            Node::Constant(_) => Node::Constant(i64::try_from(low).map_err(|_| TooLarge::Range)?),
            _ => Node::Times(Box::new(self.clone()), times),
        };
        NumericExpr::new(node, self.kind, grid.clone(), low, high)
    }
}
