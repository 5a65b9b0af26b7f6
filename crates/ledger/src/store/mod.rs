//! Where a ledger is kept: one interface, an embedded and a shared implementation.

mod postgres;
mod sqlite;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::books::{AccountRow, ChangedAccount, Changes, Entry};
use crate::error::{Error, ErrorKind};
use crate::hash::Hash;
use crate::journal::{Position, Record};
use crate::witness::Sharing;

/// Where a ledger is.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL database, as a URL.
    Postgres(String),
}

impl Location {
    /// A URL that starts with `postgres://` or `postgresql://`, or else the path of a file.
    pub fn parse(text: &str) -> Result<Location, Error> {
        match text {
            "" => Err(Error::parameter("place of the ledger", "", "is empty; give a file or a postgres:// URL")),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Location::Postgres(url.to_string()))
            }
            // Not shown: it may have a password in it.
            other if other.contains("://") || other.to_ascii_lowercase().contains("password=") => {
                let needs = "is neither a file nor a URL that starts with postgres:// or postgresql://";
                Err(Error::parameter("place of the ledger", "", needs))
            }
            path => Ok(Location::File(path.into())),
        }
    }
}

impl Location {
    /// Who else may write to a ledger there.
    pub(crate) fn sharing(&self) -> Sharing {
        match self {
            Location::File(_) => Sharing::Alone,
            Location::Postgres(_) => Sharing::Shared,
        }
    }
}

