//! With the library of DuckDB: the same answers as the embedded engine, what is refused, which rows are kept, and what a session cannot
//! do.

mod cluster;
mod expressions;
mod keeping;
mod lakes;
mod same_answers;
mod sessions;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taximeter_engine_adbc::{AdbcConnection, AdbcOptions, ArrowValue};
use taximeter_testing::PATIENCE;
use tempfile::TempDir;

use super::*;
use crate::declaration::Declaration;
use crate::engine::{DriverChoice, Source};
use crate::measure::{Measure, Quantity};
use crate::question::predicate::Predicate;
use crate::sql::tests::query as query_of;
use crate::sql::{Dialect, Target};

const MOST: Duration = PATIENCE;

fn until() -> Instant {
    Instant::now() + MOST
}

/// A folder with Parquet files, and a session that writes them.
struct Shore {
    folder: TempDir,
    writer: AdbcConnection,
}

impl Shore {
    fn new() -> Shore {
        let driver = duckdb::find(&DriverChoice::default()).unwrap();
        let writer = AdbcConnection::open(&driver, AdbcOptions::default().with("path", ":memory:"), MOST).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("gate")).unwrap();
        Shore { folder, writer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The gate's folder.
    fn gate(&self) -> PathBuf {
        self.path("gate")
    }

    fn execute(&mut self, sql: &str) {
        self.writer.execute(sql, MOST).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Writes what a query returns into a file.
    fn write(&mut self, name: &str, query: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let copy = format!("COPY ({query}) TO '{}' (FORMAT parquet)", path.display());
        self.execute(&copy);
        path
    }

    fn find(&self, pattern: &str) -> Result<Vec<LakeFile>, Error> {
        Lake::find(&DriverChoice::default(), &self.path(pattern).display().to_string(), &self.gate(), until())
    }

    fn open(&self, pattern: &str) -> Result<Lake, Error> {
        Lake::open(&DriverChoice::default(), self.find(pattern)?, &self.gate(), until())
    }

    fn prepare(&self, pattern: &str, declaration: &str) -> Result<crate::engine::PreparedLake, Error> {
        let (driver, pattern) = (DriverChoice::default(), self.path(pattern).display().to_string());
        prepare_lake(&driver, &pattern, &Declaration::of_rows(declaration), &[7; 32], Path::new("own"), &self.gate())
    }

    fn connect(&self, prepared: &crate::engine::PreparedLake) -> Result<Box<dyn Engine>, Error> {
        prepared.source.connect(&self.gate(), &prepared.schema, MOST)
    }
}

/// A statement that measures what is asked.
fn measuring(schema: &Schema, filter: Option<Predicate>, groups: &[usize], measures: &[Measure]) -> Statement {
    let target = Target { schema, dialect: Dialect::DuckDb, table: VIEW, asked: &[] };
    Statement::measuring(&query_of(schema, filter, groups), measures, target)
}

fn count(schema: &Schema) -> Statement {
    measuring(schema, None, &[], &[Measure::of(Quantity::Rows)])
}

fn counted(engine: &mut dyn Engine, schema: &Schema) -> i64 {
    engine.check(schema, MOST).unwrap();
    engine.run(&count(schema), MOST).unwrap()[0].measures[0]
}
