use std::fmt;

/// What went wrong, in words a person can act on.
///
/// A refusal by a filter is not an error, and neither is a charged question without an answer: see
/// [`Outcome`](crate::Outcome).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Input,
    Question { at: usize },
    Integrity,
    UnknownOutcome,
    Other,
}

impl Error {
    pub(crate) fn input(message: impl Into<String>) -> Error {
        Error { kind: Kind::Input, message: message.into() }
    }

    /// A question that is not answered, and the character where it goes wrong, counted from 1.
    pub(crate) fn question(at: usize, message: impl Into<String>) -> Error {
        Error { kind: Kind::Question { at }, message: message.into() }
    }

    pub(crate) fn integrity(message: impl Into<String>) -> Error {
        Error { kind: Kind::Integrity, message: message.into() }
    }

    pub(crate) fn other(message: impl Into<String>) -> Error {
        Error { kind: Kind::Other, message: message.into() }
    }

    /// Something that cannot be used as given: a question, a schema, a file. Nothing was charged.
    pub fn is_input(&self) -> bool {
        matches!(self.kind, Kind::Input | Kind::Question { .. })
    }

    /// Where a question goes wrong: the character, counted from 1.
    pub fn position(&self) -> Option<usize> {
        match self.kind {
            Kind::Question { at } => Some(at),
            _ => None,
        }
    }

    /// Nobody knows whether a charge was committed; asking again with the same key tells.
    pub fn is_unknown_outcome(&self) -> bool {
        self.kind == Kind::UnknownOutcome
    }

    /// Records are not what was written.
    pub fn is_integrity(&self) -> bool {
        self.kind == Kind::Integrity
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Question { at } => write!(f, "at character {at}: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<taximeter_ledger::Error> for Error {
    fn from(error: taximeter_ledger::Error) -> Error {
        let kind = match () {
            () if error.is_input() => Kind::Input,
            () if error.is_integrity() => Kind::Integrity,
            () if error.is_unknown_outcome() => Kind::UnknownOutcome,
            () => Kind::Other,
        };
        Error { kind, message: error.to_string() }
    }
}

impl From<taximeter_accounting::Error> for Error {
    fn from(error: taximeter_accounting::Error) -> Error {
        Error::input(error.to_string())
    }
}
