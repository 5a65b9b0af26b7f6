//! Witnesses on other machines, which cosign a checkpoint of every batch before it is acknowledged.
//!
//! A checkpoint of the whole journal goes to all witnesses at once, one request each, after the commit. A thread for each witness sends it
//! and keeps trying until it is cosigned or a newer one takes its place. A batch is acknowledged when enough of them have cosigned a
//! checkpoint that covers it. A witness that remembers more than the journal has, or another history, stops the ledger: an old copy was
//! put back, or it was rewritten.

mod sender;

use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taximeter_transparency::{Frontier, NodeHash, NoteSignature, PublicKey, SecretKey, SignedCheckpoint};

pub(crate) use self::sender::CheckpointSender;
#[cfg(test)]
pub(crate) use self::sender::PAUSE;
use crate::clock::instant;
use crate::error::{Error, ErrorKind};
use crate::journal::{LedgerId, Position};
use crate::tree::{checkpoint_of, leaf, read};
use crate::writer::Shared;

/// Who signs checkpoints, and which witnesses on other machines cosign them.
pub struct Signing {
    /// The keys of the ledger's own signers, all of which sign.
    pub signers: Vec<SecretKey>,
    /// The witnesses.
    pub cosigners: Vec<Cosigner>,
    /// How many of them must have cosigned a checkpoint that covers a charge before it is acknowledged.
    pub required: usize,
    /// Sends a request to a witness.
    pub send: SendRequest,
}

/// A witness on another machine.
#[derive(Clone, Debug)]
pub struct Cosigner {
    /// Where it is asked: the URL that `/add-checkpoint` is appended to.
    pub url: String,
    /// The key that it cosigns with.
    pub key: PublicKey,
}

/// Sends a body to a URL within a time limit, and returns the status and the body of the answer, or why there is none.
pub type SendRequest = Box<dyn Fn(&str, &str, Duration) -> Result<(u16, String), String> + Send + Sync>;

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Signing { signers, cosigners, required, .. } = self;
        write!(f, "signed by {signers:?}, cosigned by {required} of {cosigners:?}")
    }
}

impl Signing {
    /// Checks that the keys are of the ledger, and that enough witnesses are named.
    pub(crate) fn check(&self, ledger: LedgerId) -> Result<(), Error> {
        let origin = taximeter_transparency::Checkpoint::origin_of(&ledger.to_string());
        if let Some(other) = self.signers.iter().find(|key| key.public().name() != origin) {
            let needs = format!("is not a key of this ledger, {ledger}; make one for it");
            return Err(Error::parameter("signing key", other.public().name(), needs));
        }
        let (signers, cosigners) = (self.signers.len(), self.cosigners.len());
        if self.required > cosigners || (signers == 0 && cosigners > 0) {
            let needs = format!("cannot be met with {cosigners} witnesses and {signers} signing keys");
            return Err(Error::parameter("number of required cosignatures", self.required.to_string(), needs));
        }
        Ok(())
    }

    /// Signs a checkpoint with all keys.
    pub(crate) fn sign(&self, ledger: LedgerId, head: Position, root: NodeHash) -> SignedCheckpoint {
        checkpoint_of(ledger, head, root).sign(&self.signers)
    }
}

/// What the threads of the witnesses, the writer and the handles share.
pub(crate) struct Cosignatures {
    state: Mutex<CosignedState>,
    changed: Condvar,
}

struct CosignedState {
    required: usize,
    /// Of each witness, in order.
    witnesses: Vec<WitnessProgress>,
    /// The newest checkpoint that was sent, with the cosignatures so far.
    sent: Option<SignedCheckpoint>,
    /// The newest checkpoint with enough of them.
    cosigned: Option<SignedCheckpoint>,
    /// Whether the writer gave up waiting for the newest one.
    is_late: bool,
}

#[derive(Default)]
struct WitnessProgress {
    /// The newest size that it cosigned for this process.
    cosigned: u64,
    /// What is wrong with the newest request.
    trouble: Option<CosigningFailure>,
}

/// Why a witness did not cosign.
#[derive(Clone, Debug)]
pub(crate) enum CosigningFailure {
    /// It cannot be reached, or its answer cannot be used.
    Away(String),
    /// It cosigned more records than were sent.
    Ahead(u64),
    /// What it cosigned is another history.
    Forked,
}

