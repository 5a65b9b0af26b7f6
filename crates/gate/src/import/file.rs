//! A new file of the embedded engine: written beside its place, checked, synced, and only then moved there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Statement, ffi};
use tempfile::{NamedTempFile, TempPath};

use super::keep;
use crate::engine::{Embedded, Engine};
use crate::error::Error;
use crate::question::commas;
use crate::schema::Schema;
use crate::sql;

/// The file while rows are added to it.
pub(super) struct NewFile {
    // Closed before the file is taken away, as it is unless it is finished.
    connection: Connection,
    path: TempPath,
    target: PathBuf,
}

/// In bytes. Larger pages are faster to scan, since rows are only ever added at the end and read in order.
const PAGE_SIZE: u32 = 16_384;

/// In KiB.
const CACHE: i32 = 65_536;

impl NewFile {
    pub(super) fn create(target: &Path, schema: &Schema) -> Result<NewFile, Error> {
        if target.exists() {
            return Err(Error::value("file", target.display(), "it is already there"));
        }
        let path = create(target)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let open = || {
            let connection = Connection::open_with_flags(Embedded::address(&path, "mode=rw"), flags)?;
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            connection.pragma_update(None, "cache_size", -CACHE)?;
            // A file that is not finished is deleted, and a finished one is synced as a whole.
            connection.pragma_update(None, "journal_mode", "OFF")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.execute_batch(&format!("BEGIN; {}", Embedded::definition(schema)))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| cannot_write(&error))?;
        Ok(NewFile { connection, path, target: target.to_path_buf() })
    }

    /// Writes the rows of every unit that count, of those that were read, and says how many those are.
    pub(super) fn keep(&self, schema: &Schema, unit: usize, key: &[u8; 32]) -> Result<u64, Error> {
        keep::keep(&self.connection, schema, unit, key).map_err(|error| cannot_write(&error))
    }

    /// The statement that adds a row. Where units are protected, the rows are only read at first: which of them count is decided when
    /// all are there.
    pub(super) fn insert(&self, schema: &Schema) -> Result<Statement<'_>, Error> {
        let insert = || {
            if schema.unit_column().is_some() {
                keep::make_table(&self.connection, schema)?;
                return keep::insert(&self.connection, schema);
            }
            let places = commas(vec!["?"; schema.columns.len()]);
            self.connection.prepare(&format!("INSERT INTO {} VALUES ({places})", Embedded::TABLE))
        };
        insert().map_err(|error| cannot_write(&error))
    }

    /// Moves the file to its place, once all of it is on disk and it has this number of rows.
    pub(super) fn finish(self, schema: &Schema, rows: u64) -> Result<(), Error> {
        let NewFile { connection, path, target } = self;
        let marks = format!(
            "PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
            Embedded::APPLICATION_ID,
            Embedded::VERSION
        );
        connection.execute_batch(&marks).map_err(|error| cannot_write(&error))?;
        connection.close().map_err(|(_, error)| cannot_write(&error))?;
        check(&path, schema, rows)?;
        let cannot = |error: io::Error| {
            Error::storage(format!(
                "{} cannot be written to disk: {error}; is the disk full or broken?",
                target.display()
            ))
        };
        OpenOptions::new().write(true).open(&path).and_then(|file| file.sync_all()).map_err(cannot)?;
        path.persist(&target).map_err(|error| cannot(error.error))?;
        sync_folder(&target).map_err(cannot)
    }
}

/// Makes an empty file beside the target, which only its owner may read.
fn create(target: &Path) -> Result<TempPath, Error> {
    let path = unfinished(target);
    let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let file = tempfile::Builder::new().prefix(name).rand_bytes(0).tempfile_in(folder);
    file.map(NamedTempFile::into_temp_path).map_err(|error| {
        Error::storage(match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "the file {} is already there: another import writes it, or one was killed; if none is running, delete it",
                path.display()
            ),
            _ => format!("the file {} cannot be made: {error}; its folder must exist and be writable", path.display()),
        })
    })
}

/// The name of a file that is not finished.
fn unfinished(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(".importing");
    target.with_file_name(name)
}

/// Removes what an import left that was killed, or that ended before its dataset was written down: no dataset has this version yet.
pub(crate) fn clear_leftovers(target: &Path) -> Result<(), Error> {
    for leftover in [target.to_path_buf(), unfinished(target)] {
        match fs::remove_file(&leftover) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::storage(format!("{} cannot be removed: {error}", leftover.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads what was written, as it will be read from now on.
fn check(path: &Path, schema: &Schema, rows: u64) -> Result<(), Error> {
    let mut engine = Embedded::open(path)?;
    engine.check(schema, Duration::MAX)?;
    let sql = format!("SELECT count(*) FROM {}", Embedded::TABLE);
    let count = sql::Statement {
        tables: Vec::new(),
        sql,
        parameters: Vec::new(),
        keys: Vec::new(),
        measures: 1,
        grouping: None,
    };
    let counted = engine.run(&count, Duration::MAX).map_err(Error::storage)?;
    match counted.first().map(|row| row.measures[0]) {
        Some(counted) if u64::try_from(counted) == Ok(rows) => Ok(()),
        counted => Err(Error::storage(format!(
            "{rows} rows were written, but {} are there; is the disk broken?",
            counted.unwrap_or_default()
        ))),
    }
}

/// Syncs the folder, so that the name of a new file is on disk.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Elsewhere folders cannot be synced.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// An error of SQLite while the file is written.
pub(super) fn cannot_write(error: &rusqlite::Error) -> Error {
    let hint = match error.sqlite_error().map(|error| error.extended_code & 0xff) {
        Some(ffi::SQLITE_FULL) => "; the disk is full: make room on it",
        Some(ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN) => "; is the disk full, over a limit, read-only or broken?",
        _ => "",
    };
    Error::storage(format!("the data cannot be written: SQLite: {error}{hint}"))
}
