//! Reading a ledger beside whoever writes to it.

use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::books::Books;
use crate::charge::{Charge, Receipt};
use crate::error::Error;
use crate::hash::StateTree;
use crate::history::{History, Journal};
use crate::journal::{Event, FORMAT, LedgerId, Position};
use crate::name::{AccountName, Key};
use crate::quote::Quote;
use crate::store::{self, Access, Location, Store, beside, resolved};
use crate::transfer;
use crate::witness::{Testimony, Witness};

/// A ledger that is open for reading: its accounts as they were when it was opened, and its journal.
pub struct Reader {
    store: Box<dyn Store>,
    books: Books,
    witness: PathBuf,
    testimony: Testimony,
}

impl Reader {
    /// Opens a ledger for reading, and checks it against its witness.
    pub fn open(location: &Location, witness: Option<&Path>) -> Result<Reader, Error> {
        let mut store = store::open(location, Access::Read)?;
        let loaded = load(&mut *store, location, witness)?;
        let Loaded { books, witness, testimony, .. } = loaded.ok_or_else(|| no_ledger(location))?;
        // Before the first witness is written there is nothing that could be lost.
        let fresh = Testimony { ledger: books.id(), position: books.head() };
        let testimony = match testimony? {
            None if books.head().sequence == 0 => fresh,
            testimony => check_witness(&mut *store, books.id(), books.head(), testimony, &witness)?,
        };
        Ok(Reader { store, books, witness, testimony })
    }

    /// The ledger's identity.
    pub fn id(&self) -> LedgerId {
        self.books.id()
    }

    /// The newest record when it was opened.
    pub fn position(&self) -> Position {
        self.books.head()
    }

    /// Where the witness is, and the newest record that it remembers.
    pub fn witness(&self) -> (&Path, Position) {
        (&self.witness, self.testimony.position)
    }

    /// All accounts, in the order in which they were opened.
    pub fn accounts(&self) -> &[Account] {
        self.books.accounts()
    }

    /// An account.
    pub fn account(&self, name: &AccountName) -> Result<&Account, Error> {
        self.books.account(name)
    }

    /// What would come of a charge. Charges nothing.
    pub fn quote(&self, charge: &Charge) -> Result<Quote, Error> {
        Quote::new(self.books.payers(charge.accounts())?.into_iter().cloned().collect(), charge)
    }

    /// What happened to an account, newest first, at most so many records; `from` is where the part before left off.
    pub fn history(&mut self, name: &AccountName, from: Option<u64>, most: usize) -> Result<History, Error> {
        let account = self.books.account(name)?;
        journal(&mut *self.store, &self.books).history(account, from, most)
    }

    /// A record by its number; nothing if there was none when it was opened.
    pub fn receipt(&mut self, sequence: u64) -> Result<Option<Receipt>, Error> {
        journal(&mut *self.store, &self.books).receipt(sequence)
    }

    /// The record of the charge that was made under a key; nothing if there was none when it was opened.
    pub fn receipt_of(&mut self, key: &Key) -> Result<Option<Receipt>, Error> {
        journal(&mut *self.store, &self.books).receipt_of(key)
    }

    /// Writes the journal as lines of JSON, and a last line that says where it ends.
    pub fn export(
        &mut self,
        out: &mut dyn std::io::Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Position, Error> {
        transfer::export(&mut *self.store, out, progress)
    }
}

/// The journal as it was when the books were read.
fn journal<'a>(store: &'a mut dyn Store, books: &Books) -> Journal<'a> {
    Journal { store, ledger: books.id(), end: books.head().sequence }
}

/// A store without a record in it.
pub(crate) fn no_ledger(location: &Location) -> Error {
    Error::input(format!(
        "there is no ledger at {location} yet; `account create` or `dataset add` makes one, or name another with --ledger"
    ))
}

/// What is found when a ledger is opened.
pub(crate) struct Loaded {
    pub(crate) books: Books,
    pub(crate) tree: StateTree,
    /// Where its witness should be.
    pub(crate) witness: PathBuf,
    /// What that says; nothing if there is none, an error if it cannot be read.
    pub(crate) testimony: Result<Option<Testimony>, Error>,
}

