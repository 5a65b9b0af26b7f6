//! The gate's own records: datasets and their versions, the answers that were given, and the owner's log.
//!
//! One SQLite file in the gate's folder. An answer is synced to the disk before anybody sees it. If the file is lost or is an old
//! copy, answers are missing, and whoever asks again with an old key is told *charged, no answer*: the ledger alone decides whether
//! a charge is fresh, so there is never new noise for an old charge.

mod answers;

use std::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, Row, TransactionBehavior, params};
use taximeter_accounting::Amount;
use taximeter_ledger::{AccountName, LedgerId};

pub use self::answers::{FailedQuestion, StoredAnswer};
use crate::engine::Source;
use crate::error::{Error, ErrorKind};
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
    /// The least that a question must cost: its ε, or its μ.
    pub min_epsilon: Option<Amount>,
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

const FILE: &str = "gate.db";
/// How the names of files end that keep other registrations of a dataset out.
const REGISTERING: &str = "registering";
const FORMAT: i64 = 2;
/// "taxg", so that nothing else is taken for a gate's records.
const APPLICATION: i64 = 0x7461_7867;

/// The tables of the first format.
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

/// What the second format has besides.
const SINCE_FORMAT_1: &str = "
    ALTER TABLE versions ADD COLUMN min_epsilon TEXT;
    CREATE TABLE under_way (
        key TEXT PRIMARY KEY, request TEXT NOT NULL, account TEXT NOT NULL, dataset TEXT NOT NULL, version INTEGER NOT NULL,
        time TEXT NOT NULL
    ) STRICT;
";

impl Catalog {
    /// Opens the records of a ledger's gate, and makes them where there are none. Records of another ledger's gate are refused: its
    /// budgets are not those of the datasets.
    pub fn open(folder: &Path, ledger: LedgerId) -> Result<Catalog, Error> {
        let unusable =
            |error: &dyn Display| ErrorKind::Records { folder: folder.to_path_buf(), why: error.to_string() };
        // One after the other: SQLite does not wait for whoever makes the file at the same time, it says that it is locked.
        let _opening = make_folder(folder).map_err(|error| unusable(&error))?;
        let mut connection = Connection::open(folder.join(FILE)).map_err(|error| unusable(&error))?;
        let (application, format, pays) = prepare(&mut connection, ledger).map_err(|error| unusable(&error))?;
        if application != APPLICATION {
            return Err(ErrorKind::NotAGate(folder.to_path_buf()).into());
        }
        if format != FORMAT {
            return Err(Error::storage(format!(
                "the gate's records in {} have another format than this program's; use a newer program",
                folder.display()
            )));
        }
        // SQLite has made its write-ahead file by now, and syncs what is in it, but not that it is there.
        sync_folder(&folder.join(FILE)).map_err(|error| unusable(&error))?;
        if pays != ledger.to_string() {
            return Err(ErrorKind::OtherLedger { folder: folder.to_path_buf(), pays, ledger }.into());
        }
        Ok(Catalog { folder: folder.to_path_buf(), connection: Mutex::new(connection) })
    }

    /// Whether there are any records in a folder.
    pub fn exists(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// All datasets, by name.
    pub fn datasets(&self) -> Result<Vec<Dataset>, Error> {
        self.select("WHERE v.version = (SELECT max(version) FROM versions n WHERE n.dataset = v.dataset)", &[])
    }

    /// A dataset.
    pub fn dataset(&self, name: &AccountName) -> Result<Dataset, Error> {
        Ok(self.find(name)?.ok_or_else(|| ErrorKind::NoDataset(name.clone()))?)
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
            && dataset == *name
        {
            let found = self.select("WHERE v.dataset = ?1 AND v.version = ?2", &[&name.as_str(), &version])?;
            if let Some(dataset) = found.into_iter().next() {
                return Ok(dataset);
            }
        }
        self.dataset(name)
    }

    /// Keeps other registrations of a dataset out, in this process and in others, until the result is dropped. The name of a new
    /// version's file or table follows from the versions that are there: two at once would write to the same one, and the declaration of
    /// one would stand for the rows of the other.
    pub(crate) fn registering(&self, name: &AccountName) -> Result<Registering, Error> {
        let unusable =
            |error: std::io::Error| ErrorKind::Records { folder: self.folder.clone(), why: error.to_string() };
        // A hash, since a name may be longer than that of a file.
        let hash = blake3::hash(name.as_str().as_bytes()).to_hex();
        let path = self.folder.join(format!("{}.{REGISTERING}", &hash[..32]));
        // The process that removes such files waits for the lock, so no process locks a removed file.
        let _opening = lock_folder(&self.folder).map_err(unusable)?;
        let file = lock_file(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Registering { file, path }),
            Err(TryLockError::WouldBlock) => Err(ErrorKind::Busy(name.clone()).into()),
            Err(TryLockError::Error(error)) => Err(unusable(error).into()),
        }
    }

