//! Sail with nothing in front of it: the same Parquet file, asked over Flight SQL.

use std::error::Error;
use std::path::Path;

use taximeter_engine_adbc::{AdbcConnection, AdbcOptions};
use taximeter_gate::{Data, DriverChoice, RemoteService, RemoteTable};
use taximeter_testing::PrivateSail;

use super::bare::BareEngine;
use super::duckdb::{connect, total};
use super::people;

type Done<T> = Result<T, Box<dyn Error>>;

/// As many as there are processors on the machine whose figures are in the documents.
const WORKERS: u32 = 2;

/// A server of the benchmark's own, and a session with it.
pub struct BareSail {
    session: AdbcConnection,
    server: PrivateSail,
    /// The Parquet file as the SQL of Spark names it.
    people: String,
    path: String,
}

impl BareSail {
    pub fn start(parquet: &Path, folder: &Path) -> Done<BareSail> {
        let server = PrivateSail::start(WORKERS, folder)?;
        let session = connect(RemoteService::Flightsql.name(), AdbcOptions::default().with("uri", server.uri()))?;
        let path = parquet.display().to_string();
        Ok(BareSail { session, server, people: format!(" parquet.`{path}`"), path })
    }

    /// The same file for the gate.
    pub fn data(&self) -> Data {
        let (service, table) = (RemoteService::Flightsql, format!("parquet.{}", self.path));
        let table = RemoteTable { service, uri: self.server.uri(), table, credentials: None };
        let driver = DriverChoice { driver: service.name().to_string(), entry: None };
        Data::Remote { table, driver }
    }
}

impl BareEngine for BareSail {
    /// The server has no tables: the file is named in place of one, and the public table is in the statement, as the gate sends it.
    fn run(&mut self, sql: &str) -> Done<f64> {
        let areas = format!(" (SELECT * FROM VALUES {} AS areas (region, country)) AS areas ", people::areas());
        total(&mut self.session, &sql.replace(" people", &self.people).replace(" areas ", &areas))
    }
}
