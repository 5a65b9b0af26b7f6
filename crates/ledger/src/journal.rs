//! The journal: one record for everything that ever changed an account.
//!
//! A record is one line of JSON with its fields in a fixed order and no spaces, and its hash is the BLAKE3 hash of that line. So
//! an exported journal can be checked with nothing but `b3sum`: every line names the hash of the line before.

use std::fmt::{self, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Number;

use crate::account::AccountSpec;
use crate::charge::Charge;
use crate::error::Error;
use crate::hash::Hash;
use crate::name::{AccountName, Note, Who, excerpt};

/// The identity of a ledger: 128 random bits, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct LedgerId(u128);

impl LedgerId {
    pub(crate) fn generate() -> Result<LedgerId, Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::storage(format!("no random bytes for the identity of a ledger: {error}")))?;
        Ok(LedgerId(u128::from_le_bytes(bytes)))
    }

    /// Reads 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<LedgerId> {
        let is_plain = text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        is_plain.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(LedgerId)
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl TryFrom<String> for LedgerId {
    type Error = String;
    fn try_from(text: String) -> Result<LedgerId, String> {
        LedgerId::parse(&text).ok_or_else(|| format!("{} is not a ledger's identity", excerpt(&text)))
    }
}

impl Serialize for LedgerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in the journal: a record and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The number of the record, from 0.
    pub sequence: u64,
    /// Its hash.
    pub hash: Hash,
}

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The number of the record, from 0.
    pub sequence: u64,
    /// The hash of the record before.
    pub previous: Hash,
    /// When the writer committed it, by its own clock. No decision uses it.
    pub time: Timestamp,
    /// What happened.
    pub event: Event,
    /// The accounts that it changed, as they are afterwards.
    pub after: Vec<After>,
    /// The digest of all account states afterwards.
    pub states: Hash,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The ledger was made: always the first record.
    Ledger {
        /// Its identity.
        id: LedgerId,
        /// The format of the journal.
        format: u32,
    },
    /// An account was opened.
    Open(Box<AccountSpec>),
    /// A charge was paid.
    Charge(Charge),
    /// A charge was refused by a rule of an account that is set to stop: the account is closed by it.
    Halt(Charge),
    /// An account was closed by its owner.
    Close {
        /// The account.
        account: AccountName,
        /// Who closed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Who>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    },
    /// The ledger was restored without knowing what was charged since: every account is exhausted.
    Restore {
        /// The newest record that is known to have existed; nothing if there is no witness.
        witness: Option<Position>,
        /// Who restored it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Who>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    },
}

/// The format of the journal that this program writes.
pub(crate) const FORMAT: u32 = 1;

/// An account after a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// The account.
    pub account: AccountName,
    /// The record before this one that changed it; its history is this chain. Nothing for the record that opened it.
    pub before: Option<u64>,
    /// The odometer's reading; nothing if there is no bound.
    pub reading: Option<Computed>,
    /// The share of the filter's own budget that is left; nothing without a filter.
    pub left: Option<Computed>,
}

/// A computed number in the journal. Written with as many digits as it takes to read back the same number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computed(pub f64);

impl fmt::Display for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Computed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // From the text of the number, which the standard library reads correctly rounded.
        let number = Number::deserialize(deserializer)?;
        number.as_str().parse().map(Computed).map_err(serde::de::Error::custom)
    }
}

impl Record {
    /// Reads a line. What is not written exactly as this program would write it is refused.
    pub fn parse(line: &str) -> Result<Record, String> {
        let record: Record =
            serde_json::from_str(line).map_err(|error| format!("it is not a journal record: {error}"))?;
        if let Event::Charge(charge) | Event::Halt(charge) = &record.event {
            charge.check().map_err(|error| error.to_string())?;
        }
        match record.line() == line {
            true => Ok(record),
            false => Err("it is not written in the one form that a record has".to_string()),
        }
    }

    /// The record in canonical JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a record can be written as JSON")
    }
}

/// The parts of a record when it is made, with the event in canonical JSON already.
pub(crate) struct NewRecord<'a> {
    pub(crate) sequence: u64,
    pub(crate) previous: Hash,
    pub(crate) time: &'a str,
    /// The event's name and its JSON.
    pub(crate) event: (&'static str, &'a str),
    pub(crate) after: &'a [After],
    pub(crate) states: Hash,
}

impl NewRecord<'_> {
    /// The same line as [`Record::line`], without taking the event apart again.
    pub(crate) fn line(&self) -> String {
        let NewRecord { sequence, previous, time, event: (name, event), after, states } = self;
        let mut line = String::with_capacity(event.len() + 384 + 128 * after.len());
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            r#"{{"sequence":{sequence},"previous":"{previous}","time":"{time}","event":{{"{name}":{event}}},"after":["#
        );
        for (at, after) in after.iter().enumerate() {
            let After { account, before, reading, left } = after;
            line.push_str(if at == 0 { r#"{"account":""# } else { r#",{"account":""# });
            // Names need no escapes.
            line.push_str(account.as_str());
            line.push_str(r#"","before":"#);
            match before {
                Some(before) => line.push_str(&before.to_string()),
                None => line.push_str("null"),
            }
            for (name, computed) in [(r#","reading":"#, reading), (r#","left":"#, left)] {
                line.push_str(name);
                match computed {
                    Some(computed) => line.push_str(&computed.to_string()),
                    None => line.push_str("null"),
                }
            }
            line.push('}');
        }
        let _ = write!(line, r#"],"states":"{states}"}}"#);
        line
    }
}
