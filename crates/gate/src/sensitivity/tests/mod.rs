//! Sensitivities against neighbours that are enumerated: small tables, the statement that the engine runs, all pairs.
//!
//! Two tables are neighbours if they differ in one unit, so pairs come in families: a rest, and all that the one unit
//! may be. The first half goes through every possible unit of a small domain, and finds that every line of the table is
//! attained; the second one makes up schemas, tables and questions. Both must notice when a sensitivity or the keeping
//! of rows is wrong.

mod database;
mod dates;
mod expressions;
mod family;
mod groups;
mod invented;
mod joined;
mod keeping;

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use taximeter_ledger::Neighbours;
use taximeter_testing::random_inputs;

use super::*;
use crate::measure::{Centred, Measure};
use crate::number::Number;
use crate::question::Query;
use crate::question::aggregate::Argument;
use crate::question::predicate::{Comparison, Operand, Predicate};
use crate::question::scalar::{Kind, NumericExpr};
use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Value};
use crate::sql::tests::query;
use family::{Family, Reach};
use invented::Invented;

/// A row of a table, with a cell for every column of the schema.
type Row = Vec<Cell>;

/// Which rows of a table count.
type Keep = fn(&Schema, &[Row]) -> Vec<Row>;

/// A sensitivity, right or wrong.
type Claim = fn(&Quantity, &Schema, Option<usize>) -> Sensitivity;

const PERSON: usize = 0;
const GROUP: usize = 1;
const SECOND: usize = 2;
const VALUE: usize = 3;

/// Bounds on either side of 0, at it and around it, on a grid of 1 and on others.
const BOUNDS: [(ColumnType, &str, &str, &str); 8] = [
    (ColumnType::Integer, "2", "5", "1"),
    (ColumnType::Integer, "-5", "-2", "1"),
    (ColumnType::Integer, "-2", "5", "1"),
    (ColumnType::Integer, "-5", "4", "1"),
    (ColumnType::Integer, "0", "5", "1"),
    (ColumnType::Integer, "-20", "40", "10"),
    (ColumnType::Real, "-1", "2.5", "0.5"),
    (ColumnType::Real, "-0.3", "0", "0.1"),
];

/// Every small schema: bounds, neighbours, and a row or up to three rows of a person as the unit.
fn small_schemas() -> Vec<Schema> {
    let mut schemas = Vec::new();
    for (kind, low, high, grid) in BOUNDS {
        for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
            for most in 0..=3 {
                let number = |text| Number::parse(text).unwrap();
                let bounds = Bounds::new(number(low), number(high), number(grid)).unwrap();
                let text = |text: &str| Value::Text(text.to_string());
                let columns = [
                    Column::new("person", ColumnType::Integer, None, None),
                    Column::new("group", ColumnType::Text, None, Some(vec![text("a"), text("b")])),
                    Column::new("second", ColumnType::Integer, None, Some((1..=3).map(Value::Integer).collect())),
                    Column::new("value", kind, Some(bounds), None),
                ];
                let unit = match most {
                    0 => PrivacyUnit::Row,
                    _ => PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most },
                };
                schemas.push(Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap());
            }
        }
    }
    schemas
}

/// A rest with rows in every group, and all that one more unit may be: every row of a small domain, as often as may be
/// kept and once more. One domain has all groups, one all values, too small and too large ones among them, and one values that
/// no other row has.
fn small_families(schema: &Schema) -> [Family; 3] {
    let cell = |value: f64| match schema.columns[VALUE].kind {
        ColumnType::Integer => Cell::Integer(value as i64),
        _ => Cell::Real(value),
    };
    let row = |person: i64, group: &str, second: i64, value: Cell| -> Row {
        vec![Cell::Integer(person), Cell::Text(group.to_string()), Cell::Integer(second), value]
    };
    let mut rest = vec![row(1, "b", 2, Cell::Null), row(2, "b", 3, cell(1.0))];
    rest.extend(["a", "b", "a", "z"].map(|group| row(1, group, 1, cell(if group == "b" { 99.0 } else { -99.0 }))));
    rest.push(vec![Cell::Null, Cell::Text("a".to_string()), Cell::Integer(1), cell(99.0)]);
    let mut groups = Vec::new();
    let mut values = Vec::new();
    for group in ["a", "b", "z"] {
        groups.extend((1..=3).map(|second| row(9, group, second, cell(99.0))));
        values.extend([cell(-99.0), cell(99.0), Cell::Null].map(|value| row(9, group, 1, value)));
    }
    let fresh = ["a", "b"].iter().flat_map(|group| [97.0, 98.0, -97.0].map(|value| row(9, group, 1, cell(value))));
    let most = if schema.unit_column().is_some() { schema.rows_per_unit() as usize + 1 } else { 1 };
    [groups, values, fresh.collect()].map(|rows| Family { rest: rest.clone(), units: multisets(&rows, most) })
}

