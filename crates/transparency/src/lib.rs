//! What lets an outsider check a ledger: a Merkle tree over its journal, signed checkpoints of that tree, proofs about them, and the rules
//! by which a witness cosigns. Nothing here reads a file, a clock or the network.
//!
//! The formats are those of transparency logs, so that their tools and witnesses work with a ledger: the tree of RFC 9162, and C2SP's
//! `signed-note`, `tlog-checkpoint`, `tlog-cosignature` and `tlog-witness`.

#![forbid(unsafe_code)]

mod checkpoint;
mod cosigning;
mod error;
mod key;
mod note;
mod tree;

pub use checkpoint::{Checkpoint, SignedCheckpoint, Trust};
pub use cosigning::{CosignRefusal, CosignRequest, Cosigned, decide};
pub use error::ProofError;
pub use key::{KeyUse, PublicKey, SecretKey, TrustedKey};
pub use note::{NoteSignature, SignedNote};
pub use tree::{Frontier, NodeHash, check_consistency, check_inclusion, consistency_path, inclusion_path};
