//! Schemas, tables and questions that are made up from a seed.

use rusqlite::types::Value as Cell;
use taximeter_ledger::Neighbours;

use super::Row;
use super::family::Family;
use crate::measure::{Centred, Measure, Quantity};
use crate::number::Number;
use crate::question::Query;
use crate::question::aggregate::Argument;
use crate::question::predicate::{Comparison, Operand, Predicate};
use crate::question::scalar::{Kind, NumericExpr};
use crate::schema::{Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};
use crate::sql::tests::query;

/// The column of the units.
const PERSON: usize = 0;

/// A schema, the families of a small table, and queries with what they measure.
pub(super) struct Invented {
    pub(super) schema: Schema,
    pub(super) families: Vec<Family>,
    pub(super) queries: Vec<(Query, Vec<Measure>)>,
}

impl Invented {
    pub(super) fn new(seed: u64) -> Invented {
        let mut dice = Dice(seed);
        let schema = dice.schema();
        let cells: Vec<Vec<Cell>> = schema.columns.iter().map(cells).collect();
        let table: Vec<Row> = (0..dice.between(2, 5)).map(|_| dice.row(&cells)).collect();
        let families = dice.families(&schema, &cells, &table);
        let queries = (0..4).map(|_| dice.query(&schema, &cells)).collect();
        Invented { schema, families, queries }
    }
}

/// What a column may hold: what belongs there and what does not, at the bounds and just beside them.
fn cells(column: &Column) -> Vec<Cell> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Cell::Text(text.to_string())).collect::<Vec<_>>();
    let integers = |integers: &[i64]| integers.iter().copied().map(Cell::Integer).collect::<Vec<_>>();
    let mut cells = match (column.kind, column.bounds) {
        (ColumnType::Text, _) => texts(&["a", "b", "A", "", "ab_%", "ä"]),
        (ColumnType::Boolean, _) => integers(&[0, 1]),
        (ColumnType::Integer, None) => integers(&[1, 2, 3]),
        (ColumnType::Integer, Some(bounds)) => {
            let (low, high) = (bounds.low().floor(), bounds.high().floor());
            integers(&[i64::MIN, low - 1, low, low + 1, 0, high - 1, high, high + 1, i64::MAX])
        }
        (ColumnType::Real, bounds) => {
            let bounds = bounds.expect("reals have bounds here");
            let (low, high, grid) = (bounds.low().to_f64(), bounds.high().to_f64(), bounds.grid().to_f64());
            let inside =
                [low, low + grid / 2.0, low.next_up(), -0.0, (high - grid / 2.0).next_down(), high.next_down(), high];
            let outside = [f64::NEG_INFINITY, f64::MIN, low - 0.3, high + 0.3, 1e300, f64::INFINITY, f64::NAN];
            inside.into_iter().chain(outside).map(Cell::Real).collect()
        }
        (ColumnType::Date | ColumnType::Timestamp | ColumnType::Decimal, _) => unreachable!("none is invented"),
    };
    cells.push(Cell::Null);
    cells
}

