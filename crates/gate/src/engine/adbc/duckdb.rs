//! Sessions of DuckDB that are closed off: they read the files of one dataset, load no extensions, reach no network, and take no other
//! settings once they are open.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taximeter_engine_adbc::{AdbcConnection, AdbcDriver, AdbcError, AdbcOptions, ArrowRows, DriverSpec, Search};

use crate::engine::driver_source::DriverChoice;
use crate::error::Error;
use crate::question::commas;
use crate::schema::{ColumnType, Schema};
use crate::sql::Dialect;

/// What a session is opened for.
pub(super) enum SessionAccess<'a> {
    /// Reading these files of the owner, with a database in memory.
    Files(&'a [PathBuf]),
    /// Looking for files of the owner by their names.
    Names,
    /// Reading a database of the gate's own.
    Read(&'a Path),
    /// Writing a new database of the gate's own, from these files, within this memory.
    Write(&'a Path, &'a [PathBuf], &'a str),
}

/// The most that one session keeps in memory. What is more goes to the folder for temporary files.
pub(super) const MEMORY: &str = "4GB";

/// The first version whose files can be listed one by one as the only ones to be read, and whose driver can be told to stop.
const OLDEST: (u32, u32) = (1, 3);

/// The folder for temporary files, in the one that a session is given. DuckDB makes it when it needs it, and removes it at the end.
pub(super) const TEMPORARY: &str = "temporary";

/// The most that temporary files take on disk.
const MOST_TEMPORARY: &str = "100GB";

/// Opens a session.
pub(super) fn open(
    choice: &DriverChoice,
    access: &SessionAccess,
    folder: &Path,
    until: Instant,
) -> Result<AdbcConnection, Error> {
    let driver = find(choice)?;
    let folder =
        std::path::absolute(folder).map_err(|error| Error::storage(format!("{}: {error}", folder.display())))?;
    let (path, mode, readable, memory) = match access {
        SessionAccess::Files(files) => (":memory:".to_string(), "AUTOMATIC", *files, MEMORY),
        SessionAccess::Names => (":memory:".to_string(), "AUTOMATIC", &[][..], MEMORY),
        SessionAccess::Read(path) => (text(path)?.to_string(), "READ_ONLY", &[][..], MEMORY),
        SessionAccess::Write(path, files, memory) => (text(path)?.to_string(), "READ_WRITE", *files, *memory),
    };
    let options = AdbcOptions::default()
        .with("path", path)
        .with("access_mode", mode)
        .with("memory_limit", memory)
        .with("temp_directory", text(&folder.join(TEMPORARY))?)
        .with("max_temp_directory_size", MOST_TEMPORARY)
        .with("autoinstall_known_extensions", "false")
        .with("autoload_known_extensions", "false")
        .with("allow_community_extensions", "false")
        .with("preserve_insertion_order", "false");
    let mut connection = AdbcConnection::open(&driver, options, left(until)).map_err(failed)?;
    check_version(&mut connection, until)?;
    execute(&mut connection, "SET TimeZone = 'UTC'", until)?;
    if !matches!(access, SessionAccess::Names) {
        let readable = readable.iter().map(|path| text(path).map(quoted_text)).collect::<Result<Vec<_>, _>>()?;
        execute(&mut connection, &format!("SET allowed_paths = [{}]", commas(readable)), until)?;
        execute(&mut connection, "SET enable_external_access = false", until)?;
    }
    execute(&mut connection, "SET lock_configuration = true", until)?;
    Ok(connection)
}

/// Finds and loads the driver that an owner named.
pub(super) fn find(choice: &DriverChoice) -> Result<AdbcDriver, Error> {
    let spec = DriverSpec::parse(&choice.driver, choice.entry.clone()).map_err(failed)?;
    AdbcDriver::find(&spec, &Search::of_this_machine()).map_err(failed)
}

fn check_version(connection: &mut AdbcConnection, until: Instant) -> Result<(), Error> {
    let answer = query(connection, "SELECT version()", until)?;
    let version = answer.rows.first().and_then(|row| row.first()?.text()).unwrap_or_default().to_string();
    let mut parts = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= OLDEST => Ok(()),
        _ => Err(Error::storage(format!(
            "the driver is DuckDB {version}, and this program needs {}.{} or newer",
            OLDEST.0, OLDEST.1
        ))),
    }
}

/// Whether a table or view has the columns that are declared, with the types that questions are written for.
pub(super) fn check_columns(
    connection: &mut AdbcConnection,
    table: &str,
    schema: &Schema,
    most: Duration,
) -> Result<(), Error> {
    let found = columns(connection, table, Instant::now() + most)?;
    for column in &schema.columns {
        let held = found.iter().find(|(name, _)| *name == column.name).map(|(_, stored)| stored.as_str());
        let is_right = held.is_some_and(|held| match column.kind {
            ColumnType::Decimal => held.starts_with("DECIMAL("),
            kind => held == stored_type(kind),
        });
        if !is_right {
            let (name, kind, held) = (&column.name, column.kind, held.unwrap_or("nothing"));
            let why = format!(
                "the column {name:?} holds {held} and not {kind} as it was registered; register the data again"
            );
            return Err(Error::storage(why));
        }
    }
    Ok(())
}

/// The type that values are stored in and asked in.
pub(super) fn stored_type(kind: ColumnType) -> &'static str {
    Dialect::DuckDb.grammar().type_name(kind)
}

/// Names and types of the columns of a table, or of what stands for one behind FROM.
pub(super) fn columns(
    connection: &mut AdbcConnection,
    table: &str,
    until: Instant,
) -> Result<Vec<(String, String)>, Error> {
    let sql = format!("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {table})");
    let rows = query(connection, &sql, until)?.rows;
    let pair = |row: &Vec<_>| match row.as_slice() {
        [name, stored] => Some((text_of(name)?, text_of(stored)?)),
        _ => None,
    };
    rows.iter()
        .map(pair)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::storage("DuckDB does not describe the columns as this program expects"))
}

fn text_of(value: &taximeter_engine_adbc::ArrowValue) -> Option<String> {
    value.text().map(str::to_string)
}

pub(super) fn query(connection: &mut AdbcConnection, sql: &str, until: Instant) -> Result<ArrowRows, Error> {
    connection.query(sql, left(until)).map_err(failed)
}

pub(super) fn execute(connection: &mut AdbcConnection, sql: &str, until: Instant) -> Result<(), Error> {
    connection.execute(sql, left(until)).map_err(failed)
}

/// One whole number that a statement returns.
pub(super) fn number(connection: &mut AdbcConnection, sql: &str, until: Instant) -> Result<u64, Error> {
    let answer = query(connection, sql, until)?;
    let number =
        answer.rows.first().and_then(|row| row.first()?.integer()).and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| Error::storage("DuckDB does not count as this program expects"))
}

pub(super) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// An error of a driver. It goes to the owner, and in a question to the owner's log alone.
pub(super) fn failed(error: AdbcError) -> Error {
    Error::storage(error.to_string())
}

/// A text in SQL.
pub(super) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::value("file", path.display(), "its path is not UTF-8; give it another name"))
}
