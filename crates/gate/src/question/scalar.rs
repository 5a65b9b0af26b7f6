//! Expressions over the columns of a row whose value is a whole number of steps of a grid, or null.
//!
//! A column with bounds is clamped to them and put on its grid; from there on everything is arithmetic of whole numbers whose
//! ranges are known, so nothing overflows, nothing fails on any row, and every engine gives the same number. A literal factor or
//! divisor changes the grid and leaves the steps as they are.

use std::collections::BTreeSet;

use dashu::base::{Abs, Gcd, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::calendar::Part;
use super::predicate::Predicate;
use crate::number::Number;
use crate::schema::{Column, ColumnType, Schema};

/// An expression with its grid and its range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
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
    /// The answer of a sub-query, by its place: known once that is asked.
    Asked(usize),
    /// 1 where a condition holds, 0 where it does not.
    Truth(Box<Predicate>),
    /// The sum of parts on one grid.
    Sum(Box<Scalar>, Box<Scalar>),
    Product(Box<Scalar>, Box<Scalar>),
    Negative(Box<Scalar>),
    Absolute(Box<Scalar>),
    /// The steps a whole number of times.
    Times(Box<Scalar>, i64),
    /// The steps divided by a positive number, rounded down.
    Floor(Box<Scalar>, i64),
    /// The same, rounded towards 0.
    Truncated(Box<Scalar>, i64),
    /// The same, rounded to the nearest, halves away from 0.
    Rounded(Box<Scalar>, i64),
    /// What is left of the steps by a positive number, with the sign of the steps.
    Remainder(Box<Scalar>, i64),
    /// The least of those that are not null.
    Least(Vec<Scalar>),
    /// The greatest of those that are not null.
    Greatest(Vec<Scalar>),
    /// The first that is not null.
    Coalesce(Vec<Scalar>),
    /// The first, or null where both are equal.
    NullIf(Box<Scalar>, Box<Scalar>),
    /// The value of the first branch whose condition holds; null without one.
    Case {
        branches: Vec<(Predicate, Scalar)>,
        otherwise: Option<Box<Scalar>>,
    },
    /// A part of the date that the steps are the days of.
    Calendar(Part, Box<Scalar>),
}

/// Why an expression cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooLarge {
    /// It may have more steps than whole numbers of 64 bits hold safely.
    Range,
}

/// The most steps from 0 that a part of an expression may have: sums and products of two such parts are checked before they are made,
/// and the engines compute in 64 bits.
const LARGEST: i128 = 1 << 60;

/// The most steps from 0 of what is summed, as for declared bounds.
const SUMMED: i64 = crate::schema::Bounds::STEPS;

impl Scalar {
    /// A column with bounds.
    pub(crate) fn column(at: usize, column: &Column) -> Option<Scalar> {
        let bounds = column.bounds?;
        let (low, high) = bounds.steps();
        let kind = match column.kind {
            ColumnType::Integer => Kind::Integer,
            ColumnType::Real | ColumnType::Decimal => Kind::Decimal,
            ColumnType::Date => Kind::Date,
            ColumnType::Timestamp => Kind::Timestamp,
            ColumnType::Text | ColumnType::Boolean => return None,
        };
        Some(Scalar { node: Node::Column(at), kind, grid: rational(bounds.grid()), low, high })
    }

    /// An exact number.
    pub(crate) fn constant(value: Number, kind: Kind) -> Result<Scalar, TooLarge> {
        let exact = rational(value);
        if exact.is_zero() {
            return Ok(Scalar::steps(0, kind, RBig::ONE));
        }
        // The grid is the fraction's own unit, so that a whole number has the grid 1.
        let grid = RBig::from_parts(IBig::ONE, exact.denominator().clone());
        let steps = i64::try_from(exact.numerator().clone()).map_err(|_| TooLarge::Range)?;
        Scalar::new(Node::Constant(steps), kind, grid, steps.into(), steps.into())
    }

    /// A number of steps of a grid.
    pub(crate) fn steps(steps: i64, kind: Kind, grid: RBig) -> Scalar {
        Scalar { node: Node::Constant(steps), kind, grid, low: steps, high: steps }
    }

    /// 1 where a condition holds, 0 where it does not, null where it is unknown.
    pub(crate) fn truth(predicate: Predicate) -> Scalar {
        Scalar { node: Node::Truth(Box::new(predicate)), kind: Kind::Integer, grid: RBig::ONE, low: 0, high: 1 }
    }

    /// The answer of a sub-query, put on a grid within a range.
    pub(crate) fn asked(at: usize, grid: RBig, [low, high]: [i64; 2]) -> Scalar {
        Scalar { node: Node::Asked(at), kind: Kind::Decimal, grid, low, high }
    }

