use std::fmt;

use crate::name::AccountName;

/// What went wrong, in words a person can act on.
///
/// A refusal by a filter is not an error: see [`Outcome`](crate::Outcome).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Input,
    NoAccount,
    KeyTaken,
    Busy,
    Locked,
    Integrity,
    Rollback,
    Stopped,
    UnknownOutcome,
    Storage,
}

impl Error {
    pub(crate) fn input(message: impl Into<String>) -> Error {
        Error { kind: Kind::Input, message: message.into() }
    }

    pub(crate) fn no_account(name: &AccountName) -> Error {
        let message =
            format!("there is no account {name}; `account list` shows the accounts, `account create` makes one");
        Error { kind: Kind::NoAccount, message }
    }

    pub(crate) fn key_taken(message: impl Into<String>) -> Error {
        Error { kind: Kind::KeyTaken, message: message.into() }
    }

    pub(crate) fn busy(message: impl Into<String>) -> Error {
        Error { kind: Kind::Busy, message: message.into() }
    }

    pub(crate) fn locked(message: impl Into<String>) -> Error {
        Error { kind: Kind::Locked, message: message.into() }
    }

    pub(crate) fn integrity(message: impl Into<String>) -> Error {
        Error { kind: Kind::Integrity, message: message.into() }
    }

    pub(crate) fn rollback(message: impl Into<String>) -> Error {
        Error { kind: Kind::Rollback, message: message.into() }
    }

    pub(crate) fn stopped(message: impl Into<String>) -> Error {
        Error { kind: Kind::Stopped, message: message.into() }
    }

    pub(crate) fn unknown_outcome(message: impl Into<String>) -> Error {
        Error { kind: Kind::UnknownOutcome, message: message.into() }
    }

    pub(crate) fn storage(message: impl Into<String>) -> Error {
        Error { kind: Kind::Storage, message: message.into() }
    }

    /// Something that cannot be used as given: a name, a cost, a parameter. Nothing was charged.
    pub fn is_input(&self) -> bool {
        matches!(self.kind, Kind::Input | Kind::NoAccount | Kind::KeyTaken)
    }

    /// An account that does not exist.
    pub fn is_no_account(&self) -> bool {
        self.kind == Kind::NoAccount
    }

    /// An idempotency key that was used for another request.
    pub fn is_key_taken(&self) -> bool {
        self.kind == Kind::KeyTaken
    }

    /// The queue is full; nothing was charged, and it may be tried again.
    pub fn is_busy(&self) -> bool {
        self.kind == Kind::Busy
    }

    /// Another process writes to the ledger.
    pub fn is_locked(&self) -> bool {
        self.kind == Kind::Locked
    }

    /// The journal or the account states are not what was written.
    pub fn is_integrity(&self) -> bool {
        matches!(self.kind, Kind::Integrity | Kind::Rollback)
    }

    /// The ledger is behind its witness, forked from it, or without it.
    pub fn is_rollback(&self) -> bool {
        self.kind == Kind::Rollback
    }

    /// The ledger stopped after a failure and takes nothing more; nothing was charged by this request.
    pub fn is_stopped(&self) -> bool {
        self.kind == Kind::Stopped
    }

    /// The charge may or may not have been committed; asking again with the same key tells.
    pub fn is_unknown_outcome(&self) -> bool {
        self.kind == Kind::UnknownOutcome
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<taximeter_accounting::Error> for Error {
    fn from(error: taximeter_accounting::Error) -> Self {
        Error::input(error.to_string())
    }
}
