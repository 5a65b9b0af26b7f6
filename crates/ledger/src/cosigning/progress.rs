//! How far each witness has cosigned, and what it says against the ledger.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taximeter_transparency::SignedCheckpoint;

use super::Signing;

/// What the threads of the witnesses, the writer and the handles share.
pub(crate) struct Cosignatures {
    state: Mutex<CosignedState>,
    changed: Condvar,
}

pub(super) struct CosignedState {
    required: usize,
    /// Of each witness, in order.
    witnesses: Vec<WitnessProgress>,
    /// The newest checkpoint that was sent, with the cosignatures so far.
    sent: Option<SignedCheckpoint>,
    /// The newest checkpoint with enough of them.
    cosigned: Option<SignedCheckpoint>,
    /// Whether the writer gave up waiting for the newest one.
    pub(super) is_late: bool,
}

#[derive(Default)]
struct WitnessProgress {
    /// The newest size that it cosigned for this process.
    cosigned: u64,
    /// What is wrong with the newest request.
    trouble: Option<CosigningFailure>,
    /// Whether it said last, without proof, that it cosigned something else than this ledger.
    is_doubtful: bool,
}

/// Why a witness did not cosign.
#[derive(Clone, Debug)]
pub(crate) enum CosigningFailure {
    /// It cannot be reached, or its answer cannot be used.
    Away(String),
    /// It says that it cosigned something else. The proof is a checkpoint that the ledger signed.
    Contradicted { claim: WitnessClaim, is_proven: bool },
}

/// What a witness says that it cosigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WitnessClaim {
    /// This many records, which is more than were sent.
    Ahead(u64),
    /// Another history.
    Forked,
}

impl Cosignatures {
    pub(crate) fn new(signing: &Signing) -> Arc<Cosignatures> {
        let witnesses = signing.cosigners.iter().map(|_| WitnessProgress::default()).collect();
        let (required, sent, cosigned, is_late) = (signing.required, None, None, false);
        let state = Mutex::new(CosignedState { required, witnesses, sent, cosigned, is_late });
        Arc::new(Cosignatures { state, changed: Condvar::new() })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, CosignedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest checkpoint with enough cosignatures.
    pub(crate) fn newest(&self) -> Option<SignedCheckpoint> {
        self.state().cosigned.clone()
    }

    /// Whether the writer waits in vain for cosignatures.
    pub(crate) fn is_late(&self) -> bool {
        self.state().is_late
    }

    /// The witnesses whose word is in doubt.
    pub(crate) fn doubtful(&self) -> Vec<usize> {
        let state = self.state();
        (0..state.witnesses.len()).filter(|at| state.witnesses[*at].is_doubtful).collect()
    }

    /// A newer checkpoint is sent.
    pub(super) fn begin(&self, checkpoint: SignedCheckpoint) {
        let mut state = self.state();
        state.sent = Some(checkpoint);
        state.witnesses.iter_mut().for_each(|witness| witness.trouble = None);
    }

    /// Waits for an answer of a witness, at most so long.
    pub(super) fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, CosignedState>,
        most: Duration,
    ) -> MutexGuard<'a, CosignedState> {
        #[cfg(any(test, feature = "simulation"))]
        if crate::simulation::is_running() {
            drop(state);
            crate::simulation::wait_for_witnesses(most);
            return self.state();
        }
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes the result of a request about this many records. A checkpoint in it has the cosignature of this witness only.
    pub(super) fn note(&self, at: usize, size: u64, result: Result<SignedCheckpoint, CosigningFailure>) {
        let mut state = self.state();
        let newest = state.sent.as_ref().map_or(0, |sent| sent.checkpoint().size);
        let witness = &mut state.witnesses[at];
        match result {
            Ok(cosigned) => {
                *witness = WitnessProgress { cosigned: size, trouble: None, is_doubtful: false };
                if let Some(sent) = state.sent.as_mut().filter(|_| size == newest) {
                    sent.join(cosigned);
                }
            }
            Err(failure) => {
                if let CosigningFailure::Contradicted { is_proven, .. } = failure {
                    witness.is_doubtful = !is_proven;
                }
                // What came of an older request says nothing about the newest.
                if size == newest {
                    witness.trouble = Some(failure);
                }
            }
        }
        if state.count(newest) >= state.required {
            state.cosigned = state.sent.clone();
            state.is_late = false;
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl CosignedState {
    /// How many have cosigned this many records.
    pub(super) fn count(&self, size: u64) -> usize {
        self.witnesses.iter().filter(|witness| witness.cosigned >= size).count()
    }

    /// How many have, or may before the request fails.
    pub(super) fn possible(&self, size: u64) -> usize {
        self.witnesses.iter().filter(|witness| witness.cosigned >= size || witness.trouble.is_none()).count()
    }

    /// Those that have not cosigned this many records, and what is known of why.
    pub(super) fn missing(&self, size: u64) -> impl Iterator<Item = (usize, WhyMissing<'_>)> {
        let missing = self.witnesses.iter().enumerate().filter(move |(_, witness)| witness.cosigned < size);
        missing.map(|(at, witness)| (at, WhyMissing(witness.trouble.as_ref())))
    }

    /// What a witness says that it cosigned, with a proof or without. Of several, the one with the least: where others write to the ledger,
    /// that may be theirs.
    pub(super) fn claim(&self, size: u64, with_proof: bool) -> Option<(usize, WitnessClaim)> {
        let claims = self.missing(size).filter_map(|(at, why)| match why.0 {
            Some(CosigningFailure::Contradicted { claim, is_proven }) if *is_proven == with_proof => Some((at, *claim)),
            _ => None,
        });
        claims.min_by_key(|(_, claim)| *claim)
    }

    /// How many say something that they do not prove.
    pub(super) fn unproven(&self, size: u64) -> usize {
        let unproven =
            |why: &WhyMissing<'_>| matches!(why.0, Some(CosigningFailure::Contradicted { is_proven: false, .. }));
        self.missing(size).filter(|(_, why)| unproven(why)).count()
    }
}

/// Why a witness has not cosigned, as the end of a sentence that begins with its name.
pub(super) struct WhyMissing<'a>(Option<&'a CosigningFailure>);

impl fmt::Display for WhyMissing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("has not answered"),
            Some(CosigningFailure::Away(why)) => write!(f, "did not: {why}"),
            Some(CosigningFailure::Contradicted { claim: WitnessClaim::Ahead(size), .. }) => {
                write!(f, "says that it cosigned {size} records")
            }
            Some(CosigningFailure::Contradicted { claim: WitnessClaim::Forked, .. }) => {
                f.write_str("says that it cosigned another history")
            }
        }
    }
}