    /// Null, whatever the row.
    pub(crate) fn null() -> Scalar {
        Scalar { node: Node::Null, kind: Kind::Integer, grid: RBig::ONE, low: 0, high: 0 }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node == Node::Null
    }

    fn new(node: Node, kind: Kind, grid: RBig, low: i128, high: i128) -> Result<Scalar, TooLarge> {
        // The calendar of all engines: from year 1 to year 9999.
        let in_calendar = kind != Kind::Date || (low >= -719_162 && high <= 2_932_896);
        if low < -LARGEST || high > LARGEST || !in_calendar {
            return Err(TooLarge::Range);
        }
        let narrow = |steps: i128| i64::try_from(steps).map_err(|_| TooLarge::Range);
        Ok(Scalar { node, kind, grid, low: narrow(low)?, high: narrow(high)? })
    }

    /// The number, if it is the same for every row.
    pub(crate) fn as_constant(&self) -> Option<RBig> {
        match self.node {
            Node::Constant(steps) => Some(self.grid.clone() * RBig::from(steps)),
            _ => None,
        }
    }

    pub(crate) fn plus(self, other: Scalar, kind: Kind) -> Result<Scalar, TooLarge> {
        let [one, other] = on_one_grid([self, other])?;
        let (low, high) = (wide(one.low) + wide(other.low), wide(one.high) + wide(other.high));
        let grid = one.grid.clone();
        Scalar::new(Node::Sum(Box::new(one), Box::new(other)), kind, grid, low, high)
    }

    pub(crate) fn negative(self) -> Scalar {
        let Scalar { kind, ref grid, low, high, .. } = self;
        let grid = grid.clone();
        match self.node {
            Node::Constant(steps) => Scalar::steps(-steps, kind, grid),
            _ => Scalar { node: Node::Negative(Box::new(self)), kind, grid, low: -high, high: -low },
        }
    }

    pub(crate) fn times(self, other: Scalar, kind: Kind) -> Result<Scalar, TooLarge> {
        match (self.as_constant(), other.as_constant()) {
            (None, Some(factor)) if !factor.is_zero() => Ok(self.scaled(&factor, kind)),
            (Some(factor), None) if !factor.is_zero() => Ok(other.scaled(&factor, kind)),
            _ => {
                let (low, high) = products((self.low, self.high), (other.low, other.high));
                let grid = self.grid.clone() * other.grid.clone();
                Scalar::new(Node::Product(Box::new(self), Box::new(other)), kind, grid, low, high)
            }
        }
    }

    /// A multiple by a number other than 0: the steps stay, and are worth more or less.
    pub(crate) fn scaled(mut self, factor: &RBig, kind: Kind) -> Scalar {
        self.kind = kind;
        let scaled = if factor.is_negative() { self.negative() } else { self };
        let grid = scaled.grid.clone() * factor.clone().abs();
        Scalar { grid, ..scaled }
    }

    /// A whole number in steps of 1, on whatever grid it is: `NULLIF(age, 0.5)` is on a finer one.
    fn whole(self) -> Result<Scalar, TooLarge> {
        self.truncated(&RBig::ONE, Kind::Integer)
    }

    /// The quotient of two whole numbers, as SQL has it: rounded towards 0.
    pub(crate) fn quotient(self, divisor: i64) -> Result<Scalar, TooLarge> {
        let whole = self.whole()?;
        let whole = if divisor < 0 { whole.negative() } else { whole };
        let size = i64::try_from(divisor.unsigned_abs()).map_err(|_| TooLarge::Range)?;
        let (low, high) = (whole.low / size, whole.high / size);
        Scalar::new(Node::Truncated(Box::new(whole), size), Kind::Integer, RBig::ONE, low.into(), high.into())
    }

    /// What is left of a whole number by another one.
    pub(crate) fn remainder(self, divisor: i64) -> Result<Scalar, TooLarge> {
        let whole = self.whole()?;
        let size = i64::try_from(divisor.unsigned_abs()).map_err(|_| TooLarge::Range)?;
        let most = size - 1;
        let (low, high) = ((-most).max(whole.low.min(0)), most.min(whole.high.max(0)));
        Scalar::new(Node::Remainder(Box::new(whole), size), Kind::Integer, RBig::ONE, low.into(), high.into())
    }

    pub(crate) fn absolute(self) -> Scalar {
        let Scalar { kind, ref grid, low, high, .. } = self;
        let grid = grid.clone();
        let (least, greatest) = (low.max(-high).max(0), high.max(-low));
        Scalar { node: Node::Absolute(Box::new(self)), kind, grid, low: least, high: greatest }
    }

    /// Rounded down to a multiple of a positive number.
    pub(crate) fn floor(self, to: &RBig, kind: Kind) -> Result<Scalar, TooLarge> {
        self.divided(to, kind, Node::Floor, |steps, size| steps.div_euclid(size))
    }

