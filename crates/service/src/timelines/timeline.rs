//! The timeline of one account, and what a record adds to it.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use taximeter_ledger::{After, Receipt, Who};

use super::curve::{Curve, Point};
use super::rate::Pace;
use super::spenders::{Spenders, fall};

/// What is known of an account's past.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    is_stopped: bool,
    curve: Curve,
    spenders: Spenders,
    pace: Pace,
}

impl Timeline {
    /// Whether its last record left it open. Those above it may have been closed since.
    pub fn is_open(&self) -> bool {
        !self.is_stopped
    }

    /// The account after the newest record about it that was read.
    pub fn newest(&self) -> Option<&Point> {
        self.curve.newest()
    }

    /// The reading and what is left, over charges.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// Who spent what.
    pub fn spenders(&self) -> &Spenders {
        &self.spenders
    }

    /// What was spent when.
    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Adds a record, which left the account like this. One that was added before is not counted again.
    pub(super) fn push(&mut self, sequence: u64, happened: &Happened, after: &After) {
        let before = self.curve.newest().copied();
        if before.is_some_and(|before| before.sequence >= sequence) {
            return;
        }
        let paid = u64::from(matches!(happened.event, Event::Charge(_)));
        let point = Point {
            charges: before.map_or(0, |before| before.charges) + paid,
            sequence,
            time: happened.time,
            reading: after.reading.map(|computed| computed.0),
            left: after.left.map(|computed| computed.0),
        };
        match &happened.event {
            Event::Charge(Charge { by }) => {
                self.spenders.charge(by.clone(), before.as_ref(), &point);
                self.pace.spend(point.time, fall(before.as_ref(), &point));
            }
            Event::Halt(_) | Event::Close(_) | Event::Restore(_) => {
                self.spenders.give_up(before.as_ref(), &point);
                self.is_stopped = true;
            }
            Event::Ledger(_) | Event::Open(_) => {}
        }
        self.curve.push(point);
    }
}

/// When a record was written and what it is about: of all that it says, what a timeline needs beside the accounts.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Happened {
    time: Timestamp,
    event: Event,
}

/// What happened: the events of the journal.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Ledger(IgnoredAny),
    Open(IgnoredAny),
    Charge(Charge),
    Halt(IgnoredAny),
    Close(IgnoredAny),
    Restore(IgnoredAny),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Charge {
    #[serde(default)]
    by: Option<Who>,
}

impl Happened {
    /// What a record says. To take it apart in full would take five times as long.
    pub(super) fn read(receipt: &Receipt) -> Result<Happened, String> {
        serde_json::from_str(receipt.line())
            .map_err(|error| format!("record {}: it is not a journal record: {error}", receipt.sequence()))
    }
}

#[cfg(test)]
mod tests;
