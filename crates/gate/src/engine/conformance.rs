//! Columns of every type with the worst values that may stand in them, schemas with the worst bounds, and questions about them: what
//! every engine must answer as the embedded one does.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::types::{ToSqlOutput, Value as Stored};
use taximeter_ledger::Neighbours;

use super::{Embedded, Engine, ExactRow};
use crate::measure::{Measure, Quantity};
use crate::number::Number;
use crate::question::predicate::{Comparison, Operand, Predicate};
use crate::question::{Query, commas, quoted};
use crate::schema::{Bound, Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};
use crate::sql::{Dialect, Statement, Target};

pub(super) const NAMES: [&str; 13] =
    ["person", "small", "middle", "large", "short", "long", "word", "label", "flag", "day", "moment", "zoned", "price"];

const SQLITE_TABLE: &str = "
    PRAGMA case_sensitive_like = ON;
    CREATE TABLE t (
        person TEXT, small INTEGER, middle INTEGER, large INTEGER, short REAL, long REAL, word TEXT, label TEXT, flag INTEGER,
        day INTEGER, moment INTEGER, zoned INTEGER, price INTEGER
    );";

/// How many schemas there are, each with other bounds.
pub(super) const VARIANTS: usize = 6;

/// Bounds of whole numbers and of others: low, high, grid.
const WHOLE: [(&str, &str, &str); VARIANTS] = [
    ("-1073741824", "1073741824", "1"),
    ("0", "1000", "10"),
    ("0", "120", "1"),
    ("-10", "20", "5"),
    ("-7000000000000000", "7000000000000000", "7000000"),
    ("-900000000000000000", "900000000000000000", "1000000000"),
];

const REAL: [(&str, &str, &str); VARIANTS] = [
    // The smallest number divided by 10 underflows, which PostgreSQL reports.
    ("0", "1000", "10"),
    ("0", "1", "0.1"),
    ("-1073741824", "1073741824", "1"),
    ("0", "0.000000001", "0.000000000000000001"),
    ("-900000000000000000", "900000000000000000", "1000000000"),
    ("-0.5", "0.5", "0.001"),
];

const DECIMAL: [(&str, &str, &str); VARIANTS] = [
    ("0", "1000", "10"),
    ("-999999999999", "999999999999", "999999999999"),
    ("-1000", "1000", "0.000001"),
    ("-0.6", "0.6", "0.000003"),
    ("-10000000", "10000000", "0.01"),
    ("-1.5", "3", "0.75"),
];

/// Bounds of dates, and of times with their grid in seconds.
const DATE: [(&str, &str); VARIANTS] = [
    ("0001-01-01", "9999-12-31"),
    ("1900-01-01", "2024-12-31"),
    ("1970-01-01", "1970-01-02"),
    ("1969-12-30", "1969-12-31"),
    ("2000-02-28", "2000-03-01"),
    ("2024-02-29", "9999-12-31"),
];

const TIME: [(&str, &str, &str); VARIANTS] = [
    ("0001-01-01", "9999-12-31 23:00", "3600"),
    ("1969-12-31 23:59:58", "1970-01-01 00:00:02", "1"),
    ("1900-01-01", "2024-12-31 23:59", "60"),
    ("2000-02-28", "2000-03-01", "86400"),
    ("1970-01-01", "2004-01-01", "1"),
    ("1960-01-01", "1969-12-31 23:59", "60"),
];

/// What may stand in a column, the worst first.
pub(super) fn values(at: usize) -> Vec<Value> {
    let integers = |values: &[i64]| values.iter().copied().map(Value::Integer).collect();
    let parsed = |kind, texts: &[&str]| texts.iter().map(|text| Value::parse(text, kind).unwrap()).collect();
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
        "day" => parsed(
            ColumnType::Date,
            &["0001-01-01", "9999-12-31", "1970-01-01", "1969-12-31", "2000-02-29", "2024-02-29", "1900-03-01"],
        ),
        "moment" | "zoned" => parsed(
            ColumnType::Timestamp,
            &[
                "0001-01-01",
                "9999-12-31 23:59:59.999999",
                "1970-01-01",
                "1969-12-31 23:59:59.999999",
                "1969-12-31 23:59:59",
                "1970-01-01 00:00:01.5",
                "2000-02-29 13:05:59.000001",
                "2003-12-31 23:59:59.5",
                "2024-02-29 23:59:59.999999",
            ],
        ),
        "price" => parsed(
            ColumnType::Decimal,
            &[
                "999999999999.999999",
                "-999999999999.999999",
                "0",
                "0.000001",
                "-0.000001",
                "5",
                "-5",
                "0.375",
                "-0.375",
                "0.599999",
                "12.345678",
                "499999999999.5",
                "-499999999999.5",
            ],
        ),
        _ => {
            let long = "x".repeat(3000);
            let texts = [
                "", "a", "A", "ab", "é", "e\u{301}", "ß", "%", "_", "\\", "a\\", "\\a", "🔑", " a", "a ", "ann",
                "a\nb", "a.b[", "axb[", &long,
            ];
            texts.iter().map(|text| Value::Text(text.to_string())).collect()
        }
    }
}

