//! What a server does by itself, again and again.

use std::sync::Arc;
use std::time::Duration;

use taximeter_service::{Code, Problem, VerifyState};
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::log::Event;
use crate::state::State;

/// How long the first verification waits, so that it does not take from a start what a start needs.
const FIRST_VERIFICATION: Duration = Duration::from_secs(600);

/// How often questions are looked for that a process left without an answer.
const SETTLE: Duration = Duration::from_secs(60);

/// Verifies the whole journal, at most so often. What is found raises the alarm, as with any verification.
pub(crate) async fn verify(state: Arc<State>, every: Duration) {
    let mut clock = interval_at(Instant::now() + every.min(FIRST_VERIFICATION), every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        if state.verification.start(state.ledger(), &state.log).is_err() {
            state.log.write(Event::Verified { state: VerifyState::Failed });
        }
    }
}

/// Looks for questions that a process left without an answer, and tells the owner's log. When that fails, the server's log says so once
/// until it works again.
pub(crate) async fn settle_questions(state: Arc<State>) {
    let mut clock = interval(SETTLE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut works = true;
    loop {
        clock.tick().await;
        let gate = Arc::clone(&state);
        let settled = match tokio::task::spawn_blocking(move || gate.gate.settle()).await {
            Ok(settled) => settled.map_err(|error| Problem::from(error).code),
            Err(_) => Err(Code::Storage),
        };
        if settled.is_ok() != works {
            works = settled.is_ok();
            state.log.write(match settled {
                Ok(()) => Event::QuestionsSettledAgain,
                Err(code) => Event::QuestionsNotSettled { code },
            });
        }
    }
}
