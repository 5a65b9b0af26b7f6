//! No value of a row makes a question fail, and DuckDB answers what the embedded engine answers.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use taximeter_engine_adbc::{NewColumn, NewRows};

use super::*;
use crate::engine::conformance::{
    EmbeddedTable, NAMES, VARIANTS, Values, all_predicates, any_predicate, any_row, hostile_schema, measures, sorted,
    values, worst_rows,
};
use crate::question::Query;
use crate::question::predicate::{Comparison, Operand};
use crate::schema::{ColumnType, Value};

/// The same rows in both engines.
pub(super) struct Both {
    shore: Shore,
    pub(super) embedded: EmbeddedTable,
    pub(super) files: Vec<LakeFile>,
}

/// The types that the files have.
const STORED: [&str; 13] = [
    "VARCHAR",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "VARCHAR",
    "VARCHAR",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "DECIMAL(18, 6)",
];

impl Both {
    pub(super) fn new() -> Both {
        let mut shore = Shore::new();
        shore.execute("SET TimeZone = 'UTC'");
        Both { shore, embedded: EmbeddedTable::new(), files: Vec::new() }
    }

    pub(super) fn fill(&mut self, rows: &[Values], more: &str) {
        self.embedded.fill(rows);
        let types = (0..NAMES.len()).map(|at| duckdb::stored_type(values(at)[0].kind()));
        let columns = crate::question::commas(NAMES.iter().zip(types).map(|(name, stored)| format!("{name} {stored}")));
        self.shore.execute(&format!("CREATE OR REPLACE TABLE t ({columns})"));
        let columns = (0..NAMES.len()).map(|at| (NAMES[at].to_string(), column(rows, at))).collect();
        if !rows.is_empty() {
            self.shore.writer.append("t", NewRows { columns }, MOST).unwrap();
        }
        if !more.is_empty() {
            self.shore.execute(more);
        }
        let cast = NAMES.iter().zip(STORED).map(|(name, stored)| format!("CAST({name} AS {stored}) AS {name}"));
        let path = self.shore.write("t.parquet", &format!("SELECT {} FROM t", crate::question::commas(cast)));
        self.files = vec![LakeFile::look(&path).unwrap()];
    }

    /// The answer of DuckDB, which is also that of SQLite.
    fn ask(&self, query: &Query, schema: &Schema) {
        assert_eq!(self.ask_duckdb(query, schema), self.embedded.ask(query, schema), "{query:?}");
    }

    fn ask_duckdb(&self, query: &Query, schema: &Schema) -> Vec<ExactRow> {
        let mut engine = self.engine(schema);
        self.ask_engine(&mut engine, query, schema)
    }

    pub(super) fn engine(&self, schema: &Schema) -> Adbc {
        let mut lake = Lake::open(&DriverChoice::default(), self.files.clone(), &self.shore.gate(), until()).unwrap();
        let within = lake.columns_within(schema, until()).unwrap();
        let mut engine = lake.engine(schema, within, until()).unwrap();
        engine.check(schema, MOST).unwrap();
        engine
    }

    fn ask_engine(&self, engine: &mut Adbc, query: &Query, schema: &Schema) -> Vec<ExactRow> {
        let target = Target { schema, dialect: Dialect::DuckDb, table: VIEW, asked: &[] };
        let statement = Statement::measuring(query, &measures(schema), target);
        sorted(engine.run(&statement, MOST).unwrap_or_else(|error| panic!("{error}: {}", statement.sql)))
    }
}

/// A column of rows on its way to DuckDB.
fn column(rows: &[Values], at: usize) -> NewColumn {
    macro_rules! each {
        ($variant:ident, $convert:expr) => {
            rows.iter()
                .map(|row| match &row[at] {
                    None => None,
                    Some(Value::$variant(value)) => Some($convert(value)),
                    Some(other) => panic!("{other:?} is in the wrong column"),
                })
                .collect()
        };
    }
    match values(at)[0].kind() {
        ColumnType::Boolean => NewColumn::Boolean(each!(Boolean, |value: &bool| *value)),
        ColumnType::Integer => NewColumn::Integer(each!(Integer, |value: &i64| *value)),
        ColumnType::Real => NewColumn::Real(each!(Real, |value: &f64| *value)),
        ColumnType::Text => NewColumn::Text(each!(Text, Clone::clone)),
        ColumnType::Date => NewColumn::Date(each!(Date, |value: &i32| *value)),
        ColumnType::Timestamp => NewColumn::Timestamp(each!(Timestamp, |value: &i64| *value)),
        ColumnType::Decimal => {
            NewColumn::Millionths(each!(Decimal, |value: &crate::number::Number| value.to_millionths().unwrap()))
        }
    }
}

