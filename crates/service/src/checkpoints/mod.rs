//! Checkpoints: signed on request and at intervals, stored in a file next to the ledger, and proofs against them.
//!
//! A [`Caller`] requests them from a server. The functions here do the same for an owner at the machine. [`check_export`] needs only an
//! export.

mod file;

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use taximeter_ledger::{
    Error, ErrorKind, Hash, Key, Ledger, LedgerId, LedgerReader, Location, Receipt, Sight, Verified, verify_with,
};
use taximeter_transparency::{Checkpoint, Frontier, NodeHash, PublicKey, SecretKey, SignedCheckpoint};

use self::file::CheckpointFile;
use crate::caller::{Action, Caller};
use crate::{CheckpointDocument, Code, ConsistencyProof, Problem, ReceiptDocument, ReceiptProof};

/// Signs a checkpoint of all records of a ledger on this machine, and stores it.
pub fn make(
    reader: &mut LedgerReader,
    location: &Location,
    signers: &[SecretKey],
) -> Result<SignedCheckpoint, Problem> {
    let signed = reader.checkpoint()?.sign(signers);
    keep(location, reader.id(), &signed, signers)?;
    Ok(signed)
}

/// Stores a checkpoint that these keys signed.
pub fn keep(
    location: &Location,
    ledger: LedgerId,
    signed: &SignedCheckpoint,
    signers: &[SecretKey],
) -> Result<(), Problem> {
    let signers: Vec<PublicKey> = signers.iter().map(|key| key.public().clone()).collect();
    CheckpointFile::of(location, ledger)?.keep(signed, &signers)
}

/// The newest stored checkpoint of a ledger on this machine.
pub fn newest(reader: &LedgerReader, location: &Location) -> Result<SignedCheckpoint, Problem> {
    let newest = CheckpointFile::of(location, reader.id())?.read()?.pop();
    newest.ok_or_else(|| none("none was signed yet"))
}

/// The newest stored checkpoint, if it covers at least this many records.
fn kept(reader: &LedgerReader, location: &Location, size: u64) -> Result<SignedCheckpoint, Problem> {
    let signed = newest(reader, location)?;
    let newest = signed.checkpoint().size;
    match newest >= size {
        true => Ok(signed),
        false => Err(none(&format!("the newest checkpoint covers only {newest} records; sign a new one"))),
    }
}

/// The proof that the newest stored checkpoint extends the journal's first records.
pub fn consistency(reader: &mut LedgerReader, location: &Location, from: u64) -> Result<ConsistencyProof, Problem> {
    let signed = kept(reader, location, from)?;
    let consistency = reader.consistency(from, signed.checkpoint().size)?;
    Ok(ConsistencyProof { from, consistency, checkpoint: signed.to_string() })
}

/// A record with the proof that it is in the journal of the newest stored checkpoint.
pub fn receipt_proof(
    reader: &mut LedgerReader,
    location: &Location,
    receipt: &Receipt,
) -> Result<ReceiptProof, Problem> {
    let signed = kept(reader, location, receipt.sequence() + 1)?;
    let inclusion = reader.inclusion(receipt.sequence(), signed.checkpoint().size)?;
    Ok(proof(receipt, &Sight::All, inclusion, &signed))
}

fn proof(receipt: &Receipt, sight: &Sight, inclusion: Vec<NodeHash>, signed: &SignedCheckpoint) -> ReceiptProof {
    let (receipt, record_hash) = (ReceiptDocument::new(receipt, sight), receipt.hash());
    ReceiptProof { receipt, record_hash, inclusion, checkpoint: signed.to_string() }
}

/// Checks that an export begins with the journal of a checkpoint. The export is enough: the leaves are the hashes of its lines.
pub fn check_export(checkpoint: &Checkpoint, export: &mut dyn BufRead) -> Result<(), Problem> {
    const LONGEST_LINE: u64 = 1 << 30;
    let (mut frontier, mut line, mut newest) = (Frontier::default(), String::new(), Hash::NONE);
    while frontier.size() < checkpoint.size {
        line.clear();
        let read = Read::take(&mut *export, LONGEST_LINE).read_line(&mut line);
        read.map_err(|error| Problem::new(Code::Storage, format!("the export cannot be read: {error}")))?;
        let record = line.trim_end_matches(['\n', '\r']);
        if record.is_empty() || record.starts_with("{\"end\":") {
            let (size, records) = (checkpoint.size, frontier.size());
            let detail =
                format!("the export has {records} records, but the checkpoint covers {size}: records are missing");
            return Err(Problem::new(Code::Integrity, detail));
        }
        newest = Hash::of(record.as_bytes());
        frontier.push(NodeHash::leaf(newest.as_bytes()));
    }
    match frontier.root() == checkpoint.root && *newest.as_bytes() == checkpoint.record {
        true => Ok(()),
        false => {
            let size = checkpoint.size;
            let detail = format!("the first {size} records of the export are not those that the checkpoint covers");
            Err(Problem::new(Code::Integrity, detail))
        }
    }
}

