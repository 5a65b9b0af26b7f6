//! Defects that are planted at the simulated edges and in the writer, to show that the simulation finds each. They are
//! planted in the tests of this crate alone.

use crate::writer::WriterStep;

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// A commit returns before its sync.
    AcknowledgedBeforeSync,
    /// The witness learns of a record before it is committed.
    WitnessBeforeCommit,
    /// A process that starts does not find the keys that were used before.
    KeysForgottenOnRestart,
    /// One cosignature less is waited for than is demanded.
    CosignatureNotAwaited,
    /// A commit that got no answer is taken for one that did not happen.
    LostCommitTakenForFailed,
    /// A session that was made again does not find the keys that were used before.
    KeysForgottenOnReconnect,
    /// A frame is read without looking at its hash.
    TornFrameAccepted,
    /// A sync that failed is repeated, and the second result is believed.
    FailedSyncRepeated,
    /// The witness is written, and not synced.
    WitnessNotSynced,
    /// The head is not locked until the commit, so that two writers decide on the same books.
    HeadNotLocked,
    /// The states of accounts are written in a transaction after that of their records.
    StatesWrittenApart,
    /// A witness on another machine cosigns before it has stored what it cosigned.
    CosignedBeforeStored,
    /// What a lying witness shows passes for signed by the ledger.
    ForgeryTakenForSigned,
    /// The writer omits one of its own steps.
    Omitted(WriterStep),
}

impl Defect {
    #[cfg(test)]
    pub(super) const ALL: [Defect; 17] = [
        Defect::AcknowledgedBeforeSync,
        Defect::WitnessBeforeCommit,
        Defect::KeysForgottenOnRestart,
        Defect::CosignatureNotAwaited,
        Defect::LostCommitTakenForFailed,
        Defect::KeysForgottenOnReconnect,
        Defect::TornFrameAccepted,
        Defect::FailedSyncRepeated,
        Defect::WitnessNotSynced,
        Defect::HeadNotLocked,
        Defect::StatesWrittenApart,
        Defect::CosignedBeforeStored,
        Defect::ForgeryTakenForSigned,
        Defect::Omitted(WriterStep::AdvanceWitness),
        Defect::Omitted(WriterStep::AwaitCosignatures),
        Defect::Omitted(WriterStep::ResolveDoubt),
        Defect::Omitted(WriterStep::CoverKnown),
    ];
}
