//! A unit that counts in some of its groups only: no neighbours lie further apart than the limit says, and some as far.

use std::collections::{BTreeMap, BTreeSet};

use super::database::Database;
use super::*;
use crate::question::Question;
use crate::sql::{Dialect, Statement, Target};

/// What is counted: units, rows and a sum.
const QUESTION: &str =
    "SELECT town, COUNT(DISTINCT person), COUNT(*), SUM(value) FROM t WHERE value <> 1 GROUP BY town";

fn schema(neighbours: Neighbours, most: u32) -> Schema {
    let bounds = Bounds::new(Number::ZERO, Number::parse("3").unwrap(), Number::ONE).unwrap();
    let columns = [
        Column::new("person", ColumnType::Integer, None, None),
        Column::new("town", ColumnType::Text, None, None),
        Column::new("value", ColumnType::Integer, Some(bounds), None),
    ];
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap()
}

/// Two people in several towns, and all that a third one may be.
fn family(schema: &Schema) -> Family {
    let row = |person: i64, town: &str, value: i64| -> Row {
        vec![Cell::Integer(person), Cell::Text(town.to_string()), Cell::Integer(value)]
    };
    let rest = [(1, "a", 3), (1, "b", 2), (1, "c", 0), (2, "b", 3), (2, "d", 2), (2, "d", 3)];
    let rest = rest.map(|(person, town, value)| row(person, town, value)).to_vec();
    let rows: Vec<Row> = ["a", "b", "e"].iter().flat_map(|town| [1, 2, 9].map(|value| row(9, town, value))).collect();
    Family { rest, units: multisets(&rows, schema.rows_per_unit() as usize + 1) }
}

/// The measures of every group that has rows.
type Answers = BTreeMap<String, Vec<i64>>;

/// How far answers lie apart, how many groups only one of them has, and the most that is counted there: for every measure.
#[derive(Debug, Default, PartialEq, Eq)]
struct Apart {
    reach: Reach,
    alone: usize,
    most_alone: i64,
}

fn apart(one: &Answers, other: &Answers, measure: usize) -> Apart {
    let mut apart = Apart::default();
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let of = |answers: &Answers| answers.get(key).map_or(0, |measures| measures[measure]);
        let change = u128::from(of(one).abs_diff(of(other)));
        apart.reach.l1 += change;
        apart.reach.l2_squared += change * change;
        if one.contains_key(key) && !other.contains_key(key) {
            apart.alone += 1;
            apart.most_alone = apart.most_alone.max(of(one));
        }
    }
    apart
}

/// Goes through all neighbours with a limit, of a statement that may be broken: how far they lie apart at most.
fn enumerate(schema: &Schema, most: u32, breaking: impl Fn(Statement) -> Statement) -> Vec<Apart> {
    let mut question = Question::parse(QUESTION, "t", schema).unwrap();
    question.limit_groups(most, schema, Dialect::Sqlite, "key").unwrap();
    let query = &question.queries[0];
    let quantities = [Quantity::Units, Quantity::Rows, sum(schema)];
    let measures = quantities.map(|quantity| Measure { quantity, filter: None });
    let target = Target { schema, dialect: Dialect::Sqlite, table: super::database::TABLE, asked: &[] };
    let statement = breaking(Statement::measuring(query, &measures, target));
    let database = Database::new(schema);
    let family = family(schema);
    let ask = |unit: &[Row]| -> Answers {
        let table: Vec<Row> = unit.iter().chain(&family.rest).cloned().collect();
        database.fill(&keeping::by_contents(schema, &table));
        database.groups(&statement)
    };
    let without = ask(&[]);
    let with: Vec<Answers> = family.units.iter().map(|unit| ask(unit)).collect();
    let mut furthest: Vec<Apart> = measures.iter().map(|_| Apart::default()).collect();
    let mut compare = |one: &Answers, other: &Answers| {
        for (measure, furthest) in furthest.iter_mut().enumerate() {
            let Apart { reach, alone, most_alone } = apart(one, other, measure);
            furthest.reach.widen(reach);
            furthest.alone = furthest.alone.max(alone);
            furthest.most_alone = furthest.most_alone.max(most_alone);
        }
    };
    match schema.neighbours {
        Neighbours::AddRemove => with.iter().for_each(|one| compare(one, &without)),
        Neighbours::Substitute => with.iter().for_each(|one| with.iter().for_each(|other| compare(one, other))),
    }
    furthest
}

