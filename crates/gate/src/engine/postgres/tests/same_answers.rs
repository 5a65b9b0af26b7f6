//! No value of a row makes a question fail, and both engines answer the same.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::engine::conformance::{
    EmbeddedTable, VARIANTS, Values, all_predicates, any_predicate, any_row, hostile_schema, measures, sorted,
    worst_rows,
};
use crate::question::Query;
use crate::question::predicate::Comparison;

/// A column that takes `ann` and `Ann` for the same, in PostgreSQL's view.
const TABLE: &str = "
    CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE TABLE t (
        person text COLLATE any_case, small int2, middle int4, large int8, short float4, long float8, word text COLLATE any_case,
        label varchar(4000), flag bool, day date, moment timestamp, zoned timestamptz, price numeric
    );";

/// The same rows in both engines.
struct Both {
    writer: Connection,
    postgres: Postgres,
    embedded: EmbeddedTable,
}

impl Both {
    fn new() -> Both {
        let url = database(TABLE);
        let (postgres, _) = connected(&url, "t");
        Both { writer: open(&url, KEEP, ANSWER).unwrap(), postgres, embedded: EmbeddedTable::new() }
    }

    fn fill(&mut self, rows: &[Values]) {
        let literal = |value: &Option<Value>| match value {
            None => "NULL".to_string(),
            Some(Value::Real(value)) => format!("'{value:?}'").replace("inf", "Infinity"),
            Some(value) => value.to_string(),
        };
        let mut statements = "TRUNCATE public.t;".to_string();
        self.embedded.fill(rows);
        for row in rows {
            statements +=
                &format!("INSERT INTO public.t VALUES ({});", crate::question::commas(row.iter().map(literal)));
        }
        execute(&mut self.writer, &statements).unwrap();
    }

    /// The answer of PostgreSQL, which is also that of SQLite.
    fn ask(&mut self, query: &Query, schema: &Schema) -> Vec<ExactRow> {
        let answer = self.ask_postgres(query, schema);
        assert_eq!(answer, self.embedded.ask(query, schema), "{query:?}");
        answer
    }

    fn ask_postgres(&mut self, query: &Query, schema: &Schema) -> Vec<ExactRow> {
        let measures = measures(schema);
        let table = asked(&self.postgres);
        let target = Target { schema, dialect: Dialect::Postgres, table: &table, asked: &[] };
        let statement = Statement::measuring(query, &measures, target);
        let answer = self.postgres.run(&statement, MOST);
        sorted(answer.unwrap_or_else(|error| panic!("{error}: {}\n{:?}", statement.sql, statement.parameters)))
    }
}

#[test]
fn the_worst_values_fail_no_question_and_count_the_same_in_both_engines() {
    let mut both = Both::new();
    let rows = worst_rows();
    both.fill(&rows);
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        both.postgres.check(&schema, ANSWER).unwrap();
        let all = both.ask(&query_of(&schema, None, &[]), &schema);
        assert_eq!(all[0].measures[0], rows.len() as i64);
        for groups in [&[0][..], &[1, 8], &[6], &[7, 2], &[3], &[9], &[10, 8], &[11], &[12, 9]] {
            both.ask(&query_of(&schema, None, groups), &schema);
        }
        if variant == 0 {
            for predicate in all_predicates() {
                both.ask(&query_of(&schema, Some(predicate), &[]), &schema);
            }
        }
    }
}

#[test]
fn nan_fails_no_question_and_is_above_every_number() {
    let mut both = Both::new();
    both.fill(&worst_rows());
    execute(&mut both.writer, "INSERT INTO public.t (short, long) SELECT 'NaN', 'NaN' FROM generate_series(1, 3)")
        .unwrap();
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        both.postgres.check(&schema, ANSWER).unwrap();
        both.ask_postgres(&query_of(&schema, None, &[]), &schema);
    }
    let schema = hostile_schema(0);
    for predicate in all_predicates() {
        both.ask_postgres(&query_of(&schema, Some(predicate), &[]), &schema);
    }
    execute(&mut both.writer, "DELETE FROM public.t WHERE long <> 'NaN' OR long IS NULL").unwrap();
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
            let measures = [rows(), Measure::non_null(column), Measure::sum(&schema, column, 0)];
            let statement = measuring(&both.postgres, &schema, Some(predicate), &[], &measures);
            // The upper bound is a hundred steps.
            assert_eq!(both.postgres.run(&statement, MOST).unwrap()[0].measures, [found, found, 100 * found]);
        }
    }
}

