//! Verifying: the whole journal, made again.

use std::collections::HashSet;
use std::path::Path;

use taximeter_transparency::Checkpoint;

use crate::account::Account;
use crate::books::{Books, Changes, Draft};
use crate::error::{Error, ErrorKind};
use crate::hash::{Hash, StateTree};
use crate::journal::{Event, FORMAT, LedgerId, LedgerOrigin, Position, Record};
use crate::reader::{check_witness, origin, witness_path};
use crate::store::{self, Access, Location, Store, StoredRecord};
use crate::tree::CheckpointClaims;
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
    /// Whether both places of the witness can be read. The ledger agrees with the one that can, and the next charge writes the other
    /// anew.
    pub is_witness_whole: bool,
}

/// How many records are read and made again at a time.
pub(crate) const AT_A_TIME: usize = 512;

/// Makes the whole journal again: every hash, every decision and every state must come out as it is stored, and the witness must
/// remember a record of it. The error names the first record that does not. `progress` is told how many records of how many are
/// done.
///
/// What is not as it was written raises the alarm, wherever it shows: from then on no process writes to the ledger, until
/// [`clear_alarm`] is called.
pub fn verify(
    location: &Location,
    witness: Option<&Path>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    verify_with(location, witness, &|_| Ok(Vec::new()), progress)
}

/// As [`verify`]; besides, the journal must be what the ledger's checkpoints say, which come in the order of their sizes.
pub fn verify_with(
    location: &Location,
    witness: Option<&Path>,
    checkpoints: &dyn Fn(LedgerId) -> Result<Vec<Checkpoint>, Error>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    let mut is_apart = false;
    // The last connection to close tidies the file up, and a reader cannot: so the reader closes before the alarm is raised.
    match verify_reading(location, witness, checkpoints, progress, &mut is_apart) {
        Err(error) if !is_apart => Err(alarmed(location, error)),
        verified => verified,
    }
}

/// Says besides whether the ledger is not what its witness remembers. Such a ledger does not open anyway, and the witness may be
/// another's.
fn verify_reading(
    location: &Location,
    witness: Option<&Path>,
    checkpoints: &dyn Fn(LedgerId) -> Result<Vec<Checkpoint>, Error>,
    progress: &mut dyn FnMut(u64, u64),
    is_apart: &mut bool,
) -> Result<Verified, Error> {
    let mut store = store::open(location, Access::READ)?;
    let id = origin(&mut *store)?.ok_or_else(|| ErrorKind::NoLedger(location.clone()))?.id;
    // Before the journal, which is never behind it.
    let path = witness_path(location, witness, id)?;
    let remembered = Witness::read(&path)?;
    let checkpoints = checkpoints(id)?;
    let testimony = remembered.map(|remembered| remembered.testimony);
    store.begin_reading()?;
    let verified = verify_all(&mut *store, testimony, &checkpoints, progress);
    store.rollback();
    if verified.is_err() {
        let head = store.head().ok().flatten().map(|head| head.position());
        let error = head.and_then(|head| check_witness(&mut *store, id, head, remembered, &path).err());
        // A damaged witness is this ledger's, and does not stop a writer that is open.
        let is_damage = |error: &Error| matches!(error.kind(), ErrorKind::DamagedWitness { .. });
        *is_apart = error.is_some_and(|error| !is_damage(&error));
    }
    let verified = verified?;
    // Before the first witness is written there is nothing that could be lost.
    if testimony.is_some() || verified.head.sequence > 0 {
        check_witness(&mut *store, id, verified.head, remembered, &path)?;
    }
    let is_witness_whole = remembered.is_none_or(|remembered| remembered.is_whole);
    Ok(Verified { witness: testimony.map(|testimony| testimony.position), is_witness_whole, ..verified })
}

/// Raises the alarm about what is broken; if that fails, the error says so.
fn alarmed(location: &Location, error: Error) -> Error {
    let ErrorKind::Integrity { record, why } = error.kind() else { return error };
    let raised = store::open(location, Access::Mark).and_then(|mut store| match store.alarm()? {
        // The first one is the one to begin with.
        Some(_) => Ok(()),
        None => Ok(store.set_alarm(Some(&error.to_string()))?),
    });
    match raised {
        Ok(()) => error,
        Err(unraised) => {
            let why = format!("{why}. Writers could not be told of it: {unraised}");
            ErrorKind::Integrity { record: *record, why }.into()
        }
    }
}

/// Clears the alarm of a ledger, for its owner, who has seen to what a verification found. Says what that was; nothing if there was
/// no alarm.
pub fn clear_alarm(location: &Location) -> Result<Option<String>, Error> {
    let mut store = store::open(location, Access::Mark)?;
    let why = store.alarm()?;
    if why.is_some() {
        store.set_alarm(None)?;
    }
    Ok(why)
}

