//! Bounds without looking: an owner who does not know the range of a column asks for it, and pays for the answer as anyone does.
//!
//! The question is a histogram over powers of two on both sides of 0. The suggestion spans the buckets that surely have rows.

use std::fmt;

use serde::Serialize;

use crate::document::{AnswerDocument, Cell};
use crate::error::Error;
use crate::number::Number;
use crate::question::quoted;
use crate::schema::{Bounds, ColumnType, Value};

/// Bounds that a noisy histogram suggests. They can be declared as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SuggestedBounds {
    /// The lower end of the lowest bucket that surely has rows.
    pub low: Number,
    /// The upper end of the highest one.
    pub high: Number,
    /// The grid, if the column's default grid has too many steps in these bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Number>,
}

impl SuggestedBounds {
    /// The question to ask about a column.
    pub fn question(dataset: &str, column: &str, kind: ColumnType) -> Result<String, Error> {
        if smallest(kind).is_none() {
            let needs = format!("it holds {kind}; bounds are suggested for integer, real and decimal columns");
            return Err(Error::value("column", column, needs));
        }
        let name = quoted(column);
        let edges = edges(kind);
        let buckets = edges.iter().enumerate().map(|(bucket, edge)| format!("WHEN {name} < {edge} THEN {bucket}"));
        let buckets = buckets.collect::<Vec<_>>().join(" ");
        Ok(format!(
            "SELECT CASE {buckets} WHEN {name} IS NOT NULL THEN {} END AS bucket, COUNT(*) AS n FROM {} GROUP BY bucket",
            edges.len(),
            quoted(dataset)
        ))
    }

    /// What the answer to that question suggests; nothing if no bucket surely has rows.
    pub fn from_answer(answer: &AnswerDocument, kind: ColumnType) -> Option<SuggestedBounds> {
        let surely = |row: &Vec<Cell>| match row.as_slice() {
            [Cell::Group(Value::Integer(bucket)), Cell::Estimate(count)] => {
                let [low, high] = count.interval.as_ref()?.clone().map(|end| end.as_f64());
                surely_has_rows([low?, high?]).then(|| usize::try_from(*bucket).ok()).flatten()
            }
            _ => None,
        };
        let buckets: Vec<usize> = answer.rows.iter().filter_map(surely).collect();
        let (first, last) = (*buckets.iter().min()?, *buckets.iter().max()?);
        let edges = edges(kind);
        // What is beyond the outermost edges is clamped to the bucket beside them.
        let low = edges[first.clamp(1, edges.len() - 1) - 1];
        let high = edges[last.clamp(1, edges.len() - 1)];
        Some(SuggestedBounds::with_grid(low, high, kind))
    }

    /// The same bounds where they are on the column's default grid, and otherwise with the finest power of two as the grid that has few
    /// enough steps; an end that is not on it moves outwards.
    fn with_grid(low: Number, high: Number, kind: ColumnType) -> SuggestedBounds {
        if Bounds::with_default_grid(low, high, kind).is_ok() {
            return SuggestedBounds { low, high, grid: None };
        }
        let on = |grid: Number| {
            let high = Number::ZERO.minus(Number::ZERO.minus(high).floor_to(grid));
            SuggestedBounds { low: low.floor_to(grid), high, grid: Some(grid) }
        };
        let grids = (smallest(kind).unwrap_or(0)..=LARGEST).map(power_of_two);
        let fits = |bounds: &SuggestedBounds| {
            bounds.grid.is_some_and(|grid| Bounds::new(bounds.low, bounds.high, grid).is_ok())
        };
        grids.map(on).find(fits).unwrap_or(SuggestedBounds { low, high, grid: None })
    }
}

impl fmt::Display for SuggestedBounds {
    /// As a declaration writes them: `0..1024`, or with a grid `0..1099511627776/1024`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.low, self.high)?;
        self.grid.map_or(Ok(()), |grid| write!(f, "/{grid}"))
    }
}