fn sum(schema: &Schema) -> Quantity {
    Quantity::Sum(Centred::plain(NumericExpr::column(2, &schema.columns[2]).unwrap()))
}

/// What is claimed of the three measures.
fn claimed(schema: &Schema, most: u32) -> Vec<Sensitivity> {
    let quantities = [Quantity::Units, Quantity::Rows, sum(schema)];
    quantities.iter().map(|quantity| Sensitivity::limited(quantity, schema, None, most)).collect()
}

#[test]
fn a_limit_on_the_groups_of_a_unit_is_attained_and_never_exceeded() {
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        for (rows, most) in [(2, 1), (3, 1), (3, 2)] {
            let schema = schema(neighbours, rows);
            let furthest = enumerate(&schema, most, |statement| statement);
            for (apart, Sensitivity { l1, l2_squared }) in furthest.iter().zip(claimed(&schema, most)) {
                let Reach { l1: reached, l2_squared: squared } = apart.reach;
                assert!(reached <= l1 && squared <= l2_squared, "{neighbours:?} {rows} {most}: {apart:?} of {l1}");
            }
            // Units and rows get as far as they may; a group of one unit alone has one unit and all its rows, and there are no more of
            // them than the limit says, which the threshold relies on.
            let [units, counts, _] = furthest.as_slice() else { panic!("three measures") };
            assert!(units.alone <= most as usize && counts.alone <= most as usize, "{units:?} {counts:?}");
            assert_eq!((units.most_alone, counts.most_alone), (1, i64::from(rows)));
            let claimed = claimed(&schema, most);
            let [of_units, of_rows] = [&claimed[0], &claimed[1]];
            assert_eq!((units.reach.l1, counts.reach.l1), (of_units.l1, of_rows.l1), "{neighbours:?} {rows} {most}");
        }
    }
}

/// Ways to get it wrong, each as a change of the statement.
#[test]
fn limits_that_are_not_kept_are_found() {
    let replaced = |statement: Statement, from: &str, to: &str| {
        assert!(statement.sql.contains(from), "{}", statement.sql);
        Statement { sql: statement.sql.replace(from, to), ..statement }
    };
    type Breaking = Box<dyn Fn(Statement) -> Statement>;
    let all: [(&str, Breaking); 4] = [
        ("not applied", Box::new(move |it| replaced(it, "\"place of the group\" <= 1", "TRUE"))),
        (
            "one group too many",
            Box::new(move |it| replaced(it, "\"place of the group\" <= 1", "\"place of the group\" <= 2")),
        ),
        ("groups of all units together", Box::new(move |it| replaced(it, "PARTITION BY \"person\" ", ""))),
        (
            "the largest groups of all",
            Box::new(move |it| {
                let sizes = format!(
                    "ORDER BY (SELECT -count(*) FROM {} o WHERE o.town = \"data\".town), taximeter",
                    super::database::TABLE
                );
                replaced(it, "ORDER BY taximeter", &sizes)
            }),
        ),
    ];
    for (wrong, breaking) in all {
        let schema = schema(Neighbours::AddRemove, 3);
        let furthest = enumerate(&schema, 1, breaking);
        let exceeds = furthest.iter().zip(claimed(&schema, 1)).any(|(apart, claimed)| apart.reach.l1 > claimed.l1);
        assert!(exceeds, "{wrong}: not noticed, {furthest:?}");
    }
}