/// Numbers that look random, the same ones for the same seed: SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.roll() % (high - low + 1) as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.roll().is_multiple_of(2)
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.between(0, choices.len() - 1)]
    }

    fn schema(&mut self) -> Schema {
        let neighbours = *self.of(&[Neighbours::AddRemove, Neighbours::Substitute]);
        let unit = match self.between(0, 3) {
            0 => PrivacyUnit::Row,
            most => PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most as u32 },
        };
        let texts = || Some(["a", "b"].map(|text| Value::Text(text.to_string())).to_vec());
        let integers = || Some(vec![Value::Integer(1), Value::Integer(2)]);
        // A unit's column may itself be summed or grouped by.
        let person = match self.between(0, 3) {
            0 => Column::new("person", ColumnType::Text, None, texts()),
            1 => Column::new("person", ColumnType::Integer, Some(self.bounds("1")), None),
            2 => Column::new("person", ColumnType::Integer, None, integers()),
            _ => Column::new("person", ColumnType::Integer, None, None),
        };
        let second = match self.coin() {
            true => Column::new("second", ColumnType::Integer, None, integers()),
            false => Column::new(
                "second",
                ColumnType::Boolean,
                None,
                Some(vec![Value::Boolean(true), Value::Boolean(false)]),
            ),
        };
        let (whole, fine) = (*self.of(&["1", "1", "2", "5", "10"]), *self.of(&["1", "0.5", "0.1", "2.5"]));
        let (whole, fine) = (self.bounds(whole), self.bounds(fine));
        let columns = [
            person,
            Column::new("gro\"up", ColumnType::Text, None, texts()),
            second,
            Column::new("whole", ColumnType::Integer, Some(whole), None),
            Column::new("fine", ColumnType::Real, Some(fine), None),
        ];
        Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap()
    }

    /// Bounds on a grid, on either side of 0 or around it.
    fn bounds(&mut self, grid: &str) -> Bounds {
        let grid = Number::parse(grid).unwrap();
        let low = self.between(0, 8) as i128 - 5;
        let high = low + self.between(1, 6) as i128;
        Bounds::new(grid.times(low).unwrap(), grid.times(high).unwrap(), grid).unwrap()
    }

    fn row(&mut self, cells: &[Vec<Cell>]) -> Row {
        cells.iter().map(|cells| self.of(cells).clone()).collect()
    }

    /// One unit of the table after the other is the one that differs. Instead of it there may be others of more rows
    /// than count, and rows that have no unit at all.
    fn families(&mut self, schema: &Schema, cells: &[Vec<Cell>], table: &[Row]) -> Vec<Family> {
        let Some(unit) = schema.unit_column() else {
            let family = |at: usize| {
                let mut rest = table.to_vec();
                let mut units = vec![vec![rest.remove(at)]];
                units.extend((0..16).map(|_| vec![self.row(cells)]));
                Family { rest, units }
            };
            return (0..table.len()).map(family).collect();
        };
        let mut families: Vec<Family> = Vec::new();
        for (at, row) in table.iter().enumerate() {
            let person = &row[unit];
            if table[..at].iter().any(|row| row[unit] == *person) {
                continue;
            }
            let (own, rest): (Vec<Row>, Vec<Row>) = table.iter().cloned().partition(|row| row[unit] == *person);
            let free: Vec<Cell> =
                cells[unit].iter().filter(|cell| !rest.iter().any(|row| row[unit] == **cell)).cloned().collect();
            let mut units = vec![own];
            units.extend((0..16).map(|_| self.unit(schema, cells, unit, &free)));
            families.push(Family { rest, units });
        }
        families
    }

    /// The rows of a unit, which like to be the same.
    fn unit(&mut self, schema: &Schema, cells: &[Vec<Cell>], unit: usize, free: &[Cell]) -> Vec<Row> {
        let person = self.of(free).clone();
        let mut rows = vec![self.row(cells)];
        for _ in 1..self.between(1, schema.rows_per_unit() as usize + 1) {
            let row = if self.coin() { rows[0].clone() } else { self.row(cells) };
            rows.push(row);
        }
        for row in &mut rows {
            row[unit] = person.clone();
        }
        rows
    }

    fn query(&mut self, schema: &Schema, cells: &[Vec<Cell>]) -> (Query, Vec<Measure>) {
        let mut groups: Vec<usize> = (0..cells.len()).filter(|at| schema.columns[*at].categories.is_some()).collect();
        while groups.len() > 2 || (!groups.is_empty() && self.between(0, 2) == 0) {
            groups.remove(self.between(0, groups.len() - 1));
        }
        let filter = self.coin().then(|| self.predicate(schema, cells, 2));
        let measure = |dice: &mut Dice| {
            let filter = (dice.between(0, 2) == 0).then(|| dice.predicate(schema, cells, 1));
            Measure { quantity: dice.quantity(schema), filter }
        };
        let measures = (0..self.between(1, 4)).map(|_| measure(self)).collect();
        (query(schema, filter, &groups), measures)
    }

    fn quantity(&mut self, schema: &Schema) -> Quantity {
        let column = self.between(0, schema.columns.len() - 1);
        match self.between(0, 9) {
            0 => Quantity::Rows,
            1 => Quantity::NonNull(Argument::Column(column)),
            2 => Quantity::NonNull(Argument::Steps(self.scalar(schema))),
            3 if schema.unit_column().is_some() => Quantity::Units,
            3 => Quantity::Distinct(Argument::Column(column)),
            4 => Quantity::Distinct(Argument::Steps(self.scalar(schema))),
            5 | 6 => Quantity::Sum(Centred::plain(self.scalar(schema))),
            7 => Quantity::Sum(Centred::middle(self.scalar(schema))),
            8 => {
                let centred = Centred::middle(self.scalar(schema));
                Quantity::Products(centred.clone(), centred)
            }
            _ => Quantity::Products(Centred::middle(self.scalar(schema)), Centred::middle(self.scalar(schema))),
        }
    }

    /// A column with bounds, mostly, or an expression of one or two.
    fn scalar(&mut self, schema: &Schema) -> NumericExpr {
        let bounded: Vec<usize> = (0..schema.columns.len()).filter(|at| schema.columns[*at].bounds.is_some()).collect();
        let mut column = || {
            let at = *self.of(&bounded);
            NumericExpr::column(at, &schema.columns[at]).unwrap()
        };
        let (one, other) = (column(), column());
        let made = match self.between(0, 11) {
            0 => one.plus(other, Kind::Decimal),
            1 => one.times(other, Kind::Decimal),
            2 => Ok(one.absolute()),
            3 => one.floor(&2.into(), Kind::Decimal),
            4 => one.rounded(&3.into(), Kind::Decimal),
            5 => NumericExpr::least(vec![one, other]),
            6 => NumericExpr::coalesce(vec![one, other]),
            _ => Ok(one),
        };
        made.unwrap()
    }

    fn predicate(&mut self, schema: &Schema, cells: &[Vec<Cell>], depth: usize) -> Predicate {
        let column = self.between(PERSON, cells.len() - 1);
        let kind = schema.columns[column].kind;
        let negated = self.coin();
        let comparisons = Comparison::ALL;
        match self.between(0, if depth == 0 { 4 } else { 7 }) {
            0 | 1 => Predicate::Compare {
                operand: Operand::plain(column),
                comparison: *self.of(&comparisons),
                value: self.literal(kind, &cells[column]),
            },
            2 => {
                let values = (0..self.between(1, 3)).map(|_| self.literal(kind, &cells[column])).collect();
                Predicate::In { operand: Operand::plain(column), values, negated }
            }
            3 if kind == ColumnType::Text => {
                let pattern = self.of(&["a%", "_", "%", "A", "%b_\\%"]).to_string();
                Predicate::Like { operand: Operand::plain(column), pattern, negated }
            }
            3 | 4 => Predicate::IsNull { column, negated },
            5 => Predicate::Not(Box::new(self.predicate(schema, cells, depth - 1))),
            more => {
                let parts = (0..2).map(|_| self.predicate(schema, cells, depth - 1)).collect();
                if more == 6 { Predicate::And(parts) } else { Predicate::Or(parts) }
            }
        }
    }

    /// A literal of the column's own type, of what is in it.
    fn literal(&mut self, kind: ColumnType, cells: &[Cell]) -> Value {
        match (self.of(cells), kind) {
            (Cell::Integer(value), ColumnType::Boolean) => Value::Boolean(*value == 1),
            (Cell::Integer(value), _) => Value::Integer(*value),
            (Cell::Real(value), _) if value.is_finite() => Value::Real(*value),
            (Cell::Text(text), _) => Value::Text(text.clone()),
            _ => self.literal(kind, cells),
        }
    }
}