    /// Rounded up.
    pub(crate) fn ceil(self, to: &RBig, kind: Kind) -> Result<Scalar, TooLarge> {
        Ok(self.negative().floor(to, kind)?.negative())
    }

    /// Rounded to the nearest multiple, halves away from 0.
    pub(crate) fn rounded(self, to: &RBig, kind: Kind) -> Result<Scalar, TooLarge> {
        self.divided(to, kind, Node::Rounded, |steps, size| {
            let (steps, size) = (i128::from(steps), i128::from(size));
            let away = (2 * steps.abs() + size) / (2 * size) * steps.signum();
            i64::try_from(away).expect("a quotient is not above what is divided")
        })
    }

    /// Rounded towards 0.
    pub(crate) fn truncated(self, to: &RBig, kind: Kind) -> Result<Scalar, TooLarge> {
        self.divided(to, kind, Node::Truncated, |steps, size| steps / size)
    }

    fn divided(
        self,
        to: &RBig,
        kind: Kind,
        node: impl Fn(Box<Scalar>, i64) -> Node,
        by: impl Fn(i64, i64) -> i64,
    ) -> Result<Scalar, TooLarge> {
        let finer = self.rescaled(&common(&self.grid, to))?;
        let size = to.clone() / finer.grid.clone();
        let size = i64::try_from(size.numerator().clone()).map_err(|_| TooLarge::Range)?;
        // The engines add up to twice the divisor to what is divided.
        if wide(size) > LARGEST {
            return Err(TooLarge::Range);
        }
        if size == 1 {
            return Ok(Scalar { kind, ..finer });
        }
        let (low, high) = (by(finer.low, size), by(finer.high, size));
        Scalar::new(node(Box::new(finer), size), kind, to.clone(), low.into(), high.into())
    }

    /// The least of those that are not null: where one is null, that may be the greatest of the others. It is not above one that is
    /// never null.
    pub(crate) fn least(parts: Vec<Scalar>) -> Result<Scalar, TooLarge> {
        let mut least = Scalar::of_several(parts, Node::Least)?;
        if let Node::Least(parts) = &least.node {
            let most = parts.iter().filter(|part| part.is_never_null()).map(|part| part.high).min();
            least.high = most.map_or(least.high, |most| most.min(least.high));
        }
        Ok(least)
    }

