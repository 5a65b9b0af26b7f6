//! Checkpoints and proofs, and how anyone checks them without the ledger.

use serde::{Deserialize, Serialize};
use taximeter_ledger::{Hash, LedgerId, ReceiptDocument, Record};
use taximeter_transparency::{
    NodeHash, ProofError, PublicKey, SignedCheckpoint, Trust, check_consistency, check_inclusion,
};
use utoipa::ToSchema;

/// A signed checkpoint of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointDocument {
    /// How many records the journal had.
    pub size: u64,
    /// The root of the Merkle tree over them, in base64.
    #[schema(value_type = String)]
    pub root: NodeHash,
    /// When it was made.
    pub time: String,
    /// The text that was signed and its signatures, as a signed note of C2SP.
    pub checkpoint: String,
}

/// A record, with the proof that it is in the journal that a signed checkpoint covers. Anyone can check it without the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReceiptProof {
    /// The record, without what the caller may not see.
    pub receipt: ReceiptDocument,
    /// The hash of the record, also if the record is not shown: without the ledger's secret it reveals nothing.
    pub record_hash: Hash,
    /// The proof of RFC 9162, from the record up, in base64.
    #[schema(value_type = Vec<String>)]
    pub inclusion: Vec<NodeHash>,
    /// The text that was signed and its signatures, as a signed note of C2SP.
    pub checkpoint: String,
}

/// The proof that a signed checkpoint extends the journal's first records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConsistencyProof {
    /// How many records the older checkpoint covers.
    pub from: u64,
    /// The proof of RFC 9162, in base64.
    #[schema(value_type = Vec<String>)]
    pub consistency: Vec<NodeHash>,
    /// The newer checkpoint, signed.
    pub checkpoint: String,
}

impl CheckpointDocument {
    /// A checkpoint for others.
    pub fn new(signed: &SignedCheckpoint) -> CheckpointDocument {
        let checkpoint = signed.checkpoint();
        let (size, root, time) = (checkpoint.size, checkpoint.root, checkpoint.time.to_string());
        CheckpointDocument { size, root, time, checkpoint: signed.to_string() }
    }
}

impl ReceiptProof {
    /// Checks that the record is in the journal of the checkpoint, and that the checkpoint has the required signatures. Returns the
    /// witnesses that cosigned it.
    pub fn check<'a>(&self, trust: &'a Trust) -> Result<(SignedCheckpoint, Vec<&'a PublicKey>), ProofError> {
        let ReceiptDocument { ledger, sequence, hash, record } = &self.receipt;
        let signed = SignedCheckpoint::parse(&self.checkpoint)?;
        let cosigners = signed.check(trust)?;
        let checkpoint = signed.checkpoint();
        if LedgerId::parse(checkpoint.ledger()) != Some(*ledger) {
            return Err(ProofError::Proof(format!(
                "the receipt is from the ledger {ledger}, but the checkpoint is from {}",
                checkpoint.origin
            )));
        }
        if hash.is_some_and(|hash| hash != self.record_hash) {
            return Err(ProofError::Proof("the receipt and the proof are about different hashes".to_string()));
        }
        if let Some(record) = record {
            self.check_record(record.as_str())?;
        }
        let leaf = NodeHash::leaf(self.record_hash.as_bytes());
        check_inclusion(leaf, *sequence, checkpoint.size, &self.inclusion, checkpoint.root)?;
        Ok((signed, cosigners))
    }

    /// Checks the record against its hash. A record that a program only formatted differently counts as unchanged.
    fn check_record(&self, text: &str) -> Result<(), ProofError> {
        let is_of = |text: &str| Hash::of(text.as_bytes()) == self.record_hash;
        if is_of(text) {
            return Ok(());
        }
        Err(match serde_json::from_str::<Record>(text) {
            Ok(record) if is_of(&record.line()) => ProofError::Format(
                "the record was reformatted, so its hash cannot be checked; use the file exactly as it was printed"
                    .to_string(),
            ),
            _ => {
                let sequence = self.receipt.sequence;
                ProofError::Proof(format!("record {sequence} was changed: it does not match its hash"))
            }
        })
    }
}

impl ConsistencyProof {
    /// Checks that the checkpoint has the required signatures and extends an older one. Returns the witnesses that cosigned it.
    pub fn check<'a>(
        &self,
        old: &SignedCheckpoint,
        trust: &'a Trust,
    ) -> Result<(SignedCheckpoint, Vec<&'a PublicKey>), ProofError> {
        let signed = SignedCheckpoint::parse(&self.checkpoint)?;
        let cosigners = signed.check(trust)?;
        let (before, now) = (old.checkpoint(), signed.checkpoint());
        if before.origin != now.origin {
            return Err(ProofError::Proof(format!(
                "the checkpoints are from two ledgers, {} and {}",
                before.origin, now.origin
            )));
        }
        if self.from != before.size {
            let (from, size) = (self.from, before.size);
            return Err(ProofError::Format(format!(
                "the proof starts at {from} records, but the older checkpoint covers {size}"
            )));
        }
        check_consistency((before.size, before.root), (now.size, now.root), &self.consistency)?;
        Ok((signed, cosigners))
    }
}
