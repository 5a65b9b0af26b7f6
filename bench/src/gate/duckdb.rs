//! DuckDB with nothing in front of it, on a Parquet file that it has written itself.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use taximeter_engine_adbc::{AdbcConnection, AdbcDriver, AdbcOptions, ArrowValue, DriverSpec, Search};

use super::bare::BareEngine;
use super::people;

type Done<T> = Result<T, Box<dyn Error>>;

pub(super) const LONG: Duration = Duration::from_secs(3600);

pub struct BareDuckdb(AdbcConnection);

impl BareDuckdb {
    /// A session of the driver, wherever it is found.
    pub fn open() -> Done<BareDuckdb> {
        let options = AdbcOptions::default().with("path", ":memory:").with("memory_limit", "4GB");
        Ok(BareDuckdb(connect("duckdb", options.with("preserve_insertion_order", "false"))?))
    }

    /// Writes this number of rows to a Parquet file, which the table of people is.
    pub fn write(&mut self, rows: u64, parquet: &Path) -> Done<()> {
        let parquet = format!("'{}'", parquet.display().to_string().replace('\'', "''"));
        for sql in [
            format!("COPY ({}) TO {parquet} (FORMAT parquet)", people_query(rows)),
            format!("CREATE VIEW people AS SELECT * FROM read_parquet({parquet})"),
            format!("CREATE TABLE areas AS SELECT * FROM (VALUES {}) AS areas (region, country)", people::areas()),
        ] {
            self.0.execute(&sql, LONG)?;
        }
        Ok(())
    }
}

impl BareEngine for BareDuckdb {
    fn run(&mut self, sql: &str) -> Done<f64> {
        total(&mut self.0, sql)
    }
}

/// A session of a driver, wherever it is found.
pub(super) fn connect(driver: &str, options: AdbcOptions) -> Done<AdbcConnection> {
    let driver = AdbcDriver::find(&DriverSpec::parse(driver, None)?, &Search::of_this_machine())?;
    Ok(AdbcConnection::open(&driver, options, LONG)?)
}

/// The sum of a statement's column `m` over all rows.
pub(super) fn total(connection: &mut AdbcConnection, sql: &str) -> Done<f64> {
    let answer = connection.query(&format!("SELECT CAST(m AS DOUBLE) FROM ({sql}) AS answer"), LONG)?;
    let number = |row: &Vec<ArrowValue>| match row.first() {
        Some(ArrowValue::Real(number)) => Ok(*number),
        other => Err(format!("the engine answers {other:?} where a number was expected").into()),
    };
    answer.rows.iter().map(number).sum()
}

/// The people of the CSV file as a query of DuckDB, which has a hundred million of them in a minute: the bits of a hash take the place of
/// a generator's.
fn people_query(rows: u64) -> String {
    format!(
        "SELECT row // 2 AS person, CAST(bits % 100 AS BIGINT) AS age,
                ['north', 'east', 'south', 'west'][CAST(1 + (bits >> 60) % 4 AS BIGINT)]
                    AS region,
                'city-' || (bits >> 40) % 300 AS city,
                make_date(CAST(2015 + (bits >> 12) % 10 AS BIGINT), CAST(1 + (bits >> 24) % 12 AS BIGINT),
                          CAST(1 + (bits >> 28) % 28 AS BIGINT)) AS day,
                ((bits >> 30) % 15000000) / 100 AS income, CAST((bits >> 20) % 40 AS BIGINT) AS visits, (bits >> 8) % 5 = 0 AS smoker
         FROM (SELECT range AS row, hash(range) AS bits FROM range({rows}))"
    )
}
