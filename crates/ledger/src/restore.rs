//! Restoring: what to do with a ledger that is not what its witness remembers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::books::Draft;
use crate::clock::now;
use crate::error::{Error, ErrorKind};
use crate::journal::{Position, Record};
use crate::ledger::Options;
use crate::name::{Note, Who};
use crate::reader::{Loaded, check_witness, load};
use crate::store::{self, Access, Location, Store};
use crate::verify::Replay;
use crate::witness::{Testimony, Witness};

/// How a ledger is restored.
pub enum Restore {
    /// With the receipts of everything that is missing: exactly that is charged again, and nothing is lost.
    Receipts(Receipts),
    /// Without: every account is exhausted, since what was charged to it is not known.
    AcceptLoss {
        /// Who restores.
        by: Option<Who>,
        /// Why.
        note: Option<Note>,
    },
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The newest record.
    pub head: Position,
    /// How many records were put back.
    pub records: u64,
    /// How many accounts are exhausted by it.
    pub exhausted: usize,
}

/// Journal records from receipts or from an export, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Receipts(BTreeMap<u64, String>);

impl Receipts {
    /// Reads lines of JSON, in any order: receipts as `charge --json` prints them, or records as `export` does.
    pub fn parse(text: &str) -> Result<Receipts, Error> {
        #[derive(Deserialize)]
        struct Document<'a> {
            #[serde(borrow)]
            record: &'a RawValue,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct End {
            #[serde(rename = "end")]
            _end: Position,
        }
        let unusable = |at: usize, why| ErrorKind::Line { of: "receipts", line: at as u64 + 1, why };
        let mut receipts = BTreeMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if serde_json::from_str::<End>(line).is_ok() {
                continue;
            }
            let line = serde_json::from_str::<Document<'_>>(line).map_or(line, |document| document.record.get());
            let record = Record::parse(line)
                .map_err(|why| unusable(at, format!("it is neither a receipt nor a record: {why}")))?;
            if let Some(other) = receipts.insert(record.sequence, line.to_string())
                && other != line
            {
                return Err(unusable(at, format!("there are two different records {}", record.sequence)).into());
            }
        }
        Ok(Receipts(receipts))
    }
}

/// Restores a ledger that is behind its witness, forked from it, or without it.
pub fn restore(location: &Location, options: &Options, how: Restore) -> Result<Restored, Error> {
    let mut store = store::open(location, Access::Write { create: false, wait: options.wait })?;
    let loaded = load(&mut *store, location, options.witness.as_deref())?
        .ok_or_else(|| ErrorKind::NoLedger(location.clone()))?;
    let (id, head) = (loaded.books.id(), loaded.books.head());
    // A witness that is damaged is as good as none; one that cannot be reached, or another file, is not.
    let remembered = match loaded.remembered.clone() {
        Err(error) if matches!(error.kind(), ErrorKind::DamagedWitness { .. }) => None,
        remembered => remembered?,
    };
    let testimony = remembered.map(|remembered| remembered.testimony);
    match check_witness(&mut *store, id, head, remembered, &loaded.witness) {
        Ok(_) => {
            return Err(ErrorKind::NothingToRestore { location: location.clone(), newest: head.sequence }.into());
        }
        // The witness of another ledger stays as it is.
        Err(error) if matches!(error.kind(), ErrorKind::OtherWitness { .. }) => return Err(error),
        Err(_) => {}
    }
    if store.begin()? != Some(head) {
        store.rollback();
        return Err(Error::busy(format!("another process wrote to the ledger {location} meanwhile; try again")));
    }
    let result = match how {
        Restore::Receipts(receipts) => with_receipts(&mut *store, loaded, testimony, &receipts),
        Restore::AcceptLoss { by, note } => accept_loss(&mut *store, loaded, testimony, by, note),
    };
    if result.is_err() {
        store.rollback();
    }
    result
}

/// Makes the missing records again, up to the one that the witness remembers.
fn with_receipts(
    store: &mut dyn Store,
    loaded: Loaded,
    testimony: Option<Testimony>,
    receipts: &Receipts,
) -> Result<Restored, Error> {
    let Loaded { books, tree, witness, .. } = loaded;
    let head = books.head();
    let Some(Testimony { position: end, .. }) =
        testimony.filter(|testimony| testimony.ledger == books.id() && testimony.position.sequence > head.sequence)
    else {
        return Err(ErrorKind::NothingRemembered { witness, newest: head.sequence }.into());
    };
    let records = head.sequence + 1..=end.sequence;
    let missing: Vec<u64> = records.clone().filter(|number| !receipts.0.contains_key(number)).collect();
    if let Some(&first) = missing.first() {
        return Err(ErrorKind::MissingReceipts { missing: missing.len(), first, records }.into());
    }
    let newest = head.sequence;
    let mut replay = Replay::after(books, tree);
    for (_, line) in receipts.0.range(records) {
        replay.take(line, &mut |changes| Ok(store.write(changes)?)).map_err(not_restored)?;
    }
    if replay.books().is_none_or(|books| books.head() != end) {
        return Err(Error::export(
            None,
            "the receipts do not lead to the record that the witness remembers; nothing was restored",
        ));
    }
    store.commit()?;
    Ok(Restored { head: end, records: end.sequence - newest, exhausted: 0 })
}

/// A record that does not hold is one of the receipts.
fn not_restored(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Integrity { record, why } => Error::export(*record, format_args!("{why}; nothing was restored")),
        _ => error,
    }
}

/// Opens a new epoch in which nothing is left of any account.
fn accept_loss(
    store: &mut dyn Store,
    loaded: Loaded,
    testimony: Option<Testimony>,
    by: Option<Who>,
    note: Option<Note>,
) -> Result<Restored, Error> {
    let Loaded { books, mut tree, witness, .. } = loaded;
    let remembered = testimony.filter(|testimony| testimony.ledger == books.id()).map(|testimony| testimony.position);
    let mut draft = Draft::new(&books, &mut tree, now());
    draft.restore(remembered, by, note);
    let changes = draft.finish();
    let head = changes.head();
    store.write(&changes)?;
    store.commit()?;
    Witness::overwrite(&witness, Testimony { ledger: books.id(), position: head })?;
    Ok(Restored { head, records: 0, exhausted: books.accounts().len() })
}
