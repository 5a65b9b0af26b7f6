//! Data that drivers of ADBC read: Parquet files and the gate's own files, by DuckDB, and tables of servers.
//!
//! The driver answers with rows of Arrow. Only whole numbers of 64 bits and the keys of groups are taken from them; anything else is an
//! error, after the charge.

mod canary;
mod credentials;
mod duckdb;
mod files;
mod keep;
mod lake;
mod own;
mod remote;
mod values;
mod view;

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
pub(crate) use self::view::VIEW;
use super::driver_source::{AdbcData, AdbcSource, ColumnsWithin, LakeFile};
use super::{Engine, ExactRow};
use crate::error::Error;
use crate::schema::Schema;
use crate::sql::Statement;

/// The table of a file of the gate's own, quoted.
pub(crate) const TABLE: &str = "\"data\"";

/// A session of DuckDB in front of the data of one dataset.
pub(crate) struct Adbc {
    connection: AdbcConnection,
    /// The rows that it is asked about, as SQL.
    rows: String,
    /// The owner's files that a statement reads.
    files: Vec<LakeFile>,
    /// The columns whose values the view does not look at.
    within: ColumnsWithin,
    /// Whether the columns were looked at. They stay what they are while the files do.
    is_checked: bool,
}

/// Opens a session, within this time.
pub(crate) fn connect(
    source: &AdbcSource,
    folder: &Path,
    schema: &Schema,
    most: Duration,
) -> Result<Box<dyn Engine>, Error> {
    let until = Instant::now() + most;
    let (files, within) = match (&source.data, source.own_file()) {
        (_, Some(own)) => {
            let connection = own::open(&source.driver, &folder.join(own), folder, until)?;
            let rows = format!("SELECT * FROM {TABLE}");
            return Ok(Box::new(Adbc::new(connection, rows, Vec::new(), schema, ColumnsWithin::default(), until)?));
        }
        (AdbcData::Lake { files, within, .. }, None) => (files, within),
        (AdbcData::Remote(table), None) => return Ok(Box::new(RemoteEngine::open(source, table, until)?)),
        (AdbcData::Own { .. }, None) => unreachable!("its file is the gate's own"),
    };
    files.iter().try_for_each(LakeFile::check)?;
    let lake = Lake::open(&source.driver, files.clone(), folder, until)?;
    Ok(Box::new(lake.engine(schema, within.clone(), until)?))
}

impl Adbc {
    fn new(
        mut connection: AdbcConnection,
        rows: String,
        files: Vec<LakeFile>,
        schema: &Schema,
        within: ColumnsWithin,
        until: Instant,
    ) -> Result<Adbc, Error> {
        let within = if files.iter().all(LakeFile::is_untouched) { within } else { ColumnsWithin::default() };
        view::create(&mut connection, &rows, schema, &within, until)?;
        Ok(Adbc { connection, rows, files, within, is_checked: false })
    }

    /// Whether all values are where the view expects them: it clamps, or nothing was changed about the files.
    fn is_clamped(&self) -> bool {
        self.within.is_empty() || self.files.iter().all(LakeFile::is_untouched)
    }
}

impl Engine for Adbc {
    fn check(&mut self, schema: &Schema, most: Duration) -> Result<(), Error> {
        let until = Instant::now() + most;
        self.files.iter().try_for_each(LakeFile::check)?;
        if !self.is_clamped() {
            self.within = ColumnsWithin::default();
            view::create(&mut self.connection, &self.rows, schema, &self.within, until)?;
        }
        if !self.is_checked {
            duckdb::check_columns(&mut self.connection, VIEW, schema, duckdb::left(until))?;
            self.is_checked = true;
        }
        Ok(())
    }

    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String> {
        if !statement.parameters.is_empty() || !statement.tables.is_empty() {
            return Err("a statement for a driver must have all its values in its text".to_string());
        }
        let rows = self.connection.query(&statement.sql, most).map_err(|error| error.to_string())?;
        // What was read may be another file than the one that was checked.
        self.files.iter().try_for_each(LakeFile::check).map_err(|error| error.to_string())?;
        if !self.is_clamped() {
            return Err("a file was touched while it was read; ask again".to_string());
        }
        values::exact_rows(rows, statement)
    }
}
