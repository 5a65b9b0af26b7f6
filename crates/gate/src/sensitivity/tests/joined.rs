//! Two private tables joined on their unit: no neighbours lie further apart than is claimed, whichever table they differ in, and some as
//! far.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};
use taximeter_accounting::Amount;
use taximeter_ledger::AccountName;

use super::*;
use crate::engine::{Embedded, exact_rows};
use crate::plan::{Plan, Price, Weights};
use crate::question::Question;
use crate::question::commas;
use crate::question::private::{PrivateJoin, PrivateTable};
use crate::sql::{Dialect, PrivateRows, Statement, Target, joined_rows, with_own_names};

/// What is asked of an inner join, and whether all of its numbers get as far as they may.
const INNER: [(&str, bool); 6] = [
    (
        "SELECT COUNT(*), SUM(value), SUM(cost), SUM(value * cost), COUNT(DISTINCT t.person) FROM t JOIN u USING (person)",
        true,
    ),
    (
        "SELECT town, COUNT(*), SUM(value), COUNT(u.person), COUNT(cost) FROM t JOIN u USING (person) GROUP BY town",
        true,
    ),
    (
        "SELECT town, kind, COUNT(*), SUM(cost), COUNT(DISTINCT u.person) FROM t JOIN u USING (person) GROUP BY town, kind",
        true,
    ),
    ("SELECT COUNT(*), SUM(cost - value) FROM u JOIN t ON t.person = u.person WHERE kind = 'x' AND town = 'a'", true),
    ("SELECT kind, COUNT(DISTINCT t.person), COUNT(DISTINCT cost) FROM t JOIN u USING (person) GROUP BY kind", false),
    ("SELECT AVG(value), VARIANCE(cost) FROM t JOIN u USING (person)", false),
];

const LEFT: [(&str, bool); 5] = [
    ("SELECT COALESCE(kind, 'none'), COUNT(*), COUNT(t.person) FROM t LEFT JOIN u USING (person) GROUP BY 1", true),
    ("SELECT SUM(CASE WHEN u.person IS NULL THEN -1 ELSE 1 END) FROM t LEFT JOIN u USING (person)", true),
    ("SELECT town, COALESCE(kind, 'none'), SUM(value) FROM t LEFT JOIN u USING (person) GROUP BY 1, 2", true),
    (
        "SELECT town, COALESCE(kind, 'none'), COUNT(DISTINCT t.person) FROM t LEFT JOIN u USING (person) GROUP BY 1, 2",
        false,
    ),
    (
        "SELECT COUNT(*), SUM(cost), COUNT(DISTINCT t.person), COUNT(DISTINCT u.person) FROM t LEFT JOIN u USING (person)",
        false,
    ),
];

fn schema(
    neighbours: Neighbours,
    most: u32,
    category: &str,
    values: [&str; 2],
    number: &str,
    range: [&str; 2],
) -> Schema {
    let [low, high] = range.map(|end| Number::parse(end).unwrap());
    let categories = values.map(|value| Value::Text(value.to_string())).to_vec();
    let columns = [
        Column::new("person", ColumnType::Integer, None, None),
        Column::new(category, ColumnType::Text, None, Some(categories)),
        Column::new(number, ColumnType::Integer, Some(Bounds::new(low, high, Number::ONE).unwrap()), None),
    ];
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap()
}

/// Two tables, in which at most this many rows of a person count.
struct Tables {
    own: Schema,
    other: Schema,
}

impl Tables {
    fn new(neighbours: Neighbours, most: [u32; 2]) -> Tables {
        Tables {
            own: schema(neighbours, most[0], "town", ["a", "b"], "value", ["-2", "5"]),
            other: schema(neighbours, most[1], "kind", ["x", "y"], "cost", ["-3", "4"]),
        }
    }

    fn question(&self, text: &str) -> Question {
        let name = AccountName::parse("u").unwrap();
        let other = PrivateTable { name, schema: self.other.clone() };
        Question::parse_with(text, "t", &self.own, &[], &[Arc::new(other)]).unwrap()
    }
}

