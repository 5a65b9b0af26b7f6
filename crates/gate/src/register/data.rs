//! Where the data of a new dataset are.

use std::fmt;
use std::path::PathBuf;

use super::CsvEngine;
use crate::declaration::Declaration;
use crate::engine::{DriverChoice, RemoteTable};
use crate::error::Error;
use crate::import::{BadRows, CsvForm, TableRows, check_header};

/// Where the data of a new dataset are.
#[derive(Clone)]
pub enum Data {
    /// A CSV file, which is imported into a file of the gate's own.
    Csv {
        /// The file.
        path: PathBuf,
        /// How it is written.
        form: CsvForm,
        /// What to do with rows that cannot be read.
        bad_rows: BadRows,
        /// The engine that it is imported into.
        engine: CsvEngine,
    },
    /// Parquet files of this machine, which are left where they are and read by DuckDB.
    Parquet {
        /// A file, a folder, or a pattern such as `lake/*.parquet`.
        pattern: String,
        /// The driver of DuckDB.
        driver: DriverChoice,
    },
    /// A table of a server that a driver speaks to, which is left where it is.
    Remote {
        /// The table, and where it is.
        table: RemoteTable,
        /// The driver.
        driver: DriverChoice,
    },
    /// A table of PostgreSQL, which is left where it is.
    Postgres {
        /// The URL of the database.
        url: String,
        /// The table, with or without its schema.
        table: String,
    },
    /// Rows in memory, which are imported into the embedded engine.
    Rows(TableRows),
}

impl Data {
    /// A CSV file in the usual form, all rows of which can be read.
    pub fn csv(path: PathBuf) -> Data {
        let (form, bad_rows, engine) = Default::default();
        Data::Csv { path, form, bad_rows, engine }
    }

    /// Whether there is something to read: a file with a header, which has the columns of a declaration. A table is looked at when it
    /// is registered.
    pub fn check(&self, declaration: Option<&Declaration>) -> Result<(), Error> {
        match self {
            Data::Csv { path, form, .. } => check_header(path, form, declaration),
            Data::Postgres { .. } | Data::Parquet { .. } | Data::Rows(_) => Ok(()),
            Data::Remote { table, .. } => table.check(),
        }
    }
}

impl fmt::Debug for Data {
    /// A URL may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Csv { path, .. } => write!(f, "{}", path.display()),
            Data::Parquet { pattern, .. } => write!(f, "{pattern}"),
            Data::Remote { table, .. } => write!(f, "{} of {}", table.table, table.uri),
            Data::Postgres { table, .. } => write!(f, "{table} of PostgreSQL"),
            Data::Rows(table) => write!(f, "a table of {} columns", table.columns.len()),
        }
    }
}
