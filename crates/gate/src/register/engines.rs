//! Which engine has the data: Parquet files where they are, files imported into DuckDB, and datasets that move there.

use std::path::PathBuf;

use jiff::Timestamp;
use taximeter_ledger::AccountName;

use super::{ImportedRows, PreparedData, Registered, file_name, nothing_to_refresh};
use crate::catalog::Dataset;
use crate::declaration::Declaration;
use crate::engine::{
    AdbcData, AdbcSource, DriverChoice, PreparedLake, RemoteTable, Source, copy_of_embedded, is_installed,
    prepare_lake, prepare_remote,
};
use crate::error::{Error, ErrorKind};
use crate::gate::Gate;
use crate::import::{Imported, clear_leftovers};

/// The engine that a CSV file is imported into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CsvEngine {
    /// DuckDB if its driver is there, there are many rows, and it takes them; otherwise SQLite.
    #[default]
    Automatic,
    /// SQLite, which is part of this program.
    Sqlite,
    /// DuckDB, by this driver.
    Duckdb(DriverChoice),
}

impl CsvEngine {
    /// From this number of rows on, DuckDB is chosen by itself: a column store answers several times as fast then.
    const MANY_ROWS: u64 = 500_000;

    /// The driver, if it is DuckDB for this number of rows.
    fn driver(&self, rows: u64) -> Option<DriverChoice> {
        match self {
            CsvEngine::Sqlite => None,
            CsvEngine::Duckdb(choice) => Some(choice.clone()),
            CsvEngine::Automatic => {
                Some(DriverChoice::default()).filter(|choice| rows >= CsvEngine::MANY_ROWS && is_installed(choice))
            }
        }
    }
}

impl Gate {
    /// Takes an imported file over into DuckDB if that is its engine. Rows and values are the same, since they are copied.
    pub(super) fn place_import(
        &self,
        imported: Imported,
        file: PathBuf,
        engine: &CsvEngine,
        name: &AccountName,
        version: u32,
    ) -> Result<PreparedData, Error> {
        let Imported { schema, rows, fingerprint } = imported;
        let taken = engine.driver(rows.kept).map(|driver| self.copy_to_duckdb(driver, &file, &schema, name, version));
        let (source, not_in_duckdb) = match taken {
            None => (Source::Embedded { file }, None),
            Some(Ok(source)) => {
                let embedded = self.catalog.folder().join(&file);
                std::fs::remove_file(&embedded)
                    .map_err(|error| Error::storage(format!("{} cannot be removed: {error}", embedded.display())))?;
                (source, None)
            }
            // The rows are imported, and the owner did not ask for more.
            Some(Err(error)) if *engine == CsvEngine::Automatic => (Source::Embedded { file }, Some(error.to_string())),
            Some(Err(error)) => return Err(error),
        };
        let fingerprint = fingerprint.to_hex().to_string();
        Ok(PreparedData { not_in_duckdb, ..PreparedData::new(schema, source, fingerprint, Some(rows)) })
    }

    fn copy_to_duckdb(
        &self,
        driver: DriverChoice,
        embedded: &std::path::Path,
        schema: &crate::schema::Schema,
        name: &AccountName,
        version: u32,
    ) -> Result<Source, Error> {
        let folder = self.catalog.folder();
        let file = PathBuf::from(file_name(name, version, "duckdb"));
        clear_leftovers(&folder.join(&file))?;
        copy_of_embedded(&driver, &folder.join(embedded), schema, &folder.join(&file))?;
        Ok(Source::Adbc(AdbcSource { driver, data: AdbcData::Own { file } }))
    }

    /// Parquet files of an owner.
    pub(super) fn prepare_lake(
        &self,
        pattern: &str,
        driver: &DriverChoice,
        declaration: &Declaration,
        (name, version, key): (&AccountName, u32, &[u8; 32]),
    ) -> Result<PreparedData, Error> {
        let folder = self.catalog.folder();
        let own = PathBuf::from(file_name(name, version, "duckdb"));
        clear_leftovers(&folder.join(&own))?;
        let PreparedLake { schema, source, fingerprint, imported, left_out } =
            prepare_lake(driver, pattern, declaration, key, &own, folder)?;
        Ok(PreparedData { left_out, ..PreparedData::new(schema, source, fingerprint, Some(imported)) })
    }

    /// A table of a server.
    pub(super) fn prepare_remote(
        &self,
        table: &RemoteTable,
        driver: &DriverChoice,
        declaration: &Declaration,
    ) -> Result<PreparedData, Error> {
        let source = AdbcSource { driver: driver.clone(), data: AdbcData::Remote(table.clone()) };
        let PreparedLake { schema, source, fingerprint, left_out, .. } = prepare_remote(source, declaration)?;
        Ok(PreparedData { left_out, ..PreparedData::new(schema, source, fingerprint, None) })
    }

    /// Reads the Parquet files again that the owner's pattern names now, as a new version.
    pub(super) fn refresh_lake(&self, before: &Dataset, source: &AdbcSource) -> Result<Registered, Error> {
        let pattern = match &source.data {
            AdbcData::Lake { pattern, .. } => pattern,
            AdbcData::Own { .. } => return Err(ErrorKind::NoTable(before.name.clone()).into()),
            AdbcData::Remote(_) => return Err(nothing_to_refresh(&before.name)),
        };
        let version = before.version + 1;
        let declaration = Declaration::of(&before.schema);
        let PreparedData { schema, source, fingerprint, imported, left_out, .. } =
            self.prepare_lake(pattern, &source.driver, &declaration, (&before.name, version, &before.key))?;
        let dataset = self.newer(before, version, source, imported.as_ref());
        let dataset = Dataset { schema, fingerprint, ..dataset };
        Ok(Registered { imported, left_out, ..self.put(dataset, Some(before))? })
    }

    /// Lets DuckDB have the data of a dataset that is in the embedded engine: the same rows, as a new version, paid for by the same
    /// account.
    pub fn move_to_duckdb(&self, name: &AccountName, driver: DriverChoice) -> Result<Registered, Error> {
        let _registering = self.catalog.registering(name)?;
        let before = self.catalog.dataset(name)?;
        let Source::Embedded { file } = &before.source else {
            let needs = "only data that were imported into SQLite can be moved; these stay where they are";
            return Err(Error::value("dataset", name, needs));
        };
        let version = before.version + 1;
        let source = self.copy_to_duckdb(driver, file, &before.schema, name, version)?;
        let dataset = self.newer(&before, version, source, None);
        self.put(Dataset { rows: before.rows, ..dataset }, Some(&before))
    }

    /// The next version of a dataset, with data elsewhere.
    pub(super) fn newer(
        &self,
        before: &Dataset,
        version: u32,
        source: Source,
        imported: Option<&ImportedRows>,
    ) -> Dataset {
        let rows = imported.map(|imported| imported.kept);
        Dataset { version, source, rows, registered: Timestamp::now(), ..before.clone() }
    }
}
