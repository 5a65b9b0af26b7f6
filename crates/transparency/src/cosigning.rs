//! What a ledger sends to a witness, and what the witness may cosign: C2SP's `tlog-witness`.

use crate::{NodeHash, NoteSignature, ProofError, SecretKey, SignedCheckpoint, TrustedKey, check_consistency};

/// The longest proof of consistency.
const LONGEST_PROOF: usize = 63;

/// A checkpoint, and the proof that it extends the one that the witness cosigned last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosignRequest {
    /// The size that the witness cosigned last; 0 if none, or if it is not known.
    pub old: u64,
    /// The proof.
    pub path: Vec<NodeHash>,
    /// The checkpoint.
    pub checkpoint: SignedCheckpoint,
}

impl CosignRequest {
    /// The body of the request.
    pub fn to_text(&self) -> String {
        let path: String = self.path.iter().map(|node| format!("{node}\n")).collect();
        format!("old {}\n{path}\n{}", self.old, self.checkpoint)
    }

    /// Reads the body of a request.
    pub fn parse(text: &str) -> Result<CosignRequest, ProofError> {
        let wrong = |why: &str| ProofError::Format(format!("this is not a checkpoint with a proof: {why}"));
        let (head, note) = text.split_once("\n\n").ok_or_else(|| wrong("no empty line follows the proof"))?;
        let mut lines = head.lines();
        let old = lines.next().and_then(|line| line.strip_prefix("old ")?.parse::<u64>().ok());
        let old = old.ok_or_else(|| wrong("its first line is not `old` and a size"))?;
        let path = lines.map(NodeHash::parse).collect::<Result<Vec<_>, _>>()?;
        if path.len() > LONGEST_PROOF {
            return Err(wrong("the proof is too long"));
        }
        let request = CosignRequest { old, path, checkpoint: SignedCheckpoint::parse(note)? };
        if request.to_text() == text { Ok(request) } else { Err(wrong("it is not in its canonical form")) }
    }
}

/// What a witness remembers of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cosigned {
    /// The newest size that it cosigned.
    pub size: u64,
    /// The root of that tree.
    pub root: NodeHash,
}

/// Why a witness does not cosign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosignRefusal {
    /// It does not know the ledger.
    #[error("this witness has no key of the ledger {0}")]
    UnknownLedger(String),
    /// None of the keys that it knows signed the checkpoint.
    #[error("{0}")]
    NotSigned(ProofError),
    /// The sizes cannot be.
    #[error("the old size {old} is beyond the {size} records of the checkpoint")]
    WrongSizes {
        /// The old size.
        old: u64,
        /// The size of the checkpoint.
        size: u64,
    },
    /// It cosigned another size last: the ledger went back, or does not know.
    #[error("this witness cosigned {cosigned} records last")]
    Conflict {
        /// The size.
        cosigned: u64,
    },
    /// The checkpoint does not extend the one that it cosigned.
    #[error("{0}")]
    Inconsistent(ProofError),
}

/// Decides whether a witness may cosign, and says what it must remember before it does. `seen` is what it remembers of this ledger.
pub fn decide(
    request: &CosignRequest,
    signers: &[TrustedKey],
    seen: Option<Cosigned>,
) -> Result<Cosigned, CosignRefusal> {
    let checkpoint = request.checkpoint.checkpoint();
    if !signers.iter().any(|signer| signer.key.name() == checkpoint.origin) {
        return Err(CosignRefusal::UnknownLedger(checkpoint.origin.clone()));
    }
    request.checkpoint.check_signer(signers).map_err(CosignRefusal::NotSigned)?;
    let (old, size, root) = (request.old, checkpoint.size, checkpoint.root);
    if old > size {
        return Err(CosignRefusal::WrongSizes { old, size });
    }
    let cosigned = seen.map_or(0, |seen| seen.size);
    if old != cosigned {
        return Err(CosignRefusal::Conflict { cosigned });
    }
    match seen {
        Some(seen) if seen.size == size && seen.root != root => return Err(CosignRefusal::Conflict { cosigned }),
        Some(seen) => check_consistency((seen.size, seen.root), (size, root), &request.path),
        None if request.path.is_empty() => Ok(()),
        None => Err(ProofError::Fork { old, size }),
    }
    .map_err(CosignRefusal::Inconsistent)?;
    Ok(Cosigned { size, root })
}

impl CosignRequest {
    /// The cosignature, once what [`decide`] returned is on disk. The time is in seconds since 1970.
    pub fn cosign(&self, key: &SecretKey, time: u64) -> NoteSignature {
        key.cosign(self.checkpoint.note().text(), time)
    }
}

#[cfg(test)]
mod tests;
