//! What went wrong in a game or an experiment.

use std::fmt;

use taximeter_accounting::Cost;

/// A parameter that cannot be used as given, a move that the game does not allow, or a rule that has no theorem for a cost.
///
/// It prints as a sentence that says what was wrong, with the value, and what would do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A budget, a cost or a rule that the accounting does not take.
    Accounting(taximeter_accounting::Error),
    /// A parameter whose value cannot be used.
    Parameter {
        /// Its name.
        name: &'static str,
        /// Why its value cannot be used, with the value and what would do.
        why: String,
    },
    /// A grid of costs that are too small for the budget: a rule has too many states on it.
    GridTooFine,
    /// A mechanism that is not of the cost that was fixed in advance.
    NotFixedInAdvance {
        /// The round, from 1.
        round: usize,
        /// What was played.
        played: Cost,
        /// What was fixed.
        fixed: Cost,
    },
    /// A cost for which a table of readings was not made.
    NotInTable {
        /// What was charged.
        charged: Cost,
        /// What the table is for.
        table: Cost,
    },
    /// A run whose value is outside of its bound, so that an interval would be void.
    OutOfBound {
        /// The run.
        run: u64,
        /// Its value.
        value: f64,
        /// The bound.
        bound: f64,
    },
    /// What an adversary, a filter or an odometer of one's own reports.
    Other {
        /// What was wrong and what to do.
        why: String,
    },
}

impl Error {
    pub(crate) fn parameter(name: &'static str, why: impl Into<String>) -> Error {
        Error::Parameter { name, why: why.into() }
    }

    /// An error of an adversary, a filter or an odometer of one's own: what was wrong and what to do.
    pub fn other(why: impl Into<String>) -> Error {
        Error::Other { why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Accounting(error) => error.fmt(f),
            Error::Parameter { why, .. } | Error::Other { why } => f.write_str(why),
            Error::GridTooFine => f.write_str(
                "the costs of the grid are too small for this budget; choose larger costs or a smaller budget",
            ),
            Error::NotFixedInAdvance { round, played, fixed } => {
                write!(f, "the adversary plays {played} in round {round}, which was fixed in advance at {fixed}")
            }
            Error::NotInTable { charged, table } => {
                write!(f, "the table of readings is for {table}, not for {charged}; play with the odometer itself")
            }
            Error::OutOfBound { run, value, bound } => {
                write!(f, "run {run} has the value {value}, outside of 0 to {bound}")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<taximeter_accounting::Error> for Error {
    fn from(error: taximeter_accounting::Error) -> Error {
        Error::Accounting(error)
    }
}
