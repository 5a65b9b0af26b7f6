//! What an engine must compute before data are registered there: statements with known answers.
//!
//! They have the forms that questions have, about rows with the values on which engines differ: the ends of 64 bits, halves, NaN and
//! infinities, −0, days and times before 1970, capitals, backslashes and what is beyond ASCII. An engine that wraps a sum, rounds
//! otherwise, orders text by a language or is not in UTC answers one of them differently.

use taximeter_ledger::Neighbours;

use super::Dialect;
use super::dialect::{Extreme, Grammar, SqlAggregate};
use super::public::lookup;
use crate::question::calendar::DatePart;
use crate::question::commas;
use crate::question::predicate::LetterCase;
use crate::schema::{Bound, Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};
use crate::steps::steps;

/// A statement whose answer is known.
pub(crate) struct Canary {
    /// What each column is about, for people.
    pub(crate) about: Vec<&'static str>,
    pub(crate) sql: String,
    /// The rows of the answer, all of whole numbers or null.
    pub(crate) expected: Vec<Vec<Option<i128>>>,
}

/// An expression, and what it is for the six rows: whole numbers or null.
struct Probe {
    about: &'static str,
    sql: String,
    known: [Option<i128>; 6],
}

/// The statements for a dialect.
pub(crate) fn canaries(dialect: Dialect) -> [Canary; 2] {
    let grammar = dialect.grammar();
    let (with, table, id) = (rows(grammar), grammar.name(TABLE), grammar.name("id"));
    let probes = probes(dialect);
    let columns = commas(probes.iter().map(|probe| &probe.sql));
    let answer =
        |at: usize| std::iter::once(Some(at as i128 + 1)).chain(probes.iter().map(move |probe| probe.known[at]));
    let of_rows = Canary {
        about: std::iter::once("rows").chain(probes.iter().map(|probe| probe.about)).collect(),
        sql: format!("WITH {with} SELECT {id}, {columns} FROM {table} ORDER BY {id}"),
        expected: (0..ROWS.len()).map(|at| answer(at).collect()).collect(),
    };
    let large = grammar.name("large");
    let amount = grammar.compared(grammar.name("amount"), ColumnType::Real);
    let zero = grammar.distinct(grammar.name("zero"), ColumnType::Real);
    let above = format!("{amount} > {}", grammar.real(5.0));
    let aggregates = [
        ("sums", grammar.aggregate(SqlAggregate::Sum, &large, u64::MAX, None), Some(5 * i128::from(i64::MAX))),
        ("counts with a condition", grammar.aggregate(SqlAggregate::Count, "*", 1, Some(&above)), Some(2)),
        ("counts of different values", grammar.aggregate(SqlAggregate::CountDistinct, &zero, 1, None), Some(1)),
        ("sums of nothing", grammar.aggregate(SqlAggregate::Sum, &large, u64::MAX, Some("FALSE")), None),
    ];
    let of_all = Canary {
        about: aggregates.iter().map(|(about, ..)| *about).collect(),
        sql: format!("WITH {with} SELECT {} FROM {table}", commas(aggregates.iter().map(|(_, sql, _)| sql))),
        expected: vec![aggregates.iter().map(|(.., known)| *known).collect()],
    };
    [of_rows, of_all]
}

impl Canary {
    /// What an engine gets wrong, given its answer.
    pub(crate) fn wrong(&self, answer: &[Vec<Option<i128>>]) -> Option<String> {
        let shown = |value: Option<&Option<i128>>| match value {
            Some(Some(value)) => value.to_string(),
            Some(None) => "null".to_string(),
            None => "nothing".to_string(),
        };
        let fields =
            (0..self.expected.len().max(answer.len())).flat_map(|row| (0..self.about.len()).map(move |at| (row, at)));
        fields.into_iter().find_map(|(row, at)| {
            let of = |rows: &[Vec<Option<i128>>]| rows.get(row).and_then(|row| row.get(at)).copied();
            let (expected, found) = (of(&self.expected), of(answer));
            (expected != found).then(|| {
                let (expected, found) = (shown(expected.as_ref()), shown(found.as_ref()));
                format!("for {}, it returned {found}, expected {expected}", self.about[at])
            })
        })
    }
}

const TABLE: &str = "canary";

/// Columns of every type.
fn schema() -> Schema {
    use ColumnType::{Date, Decimal, Integer, Real, Text, Timestamp};
    let bounded = [
        ("whole", Integer, "-20", "45", "5"),
        ("amount", Real, "-1", "3", "0.5"),
        ("price", Decimal, "-1", "3", "0.5"),
        ("born", Date, "1900-01-01", "2100-12-31", "1"),
        ("seen", Timestamp, "1969-12-31", "2024-02-29 13:05", "60"),
    ];
    let column = |(name, kind, low, high, grid): (&str, ColumnType, &str, &str, &str)| {
        let end = |text: &str| Bound::parse(text)?.number(kind);
        Column::new(name, kind, Some(Bounds::new(end(low)?, end(high)?, grid.parse()?)?), None)
    };
    let others = [("word", Text), ("large", Integer), ("zero", Real), ("id", Integer)];
    let others = others.map(|(name, kind)| Column::new(name, kind, None, None));
    let columns = bounded.map(column).into_iter().chain(others).collect::<Result<_, _>>();
    let schema = columns.and_then(|columns| Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns));
    schema.expect("these columns are right")
}

/// What is known of a row: whole, amount, price, born, seen, word.
type Fields = (i64, f64, &'static str, &'static str, &'static str, &'static str);

