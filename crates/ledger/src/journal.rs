//! The journal: one record for everything that ever changed an account.
//!
//! A record is one line of JSON with its fields in a fixed order and no spaces, and its hash is the BLAKE3 hash of that line. So
//! an exported journal can be checked with nothing but `b3sum`: every line names the hash of the line before.

use derive_more::{Debug, Display};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::value::{RawValue, to_raw_value};

use crate::account::AccountSpec;
use crate::charge::Charge;
use crate::error::Error;
use crate::hash::Hash;
use crate::name::{AccountName, Note, Who, excerpt};

/// The identity of a ledger: 128 random bits, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Display, Serialize, Deserialize)]
#[display("{_0:032x}")]
#[debug("{self}")]
#[serde(try_from = "String", into = "String")]
pub struct LedgerId(u128);

impl LedgerId {
    /// Reads 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<LedgerId> {
        let is_plain = text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        is_plain.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(LedgerId)
    }
}

impl TryFrom<String> for LedgerId {
    type Error = String;
    fn try_from(text: String) -> Result<LedgerId, String> {
        LedgerId::parse(&text).ok_or_else(|| format!("{} is not a ledger's identity", excerpt(&text)))
    }
}

impl From<LedgerId> for String {
    fn from(id: LedgerId) -> String {
        id.to_string()
    }
}

/// What the first record says: which ledger it is, and what its digests of account states are made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerOrigin {
    pub(crate) id: LedgerId,
    pub(crate) secret: Hash,
}

impl LedgerOrigin {
    /// Of a new ledger.
    pub(crate) fn generate() -> Result<LedgerOrigin, Error> {
        let mut id = [0; 16];
        let mut secret = [0; 32];
        getrandom::fill(&mut id)
            .and_then(|()| getrandom::fill(&mut secret))
            .map_err(|error| Error::storage(format!("no random bytes for a new ledger: {error}")))?;
        Ok(LedgerOrigin { id: LedgerId(u128::from_le_bytes(id)), secret: Hash::from(secret) })
    }
}

/// A place in the journal: a record and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The number of the record, from 0.
    pub sequence: u64,
    /// Its hash.
    pub hash: Hash,
}

/// One record of the journal. One that is being made has its event in canonical JSON already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record<E = Event> {
    /// The number of the record, from 0.
    pub sequence: u64,
    /// The hash of the record before.
    pub previous: Hash,
    /// When the writer committed it, by its own clock. No decision uses it.
    pub time: Timestamp,
    /// What happened.
    pub event: E,
    /// The accounts that it changed, as they are afterwards.
    pub after: Vec<After>,
    /// The digest of all account states afterwards, made with the secret of the first record. A reader who does not know it cannot tell
    /// it from random bits, and so cannot try guesses about others against it, nor against the hash of a record that it is in.
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
        /// 256 random bits. To be seen by those alone who may see every account.
        secret: Hash,
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

impl Event {
    /// The event in canonical JSON.
    pub(crate) fn json(&self) -> Box<RawValue> {
        to_raw_value(self).expect("an event can be written as JSON")
    }
}

/// The format of a ledger that this program writes: its journal, its tables and the states in them.
///
/// 1 had the residue filter beside basic composition, each closing the other; 2 has the reach filter; 3 has a secret in its first
/// record. A ledger of another format is not opened as if nothing had happened, because its rules or its digests are others.
pub(crate) const FORMAT: u32 = 3;

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

/// A computed number. Written with the fewest digits that read back as the same number, and as null where it is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Computed(pub f64);

impl<'de> Deserialize<'de> for Computed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // From the text of the number, which the standard library reads correctly rounded.
        match Option::<Number>::deserialize(deserializer)? {
            None => Ok(Computed(f64::INFINITY)),
            Some(number) => number.as_str().parse().map(Computed).map_err(serde::de::Error::custom),
        }
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
            false => Err("it is not in the canonical form of a record".to_string()),
        }
    }
}

impl<E: Serialize> Record<E> {
    /// The record in canonical JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a record can be written as JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_they_were() {
        for value in [0.0, 0.1, 1.0 / 3.0, 1e-300, 1e300, 5e-324, 123456789.0, 1.7976931348623157e308] {
            let text = serde_json::to_string(&Computed(value)).unwrap();
            assert_eq!(serde_json::from_str::<Computed>(&text).unwrap(), Computed(value), "{text}");
        }
        assert_eq!(serde_json::to_string(&Computed(f64::INFINITY)).unwrap(), "null");
        assert_eq!(serde_json::from_str::<Computed>("null").unwrap(), Computed(f64::INFINITY));
    }
}
