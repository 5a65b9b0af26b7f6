//! Tables behind a driver that speaks to a server: Flight SQL in front of a cluster, and warehouses. They are asked where they are, as
//! they are at that moment, and nothing is written there.

use std::ops::{Deref, DerefMut};
use std::thread;
use std::time::{Duration, Instant};

use taximeter_engine_adbc::{AdbcConnection, AdbcOptions, ArrowColumn, ArrowKind, ArrowRows};

use super::credentials::secrets;
use super::{canary, duckdb, values};
use crate::declaration::Declaration;
use crate::engine::driver_source::{AdbcData, AdbcSource, RemoteService, RemoteTable};
use crate::engine::{Engine, ExactRow, PreparedLake, Source};
use crate::error::Error;
use crate::register::ImportedRows;
use crate::schema::{ColumnType, PrivacyUnit, Schema};
use crate::sql::Statement;

/// A session in front of one table.
pub(super) struct RemoteEngine {
    pub(super) connection: RemoteSession,
    table: RemoteTable,
}

/// A session that is closed apart: its driver says goodbye to the server, and waits for an answer that may not come.
pub(super) struct RemoteSession(Option<AdbcConnection>);

impl Deref for RemoteSession {
    type Target = AdbcConnection;
    fn deref(&self) -> &AdbcConnection {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for RemoteSession {
    fn deref_mut(&mut self) -> &mut AdbcConnection {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        let connection = self.0.take();
        // If there is no thread for it, it is closed here.
        let _ = thread::Builder::new().name("adbc-close".to_string()).spawn(move || drop(connection));
    }
}

/// The name of a column, and what it holds, or its type if it cannot be asked about.
type RemoteColumn = (String, Result<ColumnType, String>);

/// How long a driver tries to reach a server, in seconds.
const CONNECT: &str = "30";

impl RemoteEngine {
    /// Opens a session, with the credentials that are there now.
    pub(super) fn open(source: &AdbcSource, table: &RemoteTable, until: Instant) -> Result<RemoteEngine, Error> {
        let driver = duckdb::find(&source.driver)?;
        let options = AdbcOptions::default().with("uri", table.uri.clone());
        let options = match table.service {
            RemoteService::Flightsql => options.with("adbc.flight.sql.rpc.timeout_seconds.connect", CONNECT),
            _ => options,
        };
        let options =
            secrets(table)?.into_iter().fold(options, |options, (name, value)| options.with_secret(name, value));
        let connection = AdbcConnection::open(&driver, options, duckdb::left(until)).map_err(duckdb::failed)?;
        Ok(RemoteEngine { connection: RemoteSession(Some(connection)), table: table.clone() })
    }

    /// The columns of the table.
    fn columns(&mut self, until: Instant) -> Result<Vec<RemoteColumn>, Error> {
        let sql = format!("SELECT * FROM {} WHERE 1 = 0", self.table.quoted());
        let ArrowRows { columns, .. } = duckdb::query(&mut self.connection, &sql, until)?;
        Ok(columns.into_iter().map(|column| (column.name.clone(), held(&column))).collect())
    }
}

impl Engine for RemoteEngine {
    fn check(&mut self, schema: &Schema, most: Duration) -> Result<(), Error> {
        let found = self.columns(Instant::now() + most)?;
        for declared in &schema.columns {
            let held = match found.iter().find(|(name, _)| *name == declared.name).map(|(_, held)| held) {
                Some(Ok(kind)) if *kind == declared.kind => continue,
                Some(Ok(kind)) => format!("holds {kind} now, not {}", declared.kind),
                Some(Err(why)) => format!("is {why} now"),
                None => "is not there any more".to_string(),
            };
            let (name, table) = (&declared.name, &self.table.table);
            return Err(Error::storage(format!("the column {name:?} of {table} {held}; register the data again")));
        }
        Ok(())
    }

    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String> {
        let rows = self.connection.query(&statement.sql, most).map_err(|error| error.to_string())?;
        values::exact_rows(rows, statement)
    }
}

/// What a column holds, or its type if it cannot be asked about. A decimal number is compared with one of 12 digits before the point and 6
/// behind it, in 38 digits.
fn held(column: &ArrowColumn) -> Result<ColumnType, String> {
    Ok(match column.kind {
        Some(ArrowKind::Boolean) => ColumnType::Boolean,
        Some(ArrowKind::Integer) => ColumnType::Integer,
        Some(ArrowKind::Real) => ColumnType::Real,
        Some(ArrowKind::Text) => ColumnType::Text,
        Some(ArrowKind::Date) => ColumnType::Date,
        Some(ArrowKind::Timestamp { .. }) => ColumnType::Timestamp,
        Some(ArrowKind::Decimal { scale }) if is_short(&column.type_name, scale) => ColumnType::Decimal,
        Some(ArrowKind::Decimal { .. } | ArrowKind::Null) | None => return Err(column.type_name.clone()),
    })
}

/// Whether a decimal type, such as `Decimal128(18, 6)`, has at most 29 digits before the point and 9 behind it.
fn is_short(type_name: &str, scale: i8) -> bool {
    let digits = type_name.split_once('(').and_then(|(_, rest)| rest.split(',').next()?.trim().parse::<i16>().ok());
    (0..=9).contains(&scale) && digits.is_some_and(|digits| digits - i16::from(scale) <= 29)
}

/// Looks at a table, and tries the engine in front of it.
pub(crate) fn prepare_remote(source: AdbcSource, declaration: &Declaration) -> Result<PreparedLake, Error> {
    let AdbcData::Remote(table) = &source.data else {
        return Err(Error::input("table", "only a table of a server is looked at here"));
    };
    table.check()?;
    let until = Instant::now() + Source::LOOK;
    let mut remote = RemoteEngine::open(&source, table, until)?;
    canary::check(&mut remote.connection, table.service.dialect(), until)?;
    let found = remote.columns(until)?;
    let usable: Vec<(String, ColumnType)> =
        found.iter().filter_map(|(name, held)| Some((name.clone(), *held.as_ref().ok()?))).collect();
    let schema = declaration.schema(&usable)?;
    if let PrivacyUnit::Column { column, .. } = schema.unit() {
        let why = "a column as the unit requires storing which rows count, and the gate writes nothing to this engine; take a row as the \
                   unit, or register Parquet files or a PostgreSQL table";
        return Err(Error::value("unit", column, why));
    }
    let left_out = found.into_iter().filter_map(|(name, held)| Some((name, held.err()?))).collect();
    let fingerprint = blake3::hash(format!("{}\0{}", table.uri, table.table).as_bytes()).to_hex().to_string();
    let source = Source::Adbc(source);
    Ok(PreparedLake { schema, source, fingerprint, imported: ImportedRows::default(), left_out })
}