/// The measures of every group that has rows.
type Answers = BTreeMap<String, Vec<i64>>;

/// What is asked, and what comes of it for everything that a person may be in the two tables: nothing first.
struct JoinedQuery {
    parts: Vec<(Measure, Sensitivity)>,
    groups: Option<usize>,
    answers: Vec<Vec<Answers>>,
}

fn ask(tables: &Tables, text: &str) -> JoinedQuery {
    let question = tables.question(text);
    let (query, schema) = (&question.queries[0], &tables.own);
    let plan = Plan::new(&question, schema, Price::Epsilon(Amount::ONE), &Weights::default()).unwrap();
    let parts: Vec<_> = plan.queries[0].parts.iter().map(|part| (part.measure.clone(), part.sensitivity)).collect();
    let PrivateJoin { first, keeps_all, .. } = query.private.clone().unwrap();
    let names = with_own_names(&question.schema, first..first + tables.other.columns.len());
    let own = PrivateRows { schema, table: Embedded::TABLE };
    let other = PrivateRows { schema: &tables.other, table: Embedded::JOINED_TABLE };
    let table = joined_rows(own, other, &names, first, keeps_all, Dialect::Sqlite);
    let target = Target { schema: &names, dialect: Dialect::Sqlite, table: &table, asked: &[] };
    let statement = Statement::measuring(query, parts.iter().map(|(measure, _)| measure), target);
    let connection = Connection::open_in_memory().unwrap();
    let joined = Embedded::definition(&tables.other).replacen(Embedded::TABLE, Embedded::JOINED_TABLE, 1);
    let made = format!("ATTACH ':memory:' AS \"joined\"; {joined}; {}", Embedded::definition(schema));
    connection.execute_batch(&made).unwrap();
    let fill = |table: &str, rows: &[Row]| {
        connection.execute(&format!("DELETE FROM {table}"), []).unwrap();
        for row in rows {
            let values = commas((1..=row.len()).map(|number| format!("?{number}")));
            let mut insert = connection.prepare_cached(&format!("INSERT INTO {table} VALUES ({values})")).unwrap();
            insert.execute(params_from_iter(row)).unwrap();
        }
    };
    let [own_rest, other_rest] = [
        rows(&[(Some(1), "a", 2), (Some(1), "b", 7), (Some(2), "a", 1), (None, "a", 5)]),
        rows(&[(Some(1), "x", 3), (Some(3), "y", 1), (None, "x", 4)]),
    ];
    let state = |own: &Vec<Row>| {
        fill(Embedded::TABLE, &[own.as_slice(), &own_rest].concat());
        let others = units(&tables.other, ["x", "y"]);
        let with = |other: &Vec<Row>| {
            fill(Embedded::JOINED_TABLE, &[other.as_slice(), &other_rest].concat());
            let rows = exact_rows(&connection, &statement).unwrap();
            rows.into_iter().map(|row| (format!("{:?}", row.keys), row.measures)).collect()
        };
        others.iter().map(with).collect()
    };
    let answers = units(schema, ["a", "b"]).iter().map(state).collect();
    JoinedQuery { parts, groups: query.group_count(), answers }
}

fn rows(rows: &[(Option<i64>, &str, i64)]) -> Vec<Row> {
    let cell = |person: Option<i64>| person.map_or(Cell::Null, Cell::Integer);
    rows.iter().map(|(person, text, n)| vec![cell(*person), Cell::Text(text.to_string()), Cell::Integer(*n)]).collect()
}

/// All that a person may be in a table: nothing first, and then as many rows as count at most.
fn units(schema: &Schema, categories: [&str; 2]) -> Vec<Vec<Row>> {
    let all: Vec<Row> = categories.iter().flat_map(|text| rows(&[(Some(9), text, 9), (Some(9), text, -9)])).collect();
    std::iter::once(Vec::new()).chain(multisets(&all, schema.rows_per_unit() as usize)).collect()
}

