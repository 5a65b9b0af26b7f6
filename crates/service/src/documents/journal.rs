//! The ledger and its journal: where it is, receipts, and whether it is whole.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use taximeter_ledger::{Event, Hash, LedgerId, Position, Receipt, Verified};
use utoipa::ToSchema;

use crate::documents::sight::Sight;

/// A journal record, in the bytes that its hash is of.
pub type RawRecord = Box<RawValue>;

/// The record of a receipt as it stands in the journal.
pub(crate) fn raw_record(receipt: &Receipt) -> RawRecord {
    RawValue::from_string(receipt.line().to_string()).expect("a receipt's line was read as JSON before")
}

/// The same, if all accounts in it may be seen: it says what each of them reads and has left.
pub(crate) fn seen_record(receipt: &Receipt, sight: &Sight) -> Option<RawRecord> {
    let is_seen = receipt.after().iter().all(|after| sight.sees(&after.account)) && sees_named(receipt, sight);
    is_seen.then(|| raw_record(receipt))
}

/// Whether all accounts that a record names may be seen. A charge that was refused changes those that it closed, and names others.
fn sees_named(receipt: &Receipt, sight: &Sight) -> bool {
    if *sight == Sight::All {
        return true;
    }
    match receipt.record().map(|record| record.event) {
        Ok(Event::Charge(charge) | Event::Halt(charge)) => charge.accounts().iter().all(|name| sight.sees(name)),
        // The secret in the first record opens the digests in all of them.
        Ok(Event::Ledger { .. }) | Err(_) => false,
        Ok(_) => true,
    }
}

/// A place in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PositionDocument {
    /// The record's number.
    pub sequence: u64,
    /// Its hash.
    pub hash: Hash,
}

impl From<Position> for PositionDocument {
    fn from(Position { sequence, hash }: Position) -> PositionDocument {
        PositionDocument { sequence, hash }
    }
}

/// A record of the journal, from which a ledger can be restored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReceiptDocument {
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record; null with the record, without which there is nothing to check it against.
    pub hash: Option<Hash>,
    /// The record as it stands in the journal; null if it is about accounts that may not be seen.
    pub record: Option<RawRecord>,
}

impl ReceiptDocument {
    /// A receipt, as far as it may be seen.
    pub fn new(receipt: &Receipt, sight: &Sight) -> ReceiptDocument {
        let record = seen_record(receipt, sight);
        let hash = record.is_some().then(|| receipt.hash());
        ReceiptDocument { ledger: receipt.ledger(), sequence: receipt.sequence(), hash, record }
    }
}

/// Which ledger it is and how far it got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LedgerDocument {
    /// Its identity.
    pub ledger: LedgerId,
    /// Where it is, without passwords.
    pub location: String,
    /// How many records it has.
    pub records: u64,
    /// How many accounts it has.
    pub accounts: usize,
    /// The newest record.
    pub newest: PositionDocument,
    /// The witness.
    pub witness: WitnessDocument,
}

/// The file that remembers how far a ledger got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WitnessDocument {
    /// Where it is.
    pub path: String,
    /// The newest record that it remembers.
    pub remembers: PositionDocument,
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyState {
    /// None was asked for yet.
    None,
    /// It is under way.
    Running,
    /// The journal is whole.
    Whole,
    /// A record, a state or the witness does not hold.
    Broken,
    /// It could not be done.
    Failed,
}

/// A verification of the whole journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VerifyDocument {
    /// How far it is.
    pub state: VerifyState,
    /// Whether the journal is whole; null until that is known.
    pub whole: Option<bool>,
    /// How many records are done.
    pub done: u64,
    /// Of how many.
    pub of: u64,
    /// How many records there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// How many accounts there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<usize>,
    /// The newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<PositionDocument>,
    /// The record that the witness remembers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<PositionDocument>,
    /// What is wrong, with the first bad record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What should be seen to although the journal is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The warning about a witness of which one place cannot be read.
pub const DAMAGED_WITNESS: &str = "one of the two places of the witness cannot be read, after a crash or because the file was damaged. \
                                   The ledger agrees with the other place, and the next charge writes the damaged one anew";

impl VerifyDocument {
    /// A verification that is so far.
    pub fn at(state: VerifyState, done: u64, of: u64) -> VerifyDocument {
        let (whole, records, accounts, newest) = (None, None, None, None);
        let (witness, reason, warning) = (None, None, None);
        VerifyDocument { state, whole, done, of, records, accounts, newest, witness, reason, warning }
    }

    /// What came of a verification.
    pub fn of(result: &Result<Verified, taximeter_ledger::Error>) -> VerifyDocument {
        match result {
            Ok(Verified { records, accounts, head, witness, is_witness_whole }) => VerifyDocument {
                whole: Some(true),
                records: Some(*records),
                accounts: Some(*accounts),
                newest: Some((*head).into()),
                witness: witness.map(PositionDocument::from),
                warning: (!is_witness_whole).then(|| DAMAGED_WITNESS.to_string()),
                ..VerifyDocument::at(VerifyState::Whole, *records, *records)
            },
            Err(error) => {
                let is_broken = error.is_integrity();
                let state = if is_broken { VerifyState::Broken } else { VerifyState::Failed };
                VerifyDocument {
                    whole: is_broken.then_some(false),
                    reason: Some(error.to_string()),
                    ..VerifyDocument::at(state, 0, 0)
                }
            }
        }
    }
}
