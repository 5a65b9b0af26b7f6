//! CSV files into the embedded engine: one SQLite file, which is only read from then on.
//!
//! What a row becomes depends on that row and the schema alone, and which rows of a unit are kept on that unit's rows and the key
//! alone, so that one unit more or less changes nothing but its own rows. Types that are not declared are found in the first rows;
//! they become part of the schema, which is public.

mod file;
mod infer;
mod keep;
mod load;
mod public;
mod rows;
mod table;
mod values;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::keep::kept;

use std::path::Path;

use csv::ByteRecord;
use serde::{Deserialize, Serialize};

pub(crate) use self::file::{clear_leftovers, sync_folder};
pub(crate) use self::table::import_rows;
pub use self::table::{Field, TableRows};

use self::file::NewFile;
use self::load::Load;
use self::rows::Rows;
use crate::declaration::Declaration;
use crate::error::Error;
use crate::register::ImportedRows;
use crate::schema::Schema;

/// How a CSV file is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CsvForm {
    /// What stands between two fields [default: what the first line has most often].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, min_length = 1, max_length = 1))]
    pub delimiter: Option<char>,
    /// The encoding, by a name of the Web such as latin1 [default: utf-8, or what a byte order mark says].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Texts that stand for a missing value, besides an empty field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// What to do with rows that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadRows {
    /// Nothing is imported if there is one.
    #[default]
    Refuse,
    /// The others are imported; these are reported.
    Skip,
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BadRow {
    /// The line of the file where it starts, counted from 1.
    pub line: u64,
    /// What is wrong with it, and what to do.
    pub why: String,
    /// Whether it is in another encoding than it was read in.
    #[serde(skip)]
    pub is_not_utf8: bool,
}

/// What came of an import.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    /// The declaration with all types.
    pub schema: Schema,
    /// What came of the rows.
    pub rows: ImportedRows,
    /// The BLAKE3 hash of the file.
    pub fingerprint: blake3::Hash,
}

impl Imported {
    /// The most bad rows that are shown.
    pub const SHOWN: usize = 20;
}

/// The number of rows between two calls of `progress`.
const ROWS_PER_PROGRESS: u64 = 4096;

/// Whether a file can be opened and its header has the columns that are declared, if that is known yet. What comes out of a pipe can be
/// read only once, and is not looked at here.
pub(crate) fn check_header(csv: &Path, form: &CsvForm, declaration: Option<&Declaration>) -> Result<(), Error> {
    if csv.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(());
    }
    let names = Rows::open(csv, form)?.header()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    declaration.map_or(Ok(()), |declaration| declaration.check_names(&names))
}

/// Imports a CSV file with a header into a new file `target`, which is there as a whole or not at all.
///
/// `key` decides which rows are kept of a unit that has too many. `progress` is told how many bytes of how many are read.
pub(crate) fn import(
    csv: &Path,
    form: &CsvForm,
    declaration: &Declaration,
    target: &Path,
    key: &[u8; 32],
    bad_rows: BadRows,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Imported, Error> {
    let mut rows = Rows::open(csv, form)?;
    let names = rows.header()?;
    let sample = infer::sample(&mut rows)?;
    let schema = declaration.schema(&infer::types(&names, declaration, &sample))?;
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

    let mut imported = load.finish(csv)?;
    if let Some(unit) = schema.unit_column() {
        imported.kept = file.keep(&schema, unit, key)?;
    }
    file.finish(&schema, imported.kept)?;
    Ok(Imported { schema, rows: imported, fingerprint: rows.fingerprint() })
}
