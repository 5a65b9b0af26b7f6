//! What an error is about, as data and as a sentence.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use taximeter_accounting::Cost;

use super::Error;
use crate::account::{Neighbours, Privacy, Standing, Unit};
use crate::journal::{FORMAT, LedgerId};
use crate::name::{AccountName, Key};
use crate::store::Location;

/// What an [`Error`] is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter whose value cannot be used.
    #[error("the {name}{} {needs}", shown(value))]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value, or the beginning of it, in quotes; empty if there is none or if it may be secret.
        value: String,
        /// What is wrong with it, and what would do.
        needs: String,
    },
    /// The URL of a database that cannot be used: why, without its password, and what would do.
    #[error("{0}")]
    Url(String),
    /// None of something, or too many.
    #[error("{count} {what}: there must be between 1 and {most}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A charge is about another unit than an account protects.
    #[error(
        "the charge is for the unit {asked}, but account {account} protects the unit {unit}; an epsilon for one says nothing about \
         the other"
    )]
    OtherUnit {
        /// The account.
        account: AccountName,
        /// The unit that it protects.
        unit: Unit,
        /// The unit of the charge.
        asked: Unit,
    },
    /// A charge is about other neighbours than an account.
    #[error(
        "the charge is for {} neighbours, but account {account} uses {}; an epsilon for one relation says nothing about the other",
        asked.name(),
        neighbours.name()
    )]
    OtherNeighbours {
        /// The account.
        account: AccountName,
        /// The neighbours that it is about.
        neighbours: Neighbours,
        /// Those of the charge.
        asked: Neighbours,
    },
    /// A cost that has a price for add-remove neighbours alone, and an account about others.
    #[error("account {account} uses {} neighbours, but {cost} has a price for add-remove neighbours only", neighbours.name())]
    NeedsAddRemove {
        /// The account.
        account: AccountName,
        /// The neighbours that it is about.
        neighbours: Neighbours,
        /// The cost.
        cost: Cost,
    },
    /// Two accounts of a tree or of a charge that protect different things.
    #[error(
        "account {account} protects {privacy}, and account {other} protects {others}; {}",
        match account.path().any(|above| above == other.as_str()) {
            true => "both must be the same in a whole tree",
            false => "charge them separately",
        }
    )]
    OtherPrivacy {
        /// An account.
        account: AccountName,
        /// What it protects.
        privacy: Privacy,
        /// The other account.
        other: AccountName,
        /// What that one protects.
        others: Privacy,
    },
    /// A record that is not about an account, so that a history cannot go on there.
    #[error(
        "record {record} is not about account {account}, whose newest record is {newest}; start where the previous part ended"
    )]
    NotInHistory {
        /// The account.
        account: AccountName,
        /// The record.
        record: u64,
        /// The newest record about the account.
        newest: u64,
    },
    /// A line of an export or of receipts that cannot be read.
    #[error("line {line} of the {of}: {why}")]
    Line {
        /// What it is a line of.
        of: &'static str,
        /// The line, from 1.
        line: u64,
        /// Why.
        why: String,
    },
    /// A ledger that is what its witness remembers.
    #[error("the ledger {location} ends at record {newest}, as its witness remembers: there is nothing to restore")]
    NothingToRestore {
        /// Where it is.
        location: Location,
        /// Its newest record.
        newest: u64,
    },
    /// A cost, a budget or a rule that cannot be used.
    #[error(transparent)]
    Accounting(taximeter_accounting::Error),
    /// An account that does not exist.
    #[error("account {0} not found")]
    NoAccount(AccountName),
    /// An account that exists already.
    #[error("account {0} already exists; accounts are never replaced: choose another name")]
    AccountExists(AccountName),
    /// An account cannot be opened, because the one above it does not exist.
    #[error("account {account} is below {parent}, which does not exist; create {parent} first")]
    NoParent {
        /// The account.
        account: AccountName,
        /// The one above it.
        parent: AccountName,
    },
    /// An account that takes no charges.
    #[error("account {account} is {} and takes no charges, for itself or below it", standing.name())]
    NotOpen {
        /// The account.
        account: AccountName,
        /// Its standing.
        standing: Standing,
    },
    /// A cost for which a rule of an account has no theorem.
    #[error("account {account}: {source}")]
    UnsupportedCost {
        /// The account.
        account: AccountName,
        /// The rule, the cost, and the rules that have a theorem.
        source: taximeter_accounting::Error,
    },
    /// An idempotency key that was used for another request.
    #[error(
        "the key {key:?} was used for another request, in record {record}; use a new key for a new charge, and this key only to repeat \
         that request"
    )]
    KeyTaken {
        /// The key.
        key: Key,
        /// The record of the other request.
        record: u64,
    },
    /// There is no ledger.
    #[error("there is no ledger at {0}")]
    NoLedger(Location),
    /// A file that is not a ledger.
    #[error("the file {} is not a ledger", .0.display())]
    NotALedger(PathBuf),
    /// An import into a ledger that exists already.
    #[error("a ledger already exists at {0}; import into a new one")]
    LedgerExists(Location),
    /// A restore from receipts, without a witness that says where they end.
    #[error(
        "receipts can be restored only up to the newest record that the witness {} remembers, and it remembers none after record {newest} \
         of this ledger",
        witness.display()
    )]
    NothingRemembered {
        /// The witness.
        witness: PathBuf,
        /// The newest record of the ledger.
        newest: u64,
    },
    /// A restore from receipts that do not have every record.
    #[error(
        "{missing} of the records {} to {} are missing from the receipts, the first is record {first}; nothing was restored",
        records.start(),
        records.end()
    )]
    MissingReceipts {
        /// How many are missing.
        missing: usize,
        /// The first that is missing.
        first: u64,
        /// The records that the ledger lacks.
        records: RangeInclusive<u64>,
    },
    /// The queue is full, or another process was faster.
    #[error("{0}")]
    Busy(String),
    /// Another process writes to the ledger in this file.
    #[error(
        "another process writes to the ledger {}; wait until it ends, send the request to that process, or keep the ledger in PostgreSQL, \
         which several processes can share",
        .0.display()
    )]
    Locked(PathBuf),
    /// The journal or the account states are not what was written.
    #[error("{}{why}", place(record))]
    Integrity {
        /// The record that is not.
        record: Option<u64>,
        /// What is wrong.
        why: String,
    },
    /// A verification found that the ledger is not what was written, and raised the alarm: nothing is written until its owner clears it.
    #[error("a verification raised the alarm: {0}. The ledger takes no charges until its owner clears the alarm")]
    Alarm(String),
    /// An export or receipts that fail an integrity check.
    #[error("{}{why}", place(record))]
    Export {
        /// The record that fails it.
        record: Option<u64>,
        /// What is wrong.
        why: String,
    },
    /// The ledger ends before the record that its witness remembers.
    #[error(
        "this ledger ends at record {newest}, but its witness {} remembers record {remembered}: an old copy was restored, and its budget \
         could be spent twice",
        witness.display()
    )]
    Behind {
        /// The witness.
        witness: PathBuf,
        /// The newest record of the ledger.
        newest: u64,
        /// The record that the witness remembers.
        remembered: u64,
    },
    /// The ledger has another record than the one that its witness remembers.
    #[error(
        "record {record} of this ledger is not the one that its witness {} remembers: the ledger was changed, or continued from an old \
         copy",
        witness.display()
    )]
    Forked {
        /// The witness.
        witness: PathBuf,
        /// The record.
        record: u64,
    },
    /// A witness on another machine cosigned more records than the ledger has.
    #[error(
        "this ledger ends at record {newest}, but the witness {cosigner} cosigned record {cosigned}: an old copy was restored, and its \
         budget could be spent twice"
    )]
    CosignedFurther {
        /// The witness.
        cosigner: String,
        /// The newest record of the ledger.
        newest: u64,
        /// The newest record that the witness cosigned.
        cosigned: u64,
    },
    /// A witness on another machine cosigned another history.
    #[error(
        "the {newest} records before the newest are not those that the witness {cosigner} cosigned: the ledger was rewritten, or continued \
         from an old copy"
    )]
    CosignedOther {
        /// The witness.
        cosigner: String,
        /// The newest record of the ledger.
        newest: u64,
    },
    /// The ledger no longer has a record that was acknowledged.
    #[error("record {0} is no longer the one that was acknowledged: an old copy was restored")]
    SetBack(u64),
    /// The witness of a ledger is missing.
    #[error("the witness {} is missing, so this ledger may be an old copy whose budget could be spent twice", .0.display())]
    NoWitness(PathBuf),
    /// The witness of a ledger cannot be read, or only where an old copy of the ledger would have been.
    #[error("the witness {} is damaged: {}", witness.display(), damage(remembered))]
    DamagedWitness {
        /// The witness.
        witness: PathBuf,
        /// The newest record of the ledger, which one of its two places remembers; nothing if neither can be read.
        remembered: Option<u64>,
    },
    /// A file that is not a witness.
    #[error("the file {} is not a witness", .0.display())]
    NotAWitness(PathBuf),
    /// The witness is of another ledger.
    #[error("the witness {} belongs to the ledger {of}, but this one is {ledger}", witness.display())]
    OtherWitness {
        /// The witness.
        witness: PathBuf,
        /// Its ledger.
        of: LedgerId,
        /// This ledger.
        ledger: LedgerId,
    },
    /// There is no ledger, but a witness of one.
    #[error("there is no ledger at {location}, but the witness {} knows ledger {of} up to record {remembered}", witness.display())]
    LostLedger {
        /// Where there is none.
        location: Location,
        /// The witness.
        witness: PathBuf,
        /// Its ledger.
        of: LedgerId,
        /// The record that it remembers.
        remembered: u64,
    },
    /// The witness cannot be reached or written.
    #[error("the witness {}: {why}", path.display())]
    Witness {
        /// The witness, or the folder for it.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A ledger of another format, whose rules decide differently.
    #[error(
        "the ledger was written by {} version of this program (format {found}); this version reads format {FORMAT}. Use the version that \
         wrote it",
        age(*found)
    )]
    OtherFormat {
        /// Its format.
        found: i64,
    },
    /// The store, the disk or the system failed.
    #[error("{0}")]
    Storage(String),
    /// The ledger stopped after a failure and takes nothing more.
    #[error(
        "the ledger has stopped{} and takes no more requests; nothing was charged. Fix the cause and open the ledger again",
        .0.iter().map(|cause| format!(" ({cause})")).collect::<String>()
    )]
    Stopped(#[source] Option<Error>),
    /// What was asked may or may not have been committed.
    #[error(
        "{}. The request may or may not be in the ledger: when the ledger can be reached again, repeat a charge with the same key, or \
         check the account",
        match .0 {
            Some(cause) => cause.to_string(),
            None => "the ledger's writer ended without an answer".to_string(),
        }
    )]
    UnknownOutcome(#[source] Option<Error>),
}

/// A value in front of what is wrong with it.
fn shown(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value}:") }
}

/// Which version wrote a ledger of another format.
fn age(format: i64) -> &'static str {
    if format < i64::from(FORMAT) { "an earlier" } else { "a later" }
}

fn damage(remembered: &Option<u64>) -> String {
    match remembered {
        Some(record) => format!(
            "one of its two slots cannot be read, and the other remembers record {record}, where this ledger ends; it may be an old \
             copy whose budget could be spent twice"
        ),
        None => "neither of its two slots can be read".to_string(),
    }
}

/// Where a record is, in front of what is wrong with it.
fn place(record: &Option<u64>) -> String {
    record.map_or_else(String::new, |record| format!("record {record}: "))
}