/// Verifies a ledger as [`taximeter_ledger::verify`] does, and compares the journal with the stored checkpoints.
pub fn verify(
    location: &Location,
    witness: Option<&Path>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    let kept = |ledger: LedgerId| {
        let signed = CheckpointFile::of(location, ledger)?.read().map_err(|problem| match problem.code {
            Code::Integrity => Error::from(ErrorKind::Integrity { record: None, why: problem.detail }),
            _ => Error::from(ErrorKind::Storage(problem.detail)),
        })?;
        let mut checkpoints: Vec<Checkpoint> = signed.iter().map(|signed| signed.checkpoint().clone()).collect();
        checkpoints.sort_by_key(|checkpoint| checkpoint.size);
        Ok(checkpoints)
    };
    verify_with(location, witness, &kept, progress)
}

/// The checkpoints of a server: the newest in memory, and the stored ones.
pub(crate) struct Checkpoints {
    file: CheckpointFile,
    newest: Mutex<Option<SignedCheckpoint>>,
}

impl Checkpoints {
    pub(crate) fn open(ledger: &Ledger) -> Result<Checkpoints, Problem> {
        let file = CheckpointFile::of(ledger.location(), ledger.id())?;
        let newest = file.read()?.pop();
        Ok(Checkpoints { file, newest: Mutex::new(newest) })
    }

    fn newest(&self) -> MutexGuard<'_, Option<SignedCheckpoint>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records the newest one covers; 0 if there is none.
    pub(crate) fn size(&self, ledger: &Ledger) -> u64 {
        let size = |signed: &SignedCheckpoint| signed.checkpoint().size;
        let cosigned = ledger.cosigned_checkpoint().as_ref().map_or(0, size);
        self.newest().as_ref().map_or(0, size).max(cosigned)
    }

    /// A checkpoint of at least this many records, if one exists or can be signed now.
    fn covering(&self, ledger: &Ledger, size: u64) -> Result<Option<SignedCheckpoint>, Problem> {
        let covers = |signed: &SignedCheckpoint| signed.checkpoint().size >= size.max(1);
        if let Some(newest) = self.newest().clone().filter(covers) {
            return Ok(Some(newest));
        }
        let Some(signed) = ledger.checkpoint()? else { return Ok(None) };
        let mut newest = self.newest();
        if newest.as_ref().is_none_or(|newest| newest.checkpoint().size < signed.checkpoint().size) {
            *newest = Some(signed.clone());
        }
        Ok(Some(signed).filter(covers))
    }

    /// Signs a checkpoint of all records, and stores it.
    pub(crate) fn make(&self, ledger: &Ledger) -> Result<SignedCheckpoint, Problem> {
        let signed = ledger.checkpoint()?.ok_or_else(|| none("this server has no key to sign with"))?;
        self.file.keep(&signed, &ledger.signers())?;
        *self.newest() = Some(signed.clone());
        Ok(signed)
    }

    /// Stores a checkpoint if there are records that the last stored one does not cover. Returns how many it covers.
    pub(crate) fn keep_newer(&self, ledger: &Ledger, kept: u64) -> Result<u64, Problem> {
        match ledger.signers().is_empty() || kept > ledger.position().sequence {
            true => Ok(kept),
            false => Ok(self.make(ledger)?.checkpoint().size),
        }
    }
}

fn none(why: &str) -> Problem {
    Problem::new(Code::NotFound, format!("there is no checkpoint: {why}"))
}

impl Caller {
    /// The newest checkpoint.
    pub async fn checkpoint(&self) -> Result<CheckpointDocument, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        let newest = self.blocking(|caller| {
            let records = caller.ledger().position().sequence + 1;
            caller.covering(records).or_else(|_| caller.covering(1))
        });
        Ok(CheckpointDocument::new(&newest.await?))
    }

    /// Signs a checkpoint of all records, and stores it.
    pub async fn make_checkpoint(&self) -> Result<CheckpointDocument, Problem> {
        self.require(Action::Audit)?;
        self.refresh().await?;
        let signed = self.blocking(|caller| caller.service.checkpoints.make(caller.ledger())).await?;
        Ok(CheckpointDocument::new(&signed))
    }

    /// The proof that the newest checkpoint extends the journal's first records.
    pub async fn consistency_proof(&self, from: u64) -> Result<ConsistencyProof, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        self.blocking(move |caller| {
            let signed = caller.covering(from)?;
            let consistency = caller.ledger().consistency(from, signed.checkpoint().size)?;
            Ok(ConsistencyProof { from, consistency, checkpoint: signed.to_string() })
        })
        .await
    }

    /// A record by its number, with the proof that it is in the journal of a checkpoint.
    pub async fn receipt_proof(&self, sequence: u64) -> Result<ReceiptProof, Problem> {
        let receipt = self.seen_receipt(sequence).await?;
        self.proof_of(receipt).await
    }

    /// The record of one of the caller's charges, by its key, with its proof.
    pub async fn receipt_proof_of(&self, key: &Key) -> Result<ReceiptProof, Problem> {
        let receipt = self.own_receipt(key).await?;
        self.proof_of(receipt).await
    }

    async fn proof_of(&self, receipt: Receipt) -> Result<ReceiptProof, Problem> {
        self.blocking(move |caller| {
            let signed = caller.covering(receipt.sequence() + 1)?;
            let inclusion = caller.ledger().inclusion(receipt.sequence(), signed.checkpoint().size)?;
            Ok(proof(&receipt, caller.sight(), inclusion, &signed))
        })
        .await
    }

    fn covering(&self, size: u64) -> Result<SignedCheckpoint, Problem> {
        let signed = self.service.checkpoints.covering(self.ledger(), size)?;
        signed.ok_or_else(|| none("none covers this many records, and this server has no key to sign one"))
    }
}
