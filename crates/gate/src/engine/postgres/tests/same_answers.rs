//! No value of a row makes a question fail, and both engines answer the same.

use crate::engine::Embedded;
use crate::question::quoted;
use std::cell::RefCell;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use rusqlite::types::{ToSqlOutput, Value as Stored};

use super::*;
use crate::question::Comparison;

/// A row; nothing is null.
type Values = Vec<Option<Value>>;

const NAMES: [&str; 9] = ["person", "small", "middle", "large", "short", "long", "word", "label", "flag"];

/// A column that takes `ann` and `Ann` for the same, in PostgreSQL's view.
const TABLE: &str = "
    CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE TABLE t (
        person text COLLATE any_case, small int2, middle int4, large int8, short float4, long float8, word text COLLATE any_case,
        label varchar(4000), flag bool
    );";

const SQLITE_TABLE: &str = "
    PRAGMA case_sensitive_like = ON;
    CREATE TABLE t (
        person TEXT, small INTEGER, middle INTEGER, large INTEGER, short REAL, long REAL, word TEXT, label TEXT, flag INTEGER
    );";

const PATTERNS: [&str; 14] =
    ["", "%", "_", "a%", "%a", "__", "A_", "%\\", "\\%", "\\_", "a\\", "%é%", "_́", "%x%x%x%x%x%x%x%x%y"];

/// Bounds of whole numbers and of others: low, high, grid.
const WHOLE: [(&str, &str, &str); 6] = [
    ("-1073741824", "1073741824", "1"),
    ("0", "1000", "10"),
    ("0", "120", "1"),
    ("-10", "20", "5"),
    ("-7000000000000000", "7000000000000000", "7000000"),
    ("-900000000000000000", "900000000000000000", "1000000000"),
];

const REAL: [(&str, &str, &str); 6] = [
    // The smallest number divided by 10 underflows, which PostgreSQL reports.
    ("0", "1000", "10"),
    ("0", "1", "0.1"),
    ("-1073741824", "1073741824", "1"),
    ("0", "0.000000001", "0.000000000000000001"),
    ("-900000000000000000", "900000000000000000", "1000000000"),
    ("-0.5", "0.5", "0.001"),
];

/// What may stand in a column, the worst first.
fn values(at: usize) -> Vec<Value> {
    let integers = |values: &[i64]| values.iter().copied().map(Value::Integer).collect();
    let reals = |values: &[f64]| values.iter().copied().map(Value::Real).collect();
    match NAMES[at] {
        "small" => integers(&[i64::from(i16::MIN), i64::from(i16::MAX), 0, 1, -1, 7, 120]),
        "middle" => integers(&[i64::from(i32::MIN), i64::from(i32::MAX), 0, 1 << 30, -(1 << 30), 3, -7, 119]),
        "large" => {
            integers(&[i64::MIN, i64::MAX, 0, 1 << 30, 1 << 31, -(1 << 31), 7_000_000_000_000_000, 3_499_999, 12])
        }
        "short" => reals(
            &[f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -0.0, 0.0, 0.1, 0.35, 16_777_217.0]
                .map(f64::from),
        ),
        "long" => reals(&[
            f64::MIN,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::from_bits(1),
            -f64::from_bits(1),
            f64::MIN_POSITIVE,
            -0.0,
            0.0,
            0.1,
            0.35,
            1e308,
            -1e308,
            1e-9,
            4.5e-10,
            999_999.5,
            899_999_999_999_999_999.0,
            -0.4995,
        ]),
        "flag" => vec![Value::Boolean(false), Value::Boolean(true)],
        _ => {
            let long = "x".repeat(3000);
            let texts = [
                "", "a", "A", "ab", "é", "e\u{301}", "ß", "%", "_", "\\", "a\\", "\\a", "🔑", " a", "a ", "ann", &long,
            ];
            texts.iter().map(|text| Value::Text(text.to_string())).collect()
        }
    }
}

