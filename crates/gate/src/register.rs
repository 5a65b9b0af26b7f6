//! Registering data: what an owner does before the first question.

mod data;
mod engines;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use taximeter_accounting::{Amount, FilterSpec, OdometerSpec};
use taximeter_ledger::{Account, AccountName, AccountSpec, Privacy};

use crate::catalog::{Catalog, Dataset};
use crate::declaration::Declaration;
use crate::engine::{Source, Table, drop_table, find_table, keep_rows};
use crate::error::{Error, ErrorKind};
use crate::gate::Gate;
use crate::import::{BadRow, Imported, clear_leftovers, import, import_rows};
use crate::schema::{PrivacyUnit, Schema};

pub use self::data::Data;
pub use self::engines::CsvEngine;

/// A dataset to register.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its name, and that of its account.
    pub name: AccountName,
    /// What the owner declares about it.
    pub declaration: Declaration,
    /// Where the data are.
    pub data: Data,
    /// The rules of its account; nothing if the account exists.
    pub rules: Option<Rules>,
    /// Whether these are newer data of a dataset that exists, paid for by the same account.
    pub new_version: bool,
    /// Whether an analyst's own earlier answer may be given again at no cost.
    pub reuse: bool,
    /// How long a question may take.
    pub timeout: Duration,
    /// The least that a question must cost: its ε, or its μ.
    pub min_epsilon: Option<Amount>,
}

impl Registration {
    /// How long a question may take, unless it is said.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// New data of an account that exists, with all defaults.
    pub fn new(name: AccountName, declaration: Declaration, data: Data) -> Registration {
        let timeout = Registration::TIMEOUT;
        Registration {
            name,
            declaration,
            data,
            rules: None,
            new_version: false,
            reuse: false,
            timeout,
            min_epsilon: None,
        }
    }
}

/// The rules of an account.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The filter that decides; nothing for an account that only reads.
    pub filter: Option<FilterSpec>,
    /// The odometer that reads.
    pub odometer: OdometerSpec,
}

/// What came of a registration.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The dataset.
    pub dataset: Dataset,
    /// What came of the rows; nothing for a table that is asked as it is.
    pub imported: Option<ImportedRows>,
    /// Columns of a table that cannot be asked about, and their types.
    pub left_out: Vec<(String, String)>,
    /// Other datasets that were made from the same data: what is learned through both adds up.
    pub same_data: Vec<String>,
    /// Whether the same data are registered already under this name.
    pub unchanged: bool,
    /// Why the gate's table of the version before is still in PostgreSQL, if it is.
    pub not_dropped: Option<String>,
    /// Why SQLite has the rows and not DuckDB, if there are many, DuckDB is there and failed.
    pub not_in_duckdb: Option<String>,
}

/// What came of the rows of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportedRows {
    /// Rows of the file or table.
    pub rows: u64,
    /// Rows that count.
    pub kept: u64,
    /// Rows without a unit, which are left out.
    pub without_unit: u64,
    /// Rows that cannot be read.
    pub bad_rows: u64,
    /// The first of those.
    pub first_bad_rows: Vec<BadRow>,
}

/// The shortest time that an owner may give a question: what it is stored with. With none at all, nothing would be answered.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// The longest time that an owner may give a question.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

