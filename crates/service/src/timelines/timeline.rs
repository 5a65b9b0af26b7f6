//! The timeline of one account, and what a record adds to it.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use taximeter_ledger::{After, Receipt, Who};

use super::curve::{Curve, Point};
use super::rate::Pace;
use super::spenders::{Spenders, fall};

/// A summary of an account's past.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    is_stopped: bool,
    curve: Curve,
    spenders: Spenders,
    pace: Pace,
}

impl Timeline {
    /// Whether its last record left it open. Accounts above it may have been closed since.
    pub fn is_open(&self) -> bool {
        !self.is_stopped
    }

    /// The account after the newest record that was read.
    pub fn newest(&self) -> Option<&Point> {
        self.curve.newest()
    }

    /// The reading and what is left, over charges.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The spenders.
    pub fn spenders(&self) -> &Spenders {
        &self.spenders
    }

    /// What was spent in which hour.
    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Adds a record and the account's state after it. A record that was added before is not counted again.
    pub(super) fn push(&mut self, sequence: u64, record: &TimelineRecord, after: &After) {
        let before = self.curve.newest().copied();
        if before.is_some_and(|before| before.sequence >= sequence) {
            return;
        }
        let paid = u64::from(matches!(record.event, TimelineEvent::Charge(_)));
        let point = Point {
            charges: before.map_or(0, |before| before.charges) + paid,
            sequence,
            time: record.time,
            reading: after.reading.map(|computed| computed.0),
            left: after.left.map(|computed| computed.0),
        };
        match &record.event {
            TimelineEvent::Charge(ChargedBy { by }) => {
                self.spenders.charge(by.clone(), before.as_ref(), &point);
                self.pace.spend(point.time, fall(before.as_ref(), &point));
            }
            TimelineEvent::Halt(_) | TimelineEvent::Close(_) | TimelineEvent::Restore(_) => {
                self.spenders.give_up(before.as_ref(), &point);
                self.is_stopped = true;
            }
            TimelineEvent::Ledger(_) | TimelineEvent::Open(_) => {}
        }
        self.curve.push(point);
    }
}

/// The fields of a record that a timeline needs. Parsing records in full takes five times as long.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct TimelineRecord {
    time: Timestamp,
    event: TimelineEvent,
}

/// The events of the journal.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TimelineEvent {
    Ledger(IgnoredAny),
    Open(IgnoredAny),
    Charge(ChargedBy),
    Halt(IgnoredAny),
    Close(IgnoredAny),
    Restore(IgnoredAny),
}

#[derive(Debug, PartialEq, Deserialize)]
struct ChargedBy {
    #[serde(default)]
    by: Option<Who>,
}

impl TimelineRecord {
    /// Reads a record.
    pub(super) fn read(receipt: &Receipt) -> Result<TimelineRecord, String> {
        serde_json::from_str(receipt.line())
            .map_err(|error| format!("record {} is not a journal record: {error}", receipt.sequence()))
    }
}

#[cfg(test)]
mod tests;