/// Reads the accounts, not the journal, and checks them against the newest record. Nothing if there is no ledger.
///
/// The witness is read first: whoever writes meanwhile moves the journal before the witness, so the journal that is read
/// afterwards is never behind it.
pub(crate) fn load(
    store: &mut dyn Store,
    location: &Location,
    witness: Option<&Path>,
) -> Result<Option<Loaded>, Error> {
    let Some(id) = identity(store)? else { return Ok(None) };
    let witness = witness_path(location, witness, id)?;
    let testimony = Witness::read(&witness);
    store.begin_reading()?;
    let read = (|| {
        let stored = store.head()?.ok_or_else(|| Error::integrity("the journal is gone"))?;
        let newest = stored
            .parse()
            .map_err(|why| Error::integrity(format!("record {}, the newest: {why}; run `verify`", stored.sequence)))?;
        Books::load(id, &newest, stored.hash, &store.accounts(None)?)
    })();
    store.rollback();
    let (books, tree) = read?;
    Ok(Some(Loaded { books, tree, witness, testimony }))
}

/// Which ledger this is, by its first record. Nothing if there is none.
pub(crate) fn identity(store: &mut dyn Store) -> Result<Option<LedgerId>, Error> {
    let Some(first) = store.record(0)? else {
        return match store.head()? {
            None => Ok(None),
            Some(_) => Err(Error::integrity("record 0: it is missing from the journal")),
        };
    };
    let record = first.parse().map_err(|why| Error::integrity(format!("record 0: {why}")))?;
    let Event::Ledger { id, format } = record.event else {
        return Err(Error::integrity("record 0: the first record must say which ledger this is"));
    };
    match format {
        FORMAT => Ok(Some(id)),
        _ => Err(Error::storage(format!(
            "the journal has format {format}; this program reads format {FORMAT}: use a newer program"
        ))),
    }
}

/// Where the witness of a ledger is, unless it is given: beside the file, or for PostgreSQL in the user's state folder.
pub(crate) fn witness_path(location: &Location, given: Option<&Path>, id: LedgerId) -> Result<PathBuf, Error> {
    if let Some(path) = given {
        return Ok(path.to_path_buf());
    }
    match location {
        Location::File(path) => Ok(beside(&resolved(path), ".witness")),
        Location::Postgres(_) => {
            let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local").join("state")));
            let folder = state
                .ok_or_else(|| {
                    Error::input("there is no home folder to keep the witness in; say where with --witness")
                })?
                .join("taximeter");
            std::fs::create_dir_all(&folder).map_err(|error| {
                Error::storage(format!(
                    "the folder {} for the witness: {error}; say where with --witness",
                    folder.display()
                ))
            })?;
            Ok(folder.join(format!("{id}.witness")))
        }
    }
}

/// A ledger must be what its witness remembers, or further.
pub(crate) fn check_witness(
    store: &mut dyn Store,
    id: LedgerId,
    head: Position,
    testimony: Option<Testimony>,
    path: &Path,
) -> Result<Testimony, Error> {
    let advice = "Put the newest copy of the ledger back; if there is none, see `ledger restore --help`";
    let Some(testimony) = testimony else {
        return Err(Error::rollback(format!(
            "the witness {} is missing, so nobody can say whether this ledger is the newest copy or an old one whose budget would \
             be handed out again. Put the witness back, or name it with --witness. On another machine, copy it there. If it is \
             lost, see `ledger restore --help`",
            path.display()
        )));
    };
    let Position { sequence, hash } = testimony.position;
    if testimony.ledger != id {
        return Err(Error::rollback(format!(
            "the witness {} is of another ledger, {}; this one is {id}. Name the right witness with --witness",
            path.display(),
            testimony.ledger
        )));
    }
    if sequence > head.sequence {
        return Err(Error::rollback(format!(
            "this ledger ends at record {}, but its witness {} remembers record {sequence}: an old copy was put back, and its \
             budget would be handed out again. {advice}",
            head.sequence,
            path.display()
        )));
    }
    if store.record(sequence)?.is_none_or(|record| record.hash != hash) {
        return Err(Error::rollback(format!(
            "record {sequence} of this ledger is not the one that its witness {} remembers: the ledger was changed, or it went on \
             from an old copy. {advice}",
            path.display()
        )));
    }
    Ok(testimony)
}
