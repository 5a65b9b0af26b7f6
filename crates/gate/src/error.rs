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
    NoDataset,
    NoAccount,
    KeyTaken,
    Busy,
    Stopped,
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

    pub(crate) fn no_dataset(message: impl Into<String>) -> Error {
        Error { kind: Kind::NoDataset, message: message.into() }
    }

    pub(crate) fn key_taken(message: impl Into<String>) -> Error {
        Error { kind: Kind::KeyTaken, message: message.into() }
    }

    pub(crate) fn busy(message: impl Into<String>) -> Error {
        Error { kind: Kind::Busy, message: message.into() }
    }

    pub(crate) fn integrity(message: impl Into<String>) -> Error {
        Error { kind: Kind::Integrity, message: message.into() }
    }

    pub(crate) fn other(message: impl Into<String>) -> Error {
        Error { kind: Kind::Other, message: message.into() }
    }

    /// Something that cannot be used as given: a question, a schema, a file. Nothing was charged.
    pub fn is_input(&self) -> bool {
        matches!(self.kind, Kind::Input | Kind::Question { .. } | Kind::NoDataset | Kind::NoAccount | Kind::KeyTaken)
    }

    /// A dataset that does not exist.
    pub fn is_no_dataset(&self) -> bool {
        self.kind == Kind::NoDataset
    }

    /// An account that does not exist.
    pub fn is_no_account(&self) -> bool {
        self.kind == Kind::NoAccount
    }

    /// An idempotency key that was used for another question, or for the same one at another price or account.
    pub fn is_key_taken(&self) -> bool {
        self.kind == Kind::KeyTaken
    }

    /// Others are at it. Nothing was charged or registered, and it may be tried again.
    pub fn is_busy(&self) -> bool {
        self.kind == Kind::Busy
    }

    /// The ledger stopped after a failure and takes nothing more; nothing was charged.
    pub fn is_stopped(&self) -> bool {
        self.kind == Kind::Stopped
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
            () if error.is_no_account() => Kind::NoAccount,
            () if error.is_key_taken() => Kind::KeyTaken,
            () if error.is_input() => Kind::Input,
            () if error.is_busy() => Kind::Busy,
            () if error.is_stopped() => Kind::Stopped,
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