impl fmt::Display for Location {
    /// A URL is shown without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => write!(f, "{}", path.display()),
            Location::Postgres(url) => f.write_str(&taximeter_postgres::without_password(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A record as it is stored: the line, and what is kept beside it to find it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    pub(crate) key: Option<String>,
    pub(crate) line: String,
}

impl StoredRecord {
    /// Reads the record, if it is what its hash says.
    pub(crate) fn parse(&self) -> Result<Record, String> {
        if Hash::of(self.line.as_bytes()) != self.hash {
            return Err("its bytes do not match its hash".to_string());
        }
        let record = Record::parse(&self.line)?;
        match record.sequence == self.sequence {
            true => Ok(record),
            false => {
                Err(format!("it is at position {}, but says that it is record {}", self.sequence, record.sequence))
            }
        }
    }

    pub(crate) fn position(&self) -> Position {
        Position { sequence: self.sequence, hash: self.hash }
    }
}

/// A place to keep a ledger. Everything between [`begin`](Store::begin) and [`commit`](Store::commit) happens or does not happen
/// as a whole; what is committed is on disk.
///
/// After an error the transaction is over, as after [`rollback`](Store::rollback).
pub(crate) trait Store: Send {
    /// Asks for the transaction that [`begin`](Store::begin) will start next, so that the answer comes while something else is done.
    fn ask_to_begin(&mut self) {}

    /// Starts a transaction that writes, keeps other writers out until it ends, and returns the newest record. Nothing means that
    /// there is no ledger yet.
    fn begin(&mut self) -> Result<Option<Position>, StoreError>;

    /// Starts a transaction that only reads, and sees one state of the ledger throughout.
    fn begin_reading(&mut self) -> Result<(), StoreError>;

    /// The newest record.
    fn head(&mut self) -> Result<Option<StoredRecord>, StoreError>;

    /// A record by its number.
    fn record(&mut self, sequence: u64) -> Result<Option<StoredRecord>, StoreError> {
        Ok(self.records(sequence, 1)?.into_iter().next().filter(|record| record.sequence == sequence))
    }

    /// Records from a number on, in order, at most `most`.
    fn records(&mut self, from: u64, most: usize) -> Result<Vec<StoredRecord>, StoreError>;

    /// The numbers and hashes of records from a number on, in order, at most `most`.
    fn positions(&mut self, from: u64, most: usize) -> Result<Vec<Position>, StoreError>;

    /// The records of those keys that are there.
    fn find_keys(&mut self, keys: &[&str]) -> Result<Vec<StoredRecord>, StoreError>;

    /// The accounts that changed after a record, or all of them, in the order of their numbers.
    fn accounts(&mut self, after: Option<u64>) -> Result<Vec<AccountRow>, StoreError>;

    /// Appends records to the journal. [`StoreFailure::KeyTaken`], here or later in the transaction, means that it has one of the keys.
    fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError>;

    /// Lets the store work on the appended records while something else is done. What goes wrong later is told by the next call.
    fn send_ahead(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes the accounts that the appended records changed. Comes after the records.
    fn put(&mut self, accounts: &[ChangedAccount<'_>]) -> Result<(), StoreError>;

    /// Appends the records of a draft that were not written ahead, and writes the accounts that changed.
    fn write(&mut self, changes: &Changes) -> Result<(), StoreError> {
        self.append(changes.rest())?;
        self.put(&changes.accounts())
    }

    /// Why a verification raised an alarm, if it did and it is not cleared.
    fn alarm(&mut self) -> Result<Option<String>, StoreError>;

    /// Raises the alarm, which keeps every transaction from beginning that writes; or clears it. Not within a transaction.
    fn set_alarm(&mut self, why: Option<&str>) -> Result<(), StoreError>;

    /// Checks what no record and no account shows: that the store finds what it holds.
    fn check(&mut self) -> Result<(), StoreError>;

    /// Ends the transaction and returns when it is on disk.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends the transaction without a trace.
    fn rollback(&mut self);

    /// From now on no call waits beyond this moment.
    fn set_deadline(&mut self, _: Instant) {}

    /// Makes a lost connection again, and checks what was checked when it was first made.
    fn reconnect(&mut self) -> Result<(), StoreError>;
}

/// What went wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreError {
    pub(crate) kind: StoreFailure,
    pub(crate) message: String,
}

/// What a failure leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFailure {
    /// Nothing was written; the same may be tried again at once.
    Again,
    /// Nothing was written, since the journal has a record of one of the keys.
    KeyTaken,
    /// The connection is lost. What was to be committed may have been.
    Lost,
    /// Nothing was written, and trying again at once does not help.
    Failed,
    /// What was stored is not what should be there.
    Broken,
    /// A verification raised an alarm; the message says why. Nothing was written.
    Alarm,
    /// The tables are of another format.
    OtherFormat(i32),
    /// What is on disk is not known. Nothing more may be written by this process.
    Fatal,
}

impl StoreError {
    pub(crate) fn new(kind: StoreFailure, message: impl Into<String>) -> StoreError {
        StoreError { kind, message: message.into() }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreFailure::Broken => Error::integrity(error.message),
            StoreFailure::Alarm => ErrorKind::Alarm(error.message).into(),
            StoreFailure::OtherFormat(found) => ErrorKind::OtherFormat { found: found.into() }.into(),
            _ => Error::storage(error.message),
        }
    }
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read beside a writer, with a time limit for each answer.
    Read { patience: Duration },
    /// To raise or clear the alarm beside a writer.
    Mark,
    /// To write, after waiting at most this long for another writer, and to create the ledger if asked to.
    Write { create: bool, wait: Duration },
}

impl Access {
    /// To read much, as long as it takes.
    pub(crate) const READ: Access = Access::Read { patience: Duration::from_secs(90) };

    /// How long an answer may take, of a server that may be gone without a word.
    pub(crate) fn patience(self) -> Duration {
        match self {
            Access::Read { patience } => patience,
            Access::Mark | Access::Write { .. } => Duration::from_secs(90),
        }
    }
}

/// Opens a store.
pub(crate) fn open(location: &Location, access: Access) -> Result<Box<dyn Store>, Error> {
    #[cfg(any(test, feature = "simulation"))]
    if crate::simulation::is_running() {
        return crate::simulation::open_store(location, access);
    }
    Ok(match location {
        Location::File(path) => Box::new(sqlite::Sqlite::open(path, access)?),
        Location::Postgres(url) => Box::new(postgres::PostgresStore::open(url, access)?),
    })
}
