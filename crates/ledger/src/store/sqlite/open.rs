//! Opening a SQLite file as a ledger: its lock, its settings and its tables.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::Sqlite;
use crate::error::{Error, ErrorKind};
use crate::files::{beside, lock_within, private, resolved, sync_folder};
use crate::journal::FORMAT;
use crate::store::{Access, Location};

/// Says that a SQLite file is a ledger: "TaxM".
const APPLICATION_ID: i64 = 0x5461_784d;

/// How long SQLite waits for others.
const BUSY: Duration = Duration::from_secs(5);

/// The version of the tables.
const SCHEMA_VERSION: i64 = FORMAT as i64;

const TABLES: [&str; 3] = [
    "CREATE TABLE journal (
        sequence INTEGER PRIMARY KEY,
        hash     BLOB NOT NULL,
        key      TEXT UNIQUE,
        line     TEXT NOT NULL
    ) STRICT",
    "CREATE TABLE accounts (
        number   INTEGER PRIMARY KEY,
        name     TEXT NOT NULL UNIQUE,
        sequence INTEGER NOT NULL,
        state    BLOB NOT NULL
    ) STRICT",
    "CREATE TABLE alarm (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        why      TEXT NOT NULL
    ) STRICT",
];

impl Sqlite {
    pub(in crate::store) fn open(path: &Path, access: Access) -> Result<Sqlite, Error> {
        // SQLite keeps its other files beside the file itself, also when it is reached through a link.
        let path = &resolved(path);
        let lock = match access {
            Access::Read { .. } | Access::Mark => None,
            Access::Write { wait, create } => {
                require_file(path, create)?;
                Some(lock(path, wait)?)
            }
        };
        require_file(path, matches!(access, Access::Write { create: true, .. }))?;
        let cannot = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => not_a_ledger(path),
            _ => {
                let hint = hint(error.sqlite_error().map(|error| error.extended_code & 0xff));
                Error::storage(format!("the ledger {} cannot be opened: {error}{hint}", path.display()))
            }
        };
        let mut connection = connect(path, access).map_err(cannot)?;
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(cannot);
        let (application, version) = (number("application_id")?, number("user_version")?);
        let is_empty = connection
            .query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get::<_, bool>(0))
            .map_err(cannot)?;
        match (application, version) {
            (APPLICATION_ID, SCHEMA_VERSION) => {}
            (APPLICATION_ID, other) => return Err(ErrorKind::OtherFormat { found: other }.into()),
            (0, 0) if is_empty => {}
            _ => return Err(not_a_ledger(path)),
        }
        if let Access::Write { .. } = access {
            configure(&mut connection).map_err(cannot)?;
            if is_empty {
                create(&connection).map_err(cannot)?;
            }
            settle(&connection).map_err(cannot)?;
            sync_what_is_there(path)?;
        } else if access == Access::Mark {
            // Moving pages to their places is the writer's work.
            connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(cannot)?;
            // Another program made them, and they could take the mark away again.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(cannot)?;
            connection.pragma_update(None, "synchronous", "FULL").map_err(cannot)?;
        }
        if is_empty && !matches!(access, Access::Write { .. }) {
            return Err(no_ledger(path));
        }
        // A ledger whose tables were changed is what the mark is for.
        match access == Access::Mark || tables(&connection).map_err(cannot)? == expected_tables() {
            true => Ok(Sqlite { connection, _lock: lock }),
            false => Err(Error::integrity(format!(
                "the tables of the ledger {} are not those that this program made; the ledger was changed by other means",
                path.display()
            ))),
        }
    }
}

/// Opens the file. Beside it SQLite keeps what readers and writers share, and makes that even for a reader. Where it may not, and
/// no writer left anything there either, the file alone is the whole ledger.
fn connect(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    // One thread uses the connection at a time, so SQLite need not lock against itself.
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match access {
            Access::Read { .. } => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write { .. } | Access::Mark => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
    let in_use = |connection: Connection| {
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(32);
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let opened = Connection::open_with_flags(path, flags).and_then(in_use);
    let code = opened.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
    match (access, code) {
        (Access::Read { .. }, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)) if !beside(path, "-wal").exists() => {
            Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI).and_then(in_use)
        }
        _ => opened,
    }
}