/// A literal that a question can have.
fn literals(at: usize) -> Vec<Value> {
    values(at).into_iter().filter(|value| value.check().is_ok()).collect()
}

/// A schema with one of the bounds.
fn hostile_schema(variant: usize) -> Schema {
    let columns = NAMES.iter().enumerate().map(|(at, name)| {
        let kind = values(at)[0].kind();
        let (low, high, grid) = if kind == ColumnType::Real { REAL[variant] } else { WHOLE[variant] };
        let bounds = matches!(kind, ColumnType::Integer | ColumnType::Real).then(|| bounds(low, high, grid)).flatten();
        let categories = (kind != ColumnType::Real).then(|| literals(at).into_iter().skip(1).collect());
        Column::new(name, kind, bounds, categories).unwrap()
    });
    schema(Some(("person", 3)), columns.collect())
}

/// All that can be measured.
fn measures(schema: &Schema) -> Vec<Measure> {
    let mut measures = vec![Measure::Rows, Measure::Units];
    for (at, column) in schema.columns.iter().enumerate() {
        measures.push(Measure::NonNull(at));
        for centre in column.bounds.iter().flat_map(|bounds| [0, bounds.centre()]) {
            measures.push(Measure::Steps { column: at, centre });
        }
    }
    measures
}

/// The same rows in both engines.
struct Both {
    writer: Connection,
    postgres: Postgres,
    sqlite: rusqlite::Connection,
}

impl Both {
    fn new() -> Both {
        let url = database(TABLE);
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        sqlite.execute_batch(SQLITE_TABLE).unwrap();
        let (postgres, _) = connected(&url, "t");
        Both { writer: open(&url, KEEP, ANSWER).unwrap(), postgres, sqlite }
    }

    fn fill(&mut self, rows: &[Values]) {
        let literal = |value: &Option<Value>| match value {
            None => "NULL".to_string(),
            Some(Value::Real(value)) => format!("'{value:?}'").replace("inf", "Infinity"),
            Some(value) => value.to_string(),
        };
        let mut statements = "TRUNCATE public.t;".to_string();
        self.sqlite.execute("DELETE FROM t", []).unwrap();
        for row in rows {
            statements +=
                &format!("INSERT INTO public.t VALUES ({});", crate::question::commas(row.iter().map(literal)));
            let stored = rusqlite::params_from_iter(row.iter().map(|value| value.as_ref().map(stored)));
            self.sqlite.execute("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", stored).unwrap();
        }
        execute(&mut self.writer, &statements).unwrap();
    }

    /// The answer of PostgreSQL, which is also that of SQLite.
    fn ask(&mut self, question: &Question, schema: &Schema) -> Vec<ExactRow> {
        let measures = measures(schema);
        let answer = self.ask_postgres(question, schema);
        let columns = crate::question::commas(schema.columns.iter().map(|column| quoted(&column.name)));
        let (definition, table) = (Embedded::definition(schema), Embedded::TABLE);
        let copy = format!("DROP TABLE IF EXISTS {table}; {definition}; INSERT INTO {table} SELECT {columns} FROM t");
        self.sqlite.execute_batch(&copy).unwrap();
        let statement = Statement::new(question, &measures, schema, Dialect::Sqlite, table);
        let other = sorted(ask_sqlite(&self.sqlite, &statement));
        assert_eq!(answer, other, "{}\n{:?}", statement.sql, statement.parameters);
        answer
    }

    fn ask_postgres(&mut self, question: &Question, schema: &Schema) -> Vec<ExactRow> {
        let measures = measures(schema);
        let statement = Statement::new(question, &measures, schema, Dialect::Postgres, &asked(&self.postgres));
        let answer = self.postgres.run(&statement, MOST);
        sorted(answer.unwrap_or_else(|error| panic!("{error}: {}\n{:?}", statement.sql, statement.parameters)))
    }
}

fn sorted(mut rows: Vec<ExactRow>) -> Vec<ExactRow> {
    rows.sort_by_key(|row| format!("{:?}", row.keys));
    rows
}