#[test]
fn the_worst_values_fail_no_question_and_count_the_same_in_duckdb() {
    let mut both = Both::new();
    both.fill(&worst_rows(), "");
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        for groups in [&[][..], &[0], &[1, 8], &[6], &[7, 2], &[3], &[9], &[10, 8], &[11], &[12, 9]] {
            both.ask(&query_of(&schema, None, groups), &schema);
        }
    }
    let schema = hostile_schema(0);
    let mut engine = both.engine(&schema);
    for predicate in all_predicates() {
        let query = query_of(&schema, Some(predicate), &[]);
        assert_eq!(both.ask_engine(&mut engine, &query, &schema), both.embedded.ask(&query, &schema), "{query:?}");
    }
}

/// What only DuckDB has: NaN, and infinite dates and times.
const BEYOND: &str = "
    INSERT INTO t (short, long) SELECT 'NaN', 'NaN' FROM range(3);
    INSERT INTO t (day, moment, zoned) VALUES
        ('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity'),
        ('5881580-07-10', '294247-01-10 04:00:54.775806', NULL),
        ('5877642-06-25 (BC)', '290309-12-22 (BC) 00:00:00', '290309-12-22 (BC) 00:00:00')";

#[test]
fn nan_and_infinite_dates_fail_no_question() {
    let mut both = Both::new();
    both.fill(&worst_rows(), BEYOND);
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        for groups in [&[][..], &[9], &[10], &[11], &[12]] {
            both.ask_duckdb(&query_of(&schema, None, groups), &schema);
        }
    }
    let schema = hostile_schema(0);
    let mut engine = both.engine(&schema);
    for predicate in all_predicates() {
        both.ask_engine(&mut engine, &query_of(&schema, Some(predicate), &[]), &schema);
    }
}

#[test]
fn nan_is_above_every_number() {
    let mut both = Both::new();
    both.fill(&[], "INSERT INTO t (short, long) SELECT 'NaN', 'NaN' FROM range(3)");
    let schema = hostile_schema(0);
    let mut engine = both.engine(&schema);
    for column in [4, 5] {
        let compare = |comparison| Predicate::Compare {
            operand: Operand::plain(column),
            comparison,
            value: Value::Real(f64::MAX),
        };
        for (predicate, found) in [
            (compare(Comparison::Greater), 3),
            (compare(Comparison::NotEqual), 3),
            (compare(Comparison::LessOrEqual), 0),
            (Predicate::IsNull { column, negated: true }, 3),
        ] {
            let measures = [Measure::of(Quantity::Rows), Measure::non_null(column), Measure::sum(&schema, column, 0)];
            let statement = measuring(&schema, Some(predicate), &[], &measures);
            // The upper bound is a hundred steps.
            assert_eq!(engine.run(&statement, MOST).unwrap()[0].measures, [found, found, 100 * found]);
        }
    }
}

#[test]
fn sums_of_the_largest_steps_do_not_wrap() {
    let mut shore = Shore::new();
    shore.write("a.parquet", "SELECT 1073741824::BIGINT AS x FROM range(3000000)");
    let prepared = shore.prepare("a.parquet", "[columns.x]\nbounds = [-1073741824, 1073741824]").unwrap();
    let mut engine = shore.connect(&prepared).unwrap();
    let statement = measuring(&prepared.schema, None, &[], &[Measure::sum(&prepared.schema, 0, 0)]);
    assert_eq!(engine.run(&statement, MOST).unwrap()[0].measures, [3_000_000 << 30]);
}

#[test]
fn random_questions_about_random_rows_are_answered_the_same_by_duckdb() {
    let both = RefCell::new(Both::new());
    let groups = prop::sample::subsequence(vec![0usize, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12], 0..3);
    let asked = (prop::option::weighted(0.9, any_predicate()), groups, 0..VARIANTS);
    let story = (prop::collection::vec(any_row(), 1..40), prop::collection::vec(asked, 15));
    let mut runner = TestRunner::new(Config {
        cases: taximeter_testing::random_inputs(40),
        failure_persistence: None,
        ..Config::default()
    });
    let told = runner.run(&story, |(rows, questions)| {
        let mut both = both.borrow_mut();
        both.fill(&rows, "");
        for (filter, groups, variant) in questions {
            both.ask(&query_of(&hostile_schema(variant), filter, &groups), &hostile_schema(variant));
        }
        Ok(())
    });
    told.unwrap();
}
