//! The ledger and its journal: its location, and whether it is intact.

use serde::{Deserialize, Serialize};
use taximeter_ledger::{LedgerId, Position, Verified};
use utoipa::ToSchema;

/// Which ledger it is, and its newest record.
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
    pub newest: Position,
    /// The witness.
    pub witness: WitnessDocument,
}

/// The file that remembers the newest record of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WitnessDocument {
    /// Where it is.
    pub path: String,
    /// The newest record that it remembers.
    pub remembers: Position,
}

/// The state of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyState {
    /// No verification was requested yet.
    None,
    /// It is running.
    Running,
    /// The journal is intact.
    Whole,
    /// A record, a state or the witness is wrong.
    Broken,
    /// It could not be completed.
    Failed,
}

/// A verification of the whole journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VerifyDocument {
    /// Its state.
    pub state: VerifyState,
    /// Whether the journal is intact; null until that is known.
    pub whole: Option<bool>,
    /// How many records are checked so far.
    pub done: u64,
    /// How many records there are to check.
    pub of: u64,
    /// How many records there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// How many accounts there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<usize>,
    /// The newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Position>,
    /// The record that the witness remembers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Position>,
    /// What is wrong, with the first bad record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the owner should look at although the journal is intact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The warning if one of the witness's places cannot be read.
pub const DAMAGED_WITNESS: &str = "one of the two slots of the witness cannot be read, after a crash or because the file was damaged. The \
                                   ledger agrees with the other slot, and the next charge repairs the damaged slot";

impl VerifyDocument {
    /// A verification in progress.
    pub fn at(state: VerifyState, done: u64, of: u64) -> VerifyDocument {
        let (whole, records, accounts, newest) = (None, None, None, None);
        let (witness, reason, warning) = (None, None, None);
        VerifyDocument { state, whole, done, of, records, accounts, newest, witness, reason, warning }
    }

    /// The result of a verification.
    pub fn of(result: &Result<Verified, taximeter_ledger::Error>) -> VerifyDocument {
        match result {
            Ok(Verified { records, accounts, head, witness, is_witness_whole }) => VerifyDocument {
                whole: Some(true),
                records: Some(*records),
                accounts: Some(*accounts),
                newest: Some(*head),
                witness: *witness,
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
