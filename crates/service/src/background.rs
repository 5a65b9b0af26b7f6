//! Background tasks of a server.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::log::LogEvent;
use crate::service::Service;
use crate::{Code, Problem, VerifyState};

/// The delay of the first verification, so that it does not slow down the start.
const FIRST_VERIFICATION: Duration = Duration::from_secs(600);

/// How often questions that a process left without an answer are settled.
const SETTLE: Duration = Duration::from_secs(60);

/// Verifies the whole journal at the given interval. A fault raises the alarm, as with any verification.
pub async fn verify_journal(service: Arc<Service>, every: Duration) {
    let mut clock = interval_at(Instant::now() + every.min(FIRST_VERIFICATION), every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        if service.verification.start(service.ledger(), &service.log).is_err() {
            service.log.write(LogEvent::Verified { state: VerifyState::Failed });
        }
    }
}

/// Settles questions that a process left without an answer: the owner's log records them. If that fails, the server's log says so once,
/// until it works again.
pub async fn settle_questions(service: Arc<Service>) {
    let mut clock = interval(SETTLE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut works = true;
    loop {
        clock.tick().await;
        let gate = Arc::clone(&service);
        let settled = match tokio::task::spawn_blocking(move || gate.gate.settle()).await {
            Ok(settled) => settled.map_err(|error| Problem::from(error).code),
            Err(_) => Err(Code::Storage),
        };
        if settled.is_ok() != works {
            works = settled.is_ok();
            service.log.write(match settled {
                Ok(()) => LogEvent::QuestionsSettledAgain,
                Err(code) => LogEvent::QuestionsNotSettled { code },
            });
        }
    }
}

/// Signs a checkpoint at the given interval and keeps it, if there are new records. If that fails, the log says so once, until it works
/// again.
pub async fn keep_checkpoints(service: Arc<Service>, every: Duration) {
    let mut clock = interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut works, mut kept) = (true, 0);
    loop {
        clock.tick().await;
        let signing = Arc::clone(&service);
        let signed = tokio::task::spawn_blocking(move || signing.checkpoints.keep_newer(signing.ledger(), kept));
        let signed = match signed.await {
            Ok(signed) => signed.map_err(|problem| problem.code),
            Err(_) => Err(Code::Storage),
        };
        if signed.is_ok() != works {
            works = signed.is_ok();
            service.log.write(match signed {
                Ok(_) => LogEvent::CheckpointsKeptAgain,
                Err(code) => LogEvent::CheckpointsNotKept { code },
            });
        }
        kept = signed.unwrap_or(kept);
    }
}