/// A literal that a question can have.
pub(super) fn literals(at: usize) -> Vec<Value> {
    values(at).into_iter().filter(|value| value.check().is_ok()).collect()
}

/// A schema with one of the bounds.
pub(super) fn hostile_schema(variant: usize) -> Schema {
    let columns = NAMES.iter().enumerate().map(|(at, name)| {
        let kind = values(at)[0].kind();
        let (low, high, grid) = match kind {
            ColumnType::Integer => WHOLE[variant],
            ColumnType::Real => REAL[variant],
            ColumnType::Decimal => DECIMAL[variant],
            ColumnType::Date => (DATE[variant].0, DATE[variant].1, "1"),
            ColumnType::Timestamp => TIME[variant],
            ColumnType::Text | ColumnType::Boolean => ("", "", ""),
        };
        let end = |text: &str| Bound::parse(text).unwrap().number(kind).unwrap();
        let bounds = (!low.is_empty()).then(|| Bounds::new(end(low), end(high), Number::parse(grid).unwrap()).unwrap());
        let categories = (kind != ColumnType::Real).then(|| literals(at).into_iter().skip(1).collect());
        Column::new(name, kind, bounds, categories).unwrap()
    });
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 3 };
    Schema::new(unit, Neighbours::AddRemove, columns.collect()).unwrap()
}

/// A value as the embedded engine stores it.
fn stored(value: &Value) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(match value {
        Value::Boolean(value) => Stored::Integer(i64::from(*value)),
        Value::Integer(value) => Stored::Integer(*value),
        Value::Real(value) => Stored::Real(*value),
        Value::Text(text) => Stored::Text(text.clone()),
        Value::Date(days) => Stored::Integer(i64::from(*days)),
        Value::Timestamp(microseconds) => Stored::Integer(*microseconds),
        Value::Decimal(number) => Stored::Integer(number.to_millionths().unwrap()),
    })
}

/// One of the worst values, or an ordinary one.
pub(super) fn any_value(at: usize) -> BoxedStrategy<Value> {
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
        "day" => {
            prop_oneof![worst, (-719_162..=2_932_896).prop_map(Value::Date), (-40_000..20_000).prop_map(Value::Date)]
                .boxed()
        }
        "moment" | "zoned" => {
            let near = -2_000_000_000_000_000i64..2_000_000_000_000_000;
            let any = -62_135_596_800_000_000i64..253_402_300_800_000_000;
            prop_oneof![worst, any.prop_map(Value::Timestamp), near.prop_map(Value::Timestamp)].boxed()
        }
        "price" => {
            let decimal = |millionths| Value::Decimal(Number::from_millionths(millionths));
            let (near, any) = (-5_000_000i64..5_000_000, -999_999_999_999_999_999i64..=999_999_999_999_999_999);
            prop_oneof![worst, near.prop_map(decimal), any.prop_map(decimal)].boxed()
        }
        _ => prop_oneof![worst, "[aA é_%\\\\\n.\\[]{0,4}".prop_map(Value::Text)].boxed(),
    }
}

/// A row; nothing is null.
pub(super) type Values = Vec<Option<Value>>;

/// Those with `_` and several `%` are regular expressions on DuckDB: signs of these, and the end of a line, mean nothing in them.
pub(super) const PATTERNS: [&str; 18] = [
    "",
    "%",
    "_",
    "a%",
    "%a",
    "__",
    "A_",
    "%\\",
    "\\%",
    "\\_",
    "a\\",
    "%é%",
    "_́",
    "%x%x%x%x%x%x%x%x%y",
    "%a_b%",
    "%._[%",
    "%_[%",
    "%_é%",
];

/// All that can be measured.
pub(super) fn measures(schema: &Schema) -> Vec<Measure> {
    let mut measures = vec![Measure::of(Quantity::Rows), Measure::of(Quantity::Units)];
    for (at, column) in schema.columns.iter().enumerate() {
        measures.push(Measure::non_null(at));
        let middle = |bounds: &Bounds| bounds.steps().0.midpoint(bounds.steps().1);
        for centre in column.bounds.iter().flat_map(|bounds| [0, middle(bounds)]) {
            measures.push(Measure::sum(schema, at, centre));
        }
    }
    measures
}

