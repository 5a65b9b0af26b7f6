//! Parquet files of an owner, read where they are.
//!
//! Every column is asked in one of a few types, by a view that casts where the files have a narrower one. All files are read once when
//! they are registered, every value of every column that can be asked about: what can be read once can be read again as long as a file
//! is the same, so nothing in them can fail after a charge. A file that was changed since is refused before the charge.

use std::path::{Path, PathBuf};
use std::time::Instant;

use taximeter_engine_adbc::AdbcConnection;

use super::canary;
use super::duckdb::{self, SessionAccess};
use super::keep::{ROOM, keep};
use super::own::FOREVER;
use super::view;
use super::{Adbc, ColumnsWithin, LakeFile};
use crate::declaration::Declaration;
use crate::engine::driver_source::{AdbcData, AdbcSource, DriverChoice};
use crate::engine::{PreparedLake, Source};
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::register::ImportedRows;
use crate::schema::{Column, ColumnType, PrivacyUnit, Schema};
use crate::sql::Dialect;

/// Files in a session that reads nothing else.
pub(super) struct Lake {
    pub(super) connection: AdbcConnection,
    files: Vec<LakeFile>,
    columns: Vec<LakeColumn>,
    /// Columns that cannot be asked about, and their types.
    pub(super) left_out: Vec<(String, String)>,
}

/// A column of the files.
struct LakeColumn {
    name: String,
    kind: ColumnType,
    /// As it is asked.
    expression: String,
}

/// More rows than this might overflow a sum, which is of steps within 2³¹.
const MOST_ROWS: u64 = 1 << 32;

/// What a name of a file must not have: DuckDB takes it for a pattern.
const WILD: [char; 3] = ['*', '?', '['];

impl Lake {
    /// The files that an owner names by a file, a folder or a pattern, as they are now.
    pub(super) fn find(
        choice: &DriverChoice,
        pattern: &str,
        folder: &Path,
        until: Instant,
    ) -> Result<Vec<LakeFile>, Error> {
        let wrong = |why: &str| Error::value("files", format_args!("{pattern:?}"), why);
        if pattern.contains("://") {
            return Err(wrong(
                "only files of this machine can be read in place; mount the store, or use a cluster in front of it",
            ));
        }
        let path = std::path::absolute(pattern).map_err(|error| wrong(&error.to_string()))?;
        let all = if path.is_dir() { path.join("**/*.parquet") } else { path };
        let mut connection = duckdb::open(choice, &SessionAccess::Names, folder, until)?;
        let list = format!("SELECT file FROM glob({}) ORDER BY file", duckdb::quoted_text(duckdb::text(&all)?));
        let found = duckdb::query(&mut connection, &list, until)?;
        let paths: Vec<PathBuf> = found.rows.iter().filter_map(|row| row.first()?.text().map(PathBuf::from)).collect();
        if paths.is_empty() {
            return Err(wrong("file not found; give a Parquet file, a folder, or a pattern such as 'lake/*.parquet'"));
        }
        if let Some(wild) = paths.iter().find(|path| duckdb::text(path).is_ok_and(|path| path.contains(WILD))) {
            return Err(wrong(&format!("{} has *, ? or [ in its name; give it another one", wild.display())));
        }
        paths.iter().map(|path| LakeFile::look(path)).collect()
    }

    /// Opens files, and looks at their columns.
    pub(super) fn open(
        choice: &DriverChoice,
        files: Vec<LakeFile>,
        folder: &Path,
        until: Instant,
    ) -> Result<Lake, Error> {
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let connection = duckdb::open(choice, &SessionAccess::Files(&paths), folder, until)?;
        Lake::in_session(connection, files, until)
    }

    pub(super) fn in_session(
        mut connection: AdbcConnection,
        files: Vec<LakeFile>,
        until: Instant,
    ) -> Result<Lake, Error> {
        let found = duckdb::columns(&mut connection, &from(&files)?, until)?;
        let (mut columns, mut left_out) = (Vec::new(), Vec::new());
        for (name, stored) in found {
            match asked(&name, &stored) {
                Some((kind, expression)) => columns.push(LakeColumn { name, kind, expression }),
                None => left_out.push((name, stored)),
            }
        }
        if columns.is_empty() {
            let why = "they have no column that questions can use: only numbers, text, booleans, dates and timestamps";
            return Err(Error::input("files", format!("the Parquet files: {why}")));
        }
        Ok(Lake { connection, files, columns, left_out })
    }

    /// Names and types of the columns that can be asked about.
    pub(super) fn columns(&self) -> Vec<(String, ColumnType)> {
        self.columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
    }

