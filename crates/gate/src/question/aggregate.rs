//! What is asked of the rows of a group: a noisy number each.

use super::predicate::Predicate;
use super::scalar::NumericExpr;
use crate::number::Number;

/// An aggregate of the rows for which its own condition holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) function: Function,
    /// `FILTER (WHERE …)`.
    pub(crate) filter: Option<Predicate>,
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
    /// `SUM(…)`.
    Sum(NumericExpr),
    /// `AVG(…)`.
    Average(NumericExpr),
    /// `VARIANCE(…)`, or with a root `STDDEV(…)`.
    Spread { of: NumericExpr, sample: bool, root: bool },
    /// A number about two expressions, of the rows where neither is null.
    Pair { function: PairFunction, y: NumericExpr, x: NumericExpr },
    /// The value below which a part of the rows lies; of 0 and 1 the least and the greatest value.
    Quantile { of: NumericExpr, fraction: Number },
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
