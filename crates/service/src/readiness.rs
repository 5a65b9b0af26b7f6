//! Whether the ledger takes charges, checked every second.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use taximeter_ledger::{Error, Ledger};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::log::{Log, LogEvent, Trouble};

/// How often the ledger is checked, and how long it may take to answer. A lost store is noticed within two seconds.
const EVERY: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_millis(900);

/// The result of the last check.
#[derive(Default)]
pub struct Readiness {
    is_lost: AtomicBool,
    is_alarmed: AtomicBool,
    /// The witnesses on other machines whose word is in doubt.
    doubtful: Mutex<Vec<String>>,
}

/// Why a ledger takes no charges for now. It recovers without a restart.
enum Unready {
    /// Its store does not answer.
    Lost(Trouble),
    /// It is not what was written.
    Alarmed,
}

impl Readiness {
    /// Whether the ledger's store does not answer.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Whether a verification raised the alarm, according to the store's last answer.
    pub fn is_alarmed(&self) -> bool {
        self.is_alarmed.load(Ordering::Relaxed)
    }

    /// Checks a ledger until it has stopped for good; returns why. The log says when its store is lost, when the alarm is raised and when a
    /// witness's word is in doubt, and when that is over.
    pub async fn watch(&self, ledger: &Ledger, log: &Log) -> Error {
        let ask = || async {
            self.note_doubts(ledger.doubtful_cosigners(), log);
            ledger.refresh_async().await?;
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
                    self.update(Err(Unready::Lost(Trouble::NoAnswer)), log);
                    // One check at a time: its answer says when the store is back.
                    asked.await
                }
            };
            if let Some(cause) = cause() {
                self.is_lost.store(true, Ordering::Relaxed);
                log.write(LogEvent::LedgerStopped { why: Trouble::of(&cause) });
                return cause;
            }
            let unready = |error: Error| match error.is_integrity() {
                true => Unready::Alarmed,
                false => Unready::Lost(Trouble::of(&error)),
            };
            self.update(answer.map_err(unready), log);
        }
    }

    fn note_doubts(&self, now: Vec<String>, log: &Log) {
        let mut known = self.doubtful.lock().unwrap_or_else(PoisonError::into_inner);
        for cosigner in now.iter().filter(|name| !known.contains(name)).cloned() {
            log.write(LogEvent::CosignerInDoubt { cosigner });
        }
        for cosigner in known.iter().filter(|name| !now.contains(name)).cloned() {
            log.write(LogEvent::CosignerBack { cosigner });
        }
        *known = now;
    }

    /// Sets the state, and logs changes.
    fn update(&self, answer: Result<(), Unready>, log: &Log) {
        let was_lost = self.is_lost.swap(matches!(answer, Err(Unready::Lost(_))), Ordering::Relaxed);
        match &answer {
            Err(Unready::Lost(why)) => {
                if !was_lost {
                    log.write(LogEvent::StoreLost { why: *why });
                }
                return;
            }
            _ if was_lost => log.write(LogEvent::StoreBack),
            _ => {}
        }
        let is_alarmed = answer.is_err();
        match (self.is_alarmed.swap(is_alarmed, Ordering::Relaxed), is_alarmed) {
            (false, true) => log.write(LogEvent::AlarmRaised),
            (true, false) => log.write(LogEvent::AlarmCleared),
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

    fn is_ready(readiness: &Readiness) -> bool {
        !readiness.is_lost() && !readiness.is_alarmed()
    }

    #[test]
    fn a_doubt_about_a_witness_is_logged_once_and_when_it_is_over() {
        let (page, readiness) = (Captured::default(), Readiness::default());
        let log = Log::to(LogForm::Json, page.clone());
        for doubtful in [&[][..], &["one"], &["one"], &["one", "two"], &["two"], &[]] {
            readiness.note_doubts(doubtful.iter().map(|name| (*name).to_string()).collect(), &log);
        }
        drop(log);
        let text = page.text();
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<String> =
            events.iter().map(|event| format!("{} {}", event["event"], event["cosigner"]).replace('"', "")).collect();
        let expected = ["cosigner-in-doubt one", "cosigner-in-doubt two", "cosigner-back one", "cosigner-back two"];
        assert_eq!(events, expected);
    }

    /// The store answers, hangs for a minute, is refused for a minute, is alarmed, answers again, and then the ledger stops.
    #[tokio::test(start_paused = true)]
    async fn a_lost_store_is_logged_within_two_seconds_and_once() {
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
                "fails" => Err(ErrorKind::Busy("PostgreSQL at 10.0.0.7".to_string()).into()),
                "is alarmed" => Err(ErrorKind::Alarm("account census/alice: its state".to_string()).into()),
                _ => Ok(()),
            }
        };
        let story = async {
            let seconds = |count| sleep(Duration::from_secs(count));
            seconds(10).await;
            assert!(is_ready(&readiness));
            for trouble in ["hangs", "fails", "is alarmed"] {
                phase.set(trouble);
                seconds(2).await;
                assert!(!is_ready(&readiness), "{trouble}");
                seconds(60).await;
                assert!(!is_ready(&readiness), "{trouble}");
                assert_eq!(readiness.is_alarmed(), trouble == "is alarmed");
                phase.set("answers");
                seconds(2).await;
                assert!(is_ready(&readiness), "after it {trouble}");
            }
            phase.set("stopped");
            pending::<()>().await;
        };
        let cause = || (phase.get() == "stopped").then(broken);
        tokio::select! {
            error = readiness.follow(ask, cause, &log) => assert!(matches!(error.kind(), ErrorKind::Stopped { .. })),
            () = story => {}
        }
        assert!(!is_ready(&readiness));
        drop(log);
        let text = page.text();
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<(&str, Option<&str>)> =
            events.iter().map(|event| (event["event"].as_str().unwrap(), event["why"].as_str())).collect();
        // Kinds alone: the text of an error names accounts, hosts and paths.
        let expected = [
            ("store-lost", Some("no-answer")),
            ("store-back", None),
            ("store-lost", Some("unreachable")),
            ("store-back", None),
            ("alarm-raised", None),
            ("alarm-cleared", None),
            ("ledger-stopped", Some("storage")),
        ];
        assert_eq!(events, expected);
    }
}