/// All choices of 1 to `most` rows, the same one more than once too.
fn multisets(rows: &[Row], most: usize) -> Vec<Vec<Row>> {
    let mut all = Vec::new();
    for (at, first) in rows.iter().enumerate() {
        all.push(vec![first.clone()]);
        if most > 1 {
            for mut others in multisets(&rows[at..], most - 1) {
                others.push(first.clone());
                all.push(others);
            }
        }
    }
    all
}

/// Grouped by nothing, one column and two, and with WHERE.
fn small_queries(schema: &Schema) -> Vec<Query> {
    let in_a = compare(GROUP, Comparison::Equal, Value::Text("a".to_string()));
    let known = Predicate::IsNull { column: VALUE, negated: true };
    vec![
        query(schema, None, &[]),
        query(schema, Some(in_a), &[]),
        query(schema, None, &[GROUP]),
        query(schema, Some(known), &[GROUP]),
        query(schema, None, &[GROUP, SECOND]),
    ]
}

fn compare(column: usize, comparison: Comparison, value: Value) -> Predicate {
    Predicate::Compare { operand: Operand::plain(column), comparison, value }
}

/// Everything that is counted and summed, of a column and of expressions of it.
fn small_quantities(schema: &Schema) -> Vec<Quantity> {
    let value = || NumericExpr::column(VALUE, &schema.columns[VALUE]).unwrap();
    let twice = || value().plus(value(), Kind::Decimal).unwrap();
    let middle = || Centred::middle(value());
    let mut quantities = vec![
        Quantity::Rows,
        Quantity::NonNull(Argument::Column(VALUE)),
        Quantity::NonNull(Argument::Steps(twice())),
        Quantity::Distinct(Argument::Column(VALUE)),
        Quantity::Distinct(Argument::Steps(twice())),
        Quantity::Sum(Centred::plain(value())),
        Quantity::Sum(middle()),
        Quantity::Sum(Centred::middle(twice())),
        Quantity::Sum(Centred::plain(value().negative())),
        Quantity::Products(middle(), middle()),
        Quantity::Products(middle(), Centred::middle(value().negative())),
    ];
    quantities.extend(schema.unit_column().map(|_| Quantity::Units));
    quantities
}

/// Each without a condition of its own and with one.
fn small_measures(schema: &Schema) -> Vec<Measure> {
    let filter = compare(PERSON, Comparison::GreaterOrEqual, Value::Integer(2));
    let measure =
        |quantity: Quantity| [None, Some(filter.clone())].map(|filter| Measure { quantity: quantity.clone(), filter });
    small_quantities(schema).into_iter().flat_map(measure).collect()
}

/// How far the answers of neighbours lie apart at most.
struct Line {
    schema: Schema,
    measure: Measure,
    groups: Option<usize>,
    reach: Reach,
}

/// Goes through the small families, and says how far neighbours lie apart at most, for every schema, measure and number of groups; or
/// where they lie further apart than is claimed.
fn enumerate(keep: Keep, claim: Claim) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for schema in small_schemas() {
        let measures = small_measures(&schema);
        let mut reached: BTreeMap<Option<usize>, Vec<Reach>> = BTreeMap::new();
        for family in small_families(&schema) {
            for query in small_queries(&schema) {
                let reaches = family.check(&schema, &query, &measures, keep, claim)?;
                let so_far = reached.entry(query.group_count()).or_insert(vec![Reach::default(); measures.len()]);
                so_far.iter_mut().zip(reaches).for_each(|(so_far, reach)| so_far.widen(reach));
            }
        }
        for (groups, reaches) in reached {
            lines.extend(measures.iter().zip(reaches).map(|(measure, reach)| Line {
                schema: schema.clone(),
                measure: measure.clone(),
                groups,
                reach,
            }));
        }
    }
    Ok(lines)
}

