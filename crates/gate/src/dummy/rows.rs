//! Rows that are made up from what is declared: the same ones for the same declaration, on every machine.
//!
//! Every column has random numbers of its own, from a hash of its declaration, so that another column more or less changes none of them.

use crate::number::Number;
use crate::schema::{
    Bounds, Column, ColumnType, DAYS, MICROSECONDS, MICROSECONDS_PER_SECOND, SECONDS_PER_DAY, Schema, Value,
};

/// A unit has at most this number of made-up rows, or fewer where the owner lets fewer count.
const MOST_ROWS_OF_A_UNIT: u64 = 4;

/// The number of different texts in a column without categories.
const TEXTS: u64 = 20;

/// What values of a column are between if nothing is declared: for numbers, and for days and times since 1970-01-01.
const NUMBERS: (i64, i64) = (0, 100);
const FIRST_AND_LAST_DAY: (i64, i64) = (18_262, 20_088);

/// The rows, one after the other. Where the units cannot be told apart any more, as with a boolean, there are fewer than wanted.
pub(crate) fn made_up_rows(schema: &Schema, wanted: u32) -> impl Iterator<Item = Vec<Value>> + use<> {
    let mut columns: Vec<MadeUpColumn> = schema.columns().iter().map(MadeUpColumn::new).collect();
    let unit = schema.unit_column();
    let most = u64::from(schema.rows_per_unit()).min(MOST_ROWS_OF_A_UNIT);
    let units = (0..).flat_map(move |unit: u64| std::iter::repeat_n(unit, (1 + unit % most) as usize));
    let kind = unit.map(|at| schema.columns()[at].kind());
    let categories = unit.and_then(|at| Some(schema.columns()[at].categories()?.to_vec()));
    units.take(wanted as usize).map_while(move |number| {
        let mut row: Vec<Value> = columns.iter_mut().map(MadeUpColumn::next).collect();
        if let (Some(at), Some(kind)) = (unit, kind) {
            row[at] = match &categories {
                Some(categories) => categories.get(usize::try_from(number).ok()?)?.clone(),
                None => unit_value(kind, number)?,
            };
        }
        Some(row)
    })
}

/// What identifies a unit, from 0 on: the same in every dataset, so that two can be joined. Nothing where a type has no more values.
fn unit_value(kind: ColumnType, unit: u64) -> Option<Value> {
    let number = i64::try_from(unit).ok()?;
    Some(match kind {
        ColumnType::Integer => Value::Integer(number + 1),
        ColumnType::Text => Value::Text(format!("unit-{}", unit + 1)),
        ColumnType::Boolean => Value::Boolean(match unit {
            0 => false,
            1 => true,
            _ => return None,
        }),
        ColumnType::Date => Value::Date(i32::try_from(number).ok().filter(|days| *days <= DAYS[1])?),
        ColumnType::Timestamp => Value::Timestamp(number * MICROSECONDS_PER_SECOND),
        // A unit is never a fraction.
        ColumnType::Real | ColumnType::Decimal => return None,
    })
}

/// A column with its random numbers.
struct MadeUpColumn {
    name: String,
    kind: ColumnType,
    bounds: Option<Bounds>,
    categories: Option<Vec<Value>>,
    random: blake3::OutputReader,
}

impl MadeUpColumn {
    fn new(column: &Column) -> MadeUpColumn {
        let declared = format!("{:?} {:?} {:?} {:?}", column.name, column.kind, column.bounds, column.categories);
        let mut hasher = blake3::Hasher::new_derive_key("taximeter: made-up rows");
        MadeUpColumn {
            name: column.name.clone(),
            kind: column.kind,
            bounds: column.bounds,
            categories: column.categories.clone(),
            random: hasher.update(declared.as_bytes()).finalize_xof(),
        }
    }

    fn next(&mut self) -> Value {
        if let Some(categories) = &self.categories {
            let at = below(&mut self.random, categories.len() as u64);
            return categories[at as usize].clone();
        }
        match (self.bounds, self.kind) {
            (Some(bounds), kind) => {
                let (low, high) = bounds.steps();
                let steps = between(&mut self.random, low, high);
                on_grid(bounds.grid(), steps, kind)
            }
            (None, ColumnType::Integer) => Value::Integer(between(&mut self.random, NUMBERS.0, NUMBERS.1)),
            (None, kind @ (ColumnType::Real | ColumnType::Decimal)) => {
                let hundredths = between(&mut self.random, 100 * NUMBERS.0, 100 * NUMBERS.1);
                on_grid(Number::power_of_ten(-2).unwrap_or(Number::ONE), hundredths, kind)
            }
            (None, ColumnType::Text) => Value::Text(format!("{}-{}", self.name, 1 + below(&mut self.random, TEXTS))),
            (None, ColumnType::Boolean) => Value::Boolean(below(&mut self.random, 2) == 1),
            (None, kind @ ColumnType::Date) => {
                on_grid(Number::ONE, between(&mut self.random, FIRST_AND_LAST_DAY.0, FIRST_AND_LAST_DAY.1), kind)
            }
            (None, kind @ ColumnType::Timestamp) => {
                let (first, last) = FIRST_AND_LAST_DAY;
                let seconds = between(&mut self.random, first * SECONDS_PER_DAY, (last + 1) * SECONDS_PER_DAY - 1);
                on_grid(Number::ONE, seconds, kind)
            }
        }
    }
}

/// The value of a column of this type that is this number of steps of its grid.
fn on_grid(grid: Number, steps: i64, kind: ColumnType) -> Value {
    let number = grid.times(steps.into()).unwrap_or(Number::ZERO);
    match kind {
        ColumnType::Real => Value::Real(number.to_f64()),
        ColumnType::Decimal => Value::Decimal(number),
        ColumnType::Date => Value::Date(i32::try_from(number.floor()).unwrap_or(DAYS[1]).clamp(DAYS[0], DAYS[1])),
        ColumnType::Timestamp => {
            let time = number.floor().saturating_mul(MICROSECONDS_PER_SECOND);
            Value::Timestamp(time.clamp(MICROSECONDS[0], MICROSECONDS[1]))
        }
        // Bounds of other types are not declared.
        ColumnType::Integer | ColumnType::Text | ColumnType::Boolean => Value::Integer(number.floor()),
    }
}

/// A number from a hash, both ends included.
fn between(random: &mut blake3::OutputReader, low: i64, high: i64) -> i64 {
    low + below(random, high.abs_diff(low) + 1) as i64
}

/// A number from a hash below a limit. It is not a secret, and need not be exactly uniform.
fn below(random: &mut blake3::OutputReader, limit: u64) -> u64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    ((u128::from(u64::from_le_bytes(bytes)) * u128::from(limit)) >> 64) as u64
}
