//! Files of DuckDB in the gate's folder: written once, beside their place, and only read from then on.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use taximeter_engine_adbc::{AdbcConnection, AdbcError, DriverSpec, NewColumn, NewRows, Search};
use tempfile::TempDir;

use super::duckdb::{self, SessionAccess};
use super::{TABLE, canary};
use crate::engine::Embedded;
use crate::engine::driver_source::DriverChoice;
use crate::error::Error;
use crate::import::sync_folder;
use crate::question::{commas, quoted};
use crate::schema::{ColumnType, Schema};
use crate::sql::Dialect;

/// No limit: sorting a large table takes its time, and the owner may interrupt the program.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Opens a file for reading.
pub(super) fn open(choice: &DriverChoice, path: &Path, folder: &Path, until: Instant) -> Result<AdbcConnection, Error> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => {
            return Err(Error::integrity(format!(
                "the data file {} is no file; restore it from a backup",
                path.display()
            )));
        }
        Err(error) => {
            return Err(Error::storage(format!(
                "the data file {} cannot be opened: {error}; restore it from a backup, or register the dataset again",
                path.display()
            )));
        }
    }
    duckdb::open(choice, &SessionAccess::Read(path), folder, until)
}

/// Whether a driver is there. Whether it can be used is found out when it is.
pub(crate) fn is_installed(choice: &DriverChoice) -> bool {
    let spec = DriverSpec::parse(&choice.driver, choice.entry.clone());
    spec.is_ok_and(|spec| !matches!(Search::of_this_machine().find(&spec), Err(AdbcError::Missing { .. })))
}

/// A file while it is written, in a folder of its own beside its place.
pub(super) struct NewOwn {
    folder: TempDir,
    target: PathBuf,
    choice: DriverChoice,
}

impl NewOwn {
    /// Makes a file, and a session that writes it and reads these files, within this memory. Its temporary files are in a folder that no
    /// other user can read, and that is removed with them.
    pub(super) fn create(
        choice: &DriverChoice,
        target: &Path,
        readable: &[PathBuf],
        memory: &str,
        until: Instant,
    ) -> Result<(NewOwn, AdbcConnection), Error> {
        let place = target.parent().unwrap_or(Path::new("."));
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".importing");
        // One that was killed left it behind: no other registration has this name and version.
        match fs::remove_dir_all(place.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(target, &error)),
            _ => {}
        }
        let mut new = tempfile::Builder::new();
        new.prefix(&name).rand_bytes(0);
        #[cfg(unix)]
        new.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let new = new.tempdir_in(place).map_err(|error| cannot(target, &error))?;
        let new = NewOwn { folder: new, target: target.to_path_buf(), choice: choice.clone() };
        let access = SessionAccess::Write(&new.file(), readable, memory);
        let connection = duckdb::open(choice, &access, new.folder.path(), until)?;
        Ok((new, connection))
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Moves the file to its place, once all of it is on disk and it has the columns of the schema and this number of rows.
    pub(super) fn finish(
        self,
        mut connection: AdbcConnection,
        schema: &Schema,
        rows: u64,
        until: Instant,
    ) -> Result<(), Error> {
        duckdb::execute(&mut connection, "CHECKPOINT", until)?;
        drop(connection);
        let file = self.file();
        let mut written = duckdb::open(&self.choice, &SessionAccess::Read(&file), self.folder.path(), until)?;
        duckdb::check_columns(&mut written, TABLE, schema, duckdb::left(until))?;
        let counted = duckdb::number(&mut written, &format!("SELECT count(*) FROM {}", TABLE), until)?;
        drop(written);
        if counted != rows {
            return Err(Error::storage(format!(
                "{rows} rows were written, but {counted} are there; is the disk broken?"
            )));
        }
        let put = || {
            private(&file)?;
            OpenOptions::new().write(true).open(&file)?.sync_all()?;
            fs::rename(&file, &self.target)?;
            sync_folder(&self.target)
        };
        put().map_err(|error| cannot(&self.target, &error))
    }
}

/// Lets no one but its owner read a file.
#[cfg(unix)]
fn private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, Permissions::from_mode(0o600))
}

