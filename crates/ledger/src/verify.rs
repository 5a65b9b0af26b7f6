//! Verifying: the whole journal, made again.

use std::collections::HashSet;
use std::path::Path;

use crate::account::Account;
use crate::books::{Books, Draft};
use crate::error::Error;
use crate::hash::{Hash, StateTree};
use crate::journal::{Event, Position, Record};
use crate::reader::{check_witness, identity, no_ledger, witness_path};
use crate::store::{self, Access, Location, Store, StoredRecord};
use crate::witness::{Testimony, Witness};

/// What was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// How many accounts there are.
    pub accounts: usize,
    /// The newest record.
    pub head: Position,
    /// The record that the witness remembers; nothing before the first one is written.
    pub witness: Option<Position>,
}

/// How many records are read and made again at a time.
pub(crate) const AT_A_TIME: usize = 512;

/// Makes the whole journal again: every hash, every decision and every state must come out as it is stored, and the witness must
/// remember a record of it. The error names the first record that does not. `progress` is told how many records of how many are
/// done.
pub fn verify(
    location: &Location,
    witness: Option<&Path>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    let mut store = store::open(location, Access::Read)?;
    let id = identity(&mut *store)?.ok_or_else(|| no_ledger(location))?;
    // Before the journal, which is never behind it.
    let path = witness_path(location, witness, id)?;
    let testimony = Witness::read(&path)?;
    store.begin_reading()?;
    let verified = verify_all(&mut *store, testimony, progress);
    store.rollback();
    let verified = verified?;
    // Before the first witness is written there is nothing that could be lost.
    if testimony.is_some() || verified.head.sequence > 0 {
        check_witness(&mut *store, id, verified.head, testimony, &path)?;
    }
    Ok(Verified { witness: testimony.map(|testimony| testimony.position), ..verified })
}

fn verify_all(
    store: &mut dyn Store,
    testimony: Option<Testimony>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    let total = store.head()?.map_or(0, |head| head.sequence + 1);
    let mut replay = Replay::new();
    let mut keys = HashSet::new();
    loop {
        let records = store.records(replay.next(), AT_A_TIME)?;
        if records.is_empty() {
            break;
        }
        for stored in &records {
            check_columns(stored, replay.next(), &mut keys)?;
            if let Some(testimony) = testimony
                && testimony.position.sequence == stored.sequence
                && replay.books().is_none_or(|books| books.id() == testimony.ledger)
                && testimony.position.hash != stored.hash
            {
                return Err(at(stored.sequence, "it is not the record that the witness remembers"));
            }
            replay.take(&stored.line)?;
        }
        progress(replay.next(), total);
    }
    let Some(books) = replay.finish() else { return Err(Error::integrity("the journal is empty")) };
    check_accounts(store, &books).map_err(|error| {
        // Accounts that know more than the journal, like the witness: its end was cut off.
        let remembered =
            testimony.filter(|testimony| testimony.ledger == books.id()).map(|known| known.position.sequence);
        match remembered.filter(|remembered| *remembered > books.head().sequence) {
            Some(remembered) => {
                at(books.head().sequence + 1, format!("it is missing; the witness remembers record {remembered}"))
            }
            None => error,
        }
    })?;
    store.check()?;
    let head = books.head();
    Ok(Verified { records: head.sequence + 1, accounts: books.accounts().len(), head, witness: None })
}

fn at(sequence: u64, why: impl std::fmt::Display) -> Error {
    Error::integrity(format!("record {sequence}: {why}"))
}

/// What stands beside a line must be what is in it.
fn check_columns(stored: &StoredRecord, expected: u64, keys: &mut HashSet<Hash>) -> Result<(), Error> {
    if stored.sequence != expected {
        return Err(at(expected, format!("it is missing; the next one that is there is record {}", stored.sequence)));
    }
    let record = stored.parse().map_err(|why| at(stored.sequence, why))?;
    let key = match &record.event {
        Event::Charge(charge) => Some(charge.key().as_str()),
        _ => None,
    };
    if stored.key.as_deref() != key {
        return Err(at(stored.sequence, "the key that it is found by is not the one in it"));
    }
    match key.is_none_or(|key| keys.insert(Hash::of(key.as_bytes()))) {
        true => Ok(()),
        false => Err(at(stored.sequence, "its key was used before")),
    }
}

