//! Durable privacy budgets: accounts, atomic charges, and a journal that can be verified.
//!
//! A [`Ledger`] is open for writing: one thread owns the store and commits many waiting charges at once. A [`LedgerReader`] looks at the
//! same ledger beside it. What has been acknowledged is on disk; what is in the journal replays to the same state, bit for bit.

#![forbid(unsafe_code)]

mod account;
mod books;
mod charge;
mod clock;
mod commit_times;
mod connections;
mod cosigning;
mod error;
#[doc(hidden)]
pub mod files;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hash;
mod history;
mod journal;
mod ledger;
mod name;
#[cfg(feature = "openapi")]
mod openapi;
mod pulse;
mod quote;
mod reader;
mod refusals;
mod restore;
mod sequence;
mod sight;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod simulation;
mod store;
mod transfer;
mod tree;
mod verify;
mod witness;
mod writer;

pub use account::{Account, AccountSpec, Neighbours, Privacy, Reason, Standing, Unit};
pub use charge::{Charge, FreshReceipt, Outcome, Receipt, Refusal};
pub use commit_times::CommitTimes;
pub use cosigning::{Cosigner, SendRequest, Signing};
pub use error::{Error, ErrorKind};
pub use hash::Hash;
pub use history::History;
pub use journal::{After, Computed, Event, LedgerId, Position, Record};
pub use ledger::{Ledger, Options};
pub use name::{AccountName, Key, Note, ShortText, Who};
pub use quote::{Quote, QuotedAccount};
pub use reader::{LedgerReader, witness_path};
pub use refusals::RefusedCharge;
pub use restore::{Receipts, Restore, Restored, restore};
pub use sequence::{RefusedInSequence, RepeatedCharge, SequenceQuote, SequencedAccount};
pub use sight::{RawRecord, ReceiptDocument, Sight};
pub use store::Location;
pub use transfer::{ImportedJournal, import};
pub use verify::{Verified, clear_alarm, verify, verify_with};
