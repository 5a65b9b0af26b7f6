//! What is wrong with a key, a note or a proof.

/// What is wrong with a key, a note or a proof. Nothing that fails a check is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// A text that is not what it should be.
    #[error("{0}")]
    Format(String),
    /// A signature that is missing, or by another key.
    #[error("{0}")]
    Signature(String),
    /// A proof of inclusion that does not hold.
    #[error("{0}")]
    Proof(String),
    /// A proof of consistency that does not hold.
    #[error(
        "the tree of {size} records does not extend the one of {old} records: the history before record {old} differs, or the proof is \
         wrong"
    )]
    Fork {
        /// The size of the older tree.
        old: u64,
        /// The size of the newer one.
        size: u64,
    },
}

impl ProofError {
    /// Whether a check failed, of something that could be read.
    pub fn is_failed_check(&self) -> bool {
        !matches!(self, ProofError::Format(_))
    }
}