pub(super) fn sorted(mut rows: Vec<ExactRow>) -> Vec<ExactRow> {
    rows.sort_by_key(|row| format!("{:?}", row.keys));
    rows
}

/// Every value of every column at least once, beside others, and nulls.
pub(super) fn worst_rows() -> Vec<Values> {
    let pools: Vec<Vec<Value>> = (0..NAMES.len()).map(values).collect();
    let longest = pools.iter().map(Vec::len).max().unwrap();
    let row = |at: usize| pools.iter().map(|pool| (at % 7 != 6).then(|| pool[at % pool.len()].clone())).collect();
    (0..2 * longest).map(row).chain([vec![None; NAMES.len()]]).collect()
}

/// Every kind of condition on every column, with every literal.
pub(super) fn all_predicates() -> Vec<Predicate> {
    let mut all = Vec::new();
    for (column, name) in NAMES.iter().enumerate() {
        for value in literals(column) {
            let compare =
                |comparison| Predicate::Compare { operand: Operand::plain(column), comparison, value: value.clone() };
            all.extend(Comparison::ALL.map(compare));
        }
        for negated in [false, true] {
            all.push(Predicate::IsNull { column, negated });
            all.push(Predicate::In { operand: Operand::plain(column), values: literals(column), negated });
            all.push(Predicate::In {
                operand: Operand::plain(column),
                values: literals(column)[..1].to_vec(),
                negated,
            });
            let like = |pattern: &str| Predicate::Like {
                operand: Operand::plain(column),
                pattern: pattern.to_string(),
                negated,
            };
            all.extend(PATTERNS.iter().filter(|_| matches!(*name, "person" | "word" | "label")).map(|text| like(text)));
        }
    }
    all
}

pub(super) fn any_row() -> impl Strategy<Value = Values> {
    (0..NAMES.len()).map(|at| proptest::option::weighted(0.9, any_value(at))).collect::<Vec<_>>()
}

pub(super) fn any_predicate() -> impl Strategy<Value = Predicate> {
    let column = 0..NAMES.len();
    let text = select(vec![0usize, 6, 7]);
    let pattern = prop_oneof![select(PATTERNS.to_vec()).prop_map(str::to_string), "[aA é_%\\\\\n.\\[]{0,5}"];
    let literal = |at: usize| any_value(at).prop_filter("finite", |value| value.check().is_ok());
    let leaf = prop_oneof![
        (column.clone().prop_flat_map(move |at| (Just(at), literal(at))), select(Comparison::ALL.to_vec())).prop_map(
            |((column, value), comparison)| Predicate::Compare { operand: Operand::plain(column), comparison, value }
        ),
        (column.clone().prop_flat_map(move |at| (Just(at), prop::collection::vec(literal(at), 1..12))), any::<bool>())
            .prop_map(|((column, values), negated)| Predicate::In { operand: Operand::plain(column), values, negated }),
        (text, pattern, any::<bool>()).prop_map(|(column, pattern, negated)| Predicate::Like {
            operand: Operand::plain(column),
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

/// The embedded engine in memory, with the worst columns.
pub(super) struct EmbeddedTable(RefCell<Embedded>);

impl EmbeddedTable {
    pub(super) fn new() -> EmbeddedTable {
        let embedded = Embedded::that_takes_writes();
        embedded.connection().execute_batch(SQLITE_TABLE).unwrap();
        EmbeddedTable(RefCell::new(embedded))
    }

    pub(super) fn fill(&self, rows: &[Values]) {
        let embedded = self.0.borrow();
        embedded.connection().execute("DELETE FROM t", []).unwrap();
        for row in rows {
            let stored = rusqlite::params_from_iter(row.iter().map(|value| value.as_ref().map(stored)));
            let places = commas(vec!["?"; NAMES.len()]);
            embedded.connection().execute(&format!("INSERT INTO t VALUES ({places})"), stored).unwrap();
        }
    }

    pub(super) fn ask(&self, query: &Query, schema: &Schema) -> Vec<ExactRow> {
        let mut embedded = self.0.borrow_mut();
        let columns = commas(schema.columns.iter().map(|column| quoted(&column.name)));
        let (definition, table) = (Embedded::definition(schema), Embedded::TABLE);
        let copy = format!("DROP TABLE IF EXISTS {table}; {definition}; INSERT INTO {table} SELECT {columns} FROM t");
        embedded.connection().execute_batch(&copy).unwrap();
        let target = Target { schema, dialect: Dialect::Sqlite, table, asked: &[] };
        sorted(embedded.run(&Statement::measuring(query, &measures(schema), target), Duration::MAX).unwrap())
    }
}
