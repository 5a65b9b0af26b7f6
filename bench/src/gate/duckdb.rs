//! DuckDB with nothing in front of it, on a Parquet file.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use taximeter_engine_adbc::{AdbcConnection, AdbcDriver, AdbcOptions, ArrowValue, DriverSpec, Search};

use super::bare::BareEngine;
use super::people;

type Done<T> = Result<T, Box<dyn Error>>;

const LONG: Duration = Duration::from_secs(3600);

pub struct BareDuckdb(AdbcConnection);

impl BareDuckdb {
    /// A session of the driver, wherever it is found.
    pub fn open() -> Done<BareDuckdb> {
        let driver = AdbcDriver::find(&DriverSpec::parse("duckdb", None)?, &Search::of_this_machine())?;
        let options = AdbcOptions::default().with("path", ":memory:").with("memory_limit", "4GB");
        Ok(BareDuckdb(AdbcConnection::open(&driver, options, LONG)?))
    }

    /// Writes a CSV file to a Parquet file, which the table of people is.
    pub fn load(&mut self, csv: &Path, parquet: &Path) -> Done<()> {
        let text = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "''"));
        let areas = people::AREAS.map(|(region, country)| format!("('{region}', '{country}')")).join(", ");
        for sql in [
            format!("CREATE TABLE loaded {}", people::TABLE),
            format!("COPY loaded FROM {} (FORMAT csv, HEADER)", text(csv)),
            format!("COPY loaded TO {} (FORMAT parquet)", text(parquet)),
            "DROP TABLE loaded".to_string(),
            format!("CREATE VIEW people AS SELECT * FROM read_parquet({})", text(parquet)),
            "CREATE TABLE areas (region text PRIMARY KEY, country text)".to_string(),
            format!("INSERT INTO areas VALUES {areas}"),
        ] {
            self.0.execute(&sql, LONG)?;
        }
        Ok(())
    }
}

impl BareEngine for BareDuckdb {
    fn run(&mut self, sql: &str) -> Done<f64> {
        let answer = self.0.query(&format!("SELECT CAST(m AS DOUBLE) FROM ({sql}) AS answer"), LONG)?;
        let number = |row: &Vec<ArrowValue>| match row.first() {
            Some(ArrowValue::Real(number)) => Ok(*number),
            other => Err(format!("DuckDB answers {other:?} where a number was expected").into()),
        };
        answer.rows.iter().map(number).sum()
    }
}
