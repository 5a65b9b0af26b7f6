//! Looking records up in the journal: what happened to an account, and the receipts of what was charged.

use serde::Deserialize;

use crate::account::Account;
use crate::charge::Receipt;
use crate::error::{Error, ErrorKind};
use crate::hash::Hash;
use crate::journal::{After, Event, LedgerId};
use crate::name::Key;
use crate::store::{Store, StoredRecord};

/// A part of an account's history, newest first.
#[derive(Clone, Debug)]
pub struct History {
    /// The records.
    pub records: Vec<Receipt>,
    /// Where the next part starts; nothing at the end.
    pub next: Option<u64>,
}

/// The journal of a ledger up to a record. Later records are left out: they may not be acknowledged yet.
pub(crate) struct Journal<'a> {
    pub(crate) store: &'a mut dyn Store,
    pub(crate) ledger: LedgerId,
    /// The last record that counts.
    pub(crate) end: u64,
}

impl Journal<'_> {
    /// What happened to an account, newest first, at most `most` records; `from` is where the previous part ended.
    pub(crate) fn history(&mut self, account: &Account, from: Option<u64>, most: usize) -> Result<History, Error> {
        let (name, newest) = (account.name(), account.sequence());
        let foreign = |record| ErrorKind::NotInHistory { account: name.clone(), record, newest };
        if let Some(from) = from.filter(|from| *from > newest) {
            return Err(foreign(from).into());
        }
        let mut next = Some(from.unwrap_or(newest));
        let mut records = Vec::new();
        while let Some(sequence) = next
            && records.len() < most
        {
            let receipt = self.receipt(sequence)?.ok_or_else(|| missing(sequence))?;
            let about = receipt.after().iter().find(|after| after.account == *name).ok_or_else(|| foreign(sequence))?;
            // A history that does not go back in time would not end.
            if about.before.is_some_and(|before| before >= sequence) {
                return Err(Error::record(sequence, "it comes before itself"));
            }
            next = about.before;
            records.push(receipt);
        }
        Ok(History { records, next })
    }

    /// A record by its number.
    pub(crate) fn receipt(&mut self, sequence: u64) -> Result<Option<Receipt>, Error> {
        if sequence > self.end {
            return Ok(None);
        }
        let stored = self.store.record(sequence)?;
        stored.map(|stored| Receipt::from_stored(self.ledger, &stored)).transpose()
    }

    /// The records from a number on, in order, at most `most`.
    pub(crate) fn records(&mut self, from: u64, most: usize) -> Result<Vec<Receipt>, Error> {
        if from > self.end || most == 0 {
            return Ok(Vec::new());
        }
        let there = usize::try_from(self.end - from).unwrap_or(usize::MAX).saturating_add(1);
        let mut stored = self.store.records(from, most.min(there))?.into_iter();
        let wanted = (from..=self.end).take(most);
        wanted
            .map(|sequence| match stored.next() {
                Some(stored) if stored.sequence == sequence => glimpsed(self.ledger, stored),
                _ => Err(missing(sequence)),
            })
            .collect()
    }

    /// The record of the charge that was made under a key.
    pub(crate) fn receipt_of(&mut self, key: &Key) -> Result<Option<Receipt>, Error> {
        let found = self.store.find_keys(&[key.as_str()])?;
        let Some(stored) = found.into_iter().find(|stored| stored.sequence <= self.end) else { return Ok(None) };
        let receipt = Receipt::from_stored(self.ledger, &stored)?;
        // The key stands beside the record as well, where nothing but this ties it to the record.
        match &receipt.record()?.event {
            Event::Charge(charge) if charge.key() == key => Ok(Some(receipt)),
            _ => Err(Error::record(
                stored.sequence,
                format_args!("it is kept under the key {key:?}, but is not a charge under it"),
            )),
        }
    }
}

fn missing(sequence: u64) -> Error {
    Error::record(sequence, "it is missing from the journal")
}

/// The receipt of one record of many. Its bytes are what its hash says; whether they are in the one form that a record has is left to
/// `verify`, since to read everything and write it again takes longer than all the rest.
fn glimpsed(ledger: LedgerId, stored: StoredRecord) -> Result<Receipt, Error> {
    #[derive(Deserialize)]
    struct Glimpse {
        sequence: u64,
        after: Vec<After>,
    }
    let StoredRecord { sequence, hash, line, .. } = stored;
    let broken = |why: &str| Error::record(sequence, why);
    if Hash::of(line.as_bytes()) != hash {
        return Err(broken("its bytes do not match its hash"));
    }
    let glimpse: Glimpse =
        serde_json::from_str(&line).map_err(|error| broken(&format!("it is not a journal record: {error}")))?;
    if glimpse.sequence != sequence {
        return Err(broken(&format!("it says that it is record {}", glimpse.sequence)));
    }
    Ok(Receipt { ledger, sequence, hash, line: line.into(), after: glimpse.after.into() })
}