/// Whether a noisy count with this 95% interval is that of rows: if it is above three times the reach of the noise. That is nine scales,
/// and one of a hundred empty buckets is that large in less than one of a hundred answers.
fn surely_has_rows([low, high]: [f64; 2]) -> bool {
    low - (high - low) > 0.0
}

/// The largest power of two that a bucket ends at.
const LARGEST: i32 = 50;
/// The largest one for decimal numbers, which are below 10¹².
const LARGEST_DECIMAL: i32 = 39;

/// The smallest power of two that a bucket ends at; nothing for types without bounds on numbers. That of decimal numbers has six decimal
/// places, the most that they may have.
fn smallest(kind: ColumnType) -> Option<i32> {
    match kind {
        ColumnType::Integer => Some(0),
        ColumnType::Decimal => Some(-6),
        ColumnType::Real => Some(-10),
        ColumnType::Text | ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp => None,
    }
}

/// The ends of the buckets, from the lowest.
fn edges(kind: ColumnType) -> Vec<Number> {
    let largest = if kind == ColumnType::Decimal { LARGEST_DECIMAL } else { LARGEST };
    let powers: Vec<Number> = (smallest(kind).unwrap_or(0)..=largest).map(power_of_two).collect();
    let negative = powers.iter().rev().map(|power| Number::ZERO.minus(*power));
    negative.chain([Number::ZERO]).chain(powers.iter().copied()).collect()
}

fn power_of_two(exponent: i32) -> Number {
    let text = match u32::try_from(exponent) {
        Ok(exponent) => (1i64 << exponent).to_string(),
        Err(_) => format!("{}", 1.0 / f64::from(1u32 << exponent.unsigned_abs())),
    };
    Number::parse(&text).expect("a power of two has few digits")
}

#[cfg(test)]
mod tests {
    use taximeter_noise::{DiscreteLaplace, Randomness};

    use super::*;
    use crate::declaration::Declaration;

    const KINDS: [ColumnType; 3] = [ColumnType::Integer, ColumnType::Real, ColumnType::Decimal];

    #[test]
    fn the_ends_of_buckets_ascend() {
        for kind in KINDS {
            let edges = edges(kind);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
        }
    }

    /// The noise of 123 buckets, as many as real numbers have, in 2,000 answers.
    #[test]
    fn empty_buckets_are_hardly_ever_taken_for_full_ones() {
        let noise = DiscreteLaplace::new("10".parse().unwrap()).unwrap();
        let (reach, mut randomness) = (noise.half_width(0.05) as f64, Randomness::repeatable(5));
        let (mut taken, mut above_twice_the_reach) = (0, 0);
        for _ in 0..2_000 {
            let noises = (0..123).map(|_| noise.sample(&mut randomness).unwrap() as f64);
            let largest = noises.fold(f64::MIN, f64::max);
            taken += u32::from(surely_has_rows([largest - reach, largest + reach]));
            above_twice_the_reach += u32::from(largest > 2.0 * reach);
        }
        assert!(taken < 40 && above_twice_the_reach > 200, "{taken}, {above_twice_the_reach}");
    }

    #[test]
    fn whatever_is_suggested_can_be_declared() {
        for kind in KINDS {
            let edges = edges(kind);
            for (at, low) in edges.iter().enumerate() {
                for high in &edges[at + 1..] {
                    let suggested = SuggestedBounds::with_grid(*low, *high, kind);
                    assert!(suggested.low <= *low && *high <= suggested.high, "{kind}: {suggested}");
                    let mut declaration = Declaration::of_rows("");
                    declaration.add_type(&format!("x={kind}")).unwrap();
                    declaration.add_bounds(&format!("x={suggested}")).unwrap();
                    let schema =
                        declaration.with_types().unwrap_or_else(|error| panic!("{kind}: {suggested}: {error}"));
                    let bounds = schema.columns[0].bounds.unwrap();
                    assert_eq!((bounds.low(), bounds.high()), (suggested.low, suggested.high), "{kind}: {suggested}");
                }
            }
        }
    }
}
