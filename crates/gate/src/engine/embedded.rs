//! The embedded engine: a SQLite file that [`import`](crate::import) made and nothing changes.

mod grouping;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, ToSql, params_from_iter};

pub(crate) use self::grouping::encode;
use super::{Engine, ExactRow, Source};
use crate::error::Error;
use crate::number::Number;
use crate::question::calendar::DatePart;
use crate::question::{commas, quoted};
use crate::schema::{ColumnType, Schema, Value};
use crate::sql::{Statement, TemporaryTable};
use crate::steps::steps_columns;

/// A connection to a file of the embedded engine.
pub(crate) struct Embedded {
    connection: Connection,
    path: PathBuf,
}

/// In KiB. A scan reads every page once; this is for counts of different values. The file is not mapped into memory: that would make
/// scans a tenth faster, but an error of the disk would end the process.
const CACHE: i32 = 16_384;

/// How a file is opened: nothing writes to it.
const READING: &str = "mode=ro&immutable=1";

/// A statement that is late is interrupted until it ends: an interrupt before its first step would have no effect.
const BETWEEN_INTERRUPTS: Duration = Duration::from_millis(1);

impl Embedded {
    /// The table's name, quoted.
    pub(crate) const TABLE: &str = "\"data\"";
    /// The table of another file, which is joined.
    pub(crate) const JOINED_TABLE: &str = "\"joined\".\"data\"";
    /// Says that a SQLite file holds data of the gate: "TaxD".
    pub(crate) const APPLICATION_ID: i64 = 0x5461_7844;
    /// The version of the table.
    pub(crate) const VERSION: i64 = 1;

