//! Reading a ledger while another process may write to it.

use std::path::{Path, PathBuf};

use taximeter_transparency::{Checkpoint, NodeHash};

use crate::account::Account;
use crate::books::Books;
use crate::charge::{Charge, Receipt};
use crate::error::{Error, ErrorKind};
use crate::files::{beside, is_same_place, resolved};
use crate::hash::StateTree;
use crate::history::{History, Journal};
use crate::journal::{Event, FORMAT, LedgerId, LedgerOrigin, Position};
use crate::name::{AccountName, Key};
use crate::quote::Quote;
use crate::sequence::{RepeatedCharge, SequenceQuote, named};
use crate::store::{self, Access, Location, Store};
use crate::transfer;
use crate::tree::{JournalTree, checkpoint_of};
use crate::witness::{Remembered, Testimony, Witness, state_folder};

/// A ledger that is open for reading: its accounts as they were when it was opened, and its journal.
pub struct LedgerReader {
    store: Box<dyn Store>,
    books: Books,
    tree: JournalTree,
    witness: PathBuf,
    testimony: Testimony,
    is_witness_whole: bool,
}

impl LedgerReader {
    /// Opens a ledger for reading, and checks it against its witness.
    pub fn open(location: &Location, witness: Option<&Path>) -> Result<LedgerReader, Error> {
        let mut store = store::open(location, Access::READ)?;
        let loaded = load(&mut *store, location, witness)?;
        let Loaded { books, witness, remembered, .. } = loaded.ok_or_else(|| ErrorKind::NoLedger(location.clone()))?;
        // Before the first witness is written there is nothing that could be lost.
        let fresh = Remembered { testimony: books.testimony(), is_whole: true };
        let Remembered { testimony, is_whole } = match remembered? {
            None if books.head().sequence == 0 => fresh,
            remembered => check_witness(&mut *store, books.id(), books.head(), remembered, &witness)?,
        };
        Ok(LedgerReader { store, books, tree: JournalTree::default(), witness, testimony, is_witness_whole: is_whole })
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

    /// Whether both places of the witness could be read. The ledger agrees with the one that could, and the next charge writes the other
    /// anew.
    pub fn is_witness_whole(&self) -> bool {
        self.is_witness_whole
    }

    /// All accounts, in the order in which they were opened.
    pub fn accounts(&self) -> &[Account] {
        self.books.accounts()
    }

    /// An account.
    pub fn account(&self, name: &AccountName) -> Result<&Account, Error> {
        self.books.account(name)
    }

    /// The effect that a charge would have. Charges nothing.
    pub fn quote(&self, charge: &Charge) -> Result<Quote, Error> {
        Quote::new(self.books.payers(charge.accounts())?.into_iter().cloned().collect(), charge)
    }

    /// The effect that charges would have one after the other, however many. Charges nothing.
    pub fn quote_sequence(&self, charges: &[RepeatedCharge]) -> Result<SequenceQuote, Error> {
        SequenceQuote::new(self.books.payers(&named(charges))?.into_iter().cloned().collect(), charges)
    }

    /// What happened to an account, newest first, at most `most` records; `from` is where the previous part ended.
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

    /// The checkpoint of the newest record when it was opened, to be signed.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, Error> {
        let (id, head) = (self.books.id(), self.books.head());
        Ok(checkpoint_of(id, head, self.tree.frontier(&mut *self.store, head.sequence + 1)?.root()))
    }

    /// The proof that a record is among the first `size`.
    pub fn inclusion(&mut self, sequence: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        self.tree.inclusion(&mut *self.store, sequence, size)
    }

