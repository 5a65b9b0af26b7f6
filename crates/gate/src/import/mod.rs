//! CSV files into the embedded engine: one SQLite file, which is only read from then on.
//!
//! What a row becomes depends on that row and the schema alone, and which rows of a unit are kept on that unit's rows and the key
//! alone, so that one unit more or less changes nothing but its own rows. Types that are not declared are found in the first rows;
//! they become part of the schema, which is public.

mod file;
mod infer;
mod keep;
mod load;
mod rows;
mod values;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::keep::kept;

use std::path::Path;

use csv::ByteRecord;

pub(crate) use self::file::{clear_leftovers, sync_folder};

use self::file::NewFile;
use self::load::Load;
use self::rows::Rows;
use crate::declaration::Declaration;
use crate::error::Error;
use crate::schema::Schema;

/// What to do with rows that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRows {
    /// Nothing is imported if there is one.
    Refuse,
    /// The others are imported; these are reported.
    Skip,
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The line of the file where it starts, counted from 1.
    pub line: u64,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// What came of an import.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    /// The declaration with all types.
    pub schema: Schema,
    /// Rows of the file.
    pub rows: u64,
    /// Rows that count: with a unit, at most so many of each.
    pub kept: u64,
    /// Rows without a unit, which are left out.
    pub without_unit: u64,
    /// Rows that cannot be read, the first ones.
    pub bad: Vec<BadRow>,
    /// How many there are in all.
    pub bad_rows: u64,
    /// The BLAKE3 hash of the file.
    pub fingerprint: blake3::Hash,
}

impl Imported {
    /// The most bad rows that are shown.
    pub const SHOWN: usize = 20;
}

/// So many rows pass between two calls of `progress`.
const ROWS_PER_PROGRESS: u64 = 4096;

/// Imports a CSV file with a header into a new file `target`, which is there as a whole or not at all.
///
/// `key` decides which rows are kept of a unit that has too many. `progress` is told how many bytes of how many are read.
pub(crate) fn import(
    csv: &Path,
    declaration: &Declaration,
    target: &Path,
    key: &[u8; 32],
    bad_rows: BadRows,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Imported, Error> {
    let mut rows = Rows::open(csv)?;
    let names = rows.header()?;
    let sample = infer::sample(&mut rows)?;
    let schema = declaration.schema(&infer::types(&names, declaration, &sample))?;
    if schema.unit_column().is_some() {
        keep::row_name(&schema)?;
    }

    let file = NewFile::create(target, &schema)?;
    let mut load = Load::new(&file, &schema, bad_rows)?;
    for (line, row) in sample {
        load.add(&row, || line)?;
    }
    let mut row = ByteRecord::new();
    while rows.next(&mut row)? {
        load.add(&row, || rows.line(&row))?;
        if load.rows() % ROWS_PER_PROGRESS == 0 {
            let (done, total) = rows.progress();
            progress(done, total);
        }
    }
    let (done, total) = rows.progress();
    progress(done, total);

    let loaded = load.finish(csv)?;
    let surplus = match (schema.unit_column(), loaded.crowd) {
        (Some(unit), Some(crowd)) => keep::keep(file.connection(), &schema, unit, crowd, key)?,
        _ => 0,
    };
    let kept = loaded.inserted - surplus;
    file.finish(&schema, kept)?;
    Ok(Imported {
        schema,
        rows: loaded.rows,
        kept,
        without_unit: loaded.without_unit,
        bad: loaded.bad,
        bad_rows: loaded.bad_rows,
        fingerprint: rows.fingerprint(),
    })
}
