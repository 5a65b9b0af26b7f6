//! The verification of the journal: one at a time, shared by all callers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use taximeter_ledger::Ledger;

use crate::checkpoints::verify;
use crate::log::{Log, LogEvent};
use crate::{Code, Problem, VerifyDocument, VerifyState};

/// The verification under way, or the result of the last one.
#[derive(Default)]
pub(crate) struct Verification {
    shared: Arc<Progress>,
}

#[derive(Default)]
struct Progress {
    stage: Mutex<Stage>,
    done: AtomicU64,
    of: AtomicU64,
}

#[derive(Default)]
enum Stage {
    #[default]
    NotStarted,
    Running,
    Done(VerifyDocument),
}

impl Verification {
    /// Starts a verification, unless one is already running.
    pub(crate) fn start(&self, ledger: &Ledger, log: &Log) -> Result<VerifyDocument, Problem> {
        let mut stage = self.shared.stage();
        if !matches!(*stage, Stage::Running) {
            self.shared.done.store(0, Ordering::Relaxed);
            self.shared.of.store(ledger.position().sequence + 1, Ordering::Relaxed);
            let (shared, location, witness) =
                (Arc::clone(&self.shared), ledger.location().clone(), ledger.witness().to_path_buf());
            let log = log.clone();
            // A separate thread: shutdown does not wait for it.
            let work = move || {
                yield_to_others();
                let verified =
                    AssertUnwindSafe(|| verify(&location, Some(&witness), &mut |done, of| shared.set(done, of)));
                let result = catch_unwind(verified).map(|result| VerifyDocument::of(&result));
                let document = result.unwrap_or_else(|_| panicked());
                log.write(LogEvent::Verified { state: document.state });
                if document.warning.is_some() {
                    log.write(LogEvent::WitnessDamaged);
                }
                *shared.stage() = Stage::Done(document);
            };
            thread::Builder::new().name("verification".to_string()).spawn(work).map_err(|error| {
                Problem::new(Code::Storage, format!("the verification's thread cannot be started: {error}"))
            })?;
            *stage = Stage::Running;
        }
        drop(stage);
        Ok(self.status())
    }

    /// Its progress, or the result of the last one.
    pub(crate) fn status(&self) -> VerifyDocument {
        let (done, of) = (self.shared.done.load(Ordering::Relaxed), self.shared.of.load(Ordering::Relaxed));
        match &*self.shared.stage() {
            Stage::NotStarted => VerifyDocument::at(VerifyState::None, 0, 0),
            Stage::Running => VerifyDocument::at(VerifyState::Running, done, of),
            Stage::Done(document) => document.clone(),
        }
    }
}

impl Progress {
    fn set(&self, done: u64, of: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the thread the lowest priority, below charges and questions.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    const LAST: i32 = 19;
    // On Linux this sets the calling thread alone. If it is not allowed, the thread keeps its usual priority.
    let _ = rustix::process::setpriority_process(None, LAST);
}

/// Other systems only have a priority for the whole process.
#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

fn panicked() -> VerifyDocument {
    let reason = "the verification crashed; verify the ledger on its own machine".to_string();
    VerifyDocument { reason: Some(reason), ..VerifyDocument::at(VerifyState::Failed, 0, 0) }
}
