//! Restoring: what to do with a ledger that is not what its witness remembers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::books::Draft;
use crate::error::Error;
use crate::journal::{Position, Record};
use crate::ledger::Options;
use crate::name::{Note, Who};
use crate::reader::{Loaded, check_witness, load};
use crate::store::{self, Access, Location, Store};
use crate::witness::{Testimony, Witness};
use crate::writer::now;

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
        let mut receipts = BTreeMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if serde_json::from_str::<End>(line).is_ok() {
                continue;
            }
            let line = serde_json::from_str::<Document<'_>>(line).map_or(line, |document| document.record.get());
            let record = Record::parse(line)
                .map_err(|why| Error::input(format!("line {} is neither a receipt nor a record: {why}", at + 1)))?;
            if let Some(other) = receipts.insert(record.sequence, line.to_string())
                && other != line
            {
                return Err(Error::input(format!(
                    "line {}: there are two different records {}",
                    at + 1,
                    record.sequence
                )));
            }
        }
        Ok(Receipts(receipts))
    }
}

/// Restores a ledger that is behind its witness, forked from it, or without it.
pub fn restore(location: &Location, options: &Options, how: Restore) -> Result<Restored, Error> {
    let mut store = store::open(location, Access::Write { create: false, wait: options.wait })?;
    let loaded = load(&mut *store, location, options.witness.as_deref())?
        .ok_or_else(|| Error::input(format!("there is no ledger at {location}; put a copy of it there first")))?;
    let (id, head) = (loaded.books.id(), loaded.books.head());
    // A witness that is damaged is as good as none; one that cannot be reached is not.
    let testimony = match loaded.testimony.clone() {
        Err(error) if error.is_rollback() => None,
        testimony => testimony?,
    };
    if let Some(foreign) = testimony.filter(|testimony| testimony.ledger != id) {
        return Err(Error::input(format!(
            "the witness {} is of another ledger, {}, and stays as it is; this one is {id}. Name the right witness with --witness, or \
             the place for a new one",
            loaded.witness.display(),
            foreign.ledger
        )));
    }
    if check_witness(&mut *store, id, head, testimony, &loaded.witness).is_ok() {
        return Err(Error::input(format!(
            "the ledger {location} is what its witness remembers, record {}: there is nothing to restore",
            head.sequence
        )));
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
    let Loaded { mut books, mut tree, witness, .. } = loaded;
    let head = books.head();
    let Some(Testimony { position: end, .. }) =
        testimony.filter(|testimony| testimony.ledger == books.id() && testimony.position.sequence > head.sequence)
    else {
        return Err(Error::input(format!(
            "receipts can only be put back up to a record that the witness {} remembers, and it remembers none after record {} of \
             this ledger; without it, only --accept-loss is left",
            witness.display(),
            head.sequence
        )));
    };
    let missing: Vec<u64> =
        (head.sequence + 1..=end.sequence).filter(|number| !receipts.0.contains_key(number)).collect();
    if let Some(first) = missing.first() {
        return Err(Error::input(format!(
            "{} of the records {} to {} are missing from the receipts, the first is record {first}; nothing was restored. With \
             --accept-loss every account would be exhausted instead",
            missing.len(),
            head.sequence + 1,
            end.sequence
        )));
    }
    for (sequence, line) in receipts.0.range(head.sequence + 1..=end.sequence) {
        let at =
            |why: String| Error::integrity(format!("the receipt of record {sequence}: {why}; nothing was restored"));
        let record = Record::parse(line).map_err(at)?;
        let mut draft = Draft::new(&books, &mut tree, record.time);
        let made = draft.replay(&record.event).map_err(|error| at(error.to_string()))?;
        if made.line() != line {
            return Err(at("it does not follow from the records before it".to_string()));
        }
        let changes = draft.finish();
        store.write(&changes)?;
        books.adopt(changes);
    }
    if books.head() != end {
        return Err(Error::integrity(
            "the receipts do not lead to the record that the witness remembers; nothing was restored",
        ));
    }
    store.commit()?;
    Ok(Restored { head: end, records: end.sequence - head.sequence, exhausted: 0 })
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
