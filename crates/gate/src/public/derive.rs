//! The bounds of a public column, and its values in steps of the grid: the least and the greatest value are known.

use crate::number::Number;
use crate::schema::{Bounds, ColumnType, Value};

/// The bounds of sorted values: the coarsest power of ten up to 1 that all values are on, or a coarser one if there are too many steps
/// to them. None for text and booleans.
pub(super) fn bounds(values: &[Value], kind: ColumnType) -> Option<Bounds> {
    let numbers: Vec<Number> = values.iter().map(number).collect::<Option<_>>()?;
    let (low, high) = (*numbers.first()?, *numbers.last()?);
    let grids: Vec<Number> = match kind {
        // A time is put on the step before it.
        ColumnType::Timestamp => [1, 60, 3600].map(Number::from_integer).into(),
        ColumnType::Date => vec![Number::ONE],
        _ => {
            let is_on = |grid: &Number| numbers.iter().all(|number| number.steps(*grid).is_some());
            let fraction = (-6..=0).rev().filter_map(Number::power_of_ten).find(is_on);
            fraction.into_iter().chain((1..18).filter_map(Number::power_of_ten)).collect()
        }
    };
    grids.into_iter().find_map(|grid| {
        let (least, greatest) = (low.floor_to(grid), high.floor_to(grid));
        // Bounds are two numbers, also around one value; and what is rounded up to a coarser grid stays below them.
        let needs_more = least == greatest || (greatest < high && kind != ColumnType::Timestamp);
        Bounds::new(least, if needs_more { greatest.plus(grid) } else { greatest }, grid).ok()
    })
}

/// A value in steps: times are rounded down, numbers to the nearest.
pub(super) fn steps_of(value: &Value, bounds: &Bounds) -> i64 {
    let (low, grid) = (bounds.low().units(), bounds.grid().units());
    let (low_steps, high_steps) = bounds.steps();
    let half = if matches!(value, Value::Timestamp(_)) { 0 } else { grid / 2 };
    let above = number(value).map_or(0, |number| (number.units() - low + half).div_euclid(grid));
    i64::try_from(above).map_or(high_steps, |above| (low_steps + above).clamp(low_steps, high_steps))
}

/// A value as a number: of days for dates, of seconds for times.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Integer(value) => Some(Number::from_integer(*value)),
        Value::Date(days) => Some(Number::from_integer((*days).into())),
        Value::Timestamp(microseconds) => Some(Number::from_millionths(*microseconds)),
        Value::Decimal(number) => Some(*number),
        Value::Boolean(_) | Value::Text(_) | Value::Real(_) => None,
    }
}