/// The stored states must be those that come out of the journal.
fn check_accounts(store: &mut dyn Store, books: &Books) -> Result<(), Error> {
    let rows = store.accounts(None)?;
    let mut state = Vec::new();
    for (number, account) in books.accounts().iter().enumerate() {
        let name = account.name();
        let Some(row) = rows.get(number).filter(|row| row.number as usize == number) else {
            return Err(Error::integrity(format!("account {name}: its state is missing")));
        };
        account.write_state(&mut state);
        if row.state != state || row.name != name.as_str() || row.sequence != account.sequence() {
            let why = match Account::read_state(&row.state) {
                Ok(_) => "is not what its charges add up to",
                Err(_) => "cannot be read",
            };
            return Err(Error::integrity(format!(
                "account {name}: its stored state {why}; its newest record is {}",
                account.sequence()
            )));
        }
    }
    match rows.get(books.accounts().len()) {
        Some(row) => Err(Error::integrity(format!("account {:?}: no record opened it", row.name))),
        None => Ok(()),
    }
}

/// The journal made again, record by record.
pub(crate) struct Replay {
    state: Option<(Books, StateTree)>,
}

impl Replay {
    pub(crate) fn new() -> Replay {
        Replay { state: None }
    }

    /// The number of the record that comes next.
    pub(crate) fn next(&self) -> u64 {
        self.state.as_ref().map_or(0, |(books, _)| books.head().sequence + 1)
    }

    /// Makes a record again; it must come out as it is.
    pub(crate) fn take(&mut self, line: &str) -> Result<(), Error> {
        self.take_with(line, &mut |_| Ok(()))
    }

    /// The same, with the changes shown to someone who stores them.
    pub(crate) fn take_with(
        &mut self,
        line: &str,
        store: &mut dyn FnMut(&crate::books::Changes) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let expected = self.next();
        let record = Record::parse(line).map_err(|why| at(expected, why))?;
        if record.sequence != expected {
            return Err(at(expected, format!("in its place stands record {}", record.sequence)));
        }
        let Some((books, tree)) = &mut self.state else {
            let Event::Ledger { id, .. } = record.event else {
                return Err(at(expected, "the first record must say which ledger this is"));
            };
            let (books, tree, changes) = Books::found(id, record.time);
            compare(&record, line, changes.entries().first().map_or("", |entry| entry.receipt.line()))?;
            store(&changes)?;
            self.state = Some((books, tree));
            return Ok(());
        };
        if record.previous != books.head().hash {
            return Err(at(expected, "it does not follow the record before it: the hash that it names is another"));
        }
        let mut draft = Draft::new(books, tree, record.time);
        let receipt = draft.replay(&record.event).map_err(|error| at(expected, error))?;
        compare(&record, line, receipt.line())?;
        let changes = draft.finish();
        store(&changes)?;
        books.adopt(changes);
        Ok(())
    }

    /// The books after all records; nothing if there was none.
    pub(crate) fn finish(self) -> Option<Books> {
        self.state.map(|(books, _)| books)
    }

    /// The books so far.
    pub(crate) fn books(&self) -> Option<&Books> {
        self.state.as_ref().map(|(books, _)| books)
    }
}

/// What was stored and what comes out must be the same line; if not, says which part is wrong.
fn compare(record: &Record, line: &str, made: &str) -> Result<(), Error> {
    if line == made {
        return Ok(());
    }
    let why = match Record::parse(made) {
        Ok(again) if again.after != record.after => "the readings in it do not follow from the journal",
        Ok(again) if again.states != record.states => {
            "the digest of the account states in it does not follow from the journal"
        }
        _ => "it is not what this program would have written",
    };
    Err(at(record.sequence, why))
}
