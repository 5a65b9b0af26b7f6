//! A ledger in a SQLite file.
//!
//! The journal is in write-ahead mode and every commit is synced (`synchronous=FULL`), so that a returned commit is on disk.
//! Only one process writes: it holds a lock on a file beside the ledger. Others may read meanwhile.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, ffi, params};

use super::{Access, Failure, Location, Store, StoreError, StoredRecord};
use crate::books::{AccountRow, ChangedAccount, Entry};
use crate::error::{Error, ErrorKind};
use crate::files::{beside, lock_within, private, resolved, sync_folder};
use crate::hash::Hash;
use crate::journal::{FORMAT, Position};

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

pub(super) struct Sqlite {
    connection: Connection,
    /// Held as long as this process may write.
    _lock: Option<File>,
}

impl Sqlite {
    pub(super) fn open(path: &Path, access: Access) -> Result<Sqlite, Error> {
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

    /// The first error of a transaction ends it.
    fn fail(&mut self, error: rusqlite::Error, when: When) -> StoreError {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        let code = extended.map(|code| code & 0xff);
        let kind = match (code, when) {
            // The only other unique columns are numbers, which the journal and the books count.
            _ if extended == Some(ffi::SQLITE_CONSTRAINT_UNIQUE) => Failure::KeyTaken,
            // A full disk while rows are written leaves no trace. At the commit it might: the end of the transaction can be in the
            // write-ahead file when what comes after it no longer fits.
            (Some(ffi::SQLITE_FULL), When::Before) => Failure::Failed,
            (Some(ffi::SQLITE_BUSY), _) => Failure::Failed,
            (Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB), _) => Failure::Broken,
            // A value of another kind than was written.
            (None, When::Before) => Failure::Broken,
            (Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR), _) | (_, When::Commit) => Failure::Fatal,
            _ => Failure::Failed,
        };
        let hint = hint(code);
        if kind == Failure::Fatal {
            // Closing would write and sync once more. Where even this fails, so will that.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        self.rollback();
        StoreError::new(kind, format!("SQLite: {error}{hint}"))
    }

    fn attempt<T>(&mut self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        action(&self.connection).map_err(|error| self.fail(error, When::Before))
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
fn hint(code: Option<i32>) -> &'static str {
    match code {
        Some(ffi::SQLITE_FULL) => "; the disk is full: make room on it",
        Some(ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN) => "; is the disk full, over a limit, read-only or broken?",
        Some(ffi::SQLITE_READONLY) => {
            "; it was not closed as it should be, and nothing may be written beside it: copy it elsewhere, with its -wal file"
        }
        Some(ffi::SQLITE_BUSY) => "; does another program hold the file?",
        _ => "",
    }
}

/// When an error came.
#[derive(Clone, Copy)]
enum When {
    Before,
    Commit,
}

impl Store for Sqlite {
    fn begin(&mut self) -> Result<Option<Position>, StoreError> {
        let (position, alarm) = self.attempt(|connection| {
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let newest = "SELECT sequence, hash FROM journal ORDER BY sequence DESC LIMIT 1";
            let position = |row: &Row<'_>| Ok(Position { sequence: unsigned(row, 0)?, hash: hash(row, 1)? });
            Ok((connection.prepare_cached(newest)?.query_row([], position).optional()?, alarm(connection)?))
        })?;
        if let Some(why) = alarm {
            self.rollback();
            return Err(StoreError::new(Failure::Alarm, why));
        }
        Ok(position)
    }

    fn begin_reading(&mut self) -> Result<(), StoreError> {
        self.attempt(|connection| connection.execute_batch("BEGIN DEFERRED"))
    }

    fn head(&mut self) -> Result<Option<StoredRecord>, StoreError> {
        self.attempt(|connection| {
            let newest = "SELECT sequence, hash, key, line FROM journal ORDER BY sequence DESC LIMIT 1";
            connection.prepare_cached(newest)?.query_row([], stored_record).optional()
        })
    }

    fn records(&mut self, from: u64, most: usize) -> Result<Vec<StoredRecord>, StoreError> {
        self.attempt(|connection| {
            let from_on =
                "SELECT sequence, hash, key, line FROM journal WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2";
            connection.prepare_cached(from_on)?.query_map(params![from as i64, most as i64], stored_record)?.collect()
        })
    }

