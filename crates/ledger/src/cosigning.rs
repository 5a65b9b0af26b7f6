//! Witnesses on other machines, which cosign a checkpoint of every batch before it is acknowledged.
//!
//! A checkpoint of the whole journal goes to all witnesses at once, one request each, after the commit. A thread for each witness sends it
//! and keeps trying until it is cosigned or a newer one takes its place. A batch is acknowledged when enough of them have cosigned a
//! checkpoint that covers it. A witness that remembers more than the journal has, or another history, stops the ledger: an old copy was
//! put back, or it was rewritten. It must prove that by a checkpoint that the ledger signed, which no one else can make. Without a proof
//! it counts as one that did not cosign, and does not stop a ledger that enough others cosign.

mod progress;
mod sender;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taximeter_transparency::{Checkpoint, Frontier, NodeHash, PublicKey, SecretKey, SignedCheckpoint};

use self::progress::CosignedState;
pub(crate) use self::progress::{Cosignatures, CosigningFailure, WitnessClaim};
pub(crate) use self::sender::CheckpointSender;
#[cfg(any(test, feature = "simulation"))]
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
    /// Where it is asked: the URL that `/add-checkpoint` and `/latest-checkpoint` are appended to.
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
    /// Checks that the keys are of the ledger, and that enough witnesses are named, each once.
    pub(crate) fn check(&self, ledger: LedgerId) -> Result<(), Error> {
        let origin = Checkpoint::origin_of(&ledger.to_string());
        if let Some(other) = self.signers.iter().find(|key| key.public().name() != origin) {
            let needs = format!("is not a key of this ledger, {ledger}; make one for it");
            return Err(Error::parameter("signing key", other.public().name(), needs));
        }
        let (signers, cosigners) = (self.signers.len(), self.cosigners.len());
        if self.required > cosigners || (signers == 0 && cosigners > 0) {
            let needs = format!("cannot be met with {cosigners} witnesses and {signers} signing keys");
            return Err(Error::parameter("number of required cosignatures", self.required.to_string(), needs));
        }
        self.named_twice().map_or(Ok(()), |[one, other]| {
            let needs = format!("is the same witness as {one}, and would count twice; name each witness once");
            Err(Error::parameter("witness", other.to_string(), needs))
        })
    }

    /// Two of the witnesses that have one key, and so would cosign together.
    fn named_twice(&self) -> Option<[&PublicKey; 2]> {
        let keys: Vec<&PublicKey> = self.cosigners.iter().map(|cosigner| &cosigner.key).collect();
        keys.iter().enumerate().find_map(|(at, key)| {
            let earlier = keys[..at].iter().find(|earlier| earlier.is_same_key(key))?;
            Some([*earlier, *key])
        })
    }

    /// Signs a checkpoint with all keys.
    pub(crate) fn sign(&self, ledger: LedgerId, head: Position, root: NodeHash) -> SignedCheckpoint {
        checkpoint_of(ledger, head, root).sign(&self.signers)
    }

    /// Whether one of the keys signed a checkpoint of the ledger.
    fn has_signed(&self, ledger: LedgerId, shown: &SignedCheckpoint) -> bool {
        shown.checkpoint().origin == Checkpoint::origin_of(&ledger.to_string())
            && self.signers.iter().any(|key| key.public().signed(shown.note()))
    }
}

/// Why a batch is not covered.
pub(crate) enum Uncovered {
    /// Too few witnesses answered. They may later.
    Few(Error),
    /// A witness says that it cosigned more records than were sent: of another process, or of a ledger that was set back. With a doubt,
    /// it shows no proof and the others may still be enough; then this error is what is to be told.
    Ahead { cosigner: usize, size: u64, doubt: Option<Error> },
    /// The ledger is not what a witness cosigned.
    Forked(Error),
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

impl CheckpointJob {
    /// How many records the checkpoint is of.
    fn size(&self) -> u64 {
        self.checkpoint.checkpoint().size
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
            #[cfg(any(test, feature = "simulation"))]
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
        self.shared.begin(checkpoint.clone());
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
            if let Some((cosigner, claim)) = state.claim(size, true) {
                return Err(self.contradicted(cosigner, claim, None));
            }
            if state.count(size) >= wanted {
                state.is_late = false;
                return Ok(());
            }
            let left = until.saturating_duration_since(instant());
            if left.is_zero() || state.possible(size) < wanted {
                state.is_late = true;
                return Err(self.missing(&state, wanted));
            }
            state = self.shared.wait(state, left);
        }
    }

    /// Why too few have cosigned. If it is for what they say and do not prove, they are believed: the ledger cannot go on anyway.
    fn missing(&self, state: &CosignedState, wanted: usize) -> Uncovered {
        let (size, few) = (self.size(), self.too_few(state, wanted));
        let Some((cosigner, claim)) = state.claim(size, false) else { return Uncovered::Few(few) };
        let may_be_enough = self.signing.cosigners.len() - state.unproven(size) >= wanted;
        self.contradicted(cosigner, claim, may_be_enough.then_some(few))
    }

    fn contradicted(&self, cosigner: usize, claim: WitnessClaim, doubt: Option<Error>) -> Uncovered {
        match (claim, doubt) {
            (WitnessClaim::Ahead(size), doubt) => Uncovered::Ahead { cosigner, size, doubt },
            (WitnessClaim::Forked, Some(few)) => Uncovered::Few(few),
            (WitnessClaim::Forked, None) => {
                let (cosigner, newest) = (self.name(cosigner), self.size() - 1);
                Uncovered::Forked(ErrorKind::CosignedOther { cosigner, newest }.into())
            }
        }
    }

    fn too_few(&self, state: &CosignedState, wanted: usize) -> Error {
        let size = self.size();
        let missing = state.missing(size);
        let why: Vec<String> = missing.map(|(at, why)| format!("{} {why}", self.name(at))).collect();
        let have = state.count(size);
        Error::busy(format!("{have} of the witnesses cosigned, and {wanted} must ({})", why.join("; ")))
    }

    fn name(&self, cosigner: usize) -> String {
        self.signing.cosigners[cosigner].key.name().to_string()
    }

    /// The error for a ledger that is behind a witness.
    pub(crate) fn behind(&self, cosigner: usize, cosigned: u64) -> Error {
        let (cosigner, newest) = (self.name(cosigner), self.size() - 1);
        ErrorKind::CosignedFurther { cosigner, newest, cosigned: cosigned - 1 }.into()
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