/// What only PostgreSQL has, in the columns of dates, times and decimal numbers.
const BEYOND: &str = "
    INSERT INTO public.t (day, moment, zoned, price) VALUES
        ('infinity', 'infinity', 'infinity', 'Infinity'), ('-infinity', '-infinity', '-infinity', '-Infinity'),
        ('5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999', 'NaN'),
        ('4713-01-01 BC', '4713-01-01 00:00:00 BC', '4713-01-01 00:00:00 BC', '1e131071'),
        ('10000-01-01', '10000-01-01', '10000-01-01', '-1e131071'), (NULL, NULL, NULL, '1e-16383'),
        (NULL, NULL, NULL, repeat('0', 5)::numeric + 0.4999999999999999999999999999999999), (NULL, NULL, NULL, '9999999999999999.9999999');
";

#[test]
fn infinite_dates_and_endless_decimals_fail_no_question() {
    let mut both = Both::new();
    both.fill(&worst_rows());
    execute(&mut both.writer, BEYOND).unwrap();
    for variant in 0..VARIANTS {
        let schema = hostile_schema(variant);
        both.postgres.check(&schema, ANSWER).unwrap();
        for groups in [&[][..], &[9], &[10], &[11], &[12]] {
            both.ask_postgres(&query_of(&schema, None, groups), &schema);
        }
    }
    let schema = hostile_schema(0);
    for predicate in all_predicates() {
        both.ask_postgres(&query_of(&schema, Some(predicate), &[]), &schema);
    }
}

#[test]
fn what_is_beyond_the_bounds_is_clamped_and_halves_are_rounded_up_exactly() {
    let mut both = Both::new();
    let (low, high) = ("2000-02-29", "2024-02-29");
    let seconds = |day: &str| Bound::parse(day).unwrap().number(ColumnType::Timestamp).unwrap();
    let days = |day: &str| Bound::parse(day).unwrap().number(ColumnType::Date).unwrap();
    let dates = Bounds::new(days(low), days(high), number("1")).unwrap();
    let times = Bounds::new(seconds(low), seconds(high), number("86400")).unwrap();
    for (column, kind, bounds, value, steps) in [
        ("day", ColumnType::Date, dates, "infinity", 19_782),
        ("day", ColumnType::Date, dates, "-infinity", 11_016),
        ("day", ColumnType::Date, dates, "2000-03-01", 11_017),
        ("moment", ColumnType::Timestamp, times, "infinity", 19_782),
        ("moment", ColumnType::Timestamp, times, "-infinity", 11_016),
        ("moment", ColumnType::Timestamp, times, "2000-03-01 23:59:59.999999", 11_017),
        ("zoned", ColumnType::Timestamp, times, "2000-03-01 23:59:59.999999-01", 11_018),
        ("zoned", ColumnType::Timestamp, times, "2000-03-01 00:59:59.999999+01", 11_016),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "NaN", 6),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "Infinity", 6),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "-Infinity", -2),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "0.25", 1),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "0.24999999999999999999999999999999999", 0),
        ("price", ColumnType::Decimal, bounds("-1", "3", "0.5").unwrap(), "-0.75", -1),
    ] {
        let schema = schema(None, vec![Column::new(column, kind, Some(bounds), None).unwrap()]);
        both.postgres.check(&schema, ANSWER).unwrap();
        let insert = format!("TRUNCATE public.t; INSERT INTO public.t ({column}) VALUES ('{value}')");
        execute(&mut both.writer, &insert).unwrap();
        let measure = [Measure::sum(&schema, 0, 0)];
        let statement = measuring(&both.postgres, &schema, None, &[], &measure);
        assert_eq!(both.postgres.run(&statement, MOST).unwrap()[0].measures, [steps], "{column} = {value}");
    }
}

#[test]
fn random_questions_about_random_rows_are_answered_the_same_by_both_engines() {
    let both = RefCell::new(Both::new());
    both.borrow_mut().postgres.check(&hostile_schema(0), ANSWER).unwrap();
    let groups = prop::sample::subsequence(vec![0usize, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12], 0..3);
    let asked = (prop::option::weighted(0.9, any_predicate()), groups, 0..VARIANTS);
    let story = (prop::collection::vec(any_row(), 0..40), prop::collection::vec(asked, 15));
    let mut runner = TestRunner::new(Config {
        cases: taximeter_testing::random_inputs(40),
        failure_persistence: None,
        ..Config::default()
    });
    let told = runner.run(&story, |(rows, questions)| {
        let mut both = both.borrow_mut();
        both.fill(&rows);
        for (filter, groups, variant) in questions {
            both.ask(&query_of(&hostile_schema(variant), filter, &groups), &hostile_schema(variant));
        }
        Ok(())
    });
    told.unwrap();
}
