use std::fmt;

use crate::cost::Cost;
use crate::filter::FilterRule;
use crate::odometer::OdometerRule;

/// What went wrong.
///
/// It prints as a sentence that says what was wrong, with the value, and what would do. The [`kind`](Error::kind) holds the same as
/// data, for programs that decide by it or that know a better name for a parameter than this library does. A refusal by a filter is
/// not an error: see [`Verdict`](crate::Verdict).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorKind>);

/// What an [`Error`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Text that cannot be read: an amount, a cost, a stored state.
    Text {
        /// Why it cannot be read, with the text and what to write.
        why: String,
    },
    /// A parameter whose value cannot be used.
    Parameter {
        /// Its name, as in the tables of rules and kinds of cost.
        name: &'static str,
        /// Its value, as text.
        value: String,
        /// What would do.
        needs: String,
    },
    /// A parameter that the chosen rule does not have.
    ForeignParameter {
        /// The rule.
        rule: &'static str,
        /// The parameter.
        name: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A rule that does not take a budget.
    Budget {
        /// The rule.
        rule: &'static str,
        /// What it needs, with what it was given.
        why: String,
    },
    /// A name that is not known.
    UnknownName {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that are known.
        known: Vec<&'static str>,
    },
    /// A cost for which a rule has no theorem.
    UnsupportedCost {
        /// The rule.
        rule: &'static str,
        /// The cost.
        cost: Cost,
    },
    /// A build whose elementary functions are not correctly rounded, so that no bound would hold.
    Rounding {
        /// The function.
        function: &'static str,
    },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Error {
        Error(Box::new(kind))
    }

    pub(crate) fn text(why: impl Into<String>) -> Error {
        Error::new(ErrorKind::Text { why: why.into() })
    }

    pub(crate) fn parameter(name: &'static str, value: impl fmt::Display, needs: impl Into<String>) -> Error {
        Error::new(ErrorKind::Parameter { name, value: value.to_string(), needs: needs.into() })
    }

    pub(crate) fn budget(rule: &'static str, why: impl Into<String>) -> Error {
        Error::new(ErrorKind::Budget { rule, why: why.into() })
    }

    /// The entry of a list that has a name, or an error with the names that there are.
    pub(crate) fn find<T: Copy, const N: usize>(
        what: &'static str,
        all: [T; N],
        name_of: fn(T) -> &'static str,
        name: &str,
    ) -> Result<T, Error> {
        let known = || Error::new(ErrorKind::UnknownName { what, name: excerpt(name), known: all.map(name_of).into() });
        all.into_iter().find(|&entry| name_of(entry) == name).ok_or_else(known)
    }

    /// The same error, said to be about a named part of what was read.
    pub(crate) fn within(self, part: &str) -> Error {
        match *self.0 {
            ErrorKind::Text { why } => Error::text(format!("{part}: {why}")),
            kind => Error::new(kind),
        }
    }

    /// What it is about.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            ErrorKind::Text { why } => f.write_str(why),
            ErrorKind::Parameter { name, value, needs } => {
                write!(f, "{} cannot be {value}: {needs}", name.replace('_', " "))
            }
            ErrorKind::ForeignParameter { rule, name, known } if known.is_empty() => {
                write!(f, "the rule {rule} has no parameter {name}, and no other; omit it or choose another rule")
            }
            ErrorKind::ForeignParameter { rule, name, known } => {
                write!(f, "the rule {rule} has no parameter {name}; it has {}", known.join(", "))
            }
            ErrorKind::Budget { rule, why } => write!(f, "the rule {rule} {why}"),
            ErrorKind::UnknownName { what, name, known } => {
                write!(f, "{what} {name} is not known; choose one of {}", known.join(", "))
            }
            ErrorKind::Rounding { function } => {
                write!(f, "this build does not round {function} correctly, so no bound would hold; ")?;
                f.write_str("build core-math in double precision and without flags such as -ffast-math")
            }
            ErrorKind::UnsupportedCost { rule, cost } => {
                let filters = FilterRule::ALL.into_iter().filter(|rule| rule.takes(cost.kind()));
                let odometers = OdometerRule::ALL.into_iter().filter(|rule| rule.takes(cost.kind()));
                let filters = filters.map(FilterRule::name).collect::<Vec<_>>().join(", ");
                let odometers = odometers.map(OdometerRule::name).collect::<Vec<_>>().join(", ");
                write!(f, "the rule {rule} has no theorem for a cost known as {cost}; ")?;
                write!(f, "filters that have one: {filters}; odometers: {odometers}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Shows at most the first characters of a text, so that a message stays readable.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(SHOWN).collect();
    match chars.count() {
        0 => format!("{head:?}"),
        more => format!("{head:?} and {more} more characters"),
    }
}