/// A file without a writer, as a URI.
fn unchanging(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("file:{path}?immutable=1")
}

/// What to do about an error, by its code.
pub(super) fn hint(code: Option<i32>) -> &'static str {
    match code {
        Some(ffi::SQLITE_FULL) => "; the disk is full: make room on it",
        Some(ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN) => "; is the disk full, over a limit, read-only or broken?",
        Some(ffi::SQLITE_READONLY) => {
            "; it was not closed properly, and no file can be written next to it: copy it elsewhere, with its -wal file"
        }
        Some(ffi::SQLITE_BUSY) => "; does another program hold the file?",
        _ => "",
    }
}

fn configure(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // On systems where a plain sync does not reach the disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Room for the pages where new keys go, in KiB.
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // SQLite's own checkpoints pass over a failed sync. An error here makes the commit that caused it fail.
    connection.wal_hook(Some(|wal: &mut Wal, pages| if pages < CHECKPOINT { Ok(()) } else { checkpoint(wal) }))
}

/// Pages in the write-ahead file before they are moved to their places: an account or an index page that changed often meanwhile is
/// moved once. 32 MiB are read in no time when a ledger is opened after a crash.
const CHECKPOINT: i32 = 8192;

fn checkpoint(wal: &mut Wal) -> rusqlite::Result<()> {
    match wal.checkpoint() {
        // A reader needs the old pages a little longer; the next commit tries again.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        result => result,
    }
}

/// A process that was killed, or whose sync failed, may have left behind what is not on disk. What is read from here on is
/// acknowledged again, so it is moved to its place and synced there, as far as readers allow.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.busy_timeout(BUSY)
}

/// Where readers did not allow it, the write-ahead file is synced as it is; and so are the names of new files, where SQLite passes
/// over an error. Not the file of the ledger: closing another handle to it would take SQLite's locks away.
fn sync_what_is_there(path: &Path) -> Result<(), Error> {
    let wal = beside(path, "-wal");
    match File::open(&wal).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot_sync(&wal, &error)),
        _ => {}
    }
    sync_folder(path).map_err(|error| cannot_sync(path, &error))
}

fn cannot_sync(path: &Path, error: &std::io::Error) -> Error {
    Error::storage(format!("{} cannot be synced: {error}; is the disk full or broken?", path.display()))
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    // The marks are part of the same transaction: there is a whole ledger or an empty file.
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT",
        TABLES.join("; ")
    ))
}

/// What was made in the file: that a key is taken only once rests on it.
fn tables(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut made = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    made.query_map([], |row| row.get(0))?.collect()
}

fn expected_tables() -> BTreeSet<String> {
    TABLES.map(String::from).into()
}

fn require_file(path: &Path, create: bool) -> Result<(), Error> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::parameter("ledger", path.display().to_string(), "it is a folder; name a file in it"))
        }
        Ok(_) => Ok(()),
        // SQLite gives its other files the mode of this one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => match private().create(true).open(path)
        {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::storage(format!("the ledger {} cannot be made: {error}", path.display()))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(no_ledger(path)),
        Err(error) => Err(Error::storage(format!("the ledger {} cannot be opened: {error}", path.display()))),
    }
}

fn no_ledger(path: &Path) -> Error {
    ErrorKind::NoLedger(Location::File(path.to_path_buf())).into()
}

fn not_a_ledger(path: &Path) -> Error {
    ErrorKind::NotALedger(path.to_path_buf()).into()
}

/// Keeps other processes from writing to the same ledger.
fn lock(path: &Path, wait: Duration) -> Result<File, Error> {
    let lock_path = beside(path, ".lock");
    let cannot = |error: std::io::Error| {
        let why = format!("the lock {}: {error}; the ledger's folder must exist and be writable", lock_path.display());
        Error::storage(why)
    };
    let file = private().create(true).truncate(false).open(&lock_path).map_err(cannot)?;
    match lock_within(&file, wait, Duration::from_millis(20)).map_err(cannot)? {
        true => Ok(file),
        false => Err(ErrorKind::Locked(path.to_path_buf()).into()),
    }
}
