//! Checkpoints: how far a journal got, in a few lines that are signed.

use jiff::Timestamp;

use crate::{NodeHash, NoteSignature, ProofError, PublicKey, SecretKey, SignedNote, TrustedKey};

/// How far a journal got. The text that is signed is C2SP's `tlog-checkpoint`, with two more lines:
///
/// ```text
/// taximeter/0123456789abcdef0123456789abcdef
/// 42
/// CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
/// record 41 5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328
/// time 2026-11-18T12:00:00Z
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The ledger: a name and its identity.
    pub origin: String,
    /// How many records it has.
    pub size: u64,
    /// The root of the tree over them.
    pub root: NodeHash,
    /// The hash of the newest record.
    pub record: [u8; 32],
    /// When it was made, by the ledger's clock.
    pub time: Timestamp,
}

/// What a ledger's identity stands behind in an origin.
const NAME: &str = "taximeter/";

impl Checkpoint {
    /// The origin of a ledger, by its identity.
    pub fn origin_of(ledger: &str) -> String {
        format!("{NAME}{ledger}")
    }

    /// The identity of the ledger.
    pub fn ledger(&self) -> &str {
        self.origin.strip_prefix(NAME).unwrap_or_default()
    }

    /// The number of the newest record.
    pub fn newest(&self) -> u64 {
        self.size - 1
    }

    /// The text that is signed.
    fn text(&self) -> String {
        let Checkpoint { origin, size, root, record, time } = self;
        format!("{origin}\n{size}\n{root}\nrecord {} {}\ntime {time}\n", self.newest(), hex::encode(record))
    }

    fn parse(text: &str) -> Result<Checkpoint, ProofError> {
        let wrong = |why: &str| ProofError::Format(format!("this is not a checkpoint of a ledger: {why}"));
        let lines: Vec<&str> = text.lines().collect();
        let [origin, size, root, record, time] = lines[..] else { return Err(wrong("it does not have five lines")) };
        let size: u64 = size.parse().map_err(|_| wrong("its second line is not a number of records"))?;
        let record = record.rsplit(' ').next().unwrap_or_default();
        let mut bytes = [0; 32];
        hex::decode_to_slice(record, &mut bytes).map_err(|_| wrong("its fourth line has no hash"))?;
        let time = time.strip_prefix("time ").and_then(|time| time.parse().ok());
        let time = time.ok_or_else(|| wrong("its fifth line is not a time"))?;
        let origin = origin.to_string();
        if size == 0 || !origin.starts_with(NAME) {
            return Err(wrong("it does not belong to a ledger, or the ledger has no records"));
        }
        let checkpoint = Checkpoint { origin, size, root: NodeHash::parse(root)?, record: bytes, time };
        // The text that was signed has one form.
        if checkpoint.text() == text { Ok(checkpoint) } else { Err(wrong("it is not in its canonical form")) }
    }

    /// Signs it with each of the keys.
    pub fn sign<'a>(self, keys: impl IntoIterator<Item = &'a SecretKey>) -> SignedCheckpoint {
        let text = self.text();
        let signatures = keys.into_iter().map(|key| key.sign(&text)).collect();
        SignedCheckpoint { checkpoint: self, note: SignedNote::new(text, signatures) }
    }
}

/// A checkpoint with its signatures. They are checked by [`check`](SignedCheckpoint::check), not by reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    note: SignedNote,
}

/// Whose signatures a checkpoint needs.
#[derive(Clone, Debug)]
pub struct Trust {
    /// One of these must have signed it.
    pub signers: Vec<TrustedKey>,
    /// These are witnesses.
    pub cosigners: Vec<PublicKey>,
    /// How many of them must have cosigned it.
    pub required: usize,
}

impl SignedCheckpoint {
    /// Reads a note.
    pub fn parse(note: &str) -> Result<SignedCheckpoint, ProofError> {
        let note = SignedNote::parse(note)?;
        Ok(SignedCheckpoint { checkpoint: Checkpoint::parse(note.text())?, note })
    }

    /// What it says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The note with its signatures.
    pub fn note(&self) -> &SignedNote {
        &self.note
    }

    /// Adds the signature of a witness, if it is one.
    pub fn add_cosignature(&mut self, witness: &PublicKey, lines: &[NoteSignature]) -> Result<(), ProofError> {
        for line in lines {
            let alone = SignedNote::new(self.note.text().to_string(), vec![line.clone()]);
            if witness.cosigned(&alone).is_some() {
                self.note.add(line.clone());
                return Ok(());
            }
        }
        Err(ProofError::Signature(format!("the answer has no cosignature of {} for this checkpoint", witness.name())))
    }

    /// Adds the signatures of another copy of the same checkpoint.
    pub fn join(&mut self, other: SignedCheckpoint) {
        if self.checkpoint == other.checkpoint {
            other.note.into_signatures().into_iter().for_each(|signature| self.note.add(signature));
        }
    }

    /// The checkpoint with those of its signatures that are under the names of these keys.
    pub fn signed_by(&self, signers: &[TrustedKey]) -> SignedCheckpoint {
        let is_theirs = |signature: &&NoteSignature| signers.iter().any(|signer| signer.key.has_made(signature));
        let signatures = self.note.signatures().iter().filter(is_theirs).cloned().collect();
        SignedCheckpoint {
            checkpoint: self.checkpoint.clone(),
            note: SignedNote::new(self.note.text().to_string(), signatures),
        }
    }

    /// Checks that one of the ledger's signers signed it.
    pub fn check_signer(&self, signers: &[TrustedKey]) -> Result<(), ProofError> {
        let Checkpoint { origin, size, .. } = &self.checkpoint;
        let newest = self.checkpoint.newest();
        let own = signers.iter().filter(|signer| signer.key.name() == origin);
        let mut own = own.peekable();
        if own.peek().is_none() {
            return Err(ProofError::Signature(format!(
                "the checkpoint is from {origin}, but none of the signers' keys belongs to it"
            )));
        }
        match own.any(|signer| signer.records.contains(&newest) && signer.key.signed(&self.note)) {
            true => Ok(()),
            false => Err(ProofError::Signature(format!(
                "no signer whose key is valid for record {newest} signed the checkpoint of {size} records"
            ))),
        }
    }

    /// Checks all signatures that are needed. Says which witnesses cosigned it.
    pub fn check<'a>(&self, trust: &'a Trust) -> Result<Vec<&'a PublicKey>, ProofError> {
        self.check_signer(&trust.signers)?;
        let mut cosigners: Vec<&PublicKey> = Vec::new();
        for witness in trust.cosigners.iter().filter(|witness| witness.cosigned(&self.note).is_some()) {
            // One that is named twice counts once, also under two names.
            if !cosigners.iter().any(|counted| counted.is_same_key(witness)) {
                cosigners.push(witness);
            }
        }
        match cosigners.len() >= trust.required {
            true => Ok(cosigners),
            false => Err(ProofError::Signature(format!(
                "{} of the witnesses cosigned the checkpoint of {} records, but {} are required",
                cosigners.len(),
                self.checkpoint.size,
                trust.required
            ))),
        }
    }
}

impl std::fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.note.fmt(f)
    }
}

#[cfg(test)]
mod tests;
