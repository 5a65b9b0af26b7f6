//! What is asked of the rows of a group: a noisy number each.

use super::predicate::Predicate;
use super::scalar::{Kind, NumericExpr};
use crate::number::Number;
use crate::schema::Value;

/// An aggregate of the rows for which its own condition holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) function: Function,
    /// `FILTER (WHERE …)`.
    pub(crate) filter: Option<Predicate>,
}

impl Aggregate {
    /// What it is: the quantile of dates is a date, and everything else a number.
    pub(crate) fn kind(&self) -> Kind {
        match &self.function {
            Function::Quantile { of, .. } => of.kind,
            _ => Kind::Decimal,
        }
    }
}

/// What is computed of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Function {
    /// `COUNT(*)`.
    Rows,
    /// `COUNT(…)`: rows where it is not null.
    NonNull(Argument),
    /// `COUNT(DISTINCT unit)`; only with a unit column.
    Units,
    /// `COUNT(DISTINCT …)` of anything else.
    Distinct(Argument),
    /// How many rows have values outside of their bounds.
    Clamped,
    /// `SUM(…)`.
    Sum(NumericExpr),
    /// `AVG(…)`.
    Average(NumericExpr),
    /// `VARIANCE(…)`, or with a root `STDDEV(…)`.
    Spread { of: NumericExpr, sample: bool, root: bool },
    /// A number about two expressions, of the rows where neither is null.
    Pair { function: PairFunction, y: NumericExpr, x: NumericExpr },
    /// The most frequent value, by its number, of all values with their numbers in ascending order.
    Mode { of: NumericExpr, values: Vec<(i64, Value)> },
    /// The value below which a part of the rows lies; of 0 and 1 the least and the greatest value.
    Quantile { of: NumericExpr, fraction: Number },
}

/// The conditions that neither of two expressions is null, in an order that does not depend on which is written first: so what is asked of
/// CORR(x, y) and of REGR_SLOPE(y, x) is the same.
pub(crate) fn both_known(pair: [&NumericExpr; 2]) -> Vec<Predicate> {
    let known = in_order(pair).map(|scalar| Predicate::NullSteps { scalar: scalar.clone(), negated: true });
    known.into()
}

/// Two expressions in an order that does not depend on which is written first.
pub(crate) fn in_order<T: std::fmt::Debug>(mut pair: [T; 2]) -> [T; 2] {
    pair.sort_by_cached_key(|expression| format!("{expression:?}"));
    pair
}

/// What is counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    /// A column of any type, as it is.
    Column(usize),
    Steps(NumericExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairFunction {
    PopulationCovariance,
    SampleCovariance,
    Correlation,
    Slope,
    Intercept,
}