fn verify_all(
    store: &mut dyn Store,
    testimony: Option<Testimony>,
    checkpoints: &[Checkpoint],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, Error> {
    let mut claims = CheckpointClaims::new(checkpoints);
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
                return Err(Error::record(stored.sequence, "it is not the record that the witness remembers"));
            }
            replay.take(&stored.line, &mut |_| Ok(()))?;
            claims.take(stored.position())?;
        }
        progress(replay.next(), total);
    }
    let Some(books) = replay.books() else { return Err(Error::integrity("the journal is empty")) };
    check_accounts(store, books).map_err(|error| {
        // Accounts that know more than the journal, like the witness: its end was cut off.
        let remembered =
            testimony.filter(|testimony| testimony.ledger == books.id()).map(|known| known.position.sequence);
        match remembered.filter(|remembered| *remembered > books.head().sequence) {
            Some(remembered) => Error::record(
                books.head().sequence + 1,
                format!("it is missing; the witness remembers record {remembered}"),
            ),
            None => error,
        }
    })?;
    claims.end()?;
    store.check()?;
    let head = books.head();
    let (records, accounts) = (head.sequence + 1, books.accounts().len());
    Ok(Verified { records, accounts, head, witness: None, is_witness_whole: true })
}

/// What stands beside a line must be what is in it.
fn check_columns(stored: &StoredRecord, expected: u64, keys: &mut HashSet<Hash>) -> Result<(), Error> {
    if stored.sequence != expected {
        return Err(Error::record(
            expected,
            format!("it is missing; the next one that is there is record {}", stored.sequence),
        ));
    }
    let record = stored.parse().map_err(|why| Error::record(stored.sequence, why))?;
    let key = match &record.event {
        Event::Charge(charge) => Some(charge.key().as_str()),
        _ => None,
    };
    if stored.key.as_deref() != key {
        return Err(Error::record(stored.sequence, "it is stored under another key than its own"));
    }
    match key.is_none_or(|key| keys.insert(Hash::of(key.as_bytes()))) {
        true => Ok(()),
        false => Err(Error::record(stored.sequence, "its key was used before")),
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

/// Makes the lines of a journal again from its first record on, and says how many there are.
#[cfg(feature = "fuzzing")]
pub fn replay(lines: &str) -> Result<u64, Error> {
    let mut replay = Replay::new();
    lines.lines().try_for_each(|line| replay.take(line, &mut |_| Ok(())))?;
    Ok(replay.next())
}

/// The journal made again, record by record.
pub(crate) struct Replay {
    state: Option<(Books, StateTree)>,
}

impl Replay {
    /// From the first record on.
    pub(crate) fn new() -> Replay {
        Replay { state: None }
    }

    /// From where the books end.
    pub(crate) fn after(books: Books, tree: StateTree) -> Replay {
        Replay { state: Some((books, tree)) }
    }

    /// The number of the record that comes next.
    pub(crate) fn next(&self) -> u64 {
        self.state.as_ref().map_or(0, |(books, _)| books.head().sequence + 1)
    }

    /// Makes a record again; it must come out as it is. The changes are shown to someone who may store them.
    pub(crate) fn take(
        &mut self,
        line: &str,
        store: &mut dyn FnMut(&Changes) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let expected = self.next();
        let record = Record::parse(line).map_err(|why| Error::record(expected, why))?;
        if record.sequence != expected {
            return Err(Error::record(expected, format!("record {} is in its place", record.sequence)));
        }
        let Some((books, tree)) = &mut self.state else {
            let Event::Ledger { id, format, secret } = record.event else {
                return Err(Error::record(expected, "the first record must say which ledger this is"));
            };
            if format != FORMAT {
                return Err(ErrorKind::OtherFormat { found: format.into() }.into());
            }
            let (books, tree, changes) = Books::create(LedgerOrigin { id, secret }, record.time);
            compare(&record, line, changes.entries().first().map_or("", |entry| entry.receipt.line()))?;
            store(&changes)?;
            self.state = Some((books, tree));
            return Ok(());
        };
        if record.previous != books.head().hash {
            return Err(Error::record(
                expected,
                "it does not follow the record before it: the hash that it names is another",
            ));
        }
        let mut draft = Draft::new(books, tree, record.time);
        let receipt = draft.replay(&record.event).map_err(|error| Error::record(expected, error))?;
        compare(&record, line, receipt.line())?;
        let changes = draft.finish();
        store(&changes)?;
        books.adopt(changes);
        Ok(())
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
    Err(Error::record(record.sequence, why))
}