    fn find_keys(&mut self, keys: &[&str]) -> Result<Vec<StoredRecord>, StoreError> {
        self.attempt(|connection| {
            let mut by_key =
                connection.prepare_cached("SELECT sequence, hash, key, line FROM journal WHERE key = ?1")?;
            keys.iter().filter_map(|key| by_key.query_row([key], stored_record).optional().transpose()).collect()
        })
    }

    fn accounts(&mut self, after: Option<u64>) -> Result<Vec<AccountRow>, StoreError> {
        self.attempt(|connection| {
            let changed =
                "SELECT number, name, sequence, state FROM accounts WHERE ?1 IS NULL OR sequence > ?1 ORDER BY number";
            let row = |row: &Row<'_>| {
                Ok(AccountRow {
                    number: u32::try_from(unsigned(row, 0)?).unwrap_or(u32::MAX),
                    name: text(row, 1)?.unwrap_or_default(),
                    sequence: unsigned(row, 2)?,
                    state: row.get(3)?,
                })
            };
            connection.prepare_cached(changed)?.query_map([after.map(|sequence| sequence as i64)], row)?.collect()
        })
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.attempt(|connection| {
            let mut append =
                connection.prepare_cached("INSERT INTO journal (sequence, hash, key, line) VALUES (?1, ?2, ?3, ?4)")?;
            for Entry { receipt, key } in entries {
                let key = key.as_ref().map(|key| key.as_str());
                append.execute(params![receipt.sequence() as i64, receipt.hash().as_bytes(), key, receipt.line()])?;
            }
            Ok(())
        })
    }

    fn put(&mut self, accounts: &[ChangedAccount<'_>]) -> Result<(), StoreError> {
        self.attempt(|connection| {
            let mut add = connection
                .prepare_cached("INSERT INTO accounts (number, name, sequence, state) VALUES (?1, ?2, ?3, ?4)")?;
            let mut update =
                connection.prepare_cached("UPDATE accounts SET sequence = ?2, state = ?3 WHERE number = ?1")?;
            for ChangedAccount { number, account, state, is_new } in accounts {
                let sequence = account.sequence() as i64;
                match is_new {
                    true => add.execute(params![number, account.name().as_str(), sequence, state])?,
                    false => update.execute(params![number, sequence, state])?,
                };
            }
            Ok(())
        })
    }

    fn alarm(&mut self) -> Result<Option<String>, StoreError> {
        self.attempt(alarm)
    }

    fn set_alarm(&mut self, why: Option<&str>) -> Result<(), StoreError> {
        self.attempt(|connection| match why {
            Some(why) => connection.execute("INSERT OR REPLACE INTO alarm VALUES (1, ?1)", [why]),
            None => connection.execute("DELETE FROM alarm", []),
        })?;
        Ok(())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let broken = |why: String| Err(StoreError::new(Failure::Broken, why));
        let outside = "SELECT sequence FROM journal WHERE sequence < 0 LIMIT 1";
        let outside =
            |connection: &Connection| connection.query_row(outside, [], |row| row.get::<_, i64>(0)).optional();
        if let Some(sequence) = self.attempt(outside)? {
            return broken(format!("record {sequence}: no record has such a number"));
        }
        let integrity = |connection: &Connection| {
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        };
        match self.attempt(integrity)?.as_str() {
            "ok" => Ok(()),
            damage => broken(format!("the file of the ledger is damaged: {damage}")),
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let commit = |connection: &Connection| connection.prepare_cached("COMMIT")?.execute([]);
        match commit(&self.connection) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fail(error, When::Commit)),
        }
    }

    fn rollback(&mut self) {
        // SQLite has ended some transactions itself after an error. Whatever else goes wrong here shows at the next beginning.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn reconnect(&mut self) -> Result<(), StoreError> {
        Err(StoreError::new(Failure::Fatal, "a file has no connection to make again"))
    }
}

fn alarm(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.prepare_cached("SELECT why FROM alarm")?.query_row([], |row| row.get(0)).optional()
}

fn stored_record(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    let line = text(row, 3)?.unwrap_or_default();
    Ok(StoredRecord { sequence: unsigned(row, 0)?, hash: hash(row, 1)?, key: text(row, 2)?, line })
}

/// A number that no row can have was put there by other means; it is read as one that no row has.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(u64::MAX))
}

/// Bytes that are not text are read as something that no hash fits.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(column)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    let bytes: Vec<u8> = row.get(column)?;
    // A hash of another length is a damaged one: it equals no hash.
    Ok(Hash::from_bytes(&bytes).unwrap_or(Hash::NONE))
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
