//! The gate's own records: datasets and their versions, the answers that were given, and the owner's log.
//!
//! One SQLite file in the gate's folder. An answer is synced to the disk before anybody sees it. If the file is lost or is an old
//! copy, answers are missing, and whoever asks again with an old key is told *charged, no answer*: the ledger alone decides whether
//! a charge is fresh, so there is never new noise for an old charge.

mod answers;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use taximeter_ledger::{AccountName, LedgerId};

pub(crate) use self::answers::{AnswerRecord, StoredAnswer};
pub use self::answers::{FailedQuestion, KeptAnswer};
use crate::engine::Source;
use crate::error::Error;
use crate::import::sync_folder;
use crate::schema::Schema;

/// The gate's own records.
pub struct Catalog {
    folder: PathBuf,
    connection: Mutex<Connection>,
}

/// A dataset, in its newest version.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its name, which is that of the account that pays for questions about it.
    pub name: AccountName,
    /// The newest version, from 1.
    pub version: u32,
    /// What the owner declared.
    pub schema: Schema,
    /// Whether an analyst's own earlier answer to the same question may be given again at no cost.
    pub reuse: bool,
    /// How long a question may take.
    pub timeout: Duration,
    /// When the version was registered.
    pub registered: Timestamp,
    /// The rows that count, as far as they were counted; for the owner alone.
    pub rows: Option<u64>,
    pub(crate) source: Source,
    /// What tells the same data from others.
    pub(crate) fingerprint: String,
    /// The key of the hash that chooses which rows of a unit are kept; the same in all versions.
    pub(crate) key: [u8; 32],
}

impl Dataset {
    /// Where the data are, without passwords.
    pub fn data(&self) -> String {
        format!("{:?}", self.source)
    }
}

const FORMAT: i64 = 1;
/// "taxg", so that nothing else is taken for a gate's records.
const APPLICATION: i64 = 0x7461_7867;