/// Whether some neighbours among the small ones lie as far apart as any may. All values of an expression outside of its bounds are
/// the same two, so no three rows have different ones; and a number and its negative are not both at their upper ends.
fn is_attained(line: &Line) -> bool {
    match &line.measure.quantity {
        Quantity::Distinct(Argument::Steps(_)) => false,
        Quantity::Products(one, other) => one == other,
        _ => true,
    }
}

#[test]
fn every_sensitivity_is_attained_by_some_neighbours_and_exceeded_by_none() {
    let lines = enumerate(keeping::by_contents, Sensitivity::new).unwrap();
    for line in lines.iter().filter(|line| is_attained(line)) {
        let Line { schema, measure, groups, reach } = line;
        let Sensitivity { l1, l2_squared } = Sensitivity::new(&measure.quantity, schema, *groups);
        assert_eq!(*reach, Reach { l1, l2_squared }, "{measure:?}, groups: {groups:?}, {schema:?}");
    }
    // Eight bounds, two relations; twelve quantities with a unit column (three times) and eleven without, each with a condition and
    // without; one, two and six groups.
    assert_eq!(lines.len(), 8 * 2 * (3 * 12 + 11) * 2 * 3);
}

#[test]
fn units_count_once_in_every_group() {
    let unit = |most| PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    for (neighbours, most, groups, moved) in [
        (Neighbours::AddRemove, 60, Some(3), 3),
        (Neighbours::AddRemove, 2, Some(3), 2),
        (Neighbours::AddRemove, 60, Some(1), 1),
        (Neighbours::AddRemove, 60, None, 60),
        (Neighbours::Substitute, 60, Some(3), 3),
        (Neighbours::Substitute, 2, Some(3), 3),
        (Neighbours::Substitute, 2, Some(5), 4),
        (Neighbours::Substitute, 60, Some(1), 1),
        (Neighbours::Substitute, 60, None, 120),
    ] {
        let person = Column::new("person", ColumnType::Integer, None, None).unwrap();
        let schema = Schema::new(unit(most), neighbours, vec![person]).unwrap();
        let expected = Sensitivity { l1: moved, l2_squared: moved };
        assert_eq!(Sensitivity::new(&Quantity::Units, &schema, groups), expected, "{neighbours:?} {most} {groups:?}");
    }
}

/// A right sensitivity, changed.
fn changed(quantity: &Quantity, schema: &Schema, groups: Option<usize>, change: impl Fn(&mut Schema)) -> Sensitivity {
    let mut schema = schema.clone();
    change(&mut schema);
    Sensitivity::new(quantity, &schema, groups)
}

/// Rows a unit, and the range of what is summed.
fn range(quantity: &Quantity, schema: &Schema) -> Option<(u128, i64, i64)> {
    let (low, high) = quantity.of_a_row();
    let sums = matches!(quantity, Quantity::Sum(_) | Quantity::Products(..));
    sums.then(|| (u128::from(schema.rows_per_unit()), low, high))
}

