//! Where the data are: one interface; an embedded and a PostgreSQL implementation, and one for drivers of ADBC.

#[cfg(feature = "adbc")]
mod adbc;
#[cfg(all(test, any(feature = "server-tests", feature = "driver-tests")))]
mod conformance;
mod driver_source;
mod embedded;
mod postgres;
#[cfg(not(feature = "adbc"))]
mod without_adbc;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::question::quoted;
use crate::register::ImportedRows;
use crate::schema::{Schema, Value};
use crate::sql::{Dialect, Statement};

#[cfg(not(feature = "adbc"))]
use without_adbc as adbc;

pub(crate) use adbc::{copy_of_embedded, is_installed, prepare_lake, prepare_remote};
pub use driver_source::DriverChoice;
pub(crate) use driver_source::{AdbcData, AdbcSource};
pub use driver_source::{RemoteService, RemoteTable};
pub(crate) use embedded::{Embedded, encode};
#[cfg(test)]
pub(crate) use embedded::{add_functions, exact_rows};
pub(crate) use postgres::{Postgres, drop_table, find_table, keep_rows};

/// Where the data of a dataset are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Source {
    /// A file of the embedded engine, in the gate's folder.
    Embedded { file: PathBuf },
    /// A table of a PostgreSQL database that is left where it is.
    Postgres {
        /// The URL of the database.
        url: String,
        /// What is asked: the owner's table, or the gate's own one with the rows that are kept of every unit.
        table: Table,
        /// The owner's table.
        origin: Table,
    },
    /// Data that a driver of ADBC reads.
    Adbc(AdbcSource),
}

/// Parquet files, or a table of a server, that are ready to be asked.
pub(crate) struct PreparedLake {
    pub(crate) schema: Schema,
    pub(crate) source: Source,
    /// What tells the same files from others.
    pub(crate) fingerprint: String,
    pub(crate) imported: ImportedRows,
    /// Columns that cannot be asked about, and their types.
    pub(crate) left_out: Vec<(String, String)>,
}

/// A table of PostgreSQL, as it was when it was registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// Another table of the same name has another one.
    pub(crate) oid: u32,
}

impl Table {
    /// The name as SQL writes it.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// One group of the exact answer: what must not leave the gate without noise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExactRow {
    pub(crate) keys: Vec<Value>,
    pub(crate) measures: Vec<i64>,
}

/// A connection to the data of one dataset.
pub(crate) trait Engine: Send {
    /// Whether the data are there and are what was registered, found out within this time. Looks at names and types, never at rows;
    /// comes before the charge.
    fn check(&mut self, schema: &Schema, most: Duration) -> Result<(), Error>;

    /// Lets statements read the data of another dataset too, which are beside its own. Checks them as its own, before the charge.
    fn join(&mut self, other: &Source, _folder: &Path, _schema: &Schema, _most: Duration) -> Result<(), Error> {
        Err(Error::storage(format!("{other:?} cannot be joined here")))
    }

    /// Runs a statement, at most so long, also if the database hangs. What went wrong is for the owner's log alone. When it returns,
    /// nothing runs any more, unless the database cannot be reached.
    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String>;
}

impl fmt::Debug for Source {
    /// A URL may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Embedded { file } => write!(f, "{}", file.display()),
            Source::Adbc(source) => write!(f, "{source:?}"),
            Source::Postgres { url, table, origin } => {
                write!(f, "{origin} of {}", taximeter_postgres::without_password(url))?;
                match table == origin {
                    true => Ok(()),
                    false => write!(f, ", with the rows that count in {table}"),
                }
            }
        }
    }
}

impl Source {
    /// The file in the gate's folder, if the data are in one.
    pub(crate) fn own_file(&self) -> Option<&Path> {
        match self {
            Source::Embedded { file } => Some(file),
            Source::Postgres { .. } => None,
            Source::Adbc(source) => source.own_file(),
        }
    }

    /// How SQL is written there, and the table to ask. What inherits from a table of PostgreSQL is not part of it.
    pub(crate) fn address(&self) -> (Dialect, String) {
        match self {
            Source::Embedded { .. } => (Dialect::Sqlite, Embedded::TABLE.to_string()),
            Source::Postgres { table, .. } => (Dialect::Postgres, format!("ONLY {}", table.quoted())),
            Source::Adbc(source) => source.address(),
        }
    }

    /// The table to ask of a dataset that is joined to another one.
    pub(crate) fn joined_address(&self) -> String {
        match self {
            Source::Embedded { .. } => Embedded::JOINED_TABLE.to_string(),
            other => other.address().1,
        }
    }

    /// Whether one statement can read these data and others: those of two files of the embedded engine, or of one database.
    pub(crate) fn is_beside(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Embedded { .. }, Source::Embedded { .. }) => true,
            (Source::Postgres { url, .. }, Source::Postgres { url: other, .. }) => url == other,
            _ => false,
        }
    }

    /// Whether the data are where they may be away while the gate is not.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self {
            Source::Embedded { .. } => false,
            Source::Postgres { .. } => true,
            Source::Adbc(source) => source.own_file().is_none(),
        }
    }

    /// How long looking at the data may take that are not asked.
    pub(crate) const LOOK: Duration = Duration::from_secs(90);

    /// Connects to the data, within this time.
    pub(crate) fn connect(&self, folder: &Path, schema: &Schema, most: Duration) -> Result<Box<dyn Engine>, Error> {
        Ok(match self {
            Source::Embedded { file } => Box::new(Embedded::open(&folder.join(file))?),
            Source::Postgres { url, table, .. } => Box::new(Postgres::connect(url, table.clone(), most)?),
            Source::Adbc(source) => adbc::connect(source, folder, schema, most)?,
        })
    }
}