const TABLES: &str = "
    CREATE TABLE gate (ledger TEXT NOT NULL) STRICT;
    CREATE TABLE datasets (name TEXT PRIMARY KEY, key BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE versions (
        dataset TEXT NOT NULL REFERENCES datasets (name), version INTEGER NOT NULL, schema TEXT NOT NULL, source TEXT NOT NULL,
        fingerprint TEXT NOT NULL, reuse INTEGER NOT NULL, timeout INTEGER NOT NULL, rows INTEGER, registered TEXT NOT NULL,
        PRIMARY KEY (dataset, version)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE answers (
        key TEXT PRIMARY KEY, request TEXT NOT NULL, account TEXT NOT NULL, dataset TEXT NOT NULL, version INTEGER NOT NULL,
        document TEXT, time TEXT NOT NULL
    ) STRICT;
    CREATE INDEX same_question ON answers (account, request, version);
    CREATE TABLE failures (time TEXT NOT NULL, key TEXT NOT NULL, dataset TEXT NOT NULL, why TEXT NOT NULL) STRICT;
";

impl Catalog {
    /// Opens the records of a ledger's gate, and makes them where there are none. Records of another ledger's gate are refused: its
    /// budgets are not those of the datasets.
    pub fn open(folder: &Path, ledger: LedgerId) -> Result<Catalog, Error> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        // Data, answers and the passwords of databases are in it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| unusable(folder, error))?;
        // One after the other: SQLite does not wait for whoever makes the file at the same time, it says that it is locked.
        let opening = lock_file(&folder.join("gate.db.lock")).map_err(|error| unusable(folder, error))?;
        opening.lock().map_err(|error| unusable(folder, error))?;
        let path = folder.join("gate.db");
        make_private(&path).map_err(|error| unusable(folder, error))?;
        let connection = Connection::open(path).map_err(|error| unusable(folder, error))?;
        let catalog = Catalog { folder: folder.to_path_buf(), connection: Mutex::new(connection) };
        catalog.prepare(ledger)?;
        Ok(catalog)
    }

    /// Whether there are any records in a folder.
    pub fn exists(folder: &Path) -> bool {
        folder.join("gate.db").exists()
    }

    fn prepare(&self, ledger: LedgerId) -> Result<(), Error> {
        let mut connection = self.lock();
        let unusable = |error: rusqlite::Error| unusable(&self.folder, error);
        connection.busy_timeout(Duration::from_secs(10)).map_err(unusable)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(unusable)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(unusable)?;
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(unusable)?;
        let pragma =
            |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(unusable);
        let empty: bool =
            transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).map_err(unusable)?;
        if empty {
            transaction.execute_batch(TABLES).map_err(unusable)?;
            transaction.execute("INSERT INTO gate VALUES (?1)", [ledger.to_string()]).map_err(unusable)?;
            transaction.pragma_update(None, "application_id", APPLICATION).map_err(unusable)?;
            transaction.pragma_update(None, "user_version", FORMAT).map_err(unusable)?;
        } else if pragma("application_id")? != APPLICATION {
            return Err(Error::input(format!(
                "{} is not a gate's; name another folder with --data",
                self.folder.display()
            )));
        } else if pragma("user_version")? != FORMAT {
            return Err(Error::other(format!(
                "the gate's records in {} have another format than this program's; use a newer program",
                self.folder.display()
            )));
        }
        let registered: String =
            transaction.query_row("SELECT ledger FROM gate", [], |row| row.get(0)).map_err(unusable)?;
        transaction.commit().map_err(unusable)?;
        // SQLite has made its write-ahead file by now, and syncs what is in it, but not that it is there.
        sync_folder(&self.folder.join("gate.db")).map_err(|error| self::unusable(&self.folder, error))?;
        if registered != ledger.to_string() {
            return Err(Error::input(format!(
                "the datasets in {} are paid for on the ledger {registered}, but this one is {ledger}: on another ledger their \
                 budgets would be spent again. Name the right ledger with --ledger, or another folder with --data",
                self.folder.display()
            )));
        }
        Ok(())
    }

    /// All datasets, by name.
    pub fn datasets(&self) -> Result<Vec<Dataset>, Error> {
        self.select("WHERE v.version = (SELECT max(version) FROM versions n WHERE n.dataset = v.dataset)", &[])
    }

    /// A dataset.
    pub fn dataset(&self, name: &AccountName) -> Result<Dataset, Error> {
        self.find(name)?.ok_or_else(|| {
            Error::no_dataset(format!(
                "there is no dataset {name} in {}; `dataset list` shows the datasets, `dataset add` makes one",
                self.folder.display()
            ))
        })
    }

    /// A dataset, if there is one of that name.
    pub(crate) fn find(&self, name: &AccountName) -> Result<Option<Dataset>, Error> {
        let newest = "v.version = (SELECT max(version) FROM versions WHERE dataset = ?1)";
        Ok(self.select(&format!("WHERE v.dataset = ?1 AND {newest}"), &[&name.as_str()])?.into_iter().next())
    }

    /// A dataset as a question under this key is about it: in its newest version, or in the one that the key was answered from. In
    /// another version the columns may be others, and the same question would not be the same.
    pub(crate) fn asked(&self, name: &AccountName, key: &str) -> Result<Dataset, Error> {
        if let Some(StoredAnswer { dataset, version, document: Some(_), .. }) = self.answer(key)?
            && dataset == name.as_str()
        {
            let found = self.select("WHERE v.dataset = ?1 AND v.version = ?2", &[&dataset, &version])?;
            if let Some(dataset) = found.into_iter().next() {
                return Ok(dataset);
            }
        }
        self.dataset(name)
    }

    /// Keeps everybody else, in this process and in others, from registering data of a dataset until the file is dropped. The name of
    /// a new version's file or table follows from the versions that are there: two at once would write to the same one, and the
    /// declaration of one would stand for the rows of the other.
    pub(crate) fn registering(&self, name: &AccountName) -> Result<File, Error> {
        let unusable = |error: std::io::Error| unusable(&self.folder, error);
        // A hash, since a name may be longer than that of a file.
        let hash = blake3::hash(name.as_str().as_bytes()).to_hex();
        let file = lock_file(&self.folder.join(format!("{}.registering", &hash[..32]))).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::busy(format!(
                "data of the dataset {name} are being registered already; wait until that has ended"
            ))),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// The names of other datasets that were made from the same data, in any version.
    pub(crate) fn same_data(&self, fingerprint: &str, except: &AccountName) -> Result<Vec<String>, Error> {
        let connection = self.lock();
        let mut statement = connection
            .prepare_cached("SELECT DISTINCT dataset FROM versions WHERE fingerprint = ?1 AND dataset <> ?2 ORDER BY 1")
            .map_err(broken)?;
        let names = statement.query_map([fingerprint, except.as_str()], |row| row.get(0)).map_err(broken)?;
        names.collect::<Result<_, _>>().map_err(broken)
    }

    /// Writes a dataset, or a new version of one.
    pub(crate) fn put(&self, dataset: &Dataset) -> Result<(), Error> {
        let not_json = |error: serde_json::Error| Error::other(format!("the dataset cannot be written: {error}"));
        let schema = serde_json::to_string(&dataset.schema).map_err(not_json)?;
        let source = serde_json::to_string(&dataset.source).map_err(not_json)?;
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(broken)?;
        let name = dataset.name.as_str();
        transaction
            .execute("INSERT INTO datasets VALUES (?1, ?2) ON CONFLICT DO NOTHING", params![name, dataset.key])
            .map_err(broken)?;
        transaction
            .execute(
                "INSERT INTO versions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    name,
                    dataset.version,
                    schema,
                    source,
                    dataset.fingerprint,
                    dataset.reuse,
                    dataset.timeout.as_millis() as i64,
                    dataset.rows.map(|rows| rows as i64),
                    dataset.registered.to_string(),
                ],
            )
            .map_err(broken)?;
        transaction.commit().map_err(broken)
    }

    fn select(&self, condition: &str, parameters: &[&dyn rusqlite::ToSql]) -> Result<Vec<Dataset>, Error> {
        let connection = self.lock();
        let text = format!(
            "SELECT v.dataset, v.version, v.schema, v.source, v.fingerprint, v.reuse, v.timeout, v.rows, v.registered, d.key
             FROM versions v JOIN datasets d ON d.name = v.dataset
             {condition} ORDER BY v.dataset"
        );
        let mut statement = connection.prepare_cached(&text).map_err(broken)?;
        let mut rows = statement.query(parameters).map_err(broken)?;
        let mut datasets = Vec::new();
        while let Some(row) = rows.next().map_err(broken)? {
            datasets.push(read_dataset(row)?);
        }
        Ok(datasets)
    }

    /// The gate's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // Whoever panicked with it left no transaction behind: those are rolled back when they are dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_dataset(row: &rusqlite::Row<'_>) -> Result<Dataset, Error> {
    let name: String = row.get(0).map_err(broken)?;
    let damaged = |why: String| Error::integrity(format!("the gate's record of the dataset {name}: {why}"));
    let text = |at: usize| row.get::<_, String>(at).map_err(broken);
    let json = |error: serde_json::Error| damaged(error.to_string());
    let schema: Schema = serde_json::from_str(&text(2)?).map_err(json)?;
    Ok(Dataset {
        name: AccountName::parse(&name)?,
        version: row.get(1).map_err(broken)?,
        // With a unit of no rows, say, a question would be answered without noise.
        schema: schema.checked().map_err(|error| damaged(error.to_string()))?,
        source: serde_json::from_str(&text(3)?).map_err(json)?,
        fingerprint: text(4)?,
        reuse: row.get(5).map_err(broken)?,
        timeout: Duration::from_millis(row.get::<_, i64>(6).map_err(broken)?.unsigned_abs()),
        rows: row.get::<_, Option<i64>>(7).map_err(broken)?.map(i64::unsigned_abs),
        registered: text(8)?.parse().map_err(|error| damaged(format!("{error}")))?,
        key: row.get(9).map_err(broken)?,
    })
}

/// A file to lock, which stays when it is not locked any more.
fn lock_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// Makes a file that only its owner may read, unless it is there: the records have the owner's log and passwords in them. What SQLite
/// keeps beside it is as private. One that is there is not opened: closing it would end the locks that SQLite has on it.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

fn unusable(folder: &Path, error: impl std::fmt::Display) -> Error {
    Error::other(format!(
        "the gate's records in {} cannot be used: {error}; name another folder with --data",
        folder.display()
    ))
}

fn broken(error: rusqlite::Error) -> Error {
    Error::other(format!("the gate's records: {error}"))
}
