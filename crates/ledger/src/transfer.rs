//! Export and import: the journal as lines of JSON.
//!
//! An export is the records themselves, a line each, and a last line that says where the journal ends, so that a file that was cut
//! off is not taken for the whole. An import makes every record again on its way in.

use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::journal::{LedgerId, Position};
use crate::ledger::Options;
use crate::name::excerpt;
use crate::reader::{check_witness, witness_path};
use crate::store::{self, Access, Location, Store};
use crate::verify::{AT_A_TIME, Replay};
use crate::witness::{Testimony, Witness};

/// The last line of an export.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end: Position,
}

/// The longest line that is read. A record about a million accounts fits.
const LONGEST_LINE: u64 = 1 << 30;

pub(crate) fn export(
    store: &mut dyn Store,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Position, Error> {
    store.begin_reading()?;
    let result = export_all(store, out, progress);
    store.rollback();
    result
}

fn export_all(
    store: &mut dyn Store,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Position, Error> {
    let written = |error: std::io::Error| Error::storage(format!("the export cannot be written: {error}"));
    let head = store.head()?.ok_or_else(|| Error::integrity("the journal is empty"))?.position();
    let mut next = 0;
    while next <= head.sequence {
        for record in store.records(next, AT_A_TIME)? {
            if record.sequence != next {
                return Err(Error::record(next, "it is missing from the journal"));
            }
            writeln!(out, "{}", record.line).map_err(written)?;
            next += 1;
        }
        progress(next, head.sequence + 1);
    }
    let end = serde_json::to_string(&End { end: head }).expect("a position can be written as JSON");
    writeln!(out, "{end}").map_err(written)?;
    out.flush().map_err(written)?;
    Ok(head)
}

/// What was imported.
#[derive(Clone, Debug)]
pub struct ImportedJournal {
    /// The ledger's identity: the same as that of the ledger that was exported.
    pub ledger: LedgerId,
    /// Its newest record.
    pub head: Position,
    /// How many accounts it has.
    pub accounts: usize,
    /// Where its witness is.
    pub witness: PathBuf,
}

/// Makes a ledger from an export, where there is none. All of it, or nothing. `progress` is told how many records are done.
///
/// It is the same ledger, not a new one: the one that was exported must not be used any more, or its budgets are spent twice.
pub fn import(
    location: &Location,
    options: &Options,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportedJournal, Error> {
    let mut store = store::open(location, Access::Write { create: true, wait: options.wait })?;
    if store.begin()?.is_some() {
        store.rollback();
        return Err(ErrorKind::LedgerExists(location.clone()).into());
    }
    let result = import_all(&mut *store, location, options, input, progress);
    if result.is_err() {
        store.rollback();
    }
    result
}

fn bad_line(line: u64, why: String) -> Error {
    ErrorKind::Line { of: "export", line, why }.into()
}

fn import_all(
    store: &mut dyn Store,
    location: &Location,
    options: &Options,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportedJournal, Error> {
    let mut replay = Replay::new();
    let mut line = String::new();
    let end = loop {
        let number = replay.next() + 1;
        let unreadable = |why: String| bad_line(number, why);
        line.clear();
        Read::take(&mut *input, LONGEST_LINE).read_line(&mut line).map_err(|error| unreadable(error.to_string()))?;
        let text = line.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            return Err(unreadable(
                "the export has no last line: it was cut off, and the missing budget could be spent twice".to_string(),
            ));
        }
        if let Ok(End { end }) = serde_json::from_str(text) {
            break end;
        }
        replay.take(text, &mut |changes| Ok(store.write(changes)?)).map_err(|error| match error.kind() {
            ErrorKind::Integrity { record, why } => Error::export(*record, why),
            _ => error,
        })?;
        if replay.next().is_multiple_of(AT_A_TIME as u64) {
            progress(replay.next());
        }
    };
    let (mut rest, after_end) = (String::new(), replay.next() + 2);
    Read::take(&mut *input, 1024).read_to_string(&mut rest).map_err(|error| bad_line(after_end, error.to_string()))?;
    if !rest.trim().is_empty() {
        let why = format!("{} follows the end of the export; import one export", excerpt(rest.trim()));
        return Err(bad_line(after_end, why));
    }
    let books = replay.books().ok_or_else(|| bad_line(1, "the export has no records".to_string()))?;
    if books.head() != end {
        let (last, Position { sequence, hash }) = (books.head().sequence, end);
        let why = format_args!(
            "the export ends at record {last}, but says that it ends at record {sequence} with hash {hash}"
        );
        return Err(Error::export(None, why));
    }
    let path = witness_path(location, options.witness.as_deref(), books.id())?;
    let remembered = Witness::read(&path)?;
    if remembered.is_some() {
        check_witness(store, books.id(), books.head(), remembered, &path)?;
    }
    let ledger = books.id();
    // The witness first: if the power fails in between, the same import can be made again.
    Witness::create(&path, Testimony { ledger, position: end }, location.sharing())?;
    store.commit()?;
    Ok(ImportedJournal { ledger, head: end, accounts: books.accounts().len(), witness: path })
}
