//! What goes wrong with a ledger.

mod kind;

use std::fmt;
use std::path::Path;

pub use kind::ErrorKind;

/// What went wrong.
///
/// It prints as a sentence that says what was wrong, with the value, and what would do. The [`kind`](Error::kind) holds the same as
/// data. A refusal by a filter is not an error: see [`Outcome`](crate::Outcome).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// The URL of a database that cannot be used.
    pub(crate) fn input(why: impl Into<String>) -> Error {
        ErrorKind::Url(why.into()).into()
    }

    pub(crate) fn parameter(name: &'static str, value: impl Into<String>, needs: impl Into<String>) -> Error {
        ErrorKind::Parameter { name, value: value.into(), needs: needs.into() }.into()
    }

    pub(crate) fn busy(why: impl Into<String>) -> Error {
        ErrorKind::Busy(why.into()).into()
    }

    pub(crate) fn integrity(why: impl Into<String>) -> Error {
        ErrorKind::Integrity { record: None, why: why.into() }.into()
    }

    pub(crate) fn record(record: u64, why: impl fmt::Display) -> Error {
        ErrorKind::Integrity { record: Some(record), why: why.to_string() }.into()
    }

    pub(crate) fn export(record: Option<u64>, why: impl fmt::Display) -> Error {
        ErrorKind::Export { record, why: why.to_string() }.into()
    }

    pub(crate) fn witness(path: &Path, why: impl fmt::Display) -> Error {
        ErrorKind::Witness { path: path.to_path_buf(), why: why.to_string() }.into()
    }

    pub(crate) fn storage(why: impl Into<String>) -> Error {
        ErrorKind::Storage(why.into()).into()
    }

    /// What it is about.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Something that cannot be used as given: a name, a cost, a place. Nothing was charged.
    pub fn is_input(&self) -> bool {
        use ErrorKind::*;
        matches!(
            self.kind(),
            Parameter { .. }
                | Url(_)
                | Count { .. }
                | OtherUnit { .. }
                | OtherNeighbours { .. }
                | NeedsAddRemove { .. }
                | OtherPrivacy { .. }
                | NotInHistory { .. }
                | Line { .. }
                | NothingToRestore { .. }
                | Accounting(_)
                | NoAccount(_)
                | AccountExists(_)
                | NoParent { .. }
                | NotOpen { .. }
                | UnsupportedCost { .. }
                | KeyTaken { .. }
                | NoLedger(_)
                | NotALedger(_)
                | LedgerExists(_)
                | NothingRemembered { .. }
                | MissingReceipts { .. }
        )
    }

    /// An account that does not exist.
    pub fn is_no_account(&self) -> bool {
        matches!(self.kind(), ErrorKind::NoAccount(_))
    }

    /// An idempotency key that was used for another request.
    pub fn is_key_taken(&self) -> bool {
        matches!(self.kind(), ErrorKind::KeyTaken { .. })
    }

    /// The queue is full, or another process was faster. Nothing was charged, and it may be tried again.
    pub fn is_busy(&self) -> bool {
        matches!(self.kind(), ErrorKind::Busy(_))
    }

    /// The journal, the account states or the records of an export are not what was written.
    pub fn is_integrity(&self) -> bool {
        matches!(self.kind(), ErrorKind::Integrity { .. } | ErrorKind::Alarm(_) | ErrorKind::Export { .. })
            || self.is_rollback()
    }

    /// The ledger is behind a witness, forked from it, or without it.
    pub fn is_rollback(&self) -> bool {
        use ErrorKind::*;
        matches!(
            self.kind(),
            Behind { .. }
                | Forked { .. }
                | CosignedFurther { .. }
                | CosignedOther { .. }
                | SetBack(_)
                | NoWitness(_)
                | DamagedWitness { .. }
                | NotAWitness(_)
                | OtherWitness { .. }
                | LostLedger { .. }
        )
    }

    /// The ledger stopped after a failure and takes nothing more; nothing was charged by this request.
    pub fn is_stopped(&self) -> bool {
        matches!(self.kind(), ErrorKind::Stopped(_))
    }

    /// The charge may or may not have been committed; asking again with the same key tells.
    pub fn is_unknown_outcome(&self) -> bool {
        matches!(self.kind(), ErrorKind::UnknownOutcome(_))
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error(Box::new(kind))
    }
}

impl From<taximeter_postgres::AddressError> for Error {
    fn from(error: taximeter_postgres::AddressError) -> Error {
        Error::input(error.to_string())
    }
}

impl From<taximeter_accounting::Error> for Error {
    fn from(error: taximeter_accounting::Error) -> Error {
        ErrorKind::Accounting(error).into()
    }
}