/// Sensitivities that are wrong, each in one way.
const WRONG_CLAIMS: [(&str, Claim); 11] = [
    ("substitution in groups counted as without groups", |quantity, schema, groups| {
        let groups = if schema.neighbours == Neighbours::Substitute { Some(1) } else { groups };
        Sensitivity::new(quantity, schema, groups)
    }),
    ("substitution counted as removal", |quantity, schema, groups| {
        changed(quantity, schema, groups, |schema| schema.neighbours = Neighbours::AddRemove)
    }),
    ("one row a unit", |quantity, schema, groups| {
        changed(quantity, schema, groups, |schema| {
            if let PrivacyUnit::Column { max_rows_per_unit, .. } = &mut schema.unit {
                *max_rows_per_unit = 1;
            }
        })
    }),
    ("units in one group only", |quantity, schema, groups| {
        Sensitivity::new(quantity, schema, if *quantity == Quantity::Units { Some(1) } else { groups })
    }),
    ("a unit's rows never in one group", |quantity, schema, groups| {
        let right = Sensitivity::new(quantity, schema, groups);
        let rows = u128::from(schema.rows_per_unit());
        let counts = matches!(quantity, Quantity::Rows | Quantity::NonNull(_) | Quantity::Distinct(_));
        let grouped = counts && groups != Some(1);
        Sensitivity { l2_squared: if grouped { right.l2_squared / rows } else { right.l2_squared }, ..right }
    }),
    ("0 not in the range", |quantity, schema, groups| match range(quantity, schema) {
        Some((rows, low, high)) if schema.neighbours == Neighbours::Substitute && groups == Some(1) => {
            let spread = rows * u128::from((high - low).unsigned_abs());
            Sensitivity { l1: spread, l2_squared: spread * spread }
        }
        _ => Sensitivity::new(quantity, schema, groups),
    }),
    ("only the upper bound", |quantity, schema, groups| match range(quantity, schema) {
        Some((rows, _, high)) if schema.neighbours == Neighbours::AddRemove => {
            let largest = rows * u128::from(high.unsigned_abs());
            Sensitivity { l1: largest, l2_squared: largest * largest }
        }
        _ => Sensitivity::new(quantity, schema, groups),
    }),
    ("substitution always into another group", |quantity, schema, groups| match range(quantity, schema) {
        Some((rows, low, high)) if schema.neighbours == Neighbours::Substitute && groups != Some(1) => {
            let largest = rows * u128::from(low.unsigned_abs().max(high.unsigned_abs()));
            Sensitivity { l1: 2 * largest, l2_squared: 2 * largest * largest }
        }
        _ => Sensitivity::new(quantity, schema, groups),
    }),
    ("sums as if they were centred", |quantity, schema, groups| match quantity {
        Quantity::Sum(centred) => {
            let centred = Centred::middle(centred.scalar.clone());
            Sensitivity::new(&Quantity::Sum(centred), schema, groups)
        }
        _ => Sensitivity::new(quantity, schema, groups),
    }),
    ("different values as if they were units", |quantity, schema, groups| match quantity {
        Quantity::Distinct(_) => Sensitivity::new(&Quantity::Units, schema, groups),
        _ => Sensitivity::new(quantity, schema, groups),
    }),
    ("products as if they were sums", |quantity, schema, groups| match quantity {
        Quantity::Products(one, _) => Sensitivity::new(&Quantity::Sum(one.clone()), schema, groups),
        _ => Sensitivity::new(quantity, schema, groups),
    }),
];

/// Keepings of rows that are wrong, each in one way.
const WRONG_KEEPINGS: [(&str, Keep); 4] = [
    ("by row number", keeping::by_row_number),
    ("in every group", keeping::in_every_group),
    ("all rows", keeping::all),
    ("rows without a unit", keeping::without_unit_too),
];

#[test]
fn wrong_sensitivities_are_found() {
    for (wrong, claim) in WRONG_CLAIMS {
        let found = enumerate(keeping::by_contents, claim);
        assert!(found.is_err(), "{wrong}: not noticed");
    }
}

/// Families whose units are made up: tables of a few rows, of which one unit after the other is the one that differs.
fn invent(seeds: std::ops::Range<u64>, keep: Keep, claim: Claim) -> Result<usize, String> {
    let mut questions = 0;
    for seed in seeds {
        let invented = Invented::new(seed);
        for family in &invented.families {
            for (query, measures) in &invented.queries {
                let checked = family.check(&invented.schema, query, measures, keep, claim);
                checked.map_err(|why| format!("seed {seed}: {why}"))?;
                questions += 1;
            }
        }
    }
    Ok(questions)
}

#[test]
fn no_invented_neighbours_lie_further_apart_than_the_sensitivity() {
    let seeds = random_inputs(700);
    let found = invent(0..seeds.into(), keeping::by_contents, Sensitivity::new);
    let questions = found.unwrap_or_else(|why| panic!("{why}"));
    assert!(questions > 7 * seeds as usize, "only {questions} questions were asked");
}

/// The rows that an import keeps, instead of those that the reference keeps.
#[test]
fn no_neighbours_lie_further_apart_after_an_import() {
    invent(0..random_inputs(150).into(), crate::import::kept, Sensitivity::new).unwrap_or_else(|why| panic!("{why}"));
    for (wrong, claim) in WRONG_CLAIMS {
        assert!(invent(0..700, crate::import::kept, claim).is_err(), "{wrong}: not noticed");
    }
}

#[test]
fn wrong_sensitivities_and_keepings_are_found_among_invented_neighbours() {
    for (wrong, claim) in WRONG_CLAIMS {
        assert!(invent(0..700, keeping::by_contents, claim).is_err(), "{wrong}: not noticed");
    }
    for (wrong, keep) in WRONG_KEEPINGS {
        assert!(invent(0..700, keep, Sensitivity::new).is_err(), "keeping {wrong}: not noticed");
    }
}