impl JoinedQuery {
    /// How far neighbours lie apart at most, for every measure.
    fn furthest(&self, neighbours: Neighbours) -> Vec<Reach> {
        let mut furthest = vec![Reach::default(); self.parts.len()];
        let mut compare = |one: &Answers, other: &Answers| {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for (measure, furthest) in furthest.iter_mut().enumerate() {
                let of = |answers: &Answers, key: &String| answers.get(key).map_or(0, |measures| measures[measure]);
                let changes = keys.iter().map(|key| u128::from(of(one, key).abs_diff(of(other, key))));
                let (l1, l2_squared) = changes.fold((0, 0), |(l1, l2), change| (l1 + change, l2 + change * change));
                furthest.widen(Reach { l1, l2_squared });
            }
        };
        match neighbours {
            // The person is not in the first table, or not in the second one, or in neither.
            Neighbours::AddRemove => {
                for (own, row) in self.answers.iter().enumerate() {
                    for (other, answers) in row.iter().enumerate() {
                        for (own, other) in [(0, other), (own, 0), (0, 0)] {
                            compare(answers, &self.answers[own][other]);
                        }
                    }
                }
            }
            // Another person in one table meets rows of its own in the other one, which were not joined before: so all that one person
            // may be joined to takes the place of all that another one may.
            Neighbours::Substitute => {
                let answers: HashSet<&Answers> = self.answers.iter().flatten().collect();
                answers.iter().for_each(|one| answers.iter().for_each(|other| compare(one, other)));
            }
        }
        furthest
    }
}

fn relations() -> [(Neighbours, &'static [(&'static str, bool)]); 3] {
    [(Neighbours::AddRemove, &INNER), (Neighbours::Substitute, &INNER), (Neighbours::AddRemove, &LEFT)]
}

#[test]
fn what_a_unit_changes_in_two_joined_tables_is_attained_and_never_exceeded() {
    for (neighbours, questions) in relations() {
        for most in [[1, 1], [2, 1], [1, 2], [2, 2]] {
            let tables = Tables::new(neighbours, most);
            for (text, attained) in questions {
                let asked = ask(&tables, text);
                for ((measure, claimed), reach) in asked.parts.iter().zip(asked.furthest(neighbours)) {
                    let Sensitivity { l1, l2_squared } = *claimed;
                    let context = format!("{text}, {most:?}, {neighbours:?}, {measure:?}: {reach:?} of {claimed:?}");
                    assert!(reach.l1 <= l1 && reach.l2_squared <= l2_squared, "{context}");
                    assert!(!attained || reach.l1 == l1, "not attained: {context}");
                }
            }
        }
    }
}

/// Numbers of rows that are too small, each noticed by some neighbours.
#[test]
fn wrong_numbers_of_joined_rows_are_noticed() {
    type Rows = fn(u32, u32) -> u32;
    let wrong: [(&str, Rows, usize); 5] = [
        ("the rows of the first table", |one, _| one, 0),
        ("the rows of the second table", |_, two| two, 0),
        ("the rows of both, added", |one, two| one + two - 1, 0),
        ("the rows of the first table, substituted", |one, _| one, 1),
        ("a LEFT JOIN as an inner one", |one, two| one * two, 2),
    ];
    for (what, rows, relation) in wrong {
        let (neighbours, questions) = relations()[relation];
        let tables = Tables::new(neighbours, [2, 2]);
        let mut schema = tables.own.clone();
        schema.unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: rows(2, 2) };
        let is_noticed =
            |text: &str| {
                let asked = ask(&tables, text);
                asked.parts.iter().zip(asked.furthest(neighbours)).any(|((measure, _), reach)| {
                    reach.l1 > Sensitivity::new(&measure.quantity, &schema, asked.groups).l1
                })
            };
        assert!(questions.iter().any(|(text, _)| is_noticed(text)), "{what}: not noticed");
    }
}

