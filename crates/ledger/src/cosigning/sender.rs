//! The thread that sends checkpoints to one witness.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use taximeter_transparency::{CosignRequest, NodeHash, NoteSignature};

use super::{CheckpointJob, Cosignatures, Cosigner, CosigningFailure, Signing};
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
        answer: Result<Vec<NoteSignature>, CosigningFailure>,
    ) -> Option<CheckpointJob> {
        let is_done = !matches!(answer, Err(CosigningFailure::Away(_)));
        let size = job.checkpoint.checkpoint().size;
        self.cosignatures.note(self.at, &self.cosigner().key, size, answer);
        (!is_done).then_some(job)
    }

    fn cosigner(&self) -> &Cosigner {
        &self.signing.cosigners[self.at]
    }

    /// Asks the witness: once, and again if it turns out to remember another size than it was thought to.
    pub(crate) fn ask(&mut self, job: &CheckpointJob) -> Result<Vec<NoteSignature>, CosigningFailure> {
        let away = |error: Error| CosigningFailure::Away(error.to_string());
        for _ in 0..ATTEMPTS {
            // It told so before: other processes wrote more in between. A checkpoint of what they wrote takes the place of this one.
            if self.known > job.checkpoint.checkpoint().size {
                return Err(CosigningFailure::Ahead(self.known));
            }
            let path = self.proof(job).map_err(away)?;
            let request = CosignRequest { old: self.known, path, checkpoint: (*job.checkpoint).clone() };
            let (checkpoint, url) = (job.checkpoint.checkpoint(), format!("{}/add-checkpoint", self.cosigner().url));
            let (status, body) =
                (self.signing.send)(&url, &request.to_text(), PATIENCE).map_err(CosigningFailure::Away)?;
            match status {
                200 => {
                    let lines =
                        NoteSignature::parse_lines(&body).map_err(|error| CosigningFailure::Away(error.to_string()))?;
                    let mut alone = (*job.checkpoint).clone();
                    alone
                        .add_cosignature(&self.cosigner().key, &lines)
                        .map_err(|error| CosigningFailure::Away(error.to_string()))?;
                    self.known = checkpoint.size;
                    return Ok(lines);
                }
                409 => match body.trim().parse::<u64>() {
                    Ok(cosigned) if cosigned > checkpoint.size => {
                        self.known = cosigned;
                        return Err(CosigningFailure::Ahead(cosigned));
                    }
                    Ok(cosigned) if cosigned == self.known => return Err(CosigningFailure::Forked),
                    Ok(cosigned) => self.known = cosigned,
                    Err(_) => return Err(CosigningFailure::Away("its answer cannot be read".to_string())),
                },
                422 => return Err(CosigningFailure::Forked),
                403 => {
                    return Err(CosigningFailure::Away(
                        "it does not know the key of a signer of this ledger".to_string(),
                    ));
                }
                404 => {
                    return Err(CosigningFailure::Away(
                        "it does not know this ledger, or is not a witness".to_string(),
                    ));
                }
                _ => return Err(CosigningFailure::Away(format!("it answered with status {status}"))),
            }
        }
        Err(CosigningFailure::Away("it remembers another size each time that it is asked".to_string()))
    }

    /// The proof that the checkpoint extends the one that the witness cosigned last.
    fn proof(&self, job: &CheckpointJob) -> Result<Vec<NodeHash>, Error> {
        if self.known == job.before.size() {
            return Ok(job.before.extension(&job.added));
        }
        self.ledger.consistency(self.known, job.checkpoint.checkpoint().size)
    }
}