    /// Opens a file, for reading only.
    pub(crate) fn open(path: &Path) -> Result<Embedded, Error> {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(not_ours(path)),
            Err(error) => {
                return Err(Error::storage(format!(
                    "the data file {} cannot be opened: {error}; restore it from a backup, or register the dataset again",
                    path.display()
                )));
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let open = || {
            let connection = Connection::open_with_flags(Embedded::address(path, READING), flags)?;
            configure(&connection)?;
            add_functions(&connection)?;
            let mark = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let marks = (mark("application_id")?, mark("user_version")?);
            Ok((connection, marks))
        };
        match open() {
            Ok((connection, (Embedded::APPLICATION_ID, Embedded::VERSION))) => {
                Ok(Embedded { connection, path: path.to_path_buf() })
            }
            Ok((_, (Embedded::APPLICATION_ID, version))) => Err(Error::storage(format!(
                "the data file {} has version {version}; this program knows version {}: use a newer program",
                path.display(),
                Embedded::VERSION
            ))),
            Ok(_) => Err(not_ours(path)),
            Err(error) if is(&error, ErrorCode::NotADatabase) => Err(not_ours(path)),
            Err(error) => {
                Err(Error::storage(format!("the data file {} cannot be opened: SQLite: {error}", path.display())))
            }
        }
    }

    /// A file as SQLite's URI, whatever characters are in its path.
    pub(crate) fn address(path: &Path, options: &str) -> String {
        // With an empty authority, so that a path with two slashes is not taken for one.
        let mut address = String::from(if path.is_absolute() { "file://" } else { "file:" });
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => address.push(char::from(*byte)),
                _ => {
                    let _ = write!(address, "%{byte:02X}");
                }
            }
        }
        address + "?" + options
    }

    /// A connection to no file: its tables are in memory.
    pub(crate) fn in_memory() -> Result<Embedded, String> {
        let open = || {
            let connection = Connection::open_in_memory()?;
            connection.execute_batch("ATTACH ':memory:' AS \"joined\"")?;
            configure(&connection)?;
            add_functions(&connection)?;
            Ok(Embedded { connection, path: PathBuf::new() })
        };
        open().map_err(|error: rusqlite::Error| format!("SQLite: {error}"))
    }

    /// Makes the table in memory, or the one that is joined, with these rows.
    pub(crate) fn fill(
        &mut self,
        schema: &Schema,
        is_joined: bool,
        rows: impl Iterator<Item = Vec<Value>>,
    ) -> Result<(), String> {
        let table = if is_joined { Embedded::JOINED_TABLE } else { Embedded::TABLE };
        let fill = || {
            self.connection.pragma_update(None, "query_only", false)?;
            let transaction = self.connection.transaction()?;
            transaction.execute_batch(&Embedded::definition_of(table, schema))?;
            let places = commas(vec!["?"; schema.columns.len()]);
            let mut insert = transaction.prepare(&format!("INSERT INTO {table} VALUES ({places})"))?;
            for row in rows {
                insert.execute(params_from_iter(row))?;
            }
            drop(insert);
            transaction.commit()?;
            self.connection.pragma_update(None, "query_only", true)
        };
        fill().map_err(|error: rusqlite::Error| format!("SQLite: {error}"))
    }

    /// The statement that makes the table.
    pub(crate) fn definition(schema: &Schema) -> String {
        Embedded::definition_of(Embedded::TABLE, schema)
    }

    fn definition_of(table: &str, schema: &Schema) -> String {
        let declared = schema.columns.iter().map(|column| {
            let stored = match column.kind {
                ColumnType::Integer | ColumnType::Boolean => "INTEGER",
                // Days, microseconds and millionths.
                ColumnType::Date | ColumnType::Timestamp | ColumnType::Decimal => "INTEGER",
                ColumnType::Real => "REAL",
                ColumnType::Text => "TEXT",
            };
            format!("{} {stored}", quoted(&column.name))
        });
        let steps = steps_columns(schema)
            .into_iter()
            .map(|(name, expression)| format!("{} INTEGER GENERATED ALWAYS AS ({expression}) STORED", quoted(&name)));
        format!("CREATE TABLE {table} ({}) STRICT", commas(declared.chain(steps)))
    }

    /// Passes every row on, as it is stored.
    #[cfg(feature = "adbc")]
    pub(crate) fn each_row(
        &self,
        schema: &Schema,
        mut take: impl FnMut(&[ValueRef<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let columns = commas(schema.columns.iter().map(|column| quoted(&column.name)));
        let failed = |error: rusqlite::Error| {
            Error::storage(format!("the data file {} cannot be read: SQLite: {error}", self.path.display()))
        };
        let select = format!("SELECT {columns} FROM {}", Embedded::TABLE);
        let mut prepared = self.connection.prepare(&select).map_err(failed)?;
        let mut rows = prepared.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let fields = (0..schema.columns.len()).map(|at| row.get_ref(at)).collect::<Result<Vec<_>, _>>();
            take(&fields.map_err(failed)?)?;
        }
        Ok(())
    }

    /// Makes the tables that a statement needs. They are in memory, and stay until others take their place.
    fn make_tables(&self, tables: &[TemporaryTable]) -> rusqlite::Result<()> {
        if tables.is_empty() {
            return Ok(());
        }
        // The file itself is opened for reading only.
        self.connection.pragma_update(None, "query_only", false)?;
        let made = tables.iter().try_for_each(|TemporaryTable { create, fill, rows }| {
            self.connection.execute_batch(create)?;
            self.connection.execute(fill, [rows]).map(drop)
        });
        self.connection.pragma_update(None, "query_only", true)?;
        made
    }

    fn rows(&self, statement: &Statement) -> rusqlite::Result<Vec<ExactRow>> {
        self.make_tables(&statement.tables)?;
        exact_rows(&self.connection, statement)
    }
}

/// What a statement says, once the tables are there that it needs.
pub(crate) fn exact_rows(connection: &Connection, statement: &Statement) -> rusqlite::Result<Vec<ExactRow>> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let mut rows = prepared.query(params_from_iter(&statement.parameters))?;
    if let Some(grouping) = &statement.grouping {
        return grouping::group(&mut rows, &statement.keys, grouping);
    }
    let mut exact = Vec::new();
    while let Some(row) = rows.next()? {
        let keys = statement.keys.iter().enumerate().map(|(at, kind)| key(row, at, *kind));
        let measures = (0..statement.measures).map(|at| measure(row, statement.keys.len() + at));
        exact.push(ExactRow { keys: keys.collect::<Result<_, _>>()?, measures: measures.collect::<Result<_, _>>()? });
    }
    Ok(exact)
}

impl Engine for Embedded {
    fn check(&mut self, schema: &Schema, _: Duration) -> Result<(), Error> {
        let found = definitions(&self.connection).map_err(|error| {
            Error::storage(format!("the data file {} cannot be read: SQLite: {error}", self.path.display()))
        })?;
        let registered = Embedded::definition(schema);
        match found == [registered.as_str()] {
            true => Ok(()),
            false => Err(Error::integrity(format!(
                "the data file {} is not what was registered: it has {}, and not {registered}; restore it from a backup, or register \
                 the dataset again",
                self.path.display(),
                found.join("; ")
            ))),
        }
    }