#[test]
fn tables_whose_joined_rows_have_no_limit_are_refused() {
    let inner = "SELECT COUNT(*) FROM t JOIN u ON t.person = u.person";
    let left = "SELECT COUNT(*) FROM t LEFT JOIN u USING (person)";
    let refused = |tables: &Tables, text: &str, part: &str| {
        let other = PrivateTable { name: AccountName::parse("u").unwrap(), schema: tables.other.clone() };
        let read = Question::parse_with(text, "t", &tables.own, &[], &[Arc::new(other)]);
        let error = read.map(|_| "answered".to_string()).unwrap_or_else(|error| error.to_string());
        assert!(error.contains(part), "{text}: {error}");
    };
    let tables = || Tables::new(Neighbours::AddRemove, [2, 3]);
    for (text, part) in [
        ("SELECT COUNT(*) FROM t JOIN u ON town = kind", "on the unit of both"),
        ("SELECT COUNT(*) FROM t JOIN u ON t.person = cost", "on the unit of both"),
        ("SELECT COUNT(*) FROM t JOIN u ON value = u.person", "on the unit of both"),
        ("SELECT COUNT(*) FROM t JOIN u ON t.person = u.person AND cost > 1", "after WHERE"),
        ("SELECT COUNT(*) FROM t JOIN u USING (person) JOIN u v ON t.person = v.person", "at most one other dataset"),
        ("SELECT u.person, COUNT(*) FROM t JOIN u USING (person) GROUP BY u.person", "what is protected"),
        ("SELECT COUNT(*) FROM t JOIN t v USING (person)", "cannot be joined to itself"),
        ("SELECT COUNT(*) FROM t JOIN w USING (person)", "neither a public table nor another dataset"),
        ("SELECT COUNT(*) FROM t RIGHT JOIN u USING (person)", "other joins are not supported"),
        ("SELECT COUNT(*) FROM t, u WHERE t.person = u.person", "JOIN … ON"),
    ] {
        refused(&tables(), text, part);
    }
    let change = |change: &dyn Fn(&mut Schema)| {
        let mut tables = tables();
        change(&mut tables.other);
        tables
    };
    let unit = |column: &str, most| PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit: most };
    refused(&change(&|other| other.unit = PrivacyUnit::Row), inner, "is a row");
    refused(&change(&|other| other.neighbours = Neighbours::Substitute), inner, "both protect the same");
    refused(&change(&|other| other.unit = unit("kind", 3)), inner, "both protect the same");
    refused(&change(&|other| other.columns[0].kind = ColumnType::Text), inner, "register both with one type");
    refused(&change(&|other| other.unit = unit("person", 500_001)), inner, "up to 1000002 joined rows");
    refused(&Tables::new(Neighbours::Substitute, [1, 1]), left, "write JOIN");
    assert_eq!(
        change(&|other| other.unit = unit("person", 500_000)).question(inner).private_join().unwrap().rows_per_unit,
        1_000_000
    );
    assert_eq!(tables().question(left).private_join().unwrap().rows_per_unit, 8);
}

/// A unit that finds a counterpart counts in other groups than before: the limit would hold for either, and not for both.
#[test]
fn groups_of_a_unit_are_limited_in_an_inner_join_alone() {
    let tables = Tables::new(Neighbours::AddRemove, [2, 2]);
    let limited = |join: &str| {
        let mut other = tables.other.clone();
        other.columns[1].categories = None;
        let tables = Tables { other, own: tables.own.clone() };
        let mut question =
            tables.question(&format!("SELECT kind, COUNT(*) FROM t {join} u USING (person) GROUP BY kind"));
        question.limit_groups(3, &tables.own, Dialect::Sqlite, "key").map(|()| question.queries[0].group_limit.clone())
    };
    assert_eq!(limited("JOIN").unwrap().unwrap().most, 3, "a unit may be in four groups");
    assert!(limited("LEFT JOIN").unwrap_err().to_string().contains("write JOIN"));
}