    /// The proof that the tree of the first `size` records extends that of the first `old`.
    pub fn consistency(&mut self, old: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        self.tree.consistency(&mut *self.store, old, size)
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

/// What is found when a ledger is opened.
pub(crate) struct Loaded {
    pub(crate) books: Books,
    pub(crate) tree: StateTree,
    /// Where its witness should be.
    pub(crate) witness: PathBuf,
    /// What that says; nothing if there is none, an error if it cannot be read.
    pub(crate) remembered: Result<Option<Remembered>, Error>,
}

/// Reads the accounts, not the journal, and checks them against the newest record. Nothing if there is no ledger.
///
/// The witness is read first: a writer moves the journal before the witness, so the journal that is read
/// afterwards is never behind it.
pub(crate) fn load(
    store: &mut dyn Store,
    location: &Location,
    witness: Option<&Path>,
) -> Result<Option<Loaded>, Error> {
    let Some(origin) = origin(store)? else { return Ok(None) };
    let witness = witness_path(location, witness, origin.id)?;
    let remembered = Witness::read(&witness);
    store.begin_reading()?;
    let read = (|| {
        let stored = store.head()?.ok_or_else(|| Error::integrity("the journal is gone"))?;
        let newest = stored.parse().map_err(|why| Error::record(stored.sequence, why))?;
        Books::load(origin, &newest, stored.hash, &store.accounts(None)?)
    })();
    store.rollback();
    let (books, tree) = read?;
    Ok(Some(Loaded { books, tree, witness, remembered }))
}

/// Which ledger this is, by its first record. Nothing if there is none.
pub(crate) fn origin(store: &mut dyn Store) -> Result<Option<LedgerOrigin>, Error> {
    let Some(first) = store.record(0)? else {
        return match store.head()? {
            None => Ok(None),
            Some(_) => Err(Error::record(0, "it is missing from the journal")),
        };
    };
    let record = first.parse().map_err(|why| Error::record(0, why))?;
    let Event::Ledger { id, format, secret } = record.event else {
        return Err(Error::record(0, "the first record must say which ledger this is"));
    };
    match format {
        FORMAT => Ok(Some(LedgerOrigin { id, secret })),
        _ => Err(ErrorKind::OtherFormat { found: format.into() }.into()),
    }
}

/// Where the witness of a ledger is, unless it is given: beside the file, or for PostgreSQL in the user's state folder.
pub fn witness_path(location: &Location, given: Option<&Path>, id: LedgerId) -> Result<PathBuf, Error> {
    let path = match (given, location) {
        (Some(path), _) => path.to_path_buf(),
        (None, Location::File(path)) => beside(&resolved(path), ".witness"),
        (None, Location::Postgres(_)) => {
            let no_home = || Error::witness(Path::new("~"), "there is no home folder to keep it in; say where it is");
            state_folder().ok_or_else(no_home)?.join(format!("{id}.witness"))
        }
    };
    if let Location::File(ledger) = location {
        let own = ["", "-wal", "-shm", "-journal", ".lock"].map(|end| beside(&resolved(ledger), end));
        if own.iter().any(|own| is_same_place(own, &path)) {
            return Err(Error::witness(&path, "it is a file of the ledger itself, not its witness"));
        }
    }
    Ok(path)
}

/// A ledger must be what its witness remembers, or further.
pub(crate) fn check_witness(
    store: &mut dyn Store,
    id: LedgerId,
    head: Position,
    remembered: Option<Remembered>,
    path: &Path,
) -> Result<Remembered, Error> {
    let witness = path.to_path_buf();
    let Some(remembered) = remembered else {
        return Err(ErrorKind::NoWitness(witness).into());
    };
    let Remembered { testimony, is_whole } = remembered;
    let Position { sequence, hash } = testimony.position;
    if testimony.ledger != id {
        return Err(ErrorKind::OtherWitness { witness, of: testimony.ledger, ledger: id }.into());
    }
    if sequence > head.sequence {
        return Err(ErrorKind::Behind { witness, newest: head.sequence, remembered: sequence }.into());
    }
    if store.record(sequence)?.is_none_or(|record| record.hash != hash) {
        return Err(ErrorKind::Forked { witness, record: sequence }.into());
    }
    // What cannot be read is a line that a crash tore, and then its record is in the ledger.
    if !is_whole && sequence == head.sequence {
        return Err(ErrorKind::DamagedWitness { witness, remembered: Some(sequence) }.into());
    }
    Ok(remembered)
}