impl Gate {
    /// Registers a dataset, or a new version of one. `progress` is told how many bytes of a file are read, and of how many.
    pub fn register(
        &self,
        registration: &Registration,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Registered, Error> {
        let Registration { name, declaration, .. } = registration;
        if !(SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(&registration.timeout) {
            let seconds = format!("of {} seconds", registration.timeout.as_secs_f64());
            return Err(Error::value("timeout", seconds, "it must be at least a millisecond and at most a day"));
        }
        let _registering = self.catalog.registering(name)?;
        let before = self.catalog.find(name)?;
        match (&before, registration.new_version) {
            (Some(_), false) => return Err(ErrorKind::DatasetExists(name.clone()).into()),
            (None, true) => return Err(ErrorKind::NoEarlierVersion(name.clone()).into()),
            _ => {}
        }
        self.catalog.refuse_public_name(name)?;
        // Whatever is wrong with the account is said before the long work.
        let privacy = declaration.privacy()?;
        self.check_account(name, &privacy, registration.rules.is_some())?;
        let key = match &before {
            Some(dataset) => dataset.key,
            None => random_key()?,
        };
        let version = before.as_ref().map_or(1, |dataset| dataset.version + 1);
        let PreparedData { schema, source, fingerprint, imported, left_out, not_in_duckdb } =
            self.prepare_data(registration, version, &key, progress)?;
        if let Some(Rules { filter, odometer }) = &registration.rules {
            let (filter, odometer) = (filter.clone(), odometer.clone());
            self.ledger.open_account(AccountSpec { name: name.clone(), privacy, filter, odometer })?;
        }
        let dataset = Dataset {
            name: name.clone(),
            version,
            schema,
            reuse: registration.reuse,
            timeout: registration.timeout,
            min_epsilon: registration.min_epsilon,
            registered: Timestamp::now(),
            rows: imported.as_ref().map(|imported| imported.kept),
            source,
            fingerprint,
            key,
        };
        Ok(Registered { imported, left_out, not_in_duckdb, ..self.put(dataset, before.as_ref())? })
    }

    /// Reads a PostgreSQL table or Parquet files again: of every unit its rows are chosen anew among those that are there now.
    pub fn refresh(&self, name: &AccountName) -> Result<Registered, Error> {
        let _registering = self.catalog.registering(name)?;
        let before = self.catalog.dataset(name)?;
        let (url, origin) = match &before.source {
            Source::Postgres { url, origin, .. } => (url, origin),
            Source::Adbc(source) => return self.refresh_lake(&before, source),
            Source::Embedded { .. } => return Err(ErrorKind::NoTable(name.clone()).into()),
        };
        let version = before.version + 1;
        if *before.schema.unit() == PrivacyUnit::Row {
            return Err(nothing_to_refresh(name));
        }
        let (source, imported) = keep(url, origin, &before.schema, name, version, &before.key)?;
        let dataset = self.newer(&before, version, source, imported.as_ref());
        Ok(Registered { imported, ..self.put(dataset, Some(&before))? })
    }

    /// Writes down a dataset whose data are in their place, and drops what the gate made for the version before.
    fn put(&self, dataset: Dataset, before: Option<&Dataset>) -> Result<Registered, Error> {
        self.catalog.put(&dataset)?;
        Ok(Registered {
            imported: None,
            left_out: Vec::new(),
            same_data: self.catalog.same_data(&dataset.fingerprint, &dataset.name)?,
            unchanged: before.is_some_and(|before| before.fingerprint == dataset.fingerprint),
            not_dropped: before.and_then(|before| drop_kept(&before.source)),
            not_in_duckdb: None,
            dataset,
        })
    }

    /// Opens an account for an analyst, below the dataset's.
    pub fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<AccountName, Error> {
        let privacy = self.catalog.dataset(dataset)?.schema.privacy()?;
        let name = AccountName::parse(&format!("{dataset}/{analyst}"))?;
        let Rules { filter, odometer } = rules;
        self.ledger.open_account(AccountSpec { name: name.clone(), privacy, filter, odometer })?;
        Ok(name)
    }

    fn check_account(&self, name: &AccountName, privacy: &Privacy, opens: bool) -> Result<(), Error> {
        match self.ledger.account(name) {
            Ok(_) if opens => Err(ErrorKind::PayerExists(name.clone()).into()),
            Ok(account) => check_privacy(&account, privacy),
            Err(error) if error.is_no_account() && opens => match name.parent() {
                None => Ok(()),
                Some(above) => check_privacy(&self.ledger.account(&above)?, privacy),
            },
            Err(error) if error.is_no_account() => Err(ErrorKind::NoPayer(name.clone()).into()),
            Err(error) => Err(error.into()),
        }
    }

    fn prepare_data(
        &self,
        registration: &Registration,
        version: u32,
        key: &[u8; 32],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<PreparedData, Error> {
        let Registration { name, declaration, data, .. } = registration;
        match data {
            Data::Csv { path, form, bad_rows, engine } => self.imported(name, version, engine, |target| {
                import(path, form, declaration, target, key, *bad_rows, progress)
            }),
            Data::Rows(table) => self.imported(name, version, &CsvEngine::Automatic, |target| {
                import_rows(table, declaration, target, key, progress)
            }),
            Data::Parquet { pattern, driver } => self.prepare_lake(pattern, driver, declaration, (name, version, key)),
            Data::Remote { table, driver } => self.prepare_remote(table, driver, declaration),
            Data::Postgres { url, table } => {
                let found = find_table(url, table)?;
                let schema = declaration.schema(&found.columns)?;
                let (source, imported) = keep(url, &found.table, &schema, name, version, key)?;
                let left_out = found.left_out;
                Ok(PreparedData { left_out, ..PreparedData::new(schema, source, found.fingerprint, imported) })
            }
        }
    }

    /// Imports rows into a file of the embedded engine.
    fn imported(
        &self,
        name: &AccountName,
        version: u32,
        engine: &CsvEngine,
        import: impl FnOnce(&Path) -> Result<Imported, Error>,
    ) -> Result<PreparedData, Error> {
        let file = PathBuf::from(file_name(name, version, "db"));
        let target = self.catalog.folder().join(&file);
        clear_leftovers(&target)?;
        self.place_import(import(&target)?, file, engine, name, version)
    }
}

impl Catalog {
    /// Checks that the data of an account's dataset are where they were, and are what was declared, and that the account protects
    /// the same.
    pub fn check(&self, account: &Account) -> Result<Dataset, Error> {
        let dataset = self.dataset(account.name())?;
        check_privacy(account, &dataset.schema.privacy()?)?;
        dataset.source.connect(self.folder(), &dataset.schema, Source::LOOK)?.check(&dataset.schema, Source::LOOK)?;
        Ok(dataset)
    }
}

/// An account must protect what a dataset is declared to protect.
fn check_privacy(account: &Account, privacy: &Privacy) -> Result<(), Error> {
    match account.privacy() == privacy {
        true => Ok(()),
        false => {
            let (account, protects) = (account.name().clone(), account.privacy().clone());
            Err(ErrorKind::OtherPrivacy { account, protects, declared: privacy.clone() }.into())
        }
    }
}

/// The name of a data file. No two datasets have the same, also where capitals are not told from small letters.
fn file_name(name: &AccountName, version: u32, ending: &str) -> String {
    let mut file = String::new();
    for c in name.as_str().chars() {
        match c {
            // An escape that cannot be part of a name.
            '/' | 'A'..='Z' => file.push_str(&format!("%{:02X}", u32::from(c))),
            _ => file.push(c),
        }
    }
    format!("{file}.v{version}.{ending}")
}

/// Data that are where they will be asked.
struct PreparedData {
    schema: Schema,
    source: Source,
    fingerprint: String,
    imported: Option<ImportedRows>,
    left_out: Vec<(String, String)>,
    not_in_duckdb: Option<String>,
}

impl PreparedData {
    /// Data of which all columns can be asked about, in the engine that they were meant for.
    fn new(schema: Schema, source: Source, fingerprint: String, imported: Option<ImportedRows>) -> PreparedData {
        PreparedData { schema, source, fingerprint, imported, left_out: Vec::new(), not_in_duckdb: None }
    }
}

/// The table to ask: the owner's own if a row is protected, or else one of the gate's with the rows that are kept of every unit.
fn keep(
    url: &str,
    origin: &Table,
    schema: &Schema,
    name: &AccountName,
    version: u32,
    key: &[u8; 32],
) -> Result<(Source, Option<ImportedRows>), Error> {
    let source = |table| Source::Postgres { url: url.to_string(), table, origin: origin.clone() };
    if *schema.unit() == PrivacyUnit::Row {
        return Ok((source(origin.clone()), None));
    }
    // A name that PostgreSQL takes, and that no other dataset or version has.
    let hash = blake3::keyed_hash(key, name.as_str().as_bytes()).to_hex();
    let table = format!("kept_{}_v{version}", &hash[..16]);
    let (table, imported) = keep_rows(url, origin, schema, key, &table)?;
    Ok((source(table), Some(imported)))
}

/// Drops the gate's own table of a version that is no longer asked. The newer version stands whether or not that is possible, so what
/// went wrong is told and is no error.
fn drop_kept(source: &Source) -> Option<String> {
    match source {
        Source::Postgres { url, table, origin } if table != origin => {
            drop_table(url, table).err().map(|error| format!("{table}: {error}"))
        }
        _ => None,
    }
}

/// Why a table that is asked where it is has no new rows to choose.
fn nothing_to_refresh(name: &AccountName) -> Error {
    let needs = "every question reads the current data, since a row is the unit: there is nothing to refresh";
    Error::value("table", format_args!("of {name}"), needs)
}

fn random_key() -> Result<[u8; 32], Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::storage(format!("the system gives no random bytes: {error}")))?;
    Ok(key)
}