/// Elsewhere the folder says who may read it.
#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}

fn cannot(target: &Path, error: &io::Error) -> Error {
    Error::storage(format!("{} cannot be written: {error}; is the disk full or read-only?", target.display()))
}

/// How many rows go to the driver at a time.
const BATCH: usize = 1 << 16;

/// Copies a file of the embedded engine, with the same rows and values, and says how many rows there are.
pub(crate) fn copy_of_embedded(
    choice: &DriverChoice,
    embedded: &Path,
    schema: &Schema,
    target: &Path,
) -> Result<u64, Error> {
    let until = Instant::now() + FOREVER;
    let (new, mut connection) = NewOwn::create(choice, target, &[], duckdb::MEMORY, until)?;
    canary::check(&mut connection, Dialect::DuckDb, until)?;
    let table = TABLE;
    let columns =
        schema.columns.iter().map(|column| format!("{} {}", quoted(&column.name), duckdb::stored_type(column.kind)));
    duckdb::execute(&mut connection, &format!("CREATE TABLE {table} ({})", commas(columns)), until)?;
    let mut rows = 0;
    let mut batch = Batch::new(schema);
    let mut send = |batch: &mut Batch| {
        let full = std::mem::replace(batch, Batch::new(schema));
        rows += full.rows as u64;
        connection.append("data", full.into_rows(), duckdb::left(until)).map_err(duckdb::failed)
    };
    Embedded::open(embedded)?.each_row(schema, |fields| {
        batch.add(fields)?;
        if batch.rows == BATCH { send(&mut batch) } else { Ok(()) }
    })?;
    if batch.rows > 0 {
        send(&mut batch)?;
    }
    new.finish(connection, schema, rows, until)?;
    Ok(rows)
}

/// Rows on their way.
struct Batch {
    names: Vec<String>,
    columns: Vec<NewColumn>,
    rows: usize,
}

impl Batch {
    fn new(schema: &Schema) -> Batch {
        let column = |kind| match kind {
            ColumnType::Boolean => NewColumn::Boolean(Vec::new()),
            ColumnType::Integer => NewColumn::Integer(Vec::new()),
            ColumnType::Real => NewColumn::Real(Vec::new()),
            ColumnType::Text => NewColumn::Text(Vec::new()),
            ColumnType::Date => NewColumn::Date(Vec::new()),
            ColumnType::Timestamp => NewColumn::Timestamp(Vec::new()),
            ColumnType::Decimal => NewColumn::Millionths(Vec::new()),
        };
        let names = schema.columns.iter().map(|column| column.name.clone()).collect();
        Batch { names, columns: schema.columns.iter().map(|declared| column(declared.kind)).collect(), rows: 0 }
    }

    /// Adds a row as the embedded engine stores it.
    fn add(&mut self, fields: &[ValueRef<'_>]) -> Result<(), Error> {
        let damaged =
            || Error::integrity("a value of the data file is not of its column's type; register the dataset again");
        for (column, field) in self.columns.iter_mut().zip(fields) {
            let whole = || match field {
                ValueRef::Null => Ok(None),
                ValueRef::Integer(value) => Ok(Some(*value)),
                _ => Err(damaged()),
            };
            match column {
                NewColumn::Boolean(values) => values.push(whole()?.map(|value| value != 0)),
                NewColumn::Integer(values) | NewColumn::Timestamp(values) | NewColumn::Millionths(values) => {
                    values.push(whole()?)
                }
                NewColumn::Date(values) => {
                    values.push(whole()?.map(i32::try_from).transpose().map_err(|_| damaged())?);
                }
                NewColumn::Real(values) => values.push(match field {
                    ValueRef::Null => None,
                    ValueRef::Real(value) => Some(*value),
                    _ => return Err(damaged()),
                }),
                NewColumn::Text(values) => values.push(match field {
                    ValueRef::Null => None,
                    ValueRef::Text(text) => Some(String::from_utf8(text.to_vec()).map_err(|_| damaged())?),
                    _ => return Err(damaged()),
                }),
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn into_rows(self) -> NewRows {
        NewRows { columns: self.names.into_iter().zip(self.columns).collect() }
    }
}
