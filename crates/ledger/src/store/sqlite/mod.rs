//! A ledger in a SQLite file.
//!
//! The journal is in write-ahead mode and every commit is synced (`synchronous=FULL`), so that a returned commit is on disk.
//! Only one process writes: it holds a lock on a file beside the ledger. Others may read meanwhile.

mod open;

use std::fs::File;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Row, ffi, params};

use self::open::hint;
use super::{Store, StoreError, StoreFailure, StoredRecord};
use crate::books::{AccountRow, ChangedAccount, Entry};
use crate::hash::Hash;
use crate::journal::Position;

pub(super) struct Sqlite {
    connection: Connection,
    /// Held as long as this process may write.
    _lock: Option<File>,
}

impl Sqlite {
    /// The first error of a transaction ends it.
    fn fail(&mut self, error: rusqlite::Error, when: When) -> StoreError {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        let code = extended.map(|code| code & 0xff);
        let kind = match (code, when) {
            // The only other unique columns are numbers, which the journal and the books count.
            _ if extended == Some(ffi::SQLITE_CONSTRAINT_UNIQUE) => StoreFailure::KeyTaken,
            // A full disk while rows are written leaves no trace. At the commit it might: the end of the transaction can be in the
            // write-ahead file when what comes after it no longer fits.
            (Some(ffi::SQLITE_FULL), When::Before) => StoreFailure::Failed,
            (Some(ffi::SQLITE_BUSY), _) => StoreFailure::Failed,
            (Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB), _) => StoreFailure::Broken,
            // A value of another kind than was written.
            (None, When::Before) => StoreFailure::Broken,
            (Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR), _) | (_, When::Commit) => StoreFailure::Fatal,
            _ => StoreFailure::Failed,
        };
        let hint = hint(code);
        if kind == StoreFailure::Fatal {
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
            Ok((connection.prepare_cached(newest)?.query_row([], position).optional()?, alarm(connection)?))
        })?;
        if let Some(why) = alarm {
            self.rollback();
            return Err(StoreError::new(StoreFailure::Alarm, why));
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

    fn positions(&mut self, from: u64, most: usize) -> Result<Vec<Position>, StoreError> {
        self.attempt(|connection| {
            let from_on = "SELECT sequence, hash FROM journal WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2";
            connection.prepare_cached(from_on)?.query_map(params![from as i64, most as i64], position)?.collect()
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
        let broken = |why: String| Err(StoreError::new(StoreFailure::Broken, why));
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
        Err(StoreError::new(StoreFailure::Fatal, "a file has no connection to make again"))
    }
}

fn alarm(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.prepare_cached("SELECT why FROM alarm")?.query_row([], |row| row.get(0)).optional()
}

fn position(row: &Row<'_>) -> rusqlite::Result<Position> {
    Ok(Position { sequence: unsigned(row, 0)?, hash: hash(row, 1)? })
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
