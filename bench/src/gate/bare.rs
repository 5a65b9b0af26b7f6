//! The bare engines: a statement on the same data, and a plain loop that reads a CSV file into prepared inserts.

use std::error::Error;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::people;

type Done<T> = Result<T, Box<dyn Error>>;

/// An engine with nothing in front of it.
pub trait BareEngine {
    /// Runs a statement, and returns the sum of its column `m` over all rows.
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
        let mut statement = self.0.prepare_cached(sql)?;
        let (mut rows, mut total) = (statement.query([])?, 0.0);
        while let Some(row) = rows.next()? {
            total += row.get::<_, f64>("m")?;
        }
        Ok(total)
    }
}

/// PostgreSQL.
pub struct BarePostgres(postgres::Client);

impl BarePostgres {
    pub fn connect(url: &str) -> Done<BarePostgres> {
        Ok(BarePostgres(postgres::Client::connect(url, postgres::NoTls)?))
    }

    /// Makes the tables, and copies a CSV file into the one of people.
    pub fn load(&mut self, csv: &Path) -> Done<()> {
        self.0.batch_execute(&format!(
            "CREATE TABLE people {}; CREATE TABLE areas (region text PRIMARY KEY, country text); INSERT INTO areas VALUES {}",
            people::TABLE,
            people::areas()
        ))?;
        let mut writer = self.0.copy_in("COPY people FROM STDIN (FORMAT csv, HEADER)")?;
        std::io::copy(&mut std::fs::File::open(csv)?, &mut writer)?;
        writer.finish()?;
        self.0.batch_execute(people::DIARY)?;
        Ok(self.0.batch_execute("VACUUM (ANALYZE) people, diary")?)
    }
}

impl BareEngine for BarePostgres {
    fn run(&mut self, sql: &str) -> Done<f64> {
        let rows = self.0.query(&format!("SELECT m::float8 FROM ({sql}) AS answer"), &[])?;
        Ok(rows.iter().map(|row| row.get::<_, f64>(0)).sum())
    }
}

/// Reads a CSV file of the benchmark's people into a table: fields become values of their types, one prepared insert a row, one
/// transaction, and no journal.
pub fn import(csv: &Path, target: &Path) -> Done<()> {
    let connection = Connection::open(target)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
         CREATE TABLE areas (region TEXT PRIMARY KEY, country TEXT) STRICT, WITHOUT ROWID; INSERT INTO areas VALUES {};
         CREATE TABLE people {} STRICT",
        people::areas(),
        people::SQLITE_TABLE
    ))?;
    let mut reader = csv::ReaderBuilder::new().from_path(csv)?;
    let mut record = csv::StringRecord::new();
    {
        let mut insert = connection.prepare("INSERT INTO people VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        while reader.read_record(&mut record)? {
            insert.execute(params![
                record[0].parse::<i64>()?,
                record[1].parse::<i64>()?,
                &record[2],
                &record[3],
                days(&record[4])?,
                record[5].parse::<f64>()?,
                record[6].parse::<i64>()?,
                record[7].parse::<bool>()?,
            ])?;
        }
    }
    connection.execute_batch("COMMIT")?;
    // What is imported is on disk, as it is through the gate.
    std::fs::File::open(target)?.sync_all()?;
    Ok(())
}

/// Adds the diary to what was imported.
pub fn add_diary(target: &Path) -> Done<()> {
    Ok(Connection::open(target)?.execute_batch(people::DIARY)?)
}

/// The days since 1970-01-01, of a date after it.
fn days(date: &str) -> Done<i64> {
    let part = |range: std::ops::Range<usize>| date[range].parse::<i64>();
    // The year begins in March, so that a leap day is its last.
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    Ok(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468)
}
