//! Steps between a commit and its acknowledgement that the simulation omits one by one, to show that it finds each omission.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterStep {
    /// The local witness learns of the committed records.
    AdvanceWitness,
    /// The writer waits for cosignatures.
    AwaitCosignatures,
    /// The writer looks for a commit whose outcome is unknown.
    ResolveDoubt,
    /// A charge of another process is covered before it is acknowledged again.
    CoverKnown,
}

/// Whether this run omits a step.
#[cfg(any(test, feature = "simulation"))]
pub(crate) use crate::simulation::is_omitted;

/// No step is ever omitted.
#[cfg(not(any(test, feature = "simulation")))]
pub(crate) const fn is_omitted(_: WriterStep) -> bool {
    false
}