/// The six rows. Nothing in the third is known.
const ROWS: [Option<Fields>; 6] = [
    Some((i64::MIN, f64::NAN, "-999999999999.999999", "0001-01-01", "0001-01-01", "a")),
    Some((i64::MAX, f64::INFINITY, "999999999999.999999", "9999-12-31", "9999-12-31 23:59:59.999999", "B")),
    None,
    Some((-8, f64::NEG_INFINITY, "-0.75", "1969-12-31", "1969-12-31 23:59:59.5", "é")),
    Some((-7, -0.25, "0.249999", "2000-02-29", "2000-02-29 13:45:07.5", "a\\b")),
    Some((7, 0.25, "0.25", "1900-01-01", "1969-12-31 00:00:59.999999", "it's")),
];

/// The rows as a table of a statement.
fn rows(grammar: &dyn Grammar) -> String {
    let schema = schema();
    let columns: Vec<(String, ColumnType)> =
        schema.columns.iter().map(|column| (grammar.name(&column.name), column.kind)).collect();
    let literal = |value: &Value| grammar.literal(value, &mut Vec::new());
    let parsed = |text: &str, kind| Value::parse(text, kind).expect("these values are right");
    let row = |(id, row): (i64, &Option<Fields>)| {
        let known = row.map(|(whole, amount, price, born, seen, word)| {
            let zero = if id % 2 == 0 { 0.0 } else { -0.0 };
            vec![
                Value::Integer(whole),
                Value::Real(amount),
                parsed(price, ColumnType::Decimal),
                parsed(born, ColumnType::Date),
                parsed(seen, ColumnType::Timestamp),
                Value::Text(word.to_string()),
                Value::Integer(i64::MAX),
                Value::Real(zero),
            ]
        });
        let fields: Vec<String> = match known {
            Some(values) => values.iter().map(literal).collect(),
            None => columns.iter().take(columns.len() - 1).map(|(_, kind)| grammar.null(*kind)).collect(),
        };
        format!("({}, {})", commas(fields), grammar.integer(id))
    };
    let rows: Vec<String> = (1..).zip(&ROWS).map(row).collect();
    grammar.table(&grammar.name(TABLE), &columns, &rows)
}

fn probes(dialect: Dialect) -> Vec<Probe> {
    let (schema, grammar) = (schema(), dialect.grammar());
    let at = |name: &str| schema.columns.iter().position(|column| column.name == name).expect("it is a column");
    let on_grid = |name: &str| grammar.wide(&steps(&schema, at(name), dialect));
    let (whole, word) = (grammar.name("whole"), grammar.compared(grammar.name("word"), ColumnType::Text));
    let amount = grammar.compared(grammar.name("amount"), ColumnType::Real);
    let part = |part| grammar.calendar(part, &on_grid("born"));
    let probe =
        |about, sql: String, known: [Option<i64>; 6]| Probe { about, sql, known: known.map(|it| it.map(i128::from)) };
    let all = |known: [i64; 5]| [Some(known[0]), Some(known[1]), None, Some(known[2]), Some(known[3]), Some(known[4])];
    let upper = grammar.letters(word.clone(), LetterCase::Upper);
    let entry = || {
        let (keys, values) = (["a", "B"].map(|key| grammar.text(key)), [7, 8].map(|value| grammar.integer(value)));
        probe(
            "entries of maps",
            lookup(&commas(keys), &commas(values), &word),
            [Some(7), Some(8), None, None, None, None],
        )
    };
    let mut probes = vec![
        probe("whole numbers on a grid", on_grid("whole"), all([-4, 9, -2, -1, 1])),
        probe("binary numbers on a grid", on_grid("amount"), all([6, 6, -2, 0, 1])),
        probe("decimal numbers on a grid", on_grid("price"), all([-2, 6, -1, 0, 1])),
        probe("dates", on_grid("born"), all([-25_567, 47_846, -1, 11_016, -25_567])),
        probe("times in UTC", on_grid("seen"), all([-1440, 28_486_865, -1, 15_863_865, -1440])),
        probe("quotients", grammar.quotient(&whole, &grammar.integer(2)), all([i64::MIN / 2, i64::MAX / 2, -4, -3, 3])),
        probe("remainders", grammar.remainder(&whole, &grammar.integer(5)), all([-3, 2, -3, -2, 2])),
        probe("the order of text", grammar.truth(&format!("{word} < {}", grammar.text("b"))), all([1, 1, 0, 1, 0])),
        probe(
            "capital letters",
            grammar.truth(&format!("{upper} IN ({})", commas(["A", "é", "IT'S"].map(|text| grammar.text(text))))),
            all([1, 0, 1, 0, 1]),
        ),
        probe("patterns", grammar.truth(&grammar.like(&word, "", "a\\_", &mut Vec::new())), all([0, 0, 0, 1, 0])),
        probe("NaN", grammar.truth(&format!("{amount} > {}", grammar.real(5.0))), all([1, 1, 0, 0, 0])),
        probe(
            "the least of several",
            grammar.extreme(vec![whole.clone(), grammar.integer(-7)], Extreme::Least),
            [Some(i64::MIN), Some(-7), Some(-7), Some(-8), Some(-7), Some(-7)],
        ),
        probe("years", part(DatePart::Year), all([1900, 2100, 1969, 2000, 1900])),
        probe("weeks", part(DatePart::Week), all([1, 52, 1, 9, 1])),
        probe("days of the week", part(DatePart::DayOfWeek), all([1, 5, 3, 2, 1])),
        probe("quarters", part(DatePart::StartOfQuarter), all([-25_567, 47_755, -92, 10_957, -25_567])),
    ];
    probes.extend(grammar.looks_up().then(entry));
    probes
}