    /// What tells the same files from others.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, bytes, modified) in self.files.iter().map(LakeFile::identity) {
            hasher.update(format!("{}\0{bytes}\0{modified}\0", path.display()).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Reads every value of every column of a schema, and says how many rows there are.
    pub(super) fn read_all(&mut self, schema: &Schema, until: Instant) -> Result<u64, Error> {
        let columns = commas(schema.columns.iter().map(|column| quoted(&column.name)));
        // A hash needs the values themselves; a count could be had from what the files say about themselves.
        let read = format!(
            "SELECT count(*) FROM (SELECT hash({columns}) AS read FROM ({})) WHERE read IS NOT NULL",
            self.select(schema)?
        );
        let rows = duckdb::number(&mut self.connection, &read, until)?;
        self.files.iter().try_for_each(LakeFile::check)?;
        match rows <= MOST_ROWS {
            true => Ok(rows),
            false => Err(Error::input(
                "files",
                format!("there are more than {MOST_ROWS} rows; divide them into several datasets"),
            )),
        }
    }

    /// Makes the view that is asked.
    pub(super) fn engine(self, schema: &Schema, within: ColumnsWithin, until: Instant) -> Result<Adbc, Error> {
        let rows = self.select(schema)?;
        Adbc::new(self.connection, rows, self.files, schema, within, until)
    }

    /// Which columns have no value outside of their bounds, if nothing was changed about the files meanwhile.
    pub(super) fn columns_within(&mut self, schema: &Schema, until: Instant) -> Result<ColumnsWithin, Error> {
        let rows = self.select(schema)?;
        let within = view::columns_within(&mut self.connection, &rows, schema, until)?;
        view::create(&mut self.connection, &rows, schema, &within, until)?;
        view::check(&mut self.connection, schema, until)?;
        Ok(if self.files.iter().all(LakeFile::is_untouched) { within } else { ColumnsWithin::default() })
    }

    /// The columns of a schema as they are asked.
    pub(super) fn select(&self, schema: &Schema) -> Result<String, Error> {
        let column = |declared: &Column| {
            let held = self.columns.iter().find(|column| column.name == declared.name);
            match held {
                Some(LakeColumn { kind, expression, name }) if *kind == declared.kind => {
                    Ok(format!("{expression} AS {}", quoted(name)))
                }
                Some(LakeColumn { kind, name, .. }) => Err(Error::storage(format!(
                    "the column {name:?} holds {kind} now, not {}; register the data again",
                    declared.kind
                ))),
                None => Err(Error::storage(format!(
                    "the column {:?} is not there any more; register the data again",
                    declared.name
                ))),
            }
        };
        let columns = schema.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("SELECT {} FROM {}", commas(columns), from(&self.files)?))
    }
}

/// Finds, looks at and reads the files that an owner names, and writes the rows that are kept of every unit into a new file `own` of the
/// gate's folder.
pub(crate) fn prepare_lake(
    choice: &DriverChoice,
    pattern: &str,
    declaration: &Declaration,
    key: &[u8; 32],
    own: &Path,
    folder: &Path,
) -> Result<PreparedLake, Error> {
    let until = Instant::now() + FOREVER;
    let files = Lake::find(choice, pattern, folder, until)?;
    let mut lake = Lake::open(choice, files.clone(), folder, until)?;
    canary::check(&mut lake.connection, Dialect::DuckDb, until)?;
    let schema = declaration.schema(&lake.columns())?;
    let rows = lake.read_all(&schema, until)?;
    let within = match schema.unit() {
        PrivacyUnit::Row => lake.columns_within(&schema, until)?,
        // The owner's files are not asked.
        PrivacyUnit::Column { .. } => ColumnsWithin::default(),
    };
    let (fingerprint, left_out) = (lake.fingerprint(), std::mem::take(&mut lake.left_out));
    drop(lake);
    let (kept, imported) = match schema.unit() {
        PrivacyUnit::Row => (None, ImportedRows { rows, kept: rows, ..ImportedRows::default() }),
        PrivacyUnit::Column { .. } => {
            let imported = keep(choice, &files, &schema, key, &folder.join(own), &ROOM, until)?;
            (Some(own.to_path_buf()), imported)
        }
    };
    let data = AdbcData::Lake { pattern: pattern.to_string(), files, kept, within };
    let source = Source::Adbc(AdbcSource { driver: choice.clone(), data });
    Ok(PreparedLake { schema, source, fingerprint, imported, left_out })
}

/// What stands behind FROM for the files.
fn from(files: &[LakeFile]) -> Result<String, Error> {
    let paths =
        files.iter().map(|file| duckdb::text(&file.path).map(duckdb::quoted_text)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("read_parquet([{}])", commas(paths)))
}

/// What a column of this type holds and how it is asked; nothing if it cannot be. No value of the narrower types fails in its cast.
fn asked(name: &str, stored: &str) -> Option<(ColumnType, String)> {
    let column = quoted(name);
    let kind = match stored {
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" => ColumnType::Integer,
        "FLOAT" | "DOUBLE" => ColumnType::Real,
        "VARCHAR" => ColumnType::Text,
        "BOOLEAN" => ColumnType::Boolean,
        "DATE" => ColumnType::Date,
        "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => ColumnType::Timestamp,
        // The function for time zones fails on the last times of all; the microseconds of infinite ones are null.
        "TIMESTAMP WITH TIME ZONE" => {
            let finite = format!("WHEN isfinite({column}) THEN make_timestamp(epoch_us({column}))");
            return Some((ColumnType::Timestamp, format!("(CASE {finite} ELSE timezone('UTC', {column}) END)")));
        }
        decimal => return is_narrow(decimal).then_some((ColumnType::Decimal, column)),
    };
    let asked = duckdb::stored_type(kind);
    Some((kind, if stored == asked { column } else { format!("CAST({column} AS {asked})") }))
}

/// Whether a type is one of decimal numbers that questions can take: at most 19 digits before the point and 9 behind it, so that no
/// cast and no comparison with a literal fails.
fn is_narrow(stored: &str) -> bool {
    let digits =
        stored.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')')).and_then(|both| both.split_once(','));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match digits.map(|(all, behind)| (number(all), number(behind))) {
        Some((Some(all), Some(behind))) => behind <= 9 && all.saturating_sub(behind) <= 19,
        _ => false,
    }
}
