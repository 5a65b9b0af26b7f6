//! Data that drivers of ADBC read: Parquet files and the gate's own files, by DuckDB, and tables of servers.
//!
//! The driver answers with rows of Arrow. Only whole numbers of 64 bits and the keys of groups are taken from them; anything else is an
//! error, after the charge.

mod canary;
mod credentials;
mod duckdb;
mod files;
mod lake;
mod own;
mod remote;
mod values;

#[cfg(all(test, feature = "driver-tests"))]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use taximeter_engine_adbc::AdbcConnection;

use self::lake::Lake;
pub(crate) use self::lake::prepare_lake;
pub(crate) use self::own::{copy_of_embedded, is_installed};
use self::remote::RemoteEngine;
pub(crate) use self::remote::prepare_remote;
use super::driver_source::{AdbcData, AdbcSource, LakeFile};
use super::{Engine, ExactRow};
use crate::error::Error;
use crate::schema::Schema;
use crate::sql::Statement;

/// The table or view that is asked, quoted.
pub(crate) const TABLE: &str = "\"data\"";

/// A session of DuckDB in front of the data of one dataset.
pub(crate) struct Adbc {
    connection: AdbcConnection,
    /// The owner's files that a statement reads.
    files: Vec<LakeFile>,
}

/// Opens a session, within this time.
pub(crate) fn connect(
    source: &AdbcSource,
    folder: &Path,
    schema: &Schema,
    most: Duration,
) -> Result<Box<dyn Engine>, Error> {
    let until = Instant::now() + most;
    let files = match (&source.data, source.own_file()) {
        (_, Some(own)) => {
            let connection = own::open(&source.driver, &folder.join(own), folder, until)?;
            return Ok(Box::new(Adbc { connection, files: Vec::new() }));
        }
        (AdbcData::Lake { files, .. }, None) => files,
        (AdbcData::Remote(table), None) => return Ok(Box::new(RemoteEngine::open(source, table, until)?)),
        (AdbcData::Own { .. }, None) => unreachable!("its file is the gate's own"),
    };
    files.iter().try_for_each(LakeFile::check)?;
    let lake = Lake::open(&source.driver, files.clone(), folder, until)?;
    Ok(Box::new(lake.engine(schema, until)?))
}

impl Engine for Adbc {
    fn check(&mut self, schema: &Schema, most: Duration) -> Result<(), Error> {
        self.files.iter().try_for_each(LakeFile::check)?;
        duckdb::check_columns(&mut self.connection, schema, most)
    }

    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String> {
        if !statement.parameters.is_empty() || !statement.tables.is_empty() {
            return Err("a statement for a driver must have all its values in its text".to_string());
        }
        let rows = self.connection.query(&statement.sql, most).map_err(|error| error.to_string())?;
        // What was read may be another file than the one that was checked.
        self.files.iter().try_for_each(LakeFile::check).map_err(|error| error.to_string())?;
        values::exact_rows(rows, statement)
    }
}
