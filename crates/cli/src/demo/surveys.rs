//! A second tree of accounts: surveys whose mechanisms run elsewhere, so that only the ledger knows them. Last year's is closed; this
//! year's keeps charging.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{AccountName, AccountSpec, Charge, Key, Ledger, Neighbours, Note, Outcome, Privacy, Unit, Who};

use super::team::OWNER;
use crate::output::{Failure, tell};

/// The program that charges the surveys.
pub const JOB: &str = "survey-job";

/// This year's survey.
pub const THIS_YEAR: &str = "surveys/2026";

const LAST_YEAR: &str = "surveys/2025";

/// The accounts with their budgets.
const TREE: [(&str, &str); 3] = [("surveys", "3,1e-6"), (LAST_YEAR, "1,1e-6"), (THIS_YEAR, "1,1e-6")];

/// The topics of every wave.
const TOPICS: [&str; 4] = ["hours worked", "wages", "way to work", "size of households"];

const WAVE: &str = r#"{"gaussian":{"sigma":"80","sensitivity":"1"}}"#;

/// As `WAVE`, with a little more noise: this year's budget lasts about ten minutes.
const LIVE_WAVE: &str = r#"{"gaussian":{"sigma":"90","sensitivity":"1"}}"#;

const PAUSE: Duration = Duration::from_secs(2);

/// The number of waves before a visitor comes.
const WAVES_BEFORE: u32 = 6;

/// Opens the accounts and charges the earlier waves.
pub fn publish(ledger: &Ledger) -> Result<(), Failure> {
    for (name, budget) in TREE {
        let budget = Budget::parse(budget)?;
        ledger.open_account(AccountSpec {
            name: AccountName::parse(name)?,
            privacy: Privacy { unit: Unit::parse("person")?, neighbours: Neighbours::Substitute },
            filter: Some(FilterSpec::new(FilterRule::Zcdp, budget)),
            odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
        })?;
    }
    for (year, waves) in [(LAST_YEAR, 12), (THIS_YEAR, WAVES_BEFORE)] {
        for wave in 1..=waves {
            for topic in TOPICS {
                charge(ledger, year, WAVE, &format!("wave {wave}: {topic}, Gaussian noise of σ = 80"))?;
            }
        }
        charge(ledger, year, r#"{"zcdp":"0.002"}"#, "tables for the yearly report, discrete Gaussian noise")?;
    }
    charge(ledger, THIS_YEAR, r#"{"zcdp":"0.5"}"#, "every answer of every wave, at once")?;
    let (owner, note) = (Who::parse("who", OWNER)?, Note::parse("note", "the year is over")?);
    ledger.close_account(AccountName::parse(LAST_YEAR)?, Some(owner), Some(note))?;
    Ok(())
}

/// Charges a cost. Returns the reason if it is refused.
fn charge(ledger: &Ledger, account: &str, cost: &str, note: &str) -> Result<Option<String>, Failure> {
    let charge = Charge::new(Key::generate()?, vec![AccountName::parse(account)?], vec![Cost::from_json(cost)?.cost])?
        .by(Some(Who::parse("who", JOB)?))
        .with_note(Some(Note::parse("note", note)?));
    Ok(match ledger.charge(charge)? {
        Outcome::Charged(_) | Outcome::Replayed(_) => None,
        Outcome::Refused(refusal) => refusal.refused().first().map(|(_, reason)| reason.text()),
    })
}

/// The running survey: one charge every two seconds, until a charge is refused or this is dropped.
pub struct LiveSurvey {
    // Dropping the sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveSurvey {
    /// Starts to charge.
    pub fn start(ledger: Ledger) -> LiveSurvey {
        let (stop, stopped) = channel();
        let waits = move || stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout);
        let thread = std::thread::spawn(move || {
            if let Err(failure) = run(&ledger, waits) {
                tell(&format!("{JOB} has stopped: {}", failure.message()));
            }
        });
        LiveSurvey { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for LiveSurvey {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

/// Charges wave after wave while `waits` returns true.
fn run(ledger: &Ledger, waits: impl Fn() -> bool) -> Result<(), Failure> {
    for wave in WAVES_BEFORE + 1.. {
        for topic in TOPICS {
            if !waits() {
                return Ok(());
            }
            let note = format!("wave {wave}: {topic}, Gaussian noise of σ = 90");
            if let Some(reason) = charge(ledger, THIS_YEAR, LIVE_WAVE, &note)? {
                tell(&format!("{JOB} has stopped charging {THIS_YEAR}: {reason}"));
                return Ok(());
            }
        }
    }
    Ok(())
}
