//! Whether the ledger's store answers, asked every second.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use taximeter_ledger::{Error, Ledger};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::log::{Event, Log};

/// How often the ledger is asked, and how long it may take. Together less than two seconds: a lost store is noticed within that.
const EVERY: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_millis(900);

/// Whether the ledger's store answered last.
#[derive(Default)]
pub(crate) struct Readiness {
    is_lost: AtomicBool,
}

impl Readiness {
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_lost.load(Ordering::Relaxed)
    }

    /// Asks a ledger again and again, until it takes nothing more; returns why. The log says when its store is lost, and when it is back.
    pub(crate) async fn watch(&self, ledger: &Ledger, log: &Log) -> Error {
        let ask = || async {
            ledger.refresh_async().await?;
            // An alarm that a verification raised is no reason to end, but nothing is charged meanwhile.
            ledger.health()
        };
        self.follow(ask, || ledger.cause(), log).await
    }

    async fn follow<A: Future<Output = Result<(), Error>>>(
        &self,
        ask: impl Fn() -> A,
        cause: impl Fn() -> Option<Error>,
        log: &Log,
    ) -> Error {
        let mut clock = interval(EVERY);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let mut asked = pin!(ask());
            let answer = match timeout(ANSWER, asked.as_mut()).await {
                Ok(answer) => answer,
                Err(_) => {
                    self.tell(Err(format!("it has not answered for {} ms", ANSWER.as_millis())), log);
                    // One question at a time: what comes of it says when the store is back.
                    asked.await
                }
            };
            if let Some(cause) = cause() {
                self.is_lost.store(true, Ordering::Relaxed);
                log.write(Event::LedgerStopped { why: cause.to_string() });
                return cause;
            }
            self.tell(answer.map_err(|error| error.to_string()), log);
        }
    }

    /// Takes what an answer says, and has it written if it is new.
    fn tell(&self, answer: Result<(), String>, log: &Log) {
        match (self.is_lost.swap(answer.is_err(), Ordering::Relaxed), answer) {
            (false, Err(why)) => log.write(Event::StoreLost { why }),
            (true, Ok(())) => log.write(Event::StoreBack),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use taximeter_ledger::ErrorKind;
    use taximeter_testing::Captured;
    use tokio::time::sleep;

    use super::*;
    use crate::LogForm;

    fn broken() -> Error {
        ErrorKind::Stopped(None).into()
    }

    /// The store answers, hangs for a minute, is refused for a minute, answers again, and then the ledger stops.
    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_lost_is_told_within_two_seconds_and_once() {
        let (page, readiness) = (Captured::default(), Readiness::default());
        let log = Log::to(LogForm::Json, page.clone());
        let phase = Cell::new("answers");
        let ask = || async {
            match phase.get() {
                "hangs" => {
                    while phase.get() == "hangs" {
                        sleep(Duration::from_millis(10)).await;
                    }
                    Ok(())
                }
                "fails" => Err(broken()),
                _ => Ok(()),
            }
        };
        let story = async {
            let seconds = |count| sleep(Duration::from_secs(count));
            seconds(10).await;
            assert!(readiness.is_ready());
            for trouble in ["hangs", "fails"] {
                phase.set(trouble);
                seconds(2).await;
                assert!(!readiness.is_ready(), "{trouble}");
                seconds(60).await;
                assert!(!readiness.is_ready(), "{trouble}");
                phase.set("answers");
                seconds(2).await;
                assert!(readiness.is_ready(), "after it {trouble}");
            }
            phase.set("stopped");
            pending::<()>().await;
        };
        let cause = || (phase.get() == "stopped").then(broken);
        tokio::select! {
            error = readiness.follow(ask, cause, &log) => assert!(matches!(error.kind(), ErrorKind::Stopped { .. })),
            () = story => {}
        }
        assert!(!readiness.is_ready());
        drop(log);
        let text = page.text();
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["store-lost", "store-back", "store-lost", "store-back", "ledger-stopped"]);
    }
}