    /// The greatest of those that are not null. It is not below one that is never null.
    pub(crate) fn greatest(parts: Vec<Scalar>) -> Result<Scalar, TooLarge> {
        let mut greatest = Scalar::of_several(parts, Node::Greatest)?;
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
                parts.iter().any(Scalar::is_never_null)
            }
            Node::Times(inner, _) | Node::Negative(inner) => inner.is_never_null(),
            _ => false,
        }
    }

    /// The first that is not null.
    pub(crate) fn coalesce(parts: Vec<Scalar>) -> Result<Scalar, TooLarge> {
        Scalar::of_several(parts, Node::Coalesce)
    }

    fn of_several(parts: Vec<Scalar>, node: impl Fn(Vec<Scalar>) -> Node) -> Result<Scalar, TooLarge> {
        let kind = common_kind(&parts);
        let parts = all_on_one_grid(parts)?;
        let (low, high) = hull(&parts);
        let grid = parts.first().map_or(RBig::ONE, |part| part.grid.clone());
        Scalar::new(node(parts), kind, grid, low.into(), high.into())
    }

    pub(crate) fn null_if(self, other: Scalar) -> Result<Scalar, TooLarge> {
        let kind = self.kind;
        let [one, other] = on_one_grid([self, other])?;
        let (grid, low, high) = (one.grid.clone(), one.low, one.high);
        Scalar::new(Node::NullIf(Box::new(one), Box::new(other)), kind, grid, low.into(), high.into())
    }

    /// The value of the first branch whose condition holds, at least one.
    pub(crate) fn case(branches: Vec<(Predicate, Scalar)>, otherwise: Option<Scalar>) -> Result<Scalar, TooLarge> {
        let has_else = otherwise.is_some();
        let (conditions, mut values): (Vec<_>, Vec<_>) = branches.into_iter().unzip();
        values.extend(otherwise);
        let kind = common_kind(&values);
        let mut values = all_on_one_grid(values)?;
        let (low, high) = hull(&values);
        let grid = values.first().map_or(RBig::ONE, |value| value.grid.clone());
        let otherwise = if has_else { values.pop().map(Box::new) } else { None };
        let branches = conditions.into_iter().zip(values).collect();
        Scalar::new(Node::Case { branches, otherwise }, kind, grid, low.into(), high.into())
    }

    /// A part of a date.
    pub(crate) fn calendar(self, part: Part) -> Result<Scalar, TooLarge> {
        let (low, high) = part.range(self.low, self.high);
        let (kind, grid) = (part.kind(), RBig::ONE);
        Scalar::new(Node::Calendar(part, Box::new(self)), kind, grid, low.into(), high.into())
    }

    /// The same value in steps of a finer grid, of which its own is a multiple.
    pub(crate) fn rescaled(&self, grid: &RBig) -> Result<Scalar, TooLarge> {
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
        Scalar::new(node, self.kind, grid.clone(), low, high)
    }

    /// The same on a grid so coarse that no more than this many steps lie between 0 and a value; rounded.
    pub(crate) fn coarsened(self, most: i64) -> Scalar {
        let reach = self.low.unsigned_abs().max(self.high.unsigned_abs());
        let factor = reach.div_ceil(most.unsigned_abs()).max(1);
        let to = self.grid.clone() * RBig::from(factor);
        let kind = self.kind;
        self.rounded(&to, kind).expect("a coarser grid has fewer steps")
    }

    /// What is summed: like declared bounds, within 2³⁰ steps.
    pub(crate) fn summed(self) -> Scalar {
        self.coarsened(SUMMED)
    }

    /// What moments are made of: at most 2¹⁵ steps between its ends, so that products fit into 32 bits.
    pub(crate) fn for_moments(self) -> Scalar {
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
                let [low, high] = self.range().map(|end| end.to_f64().value());
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

    /// How large it gets in an engine: some parts are written there more than once.
    pub(crate) fn weight(&self) -> u64 {
        let of = |parts: &[Scalar]| parts.iter().map(Scalar::weight).fold(0, u64::saturating_add);
        let inner = match &self.node {
            Node::Column(_) | Node::Constant(_) | Node::Asked(_) | Node::Null => 0,
            Node::Truth(predicate) => predicate.weight(),
            Node::Sum(one, other) | Node::Product(one, other) | Node::NullIf(one, other) => {
                one.weight().saturating_add(other.weight())
            }
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

    /// All the values that it may have, in steps, if there are no more than this; null aside.
    pub(crate) fn values(&self, most: usize) -> Option<BTreeSet<i64>> {
        let union = |parts: &mut dyn Iterator<Item = &Scalar>| {
            let mut all = BTreeSet::new();
            for part in parts {
                all.extend(part.values(most)?);
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
            Node::NullIf(one, _) => one.values(most),
            Node::Times(one, times) => Some(one.values(most)?.into_iter().map(|steps| steps * times).collect()),
            Node::Negative(one) => Some(one.values(most)?.into_iter().map(|steps| -steps).collect()),
            Node::Calendar(part, days) => part.values(days.low, days.high, most),
            _ => {
                let between = usize::try_from(wide(self.high) - wide(self.low)).ok()?;
                (between < most).then(|| (self.low..=self.high).collect())
            }
        }
    }
}

/// What kind of number stands for all of these.
fn common_kind(parts: &[Scalar]) -> Kind {
    let mut kinds = parts.iter().filter(|part| !part.is_null()).map(|part| part.kind);
    let kind = kinds.next().unwrap_or(Kind::Integer);
    if kinds.all(|other| other == kind) { kind } else { Kind::Decimal }
}

/// The range of all of these, of which null has none.
fn hull(parts: &[Scalar]) -> (i64, i64) {
    let known = || parts.iter().filter(|part| !part.is_null());
    (known().map(|part| part.low).min().unwrap_or(0), known().map(|part| part.high).max().unwrap_or(0))
}

/// The same values, all on the coarsest grid of which the grids of all are multiples.
pub(crate) fn on_one_grid([one, other]: [Scalar; 2]) -> Result<[Scalar; 2], TooLarge> {
    let grid = common(&one.grid, &other.grid);
    Ok([one.rescaled(&grid)?, other.rescaled(&grid)?])
}

fn all_on_one_grid(parts: Vec<Scalar>) -> Result<Vec<Scalar>, TooLarge> {
    // Null and the value 0 are on every grid.
    let is_free = |part: &Scalar| matches!(part.node, Node::Constant(0) | Node::Null);
    let grids = parts.iter().filter(|part| !is_free(part)).map(|part| part.grid.clone());
    let grid = grids.reduce(|one, other| common(&one, &other)).unwrap_or(RBig::ONE);
    let moved = |part: Scalar| match is_free(&part) {
        true => Ok(Scalar { grid: grid.clone(), ..part }),
        false => part.rescaled(&grid),
    };
    parts.into_iter().map(moved).collect()
}

/// The greatest number of which both are multiples.
fn common(one: &RBig, other: &RBig) -> RBig {
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

fn wide(steps: i64) -> i128 {
    i128::from(steps)
}

/// A decimal number as a fraction.
pub(crate) fn rational(number: Number) -> RBig {
    RBig::from_parts(number.units().into(), UBig::from(10u8).pow(Number::PLACES as usize))
}
