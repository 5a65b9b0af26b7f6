//! The gate's own records: datasets and their versions, public tables, the answers that were given, and the owner's log.
//!
//! One SQLite file in the gate's folder. An answer is synced to the disk before it is released. If the file is lost or is an old
//! copy, answers are missing, and a question with an old key gets *charged, no answer*: the ledger alone decides whether
//! a charge is fresh, so there is never new noise for an old charge.

mod answers;
mod backup;
mod locks;
mod public;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, Row, TransactionBehavior, params};
use taximeter_accounting::Amount;
use taximeter_ledger::{AccountName, LedgerId};

pub(crate) use self::answers::Interrupted;
pub use self::answers::{FailedQuestion, StoredAnswer};
use self::locks::make_folder;
pub(crate) use self::locks::{AskingProcess, Registering};
use crate::document::AnswerDocument;
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

    /// Whether the data stay in a PostgreSQL database.
    pub fn is_in_postgres(&self) -> bool {
        matches!(self.source, Source::Postgres { .. })
    }
}

const FILE: &str = "gate.db";
const FORMAT: i64 = 4;
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

/// What the third format has besides: the process that has a question under way; empty if none has any more.
const SINCE_FORMAT_2: &str = "ALTER TABLE under_way ADD COLUMN asker TEXT NOT NULL DEFAULT ''";

/// What the fourth format has besides: public tables. Their names are told apart as those in questions are.
const SINCE_FORMAT_3: &str = "
    CREATE TABLE public_tables (
        name TEXT PRIMARY KEY COLLATE NOCASE, content TEXT NOT NULL, registered TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

impl Catalog {
    /// Opens the records of a ledger's gate, and makes them where there are none. Records of another ledger's gate are refused: its
    /// budgets are not those of the datasets.
    pub fn open(folder: &Path, ledger: LedgerId) -> Result<Catalog, Error> {
        let unusable =
            |error: &dyn Display| ErrorKind::Records { folder: folder.to_path_buf(), why: error.to_string() };
        // One after the other: where two processes make the file at the same time, SQLite does not wait but fails.
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
        select(&self.lock(), SELECT_NEWEST, &[])
    }

    /// A dataset.
    pub fn dataset(&self, name: &AccountName) -> Result<Dataset, Error> {
        Ok(self.find(name)?.ok_or_else(|| ErrorKind::NoDataset(name.clone()))?)
    }

    /// A dataset, if there is one of that name.
    pub(crate) fn find(&self, name: &AccountName) -> Result<Option<Dataset>, Error> {
        let newest = "v.version = (SELECT max(version) FROM versions WHERE dataset = ?1)";
        Ok(select(&self.lock(), &format!("WHERE v.dataset = ?1 AND {newest}"), &[&name.as_str()])?.into_iter().next())
    }

    /// A dataset as a question under this key is about it: in its newest version, or in the one that the key was answered from. In
    /// another version the columns may be others, and the same question would not be the same.
    pub(crate) fn dataset_for_key(&self, name: &AccountName, key: &str) -> Result<Dataset, Error> {
        if let Some(StoredAnswer { dataset, version, document: Some(_), .. }) = self.answer(key)?
            && dataset == *name
            && let Some(dataset) = self.version(name, version)?
        {
            return Ok(dataset);
        }
        self.dataset(name)
    }

    /// A dataset that a question under this key joins, likewise.
    pub(crate) fn joined_for_key(&self, name: &AccountName, key: &str) -> Result<Dataset, Error> {
        let document = self.answer(key)?.and_then(|answer| answer.document);
        let joined = document.map(|document| AnswerDocument::read(&document)).transpose()?.and_then(|it| it.joined);
        let answered = joined.filter(|joined| joined.dataset == *name).map(|joined| joined.version);
        match answered.map(|version| self.version(name, version)).transpose()?.flatten() {
            Some(dataset) => Ok(dataset),
            None => self.dataset(name),
        }
    }

    /// The datasets whose names are anywhere in a question.
    pub(crate) fn dataset_names_in(&self, question: &str) -> Result<Vec<AccountName>, Error> {
        let connection = self.lock();
        let named = "SELECT name FROM datasets WHERE instr(lower(?1), lower(name)) > 0 ORDER BY name";
        let mut statement = connection.prepare_cached(named)?;
        let names = statement.query_map([question], |row| row.get::<_, String>(0))?;
        names.map(|name| Ok(AccountName::parse(&name?)?)).collect()
    }

    /// A version of a dataset, if it is there.
    fn version(&self, name: &AccountName, version: u32) -> Result<Option<Dataset>, Error> {
        let found = select(&self.lock(), "WHERE v.dataset = ?1 AND v.version = ?2", &[&name.as_str(), &version])?;
        Ok(found.into_iter().next())
    }

    /// Keeps other registrations of a dataset out, in this process and in others, until the result is dropped. The name of a new
    /// version's file or table follows from the versions that are there: two at once would write to the same one, and the declaration of
    /// one would stand for the rows of the other.
    pub(crate) fn registering(&self, name: &AccountName) -> Result<Registering, Error> {
        Registering::new(&self.folder, name)
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
        public::refuse_public_name(&transaction, &dataset.name)?;
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

    /// Says that this process asks, as long as the result is there.
    pub(crate) fn asking(&self) -> Result<AskingProcess, Error> {
        AskingProcess::new(&self.folder)
    }

    /// The gate's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked left no transaction behind: a dropped transaction is rolled back.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The condition for the newest version of every dataset.
const SELECT_NEWEST: &str = "WHERE v.version = (SELECT max(version) FROM versions n WHERE n.dataset = v.dataset)";

fn select(
    connection: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Dataset>, Error> {
    let text = format!(
        "SELECT v.dataset, v.version, v.schema, v.source, v.fingerprint, v.reuse, v.timeout, v.rows, v.registered, d.key, v.min_epsilon
         FROM versions v JOIN datasets d ON d.name = v.dataset
         {condition} ORDER BY v.dataset"
    );
    connection.prepare_cached(&text)?.query_and_then(parameters, read_dataset)?.collect()
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
    for (older, newer) in [(1, SINCE_FORMAT_1), (2, SINCE_FORMAT_2), (3, SINCE_FORMAT_3)] {
        if (application, format) == (APPLICATION, older) {
            transaction.execute_batch(newer)?;
            format = older + 1;
            transaction.pragma_update(None, "user_version", format)?;
        }
    }
    // Of a file that is not the gate's nothing more is read.
    let pays = match (application, format) {
        (APPLICATION, FORMAT) => transaction.query_row("SELECT ledger FROM gate", [], |row| row.get(0))?,
        _ => String::new(),
    };
    transaction.commit()?;
    Ok((application, format, pays))
}

impl From<rusqlite::Error> for ErrorKind {
    /// Other files of SQLite have errors of their own.
    fn from(error: rusqlite::Error) -> ErrorKind {
        ErrorKind::Storage(format!("the gate's records: {error}"))
    }
}