/// Why a batch is not covered.
pub(crate) enum Uncovered {
    /// Too few witnesses answered. They may later.
    Few(Error),
    /// A witness knows more records than were sent: of another process, or of a ledger that was set back.
    Ahead { cosigner: usize, size: u64 },
    /// The ledger is not what a witness cosigned.
    Forked(Error),
}

impl Cosignatures {
    fn state(&self) -> MutexGuard<'_, CosignedState> {
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

    /// Waits for an answer of a witness, at most so long.
    fn wait<'a>(&'a self, state: MutexGuard<'a, CosignedState>, most: Duration) -> MutexGuard<'a, CosignedState> {
        #[cfg(test)]
        if crate::simulation::is_running() {
            drop(state);
            crate::simulation::wait_for_witnesses(most);
            return self.state();
        }
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// What came of a request.
    fn note(&self, at: usize, key: &PublicKey, size: u64, result: Result<Vec<NoteSignature>, CosigningFailure>) {
        let mut state = self.state();
        let newest = state.sent.as_ref().map_or(0, |sent| sent.checkpoint().size);
        match result {
            Ok(lines) => {
                state.witnesses[at] = WitnessProgress { cosigned: size, trouble: None };
                if let Some(sent) = state.sent.as_mut().filter(|_| size == newest) {
                    // The thread that sent it has checked the cosignature.
                    let _ = sent.add_cosignature(key, &lines);
                }
            }
            // What came of an older request says nothing about the newest.
            Err(trouble) if size == newest => state.witnesses[at].trouble = Some(trouble),
            Err(_) => {}
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
    fn count(&self, size: u64) -> usize {
        self.witnesses.iter().filter(|witness| witness.cosigned >= size).count()
    }
}

/// The witnesses, as the writer uses them.
pub(crate) struct Cosigners {
    signing: Arc<Signing>,
    shared: Arc<Cosignatures>,
    ledger: LedgerId,
    /// The tree of all that was sent.
    frontier: Frontier,
    senders: Vec<Sender<CheckpointJob>>,
    threads: Vec<JoinHandle<()>>,
}

/// What is sent, with what a proof needs.
#[derive(Clone)]
pub(crate) struct CheckpointJob {
    before: Arc<Frontier>,
    added: Arc<[NodeHash]>,
    checkpoint: Arc<SignedCheckpoint>,
}

impl Cosignatures {
    pub(crate) fn new(signing: &Signing) -> Arc<Cosignatures> {
        let witnesses = signing.cosigners.iter().map(|_| WitnessProgress::default()).collect();
        let (required, sent, cosigned, is_late) = (signing.required, None, None, false);
        let state = Mutex::new(CosignedState { required, witnesses, sent, cosigned, is_late });
        Arc::new(Cosignatures { state, changed: Condvar::new() })
    }
}

impl Cosigners {
    /// Starts a thread for each witness. The tree is that of the ledger's records.
    pub(crate) fn start(
        signing: &Arc<Signing>,
        cosignatures: &Arc<Cosignatures>,
        ledger: &Arc<Shared>,
        frontier: Frontier,
    ) -> Result<Cosigners, Error> {
        let (mut senders, mut threads) = (Vec::new(), Vec::new());
        for at in 0..signing.cosigners.len() {
            let (sender, jobs) = channel();
            let witness = CheckpointSender::new(at, Arc::clone(signing), Arc::clone(cosignatures), Arc::clone(ledger));
            senders.push(sender);
            #[cfg(test)]
            if crate::simulation::is_running() {
                crate::simulation::attend(witness, jobs);
                continue;
            }
            let thread = thread::Builder::new().name("cosigner".to_string()).spawn(move || witness.run(&jobs));
            threads.push(thread.map_err(|error| Error::storage(format!("no thread for a witness: {error}")))?);
        }
        let (signing, shared, ledger) = (Arc::clone(signing), Arc::clone(cosignatures), ledger.books().id());
        Ok(Cosigners { signing, shared, ledger, frontier, senders, threads })
    }

    /// Sends a checkpoint of the journal with this newest record to all witnesses. The records that were not yet sent are given, or
    /// else read.
    pub(crate) fn send(&mut self, head: Position, new: &[Position], ledger: &Shared) -> Result<(), Error> {
        let before = Arc::new(self.frontier.clone());
        let added: Vec<NodeHash> = match new.first() {
            Some(first) if first.sequence == before.size() => new.iter().copied().map(leaf).collect(),
            // Other processes wrote in between.
            _ => ledger.connections.look(|store| read(store, before.size()..head.sequence + 1))?,
        };
        added.iter().for_each(|leaf| self.frontier.push(*leaf));
        let checkpoint = self.signing.sign(self.ledger, head, self.frontier.root());
        let mut state = self.shared.state();
        state.sent = Some(checkpoint.clone());
        state.witnesses.iter_mut().for_each(|witness| witness.trouble = None);
        drop(state);
        let job = CheckpointJob { before, added: added.into(), checkpoint: Arc::new(checkpoint) };
        for sender in &self.senders {
            // A thread that has ended, by a defect, counts as a witness that does not answer.
            let _ = sender.send(job.clone());
        }
        Ok(())
    }

    /// How many records were sent.
    pub(crate) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Waits until enough witnesses have cosigned all that was sent.
    pub(crate) fn wait(&self, patience: Duration) -> Result<(), Uncovered> {
        self.wait_for(self.signing.required, patience)
    }

    /// At the start, enough must answer that one of them has cosigned every record that was ever acknowledged.
    pub(crate) fn wait_at_start(&self, patience: Duration) -> Result<(), Uncovered> {
        let (all, required) = (self.signing.cosigners.len(), self.signing.required);
        self.wait_for(if required == 0 { 0 } else { required.max(all + 1 - required) }, patience)
    }

    fn wait_for(&self, wanted: usize, patience: Duration) -> Result<(), Uncovered> {
        let (size, until) = (self.size(), instant() + patience);
        let mut state = self.shared.state();
        loop {
            for (cosigner, witness) in state.witnesses.iter().enumerate().filter(|(_, witness)| witness.cosigned < size)
            {
                let name = || self.signing.cosigners[cosigner].key.name().to_string();
                match witness.trouble {
                    Some(CosigningFailure::Ahead(size)) => return Err(Uncovered::Ahead { cosigner, size }),
                    Some(CosigningFailure::Forked) => {
                        return Err(Uncovered::Forked(
                            ErrorKind::CosignedOther { cosigner: name(), newest: size - 1 }.into(),
                        ));
                    }
                    Some(CosigningFailure::Away(_)) | None => {}
                }
            }
            if state.count(size) >= wanted {
                state.is_late = false;
                return Ok(());
            }
            let undecided = |witness: &&WitnessProgress| witness.cosigned >= size || witness.trouble.is_none();
            let left = until.saturating_duration_since(instant());
            if left.is_zero() || state.witnesses.iter().filter(undecided).count() < wanted {
                state.is_late = true;
                return Err(Uncovered::Few(self.too_few(&state, size, wanted)));
            }
            state = self.shared.wait(state, left);
        }
    }

    fn too_few(&self, state: &CosignedState, size: u64, wanted: usize) -> Error {
        let missing =
            state.witnesses.iter().zip(&self.signing.cosigners).filter(|(witness, _)| witness.cosigned < size);
        let why: Vec<String> = missing
            .map(|(witness, cosigner)| match &witness.trouble {
                Some(CosigningFailure::Away(why)) => format!("{}: {why}", cosigner.key.name()),
                _ => format!("{} has not answered", cosigner.key.name()),
            })
            .collect();
        let have = state.count(size);
        Error::busy(format!("{have} of the witnesses cosigned, and {wanted} must ({})", why.join("; ")))
    }

    /// The error for a ledger that is behind a witness.
    pub(crate) fn behind(&self, cosigner: usize, cosigned: u64) -> Error {
        let cosigner = self.signing.cosigners[cosigner].key.name().to_string();
        ErrorKind::CosignedFurther { cosigner, newest: self.size() - 1, cosigned: cosigned - 1 }.into()
    }
}

impl Drop for Cosigners {
    fn drop(&mut self) {
        self.senders.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to say.
            let _ = thread.join();
        }
    }
}
