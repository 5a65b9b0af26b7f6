//! The bare engines: the analyst's own SQL on the same data, and a plain loop that reads a CSV file into prepared inserts.

use std::error::Error;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

type Done<T> = Result<T, Box<dyn Error>>;

/// An engine with nothing in front of it.
pub trait BareEngine {
    /// Runs a statement whose answer is one number.
    fn run(&mut self, sql: &str) -> Done<f64>;
}

/// SQLite on a file.
pub struct BareSqlite(Connection);

impl BareSqlite {
    pub fn open(path: &Path) -> Done<BareSqlite> {
        Ok(BareSqlite(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?))
    }
}

impl BareEngine for BareSqlite {
    fn run(&mut self, sql: &str) -> Done<f64> {
        Ok(self.0.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }
}

/// PostgreSQL.
pub struct BarePostgres(postgres::Client);

impl BarePostgres {
    pub fn connect(url: &str) -> Done<BarePostgres> {
        Ok(BarePostgres(postgres::Client::connect(url, postgres::NoTls)?))
    }

    /// Makes the table and copies a CSV file into it.
    pub fn load(&mut self, table: &str, columns: &str, csv: &Path) -> Done<()> {
        self.0.batch_execute(&format!("CREATE TABLE {table} {columns}"))?;
        let mut writer = self.0.copy_in(&format!("COPY {table} FROM STDIN (FORMAT csv, HEADER)"))?;
        std::io::copy(&mut std::fs::File::open(csv)?, &mut writer)?;
        writer.finish()?;
        Ok(self.0.batch_execute(&format!("VACUUM (ANALYZE) {table}"))?)
    }
}

impl BareEngine for BarePostgres {
    fn run(&mut self, sql: &str) -> Done<f64> {
        let row = self.0.query_one(&format!("SELECT ({sql})::float8"), &[])?;
        Ok(row.get(0))
    }
}

/// Reads a CSV file of the benchmark's people into a table: fields become values of their types, one prepared insert a row, one
/// transaction, and no journal.
pub fn import(csv: &Path, target: &Path) -> Done<u64> {
    let connection = Connection::open(target)?;
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         CREATE TABLE data (person INTEGER, age INTEGER, region TEXT, income REAL, visits INTEGER, smoker INTEGER) STRICT;
         BEGIN",
    )?;
    let mut reader = csv::ReaderBuilder::new().from_path(csv)?;
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    {
        let mut insert = connection.prepare("INSERT INTO data VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        while reader.read_record(&mut record)? {
            insert.execute(params![
                record[0].parse::<i64>()?,
                record[1].parse::<i64>()?,
                &record[2],
                record[3].parse::<f64>()?,
                record[4].parse::<i64>()?,
                record[5].parse::<bool>()?,
            ])?;
            rows += 1;
        }
    }
    connection.execute_batch("COMMIT")?;
    // What is imported is on disk, as it is through the gate.
    std::fs::File::open(target)?.sync_all()?;
    Ok(rows)
}