fn stored(value: &Value) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(match value {
        Value::Boolean(value) => Stored::Integer(i64::from(*value)),
        Value::Integer(value) => Stored::Integer(*value),
        Value::Real(value) => Stored::Real(*value),
        Value::Text(text) => Stored::Text(text.clone()),
    })
}

fn ask_sqlite(sqlite: &rusqlite::Connection, statement: &Statement) -> Vec<ExactRow> {
    let mut prepared = sqlite.prepare(&statement.sql).unwrap();
    let groups = statement.keys.len();
    let rows = prepared.query_map(rusqlite::params_from_iter(statement.parameters.iter().map(stored)), |row| {
        let key = |(at, kind): (usize, &ColumnType)| {
            Ok(match kind {
                ColumnType::Boolean => Value::Boolean(row.get(at)?),
                ColumnType::Integer => Value::Integer(row.get(at)?),
                ColumnType::Real => Value::Real(row.get(at)?),
                ColumnType::Text => Value::Text(row.get(at)?),
            })
        };
        let measure = |at: usize| Ok(row.get::<_, Option<i64>>(at)?.unwrap_or(0));
        Ok(ExactRow {
            keys: statement.keys.iter().enumerate().map(key).collect::<rusqlite::Result<_>>()?,
            measures: (groups..groups + statement.measures).map(measure).collect::<rusqlite::Result<_>>()?,
        })
    });
    rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// Every value of every column at least once, beside others, and nulls.
fn worst_rows() -> Vec<Values> {
    let pools: Vec<Vec<Value>> = (0..NAMES.len()).map(values).collect();
    let longest = pools.iter().map(Vec::len).max().unwrap();
    let row = |at: usize| pools.iter().map(|pool| (at % 7 != 6).then(|| pool[at % pool.len()].clone())).collect();
    (0..2 * longest).map(row).chain([vec![None; NAMES.len()]]).collect()
}

/// Every kind of condition on every column, with every literal.
fn all_predicates() -> Vec<Predicate> {
    let mut all = Vec::new();
    for (column, name) in NAMES.iter().enumerate() {
        for value in literals(column) {
            let compare = |comparison| Predicate::Compare { column, comparison, value: value.clone() };
            all.extend(Comparison::ALL.map(compare));
        }
        for negated in [false, true] {
            all.push(Predicate::IsNull { column, negated });
            all.push(Predicate::In { column, values: literals(column), negated });
            all.push(Predicate::In { column, values: literals(column)[..1].to_vec(), negated });
            let like = |pattern: &str| Predicate::Like { column, pattern: pattern.to_string(), negated };
            all.extend(PATTERNS.iter().filter(|_| matches!(*name, "person" | "word" | "label")).map(|text| like(text)));
        }
    }
    all
}

#[test]
fn the_worst_values_fail_no_question_and_count_the_same_in_both_engines() {
    let mut both = Both::new();
    let rows = worst_rows();
    both.fill(&rows);
    for variant in 0..WHOLE.len() {
        let schema = hostile_schema(variant);
        both.postgres.check(&schema, ANSWER).unwrap();
        let all = both.ask(&question(None, &[]), &schema);
        assert_eq!(all[0].measures[0], rows.len() as i64);
        for groups in [&[0][..], &[1, 8], &[6], &[7, 2], &[3]] {
            both.ask(&question(None, groups), &schema);
        }
        if variant == 0 {
            for predicate in all_predicates() {
                both.ask(&question(Some(predicate), &[]), &schema);
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
    for variant in 0..REAL.len() {
        let schema = hostile_schema(variant);
        both.postgres.check(&schema, ANSWER).unwrap();
        both.ask_postgres(&question(None, &[]), &schema);
    }
    let schema = hostile_schema(0);
    for predicate in all_predicates() {
        both.ask_postgres(&question(Some(predicate), &[]), &schema);
    }
    execute(&mut both.writer, "DELETE FROM public.t WHERE long <> 'NaN' OR long IS NULL").unwrap();
    for column in [4, 5] {
        let compare = |comparison| Predicate::Compare { column, comparison, value: Value::Real(f64::MAX) };
        for (predicate, found) in [
            (compare(Comparison::Greater), 3),
            (compare(Comparison::NotEqual), 3),
            (compare(Comparison::LessOrEqual), 0),
            (Predicate::IsNull { column, negated: true }, 3),
        ] {
            let measures = [Measure::Rows, Measure::NonNull(column), Measure::Steps { column, centre: 0 }];
            let question = question(Some(predicate), &[]);
            let statement = Statement::new(&question, &measures, &schema, Dialect::Postgres, &asked(&both.postgres));
            // The upper bound is a hundred steps.
            assert_eq!(both.postgres.run(&statement, MOST).unwrap()[0].measures, [found, found, 100 * found]);
        }
    }
}

fn any_row() -> impl Strategy<Value = Values> {
    (0..NAMES.len()).map(|at| proptest::option::weighted(0.9, any_value(at))).collect::<Vec<_>>()
}

/// One of the worst values, or an ordinary one.
fn any_value(at: usize) -> BoxedStrategy<Value> {
    let worst = select(values(at));
    match NAMES[at] {
        "small" => prop_oneof![worst, any::<i16>().prop_map(|value| Value::Integer(value.into()))].boxed(),
        "middle" => prop_oneof![worst, any::<i32>().prop_map(|value| Value::Integer(value.into()))].boxed(),
        "large" => prop_oneof![worst, any::<i64>().prop_map(Value::Integer)].boxed(),
        "short" => prop_oneof![worst, (-2f32..2f32).prop_map(|value| Value::Real(value.into()))].boxed(),
        "long" => {
            let finite = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL;
            prop_oneof![worst, (-2f64..2f64).prop_map(Value::Real), finite.prop_map(Value::Real)].boxed()
        }
        "flag" => worst.boxed(),
        _ => prop_oneof![worst, "[aA é_%\\\\]{0,4}".prop_map(Value::Text)].boxed(),
    }
}

fn any_predicate() -> impl Strategy<Value = Predicate> {
    let column = 0..NAMES.len();
    let text = select(vec![0usize, 6, 7]);
    let pattern = prop_oneof![select(PATTERNS.to_vec()).prop_map(str::to_string), "[aA é_%\\\\]{0,5}"];
    let literal = |at: usize| any_value(at).prop_filter("finite", |value| value.check().is_ok());
    let leaf = prop_oneof![
        (column.clone().prop_flat_map(move |at| (Just(at), literal(at))), select(Comparison::ALL.to_vec()))
            .prop_map(|((column, value), comparison)| Predicate::Compare { column, comparison, value }),
        (column.clone().prop_flat_map(move |at| (Just(at), prop::collection::vec(literal(at), 1..12))), any::<bool>())
            .prop_map(|((column, values), negated)| Predicate::In { column, values, negated }),
        (text, pattern, any::<bool>()).prop_map(|(column, pattern, negated)| Predicate::Like {
            column,
            pattern,
            negated
        }),
        (column, any::<bool>()).prop_map(|(column, negated)| Predicate::IsNull { column, negated }),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Predicate::Or),
            inner.prop_map(|inner| Predicate::Not(Box::new(inner))),
        ]
    })
}

#[test]
fn random_questions_about_random_rows_are_answered_the_same_by_both_engines() {
    let both = RefCell::new(Both::new());
    both.borrow_mut().postgres.check(&hostile_schema(0), ANSWER).unwrap();
    let groups = prop::sample::subsequence(vec![0usize, 1, 2, 3, 6, 7, 8], 0..3);
    let asked = (prop::option::weighted(0.9, any_predicate()), groups, 0..WHOLE.len());
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
            both.ask(&question(filter, &groups), &hostile_schema(variant));
        }
        Ok(())
    });
    told.unwrap();
}