    fn join(&mut self, other: &Source, folder: &Path, schema: &Schema, most: Duration) -> Result<(), Error> {
        let Source::Embedded { file } = other else { return Err(Error::storage(format!("{other:?} is no such file"))) };
        let path = folder.join(file);
        Embedded::open(&path)?.check(schema, most)?;
        let address = Embedded::address(&path, READING);
        self.connection.execute("ATTACH ?1 AS \"joined\"", [address]).map(drop).map_err(|error| {
            Error::storage(format!("the data file {} cannot be opened: SQLite: {error}", path.display()))
        })
    }

    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String> {
        let handle = self.connection.get_interrupt_handle();
        let (running, ended) = channel::<()>();
        thread::scope(|scope| {
            let watch = move || {
                let mut wait = most;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    handle.interrupt();
                    wait = BETWEEN_INTERRUPTS;
                }
            };
            let watchdog = thread::Builder::new().name("time-limit".to_string()).spawn_scoped(scope, watch);
            watchdog.map_err(|error| format!("no thread can be started to keep the time: {error}"))?;
            let rows = self.rows(statement);
            // The scope ends when the watchdog has: no interrupt comes later, and SQLite forgets earlier ones when nothing runs.
            drop(running);
            rows.map_err(|error| match is(&error, ErrorCode::OperationInterrupted) {
                true => format!("the statement was stopped after {most:?}"),
                false => format!("SQLite: {error}"),
            })
        })
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // A column that is not there is an error, not a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    connection.pragma_update(None, "cache_size", -CACHE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "case_sensitive_like", true)
}

/// The parts of dates, which SQLite knows of text only, and a keyed hash.
pub(crate) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let hash = |context: &Context<'_>| {
        let mut bytes = Vec::new();
        (0..context.len()).for_each(|at| encode(context.get_raw(at), &mut bytes));
        Ok(blake3::hash(&bytes).as_bytes().to_vec())
    };
    connection.create_scalar_function("taximeter_hash", -1, flags, hash)?;
    DatePart::ALL.into_iter().try_for_each(|part| {
        let of = move |context: &Context<'_>| Ok(context.get::<Option<i64>>(0)?.map(|days| part.of(days)));
        connection.create_scalar_function(part.function().as_str(), 1, flags, of)
    })
}

/// How everything in a file was made.
fn definitions(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut definitions = connection.prepare_cached("SELECT coalesce(sql, name) FROM sqlite_schema")?;
    definitions.query_map([], |row| row.get(0))?.collect()
}

fn key(row: &Row<'_>, at: usize, kind: ColumnType) -> rusqlite::Result<Value> {
    Ok(match kind {
        ColumnType::Integer => Value::Integer(row.get(at)?),
        ColumnType::Real => Value::Real(row.get(at)?),
        ColumnType::Text => Value::Text(row.get(at)?),
        ColumnType::Boolean => Value::Boolean(row.get(at)?),
        ColumnType::Date => Value::Date(row.get(at)?),
        ColumnType::Timestamp => Value::Timestamp(row.get(at)?),
        ColumnType::Decimal => Value::Decimal(Number::from_millionths(row.get(at)?)),
    })
}

/// The sum of no rows is null.
fn measure(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(row.get::<_, Option<i64>>(at)?.unwrap_or(0))
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Boolean(value) => ValueRef::Integer(i64::from(*value)),
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Date(days) => ValueRef::Integer(i64::from(*days)),
            Value::Timestamp(microseconds) => ValueRef::Integer(*microseconds),
            Value::Decimal(number) => ValueRef::Integer(number.to_millionths().ok_or_else(|| {
                rusqlite::Error::ToSqlConversionFailure(format!("{number} has too many digits").into())
            })?),
        }))
    }
}

fn is(error: &rusqlite::Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}

fn not_ours(path: &Path) -> Error {
    Error::integrity(format!(
        "the file {} is not one that an import made; restore the data file from a backup, or register the dataset again",
        path.display()
    ))
}

#[cfg(test)]
mod tests;
