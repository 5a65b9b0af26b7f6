//! One verification of the journal at a time, which everybody may watch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use taximeter_ledger::{Ledger, verify};

use crate::log::{Event, Log};
use crate::{Code, Problem, VerifyDocument, VerifyState};

/// The verification that is under way, or what came of the last one.
#[derive(Default)]
pub(crate) struct Verification {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stage: Mutex<Stage>,
    done: AtomicU64,
    of: AtomicU64,
}

#[derive(Default)]
enum Stage {
    #[default]
    NotAsked,
    Running,
    Over(VerifyDocument),
}

impl Verification {
    /// Starts one, unless one is under way: then that is the one.
    pub(crate) fn start(&self, ledger: &Ledger, log: &Log) -> Result<VerifyDocument, Problem> {
        let mut stage = self.shared.stage();
        if !matches!(*stage, Stage::Running) {
            self.shared.done.store(0, Ordering::Relaxed);
            self.shared.of.store(ledger.position().sequence + 1, Ordering::Relaxed);
            let (shared, location, witness) =
                (Arc::clone(&self.shared), ledger.location().clone(), ledger.witness().to_path_buf());
            let log = log.clone();
            // A thread of its own: the end of a server does not wait for it.
            let work = move || {
                yield_to_others();
                let verified =
                    AssertUnwindSafe(|| verify(&location, Some(&witness), &mut |done, of| shared.tell(done, of)));
                let result = catch_unwind(verified).map(|result| VerifyDocument::of(&result));
                let document = result.unwrap_or_else(|_| panicked());
                log.write(Event::Verified { state: document.state });
                if document.warning.is_some() {
                    log.write(Event::WitnessDamaged);
                }
                *shared.stage() = Stage::Over(document);
            };
            thread::Builder::new().name("verification".to_string()).spawn(work).map_err(|error| {
                Problem::new(Code::Storage, format!("the verification's thread cannot be started: {error}"))
            })?;
            *stage = Stage::Running;
        }
        drop(stage);
        Ok(self.look())
    }

    /// How far it is.
    pub(crate) fn look(&self) -> VerifyDocument {
        let (done, of) = (self.shared.done.load(Ordering::Relaxed), self.shared.of.load(Ordering::Relaxed));
        match &*self.shared.stage() {
            Stage::NotAsked => VerifyDocument::at(VerifyState::None, 0, 0),
            Stage::Running => VerifyDocument::at(VerifyState::Running, done, of),
            Stage::Over(document) => document.clone(),
        }
    }
}

impl Shared {
    fn tell(&self, done: u64, of: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Charges and questions come first: the thread gets what time they leave.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    const LAST: i32 = 19;
    // On Linux this is about the calling thread alone. Where it may not be set, the thread is as urgent as the others.
    let _ = rustix::process::setpriority_process(None, LAST);
}

/// Elsewhere a priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

fn panicked() -> VerifyDocument {
    let reason = "the program failed at it; verify the ledger on its own machine".to_string();
    VerifyDocument { reason: Some(reason), ..VerifyDocument::at(VerifyState::Failed, 0, 0) }
}
