//! The thread that sends checkpoints to one witness.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use taximeter_transparency::{Checkpoint, CosignRequest, NodeHash, NoteSignature, SignedCheckpoint};

use super::{CheckpointJob, Cosignatures, Cosigner, CosigningFailure, Signing, WitnessClaim};
use crate::error::Error;
use crate::writer::Shared;

/// How long a witness may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a witness is asked about one checkpoint. It answers with another size if other processes that write to the same ledger had
/// theirs cosigned in between; each time the size is larger, and only a few of theirs can be smaller than this one.
const ATTEMPTS: usize = 16;

/// How long to wait before the same is sent again.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct CheckpointSender {
    /// The place of the witness among all.
    at: usize,
    signing: Arc<Signing>,
    cosignatures: Arc<Cosignatures>,
    ledger: Arc<Shared>,
    /// The size that the witness cosigned last, as far as it is known.
    known: u64,
}

impl CheckpointSender {
    pub(super) fn new(at: usize, signing: Arc<Signing>, cosignatures: Arc<Cosignatures>, ledger: Arc<Shared>) -> Self {
        CheckpointSender { at, signing, cosignatures, ledger, known: 0 }
    }

    /// Sends what arrives, the newest alone, until it is cosigned. Ends when no more can arrive.
    pub(super) fn run(mut self, jobs: &Receiver<CheckpointJob>) {
        let mut unsent: Option<CheckpointJob> = None;
        loop {
            let next = match &unsent {
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(_) => jobs.recv_timeout(PAUSE),
            };
            let job = match (next, unsent.take()) {
                // A checkpoint covers all that came before it.
                (Ok(job), _) => jobs.try_iter().last().unwrap_or(job),
                (Err(RecvTimeoutError::Timeout), Some(job)) => job,
                (Err(_), _) => return,
            };
            let answer = self.ask(&job);
            unsent = self.note(job, answer);
        }
    }

    /// Tells the writer what came of a checkpoint. Returns it if it is to be sent again.
    pub(crate) fn note(
        &self,
        job: CheckpointJob,
        answer: Result<SignedCheckpoint, CosigningFailure>,
    ) -> Option<CheckpointJob> {
        let is_done = match &answer {
            Ok(_) => true,
            Err(CosigningFailure::Contradicted { is_proven, .. }) => *is_proven,
            Err(CosigningFailure::Away(_)) => false,
        };
        self.cosignatures.note(self.at, job.size(), answer);
        (!is_done).then_some(job)
    }

    fn cosigner(&self) -> &Cosigner {
        &self.signing.cosigners[self.at]
    }

    /// Asks the witness: once, and again if it turns out to remember another size than it was thought to. Returns the checkpoint with its
    /// cosignature.
    pub(crate) fn ask(&mut self, job: &CheckpointJob) -> Result<SignedCheckpoint, CosigningFailure> {
        let away = |why: &str| CosigningFailure::Away(why.to_string());
        let size = job.size();
        for _ in 0..ATTEMPTS {
            // It proved so before: other processes wrote more in between. A checkpoint of what they wrote takes the place of this one.
            if self.known > size {
                return Err(CosigningFailure::Contradicted { claim: WitnessClaim::Ahead(self.known), is_proven: true });
            }
            let path = self.proof(job).map_err(|error| away(&error.to_string()))?;
            let request = CosignRequest { old: self.known, path, checkpoint: (*job.checkpoint).clone() };
            let (status, body) = self.send("add-checkpoint", &request.to_text())?;
            return Err(match status {
                200 => {
                    let mut cosigned = request.checkpoint;
                    let lines = NoteSignature::parse_lines(&body);
                    lines
                        .and_then(|lines| cosigned.add_cosignature(&self.cosigner().key, &lines))
                        .map_err(|error| away(&error.to_string()))?;
                    self.known = size;
                    return Ok(cosigned);
                }
                409 => match body.trim().parse::<u64>() {
                    Ok(cosigned) if cosigned > size => self.contradicted(job, WitnessClaim::Ahead(cosigned))?,
                    Ok(cosigned) if cosigned == self.known => self.contradicted(job, WitnessClaim::Forked)?,
                    Ok(cosigned) => {
                        self.known = cosigned;
                        continue;
                    }
                    Err(_) => away("its answer cannot be read"),
                },
                422 => self.contradicted(job, WitnessClaim::Forked)?,
                403 => away("it does not know the key of a signer of this ledger"),
                404 => away("it does not know this ledger, or is not a witness"),
                _ => away(&format!("it answered with status {status}")),
            });
        }
        Err(away("it reports a different size each time"))
    }

    fn send(&self, path: &str, body: &str) -> Result<(u16, String), CosigningFailure> {
        let url = format!("{}/{path}", self.cosigner().url);
        (self.signing.send)(&url, body, PATIENCE).map_err(CosigningFailure::Away)
    }

    /// The witness says that it cosigned something else. It is asked for a checkpoint that the ledger signed and that this one does not
    /// extend. What it shows says what is proven, whatever it said before.
    fn contradicted(&mut self, job: &CheckpointJob, said: WitnessClaim) -> Result<CosigningFailure, CosigningFailure> {
        let (status, body) = self.send("latest-checkpoint", &job.checkpoint.to_string())?;
        if status >= 500 {
            return Err(CosigningFailure::Away(format!("it answered with status {status}")));
        }
        let unproven = CosigningFailure::Contradicted { claim: said, is_proven: false };
        let shown = SignedCheckpoint::parse(&body).ok().filter(|_| status == 200);
        let ledger = self.ledger.books().id();
        let Some(shown) = shown.filter(|shown| self.signing.has_signed(ledger, shown)) else { return Ok(unproven) };
        let Checkpoint { size, root, .. } = *shown.checkpoint();
        if size > job.size() {
            self.known = size;
            return Ok(CosigningFailure::Contradicted { claim: WitnessClaim::Ahead(size), is_proven: true });
        }
        let own = self.ledger.with_tree(|tree, store| tree.frontier(store, size));
        let own = own.map_err(|error| CosigningFailure::Away(error.to_string()))?.root();
        Ok(match own == root {
            // It shows what this ledger is, and so contradicts itself.
            true => unproven,
            false => CosigningFailure::Contradicted { claim: WitnessClaim::Forked, is_proven: true },
        })
    }

    /// The proof that the checkpoint extends the one that the witness cosigned last.
    fn proof(&self, job: &CheckpointJob) -> Result<Vec<NodeHash>, Error> {
        if self.known == job.before.size() {
            return Ok(job.before.extension(&job.added));
        }
        self.ledger.consistency(self.known, job.size())
    }
}
