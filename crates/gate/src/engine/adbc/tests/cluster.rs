//! A cluster behind Flight SQL: Sail with two workers. The same answers as the embedded engine, and a time limit.

use taximeter_testing::PrivateSail;

use super::same_answers::Both;
use super::*;
use crate::engine::adbc::remote::RemoteEngine;
use crate::engine::conformance::{VARIANTS, all_predicates, hostile_schema, measures, sorted, worst_rows};
use crate::engine::driver_source::{RemoteService, RemoteTable};

/// What the embedded engine does not have.
const BEYOND: &str = "
    INSERT INTO t (short, long) SELECT 'NaN', 'NaN' FROM range(3);
    INSERT INTO t (day, moment) VALUES ('infinity', 'infinity'), ('-infinity', '-infinity')";

/// A server of the test's own.
pub(super) struct Cluster {
    sail: PrivateSail,
    _folder: TempDir,
}

impl Cluster {
    pub(super) fn start() -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        let sail = PrivateSail::start(2, folder.path()).unwrap_or_else(|message| panic!("{message}"));
        Cluster { sail, _folder: folder }
    }

    fn source(&self, path: &Path) -> (AdbcSource, RemoteTable) {
        let driver = DriverChoice { driver: "flightsql".to_string(), entry: None };
        let (service, uri) = (RemoteService::Flightsql, self.sail.uri());
        let table = RemoteTable { service, uri, table: format!("parquet.{}", path.display()), credentials: None };
        (AdbcSource { driver, data: AdbcData::Remote(table.clone()) }, table)
    }

    fn open(&self, path: &Path) -> (RemoteEngine, String) {
        let (source, table) = self.source(path);
        (RemoteEngine::open(&source, &table, until()).unwrap(), table.quoted())
    }

    /// A session in front of a Parquet file.
    pub(super) fn opened(&self, path: &Path) -> (Box<dyn Engine>, Dialect, String) {
        let (remote, table) = self.open(path);
        (Box::new(remote), Dialect::Spark, table)
    }
}

#[test]
fn the_worst_values_fail_no_question_and_count_the_same_on_a_cluster() {
    let (cluster, mut both) = (Cluster::start(), Both::new());
    both.fill(&worst_rows(), "");
    let (mut remote, table) = cluster.open(&both.files[0].path);
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        remote.check(&schema, MOST).unwrap();
        for groups in [&[][..], &[0], &[1, 8], &[6], &[3], &[9], &[10, 8], &[11], &[12, 9]] {
            let query = query_of(&schema, None, groups);
            let target = Target { schema: &schema, dialect: Dialect::Spark, table: &table, asked: &[] };
            let statement = Statement::measuring(&query, &measures(&schema), target);
            let answer = remote.run(&statement, MOST).unwrap_or_else(|error| panic!("{error}: {}", statement.sql));
            assert_eq!(sorted(answer), both.embedded.ask(&query, &schema), "{}", statement.sql);
        }
    }
}

/// Every kind of condition on every column, also of rows with NaN and infinite dates: as many rows as in DuckDB, which the embedded engine
/// is compared with.
#[test]
fn conditions_hold_for_the_same_rows_on_a_cluster() {
    let (cluster, mut both) = (Cluster::start(), Both::new());
    both.fill(&worst_rows(), BEYOND);
    let schema = hostile_schema(0);
    let (mut remote, table) = cluster.open(&both.files[0].path);
    let mut duckdb = both.engine(&schema);
    for predicates in all_predicates().chunks(40) {
        let counted = |filter: &Predicate| Measure { quantity: Quantity::Rows, filter: Some(filter.clone()) };
        let counts: Vec<Measure> = predicates.iter().map(counted).collect();
        let query = query_of(&schema, None, &[]);
        let statement = |dialect, table| {
            Statement::measuring(&query, &counts, Target { schema: &schema, dialect, table, asked: &[] })
        };
        let here = duckdb.run(&statement(Dialect::DuckDb, VIEW), MOST).unwrap();
        let there = remote.run(&statement(Dialect::Spark, &table), MOST).unwrap();
        for ((predicate, here), there) in predicates.iter().zip(&here[0].measures).zip(&there[0].measures) {
            assert_eq!(here, there, "{predicate:?}");
        }
    }
}

