//! Sensitivities against neighbours that are enumerated: small tables, the statement that the engine runs, all pairs.
//!
//! Two tables are neighbours if they differ in one unit, so pairs come in families: a rest, and all that the one unit
//! may be. The first half goes through every possible unit of a small domain, and finds that every line of the table is
//! attained; the second one makes up schemas, tables and questions. Both must notice when a sensitivity or the keeping
//! of rows is wrong.

mod database;
mod family;
mod invented;
mod keeping;

use rusqlite::types::Value as Cell;
use taximeter_ledger::Neighbours;
use taximeter_testing::random_inputs;

use super::*;
use crate::number::Number;
use crate::question::{Comparison, Predicate, Question};
use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Value};
use family::{Family, Reach};
use invented::Invented;

/// A row of a table, with a cell for every column of the schema.
type Row = Vec<Cell>;

/// Which rows of a table count.
type Keep = fn(&Schema, &[Row]) -> Vec<Row>;

/// A sensitivity, right or wrong.
type Claim = fn(Measure, &Schema, bool) -> Sensitivity;

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
/// kept and once more. One domain has all groups, the other all values, too small and too large ones among them.
fn small_families(schema: &Schema) -> [Family; 2] {
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
    let most = if schema.unit_column().is_some() { schema.rows_per_unit() as usize + 1 } else { 1 };
    [groups, values].map(|rows| Family { rest: rest.clone(), units: multisets(&rows, most) })
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
fn small_questions() -> Vec<Question> {
    let question = |groups: &[usize], filter: Option<Predicate>| Question {
        outputs: Vec::new(),
        filter,
        groups: groups.to_vec(),
        order: Vec::new(),
        limit: None,
    };
    let in_a = Predicate::Compare { column: GROUP, comparison: Comparison::Equal, value: Value::Text("a".to_string()) };
    let known = Predicate::IsNull { column: VALUE, negated: true };
    vec![
        question(&[], None),
        question(&[], Some(in_a)),
        question(&[GROUP], None),
        question(&[GROUP], Some(known)),
        question(&[GROUP, SECOND], None),
    ]
}

fn small_measures(schema: &Schema) -> Vec<Measure> {
    let centre = schema.columns[VALUE].bounds.unwrap().centre();
    let mut measures = vec![
        Measure::Rows,
        Measure::NonNull(VALUE),
        Measure::Steps { column: VALUE, centre: 0 },
        Measure::Steps { column: VALUE, centre },
    ];
    measures.extend(schema.unit_column().map(|_| Measure::Units));
    measures
}

/// Goes through the small families, and says how far neighbours lie apart at most, for every schema and measure,
/// ungrouped and grouped; or where they lie further apart than is claimed.
fn enumerate(keep: Keep, claim: Claim) -> Result<Vec<(Schema, Measure, bool, Reach)>, String> {
    let mut lines = Vec::new();
    for schema in small_schemas() {
        let measures = small_measures(&schema);
        let mut reached = vec![[Reach::default(); 2]; measures.len()];
        for family in small_families(&schema) {
            for question in small_questions() {
                let grouped = !question.groups.is_empty();
                let reaches = family.check(&schema, &question, &measures, keep, claim)?;
                for (so_far, reach) in reached.iter_mut().zip(reaches) {
                    so_far[usize::from(grouped)].widen(reach);
                }
            }
        }
        for (measure, [ungrouped, grouped]) in measures.iter().zip(reached) {
            lines.push((schema.clone(), *measure, false, ungrouped));
            lines.push((schema.clone(), *measure, true, grouped));
        }
    }
    Ok(lines)
}

#[test]
fn every_sensitivity_is_attained_by_some_neighbours_and_exceeded_by_none() {
    let lines = enumerate(keeping::by_contents, Sensitivity::new).unwrap();
    for (schema, measure, grouped, reach) in &lines {
        let Sensitivity { l1, l2_squared } = Sensitivity::new(*measure, schema, *grouped);
        assert_eq!(*reach, Reach { l1, l2_squared }, "{measure:?}, grouped: {grouped}, {schema:?}");
    }
    // Eight bounds, two relations; five measures with a unit column (three times) and four without; ungrouped and
    // grouped.
    assert_eq!(lines.len(), 8 * 2 * (3 * 5 + 4) * 2);
}

/// A right sensitivity, changed.
fn changed(measure: Measure, schema: &Schema, grouped: bool, change: impl Fn(&mut Schema)) -> Sensitivity {
    let mut schema = schema.clone();
    change(&mut schema);
    Sensitivity::new(measure, &schema, grouped)
}

/// Rows a unit, and the range of what is summed.
fn range(measure: Measure, schema: &Schema) -> Option<(u128, i64, i64)> {
    let Measure::Steps { column, centre } = measure else { return None };
    let (low, high) = schema.columns[column].bounds.unwrap().steps();
    Some((u128::from(schema.rows_per_unit()), low - centre, high - centre))
}

/// Sensitivities that are wrong, each in one way.
const WRONG_CLAIMS: [(&str, Claim); 9] = [
    ("substitution in groups counted as without groups", |measure, schema, grouped| {
        Sensitivity::new(measure, schema, grouped && schema.neighbours == Neighbours::AddRemove)
    }),
    ("substitution counted as removal", |measure, schema, grouped| {
        changed(measure, schema, grouped, |schema| schema.neighbours = Neighbours::AddRemove)
    }),
    ("one row a unit", |measure, schema, grouped| {
        changed(measure, schema, grouped, |schema| {
            if let PrivacyUnit::Column { max_rows_per_unit, .. } = &mut schema.unit {
                *max_rows_per_unit = 1;
            }
        })
    }),
    ("units in one group only", |measure, schema, grouped| {
        Sensitivity::new(measure, schema, grouped && measure != Measure::Units)
    }),
    ("a unit's rows never in one group", |measure, schema, grouped| {
        let right = Sensitivity::new(measure, schema, grouped);
        let rows = u128::from(schema.rows_per_unit());
        let counts = !matches!(measure, Measure::Units | Measure::Steps { .. });
        Sensitivity { l2_squared: if counts && grouped { right.l2_squared / rows } else { right.l2_squared }, ..right }
    }),
    ("0 not in the range", |measure, schema, grouped| match range(measure, schema) {
        Some((rows, low, high)) if schema.neighbours == Neighbours::Substitute && !grouped => {
            let spread = rows * u128::from((high - low).unsigned_abs());
            Sensitivity { l1: spread, l2_squared: spread * spread }
        }
        _ => Sensitivity::new(measure, schema, grouped),
    }),
    ("only the upper bound", |measure, schema, grouped| match range(measure, schema) {
        Some((rows, _, high)) if schema.neighbours == Neighbours::AddRemove => {
            let largest = rows * u128::from(high.unsigned_abs());
            Sensitivity { l1: largest, l2_squared: largest * largest }
        }
        _ => Sensitivity::new(measure, schema, grouped),
    }),
    ("substitution always into another group", |measure, schema, grouped| match range(measure, schema) {
        Some((rows, low, high)) if schema.neighbours == Neighbours::Substitute && grouped => {
            let largest = rows * u128::from(low.unsigned_abs().max(high.unsigned_abs()));
            Sensitivity { l1: 2 * largest, l2_squared: 2 * largest * largest }
        }
        _ => Sensitivity::new(measure, schema, grouped),
    }),
    ("sums as if they were centred", |measure, schema, grouped| match measure {
        Measure::Steps { column, .. } => {
            let centre = schema.columns[column].bounds.unwrap().centre();
            Sensitivity::new(Measure::Steps { column, centre }, schema, grouped)
        }
        _ => Sensitivity::new(measure, schema, grouped),
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
        assert!(found.is_err(), "{wrong}: nobody noticed");
    }
}

/// Families whose units are made up: tables of a few rows, of which one unit after the other is the one that differs.
fn invent(seeds: std::ops::Range<u64>, keep: Keep, claim: Claim) -> Result<usize, String> {
    let mut questions = 0;
    for seed in seeds {
        let invented = Invented::new(seed);
        for family in &invented.families {
            for (question, measures) in &invented.questions {
                let checked = family.check(&invented.schema, question, measures, keep, claim);
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
        assert!(invent(0..700, crate::import::kept, claim).is_err(), "{wrong}: nobody noticed");
    }
}

#[test]
fn wrong_sensitivities_and_keepings_are_found_among_invented_neighbours() {
    for (wrong, claim) in WRONG_CLAIMS {
        assert!(invent(0..700, keeping::by_contents, claim).is_err(), "{wrong}: nobody noticed");
    }
    for (wrong, keep) in WRONG_KEEPINGS {
        assert!(invent(0..700, keep, Sensitivity::new).is_err(), "keeping {wrong}: nobody noticed");
    }
}
