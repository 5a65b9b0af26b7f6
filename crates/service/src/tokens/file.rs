//! Tokens in a private SQLite file next to the ledger, so that they can be created and revoked while a server runs.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use taximeter_ledger::LedgerId;
use taximeter_ledger::files::sync_folder;

use super::secret::TokenId;
use super::{Store, StoreState, StoredToken};
use crate::{Code, Problem, TokenDocument};

pub(super) struct FileStore {
    path: PathBuf,
    connection: Connection,
}

const FORMAT: i64 = 1;

/// "taxt", which marks a file of tokens.
const APPLICATION: i64 = 0x7461_7874;

/// The latest time that was seen, so that setting the clock back revives no token.
const CLOCK: &str = "
    CREATE TABLE IF NOT EXISTS clock (one INTEGER PRIMARY KEY CHECK (one = 1), latest INTEGER NOT NULL) STRICT;
";

const TABLES: &str = "
    CREATE TABLE ledger (id TEXT NOT NULL) STRICT;
    CREATE TABLE tokens (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, document TEXT NOT NULL, revoked TEXT
    ) STRICT;
";

impl FileStore {
    /// Opens the tokens of a ledger, and creates the file if there is none. The tokens of another ledger are refused: this ledger's owner
    /// never granted them.
    pub(super) fn open(path: &Path, ledger: LedgerId) -> Result<FileStore, Problem> {
        let cannot = |error: &dyn std::fmt::Display| unusable(path, error);
        // Under a lock: SQLite fails instead of waiting while another process creates the file.
        let mut lock = path.as_os_str().to_os_string();
        lock.push(".lock");
        let opening = private().create(true).truncate(false).open(&lock).map_err(|error| cannot(&error))?;
        opening.lock().map_err(|error| cannot(&error))?;
        make_private(path).map_err(|error| cannot(&error))?;
        let connection = Connection::open(path).map_err(|error| cannot(&error))?;
        let mut store = FileStore { path: path.to_path_buf(), connection };
        let found = store.prepare(ledger).map_err(|error| cannot(&error))?;
        // SQLite syncs its files, but not the folder that they are in.
        sync_folder(path).map_err(|error| cannot(&error))?;
        match found {
            FileContent::Tokens(of) if of == ledger.to_string() => Ok(store),
            FileContent::Tokens(of) => Err(Problem::bad_request(format!(
                "the tokens in {} are those of the ledger {of}, but this one is {ledger}; name the right ledger, or move the file away \
                 and make new tokens",
                path.display()
            ))),
            FileContent::Newer => Err(Problem::new(
                Code::Storage,
                format!("the tokens in {} have a newer format; use a newer version of taximeter", path.display()),
            )),
            FileContent::SomethingElse => Err(Problem::bad_request(format!(
                "{} is not a file of tokens; move it away, and new tokens can be made",
                path.display()
            ))),
        }
    }

    fn prepare(&mut self, ledger: LedgerId) -> rusqlite::Result<FileContent> {
        self.connection.busy_timeout(Duration::from_secs(10))?;
        let number =
            |connection: &Connection, name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
        let is_empty: bool = match self.connection.query_row(is_empty, [], |row| row.get(0)) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
                return Ok(FileContent::SomethingElse);
            }
            other => other?,
        };
        if !is_empty && number(&self.connection, "application_id")? != APPLICATION {
            return Ok(FileContent::SomethingElse);
        }
        if !is_empty && number(&self.connection, "user_version")? != FORMAT {
            return Ok(FileContent::Newer);
        }
        self.connection.pragma_update(None, "journal_mode", "WAL")?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_empty {
            transaction.execute_batch(TABLES)?;
            transaction.execute("INSERT INTO ledger VALUES (?1)", [ledger.to_string()])?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
        }
        transaction.execute_batch(CLOCK)?;
        let of = transaction.query_row("SELECT id FROM ledger", [], |row| row.get(0))?;
        transaction.commit()?;
        Ok(FileContent::Tokens(of))
    }

    fn broken(&self) -> impl Fn(rusqlite::Error) -> Problem + '_ {
        |error| unusable(&self.path, &error)
    }
}

/// What a file contains.
enum FileContent {
    /// The tokens of a ledger, by its id.
    Tokens(String),
    Newer,
    SomethingElse,
}

impl Store for FileStore {
    fn state(&mut self) -> Result<(StoreState, Option<i64>), Problem> {
        let state = |row: &Row<'_>| Ok((StoreState { tokens: row.get(0)?, revoked: row.get(1)? }, row.get(2)?));
        let query = "SELECT count(*), count(revoked), (SELECT latest FROM clock) FROM tokens";
        self.connection.query_row(query, [], state).map_err(self.broken())
    }

    fn remember(&mut self, latest: i64) -> Result<(), Problem> {
        let remember =
            "INSERT INTO clock VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET latest = max(latest, excluded.latest)";
        self.connection.execute(remember, [latest]).map(|_| ()).map_err(self.broken())
    }

    fn all(&mut self) -> Result<Vec<StoredToken>, Problem> {
        let broken = self.broken();
        let all = "SELECT hash, document, revoked FROM tokens ORDER BY number";
        let mut statement = self.connection.prepare_cached(all).map_err(&broken)?;
        let mut rows = statement.query([]).map_err(&broken)?;
        let mut tokens = Vec::new();
        while let Some(row) = rows.next().map_err(&broken)? {
            tokens.push(read(row).map_err(&broken)??);
        }
        Ok(tokens)
    }

    fn insert(&mut self, token: &StoredToken) -> Result<(), Problem> {
        let insert = "INSERT INTO tokens (id, hash, document) VALUES (?1, ?2, ?3)";
        let parameters = params![token.token.id, token.hash.as_bytes(), token.document()?];
        self.connection.execute(insert, parameters).map(|_| ()).map_err(self.broken())
    }

    fn revoke(&mut self, id: TokenId, now: Timestamp) -> Result<Option<TokenDocument>, Problem> {
        let broken = self.broken();
        let revoke = "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL";
        self.connection.execute(revoke, [id.to_string(), now.to_string()]).map_err(&broken)?;
        let find = "SELECT hash, document, revoked FROM tokens WHERE id = ?1";
        let found = self.connection.query_row(find, [id.to_string()], read).optional().map_err(&broken)?;
        Ok(found.transpose()?.map(|stored| stored.token))
    }

    fn revoke_all(&mut self, now: Timestamp) -> Result<(), Problem> {
        let revoke = "UPDATE tokens SET revoked = ?1 WHERE revoked IS NULL";
        self.connection.execute(revoke, [now.to_string()]).map(|_| ()).map_err(self.broken())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Result<StoredToken, Problem>> {
    let hash: Vec<u8> = row.get(0)?;
    let document: String = row.get(1)?;
    Ok(StoredToken::parse(&hash, &document, row.get(2)?))
}

/// Options for a file that only its owner may read and write: write access is enough to forge tokens.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates the file, unless it exists. SQLite gives its side files the same permissions. An existing file is not opened: closing it
/// would release SQLite's locks on it.
fn make_private(path: &Path) -> std::io::Result<()> {
    match private().create_new(true).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        Code::Storage,
        format!(
            "the tokens in {} cannot be used: {error}; the user of the server must own the file, and its disk must not be full",
            path.display()
        ),
    )
}