    /// The names of other datasets that were made from the same data, in any version.
    pub(crate) fn same_data(&self, fingerprint: &str, except: &AccountName) -> Result<Vec<String>, Error> {
        let connection = self.lock();
        let others = "SELECT DISTINCT dataset FROM versions WHERE fingerprint = ?1 AND dataset <> ?2 ORDER BY 1";
        let mut statement = connection.prepare_cached(others)?;
        let names = statement.query_map([fingerprint, except.as_str()], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Writes a dataset, or a new version of one.
    pub(crate) fn put(&self, dataset: &Dataset) -> Result<(), Error> {
        let not_json = |error: serde_json::Error| Error::storage(format!("the dataset cannot be written: {error}"));
        let schema = serde_json::to_string(&dataset.schema).map_err(not_json)?;
        let source = serde_json::to_string(&dataset.source).map_err(not_json)?;
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let name = dataset.name.as_str();
        transaction
            .execute("INSERT INTO datasets VALUES (?1, ?2) ON CONFLICT DO NOTHING", params![name, dataset.key])?;
        transaction.execute(
            "INSERT INTO versions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                name,
                dataset.version,
                schema,
                source,
                dataset.fingerprint,
                dataset.reuse,
                dataset.timeout.as_millis() as u64,
                dataset.rows,
                dataset.registered.to_string(),
                dataset.min_epsilon.map(|least| least.to_string()),
            ],
        )?;
        Ok(transaction.commit()?)
    }

    fn select(&self, condition: &str, parameters: &[&dyn rusqlite::ToSql]) -> Result<Vec<Dataset>, Error> {
        let connection = self.lock();
        let text = format!(
            "SELECT v.dataset, v.version, v.schema, v.source, v.fingerprint, v.reuse, v.timeout, v.rows, v.registered, d.key, v.min_epsilon
             FROM versions v JOIN datasets d ON d.name = v.dataset
             {condition} ORDER BY v.dataset"
        );
        connection.prepare_cached(&text)?.query_and_then(parameters, read_dataset)?.collect()
    }

    /// Says that this process asks, as long as the result is there, and whether no other one does.
    pub(crate) fn asking(&self) -> Result<(File, bool), Error> {
        let unusable =
            |error: std::io::Error| ErrorKind::Records { folder: self.folder.clone(), why: error.to_string() };
        let _opening = lock_folder(&self.folder).map_err(unusable)?;
        let asking = lock_file(&self.folder.join("asking.lock")).map_err(unusable)?;
        let is_alone = asking.try_lock().is_ok();
        asking.lock_shared().map_err(unusable)?;
        Ok((asking, is_alone))
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

/// A registration that is under way.
pub(crate) struct Registering {
    file: File,
    path: PathBuf,
}

impl Drop for Registering {
    /// Closing the file does not always end the lock: a process that this one is just starting has a copy of the file until its own
    /// program runs. Then the next registration would be refused although this one was answered.
    fn drop(&mut self) {
        if let Some(Ok(_opening)) = self.path.parent().map(lock_folder) {
            // One that stays is removed when the records are opened the next time.
            let _ = std::fs::remove_file(&self.path);
        }
        // A lock that cannot be given back ends with the last copy of the file.
        let _ = self.file.unlock();
    }
}

fn read_dataset(row: &Row<'_>) -> Result<Dataset, Error> {
    let name: String = row.get(0)?;
    let damaged = |why: String| Error::integrity(format!("the gate's record of the dataset {name}: {why}"));
    let json = |error: serde_json::Error| damaged(error.to_string());
    let schema: Schema = serde_json::from_str(&row.get::<_, String>(2)?).map_err(json)?;
    Ok(Dataset {
        name: AccountName::parse(&name)?,
        version: row.get(1)?,
        // With a unit of no rows, say, a question would be answered without noise.
        schema: schema.checked().map_err(|error| damaged(error.to_string()))?,
        source: serde_json::from_str(&row.get::<_, String>(3)?).map_err(json)?,
        fingerprint: row.get(4)?,
        reuse: row.get(5)?,
        timeout: Duration::from_millis(row.get(6)?),
        rows: row.get(7)?,
        registered: time(&row.get::<_, String>(8)?)?,
        key: row.get(9)?,
        min_epsilon: match row.get::<_, Option<String>>(10)? {
            Some(text) => Some(Amount::parse_exact(&text).map_err(|error| damaged(error.to_string()))?),
            None => None,
        },
    })
}

/// A time of the records.
fn time(text: &str) -> Result<Timestamp, Error> {
    text.parse().map_err(|error| Error::integrity(format!("a time of the gate's records: {error}")))
}

/// Makes the folder and an empty file for the records where there are none, and keeps others from doing the same.
fn make_folder(folder: &Path) -> std::io::Result<File> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    // Data, answers and the passwords of databases are in it.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let opening = lock_folder(folder)?;
    make_private(&folder.join(FILE))?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // Of a registration that is under way, the file is locked.
        if path.extension().is_some_and(|extension| extension == REGISTERING) && lock_file(&path)?.try_lock().is_ok() {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(opening)
}

/// Keeps everybody else from opening the records, and from beginning or ending a registration, until the result is dropped.
fn lock_folder(folder: &Path) -> std::io::Result<File> {
    let opening = lock_file(&folder.join("gate.db.lock"))?;
    opening.lock()?;
    Ok(opening)
}

/// Makes the tables where there are none, and says whose the file is, its format, and which ledger pays for the datasets.
fn prepare(connection: &mut Connection, ledger: LedgerId) -> rusqlite::Result<(i64, i64, String)> {
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))? {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO gate VALUES (?1)", [ledger.to_string()])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", 1)?;
    }
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
    let (application, mut format) = (pragma("application_id")?, pragma("user_version")?);
    if (application, format) == (APPLICATION, 1) {
        transaction.execute_batch(SINCE_FORMAT_1)?;
        format = FORMAT;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    // Of a file that is not the gate's nothing more is read.
    let pays = match (application, format) {
        (APPLICATION, FORMAT) => transaction.query_row("SELECT ledger FROM gate", [], |row| row.get(0))?,
        _ => String::new(),
    };
    transaction.commit()?;
    Ok((application, format, pays))
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

impl From<rusqlite::Error> for ErrorKind {
    /// Other files of SQLite have errors of their own.
    fn from(error: rusqlite::Error) -> ErrorKind {
        ErrorKind::Storage(format!("the gate's records: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_ends_although_a_process_that_is_being_started_has_a_copy_of_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let catalog = Catalog::open(folder.path(), ledger).unwrap();
        let name = AccountName::parse("people").unwrap();
        let registering = catalog.registering(&name).unwrap();
        let copy = registering.file.try_clone().unwrap();
        assert!(catalog.registering(&name).is_err(), "one at a time");
        drop(registering);
        catalog.registering(&name).unwrap();
        drop(copy);
    }

    fn left(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == REGISTERING)).count()
    }

    #[test]
    fn registrations_leave_no_files_behind() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let catalog = Catalog::open(folder.path(), ledger).unwrap();
        drop(catalog.registering(&AccountName::parse("people").unwrap()).unwrap());
        assert_eq!(left(folder.path()), 0);
        // One of a process that was killed, and one that is under way.
        std::fs::write(folder.path().join("0123.registering"), "").unwrap();
        let under_way = catalog.registering(&AccountName::parse("visits").unwrap()).unwrap();
        Catalog::open(folder.path(), ledger).unwrap();
        assert_eq!(left(folder.path()), 1);
        assert!(catalog.registering(&AccountName::parse("visits").unwrap()).is_err(), "it is still kept out");
        drop(under_way);
        assert_eq!(left(folder.path()), 0);
    }
}