#[test]
fn sums_of_the_largest_steps_do_not_wrap_on_a_cluster() {
    let (cluster, mut shore) = (Cluster::start(), Shore::new());
    let path = shore.write("a.parquet", "SELECT 1073741824::BIGINT AS x FROM range(3000000)");
    let (source, _) = cluster.source(&path);
    let declaration = Declaration::of_rows("[columns.x]\nbounds = [-1073741824, 1073741824]");
    let prepared = prepare_remote(source, &declaration).unwrap();
    let (mut remote, table) = cluster.open(&path);
    let target = Target { schema: &prepared.schema, dialect: Dialect::Spark, table: &table, asked: &[] };
    let query = query_of(&prepared.schema, None, &[]);
    let statement = Statement::measuring(&query, &[Measure::sum(&prepared.schema, 0, 0)], target);
    assert_eq!(remote.run(&statement, MOST).unwrap()[0].measures, [3_000_000 << 30]);
}

/// The engine's own sum wraps, which the statements at registration find.
#[test]
fn a_cluster_that_sums_in_64_bits_is_refused_with_the_reason() {
    let cluster = Cluster::start();
    let mut shore = Shore::new();
    let path = shore.write("a.parquet", "SELECT 1::BIGINT AS x");
    let (mut remote, _) = cluster.open(&path);
    let [_, mut sums] = crate::sql::canaries(Dialect::Spark);
    sums.sql = sums.sql.replace("AS DECIMAL(38, 0)", "AS BIGINT");
    let error = canary::ask(&mut remote.connection, &sums, until()).unwrap_err().to_string();
    assert!(error.contains("for sums, it returned") && error.contains("expected 46116860184273879035"), "{error}");
}

#[test]
fn a_question_that_is_late_is_stopped_on_a_cluster_and_the_next_one_is_answered() {
    let (cluster, mut shore) = (Cluster::start(), Shore::new());
    let path = shore.write("a.parquet", "SELECT range AS x FROM range(1000)");
    let prepared = prepare_remote(cluster.source(&path).0, &Declaration::of_rows("")).unwrap();
    let (mut remote, table) = cluster.open(&path);
    let target = Target { schema: &prepared.schema, dialect: Dialect::Spark, table: &table, asked: &[] };
    let query = query_of(&prepared.schema, None, &[]);
    let count = Statement::measuring(&query, &[Measure::of(Quantity::Rows)], target);
    let endless = "SELECT count(*) FROM range(0, 1000000000000) WHERE id % 7 = 3".to_string();
    let error = remote.run(&Statement { sql: endless, ..count.clone() }, Duration::from_millis(300)).unwrap_err();
    assert!(error.contains("was stopped after 300ms"), "{error}");
    assert_eq!(remote.run(&count, MOST).unwrap()[0].measures, [1000]);
}

#[test]
fn a_table_that_vanished_or_has_other_columns_is_refused_before_a_question() {
    let (cluster, mut shore) = (Cluster::start(), Shore::new());
    let path = shore.write("a.parquet", "SELECT 1::BIGINT AS x, [1] AS list, 1::DECIMAL(38, 0) AS long");
    let prepared = prepare_remote(cluster.source(&path).0, &Declaration::of_rows("")).unwrap();
    let left_out: Vec<&str> = prepared.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left_out, ["list", "long"]);
    let other = shore.write("b.parquet", "SELECT 'text' AS x");
    let error = cluster.open(&other).0.check(&prepared.schema, MOST).unwrap_err().to_string();
    assert!(error.contains("holds text now, not integer"), "{error}");
    assert!(cluster.open(&shore.path("nowhere.parquet")).0.check(&prepared.schema, MOST).is_err());
    let by_column = Declaration::parse("unit = { column = \"x\", max_rows_per_unit = 2 }").unwrap();
    let Err(error) = prepare_remote(cluster.source(&path).0, &by_column) else { panic!("a column is the unit") };
    assert!(error.to_string().contains("take a row as the unit"), "{error}");
}
