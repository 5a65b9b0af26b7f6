//! Bounds without looking: an owner who does not know the range of a column asks for it, and pays for the answer as anyone does.
//!
//! The question is a histogram over powers of two on both sides of 0. The suggestion spans the buckets that very probably have rows.

use std::fmt;

use serde::Serialize;
use taximeter_ledger::Computed;

use crate::document::{AnswerDocument, Cell, MeasuredPart};
use crate::error::Error;
use crate::noise::Noise;
use crate::number::Number;
use crate::question::quoted;
use crate::schema::{Bounds, ColumnType, Value};
use crate::statistics::NoiseLaw;

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

    /// What the answer to that question suggests; nothing if no bucket very probably has rows.
    pub fn from_answer(answer: &AnswerDocument, kind: ColumnType) -> Option<SuggestedBounds> {
        let edges = edges(kind);
        let [part] = answer.measured_parts()[..] else { return None };
        let least = least_count(law(part)?, edges.len() + 1);
        let surely = |row: &Vec<Cell>| match row.as_slice() {
            [Cell::Group(Value::Integer(bucket)), Cell::Estimate(count)] if count.nearest()? >= least => {
                usize::try_from(*bucket).ok()
            }
            _ => None,
        };
        let buckets: Vec<usize> = answer.rows.iter().filter_map(surely).collect();
        let (first, last) = (*buckets.iter().min()?, *buckets.iter().max()?);
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

/// In what share of all answers an empty bucket may be taken for one with rows.
const MISTAKEN: f64 = 0.01;

/// The least noisy count of a bucket that surely has rows: the smallest t ≥ 1 with P(noise ≥ t) ≤ 0.01 / buckets. So in at most one of a
/// hundred answers, an empty bucket is taken for one with rows.
fn least_count(noise: NoiseLaw, buckets: usize) -> f64 {
    noise.upper_quantile(MISTAKEN / buckets as f64) + 1.0
}

/// The law of the noise on a count, as the answer has it.
fn law(part: &MeasuredPart) -> Option<NoiseLaw> {
    let Computed(scale) = part.scale;
    match part.noise.as_str() {
        Noise::LAPLACE => Some(NoiseLaw::Laplace { scale }),
        Noise::GAUSSIAN => Some(NoiseLaw::Gaussian { sigma: scale }),
        _ => None,
    }
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
    use dashu::rational::RBig;
    use taximeter_noise::{DiscreteLaplace, Randomness};

    use super::*;
    use crate::declaration::Declaration;
    use crate::question::scalar::rational;

    const KINDS: [ColumnType; 3] = [ColumnType::Integer, ColumnType::Real, ColumnType::Decimal];

    #[test]
    fn the_ends_of_buckets_ascend() {
        for kind in KINDS {
            let edges = edges(kind);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
        }
    }

    /// Real numbers have 124 buckets. Of 2,000 answers, no more than 40 take an empty one for a full one; by chance, 20 do.
    #[test]
    fn empty_buckets_are_hardly_ever_taken_for_full_ones() {
        let buckets = edges(ColumnType::Real).len() + 1;
        assert_eq!(buckets, 124);
        for epsilon in ["0.1", "0.5", "1", "1.77", "2.5", "3.66", "3.7", "5", "7", "10"] {
            let noise = DiscreteLaplace::new(RBig::ONE / rational(Number::parse(epsilon).unwrap())).unwrap();
            let least = least_count(NoiseLaw::Laplace { scale: noise.scale().to_f64().value() }, buckets);
            let mistaken = |count: f64| buckets as f64 * noise.survival(count);
            assert!(mistaken(least) <= MISTAKEN, "{epsilon}: {least}");
            assert!(least == 1.0 || mistaken(least - 1.0) > MISTAKEN, "{epsilon}: {least}");
        }
        let noise = DiscreteLaplace::new("10".parse().unwrap()).unwrap();
        let (least, mut randomness) =
            (least_count(NoiseLaw::Laplace { scale: 10.0 }, buckets), Randomness::repeatable(5));
        let mut empty = || (0..buckets).any(|_| noise.sample(&mut randomness).unwrap() as f64 >= least);
        let taken = (0..2_000).filter(|_| empty()).count();
        assert!((5..40).contains(&taken), "{taken}");
    }

    #[test]
    fn a_count_with_gaussian_noise_has_a_threshold_too() {
        for sigma in [0.1, 0.3, 1.0, 20.0] {
            let law = NoiseLaw::Gaussian { sigma };
            let least = least_count(law, 124);
            assert!(124.0 * law.survival(least) <= MISTAKEN, "{sigma}: {least}");
            assert!(least == 1.0 || 124.0 * law.survival(least - 1.0) > MISTAKEN, "{sigma}: {least}");
        }
    }

    #[test]
    fn whatever_is_suggested_can_be_declared() {
        for kind in KINDS {
            let edges = edges(kind);
            let mut declaration = Declaration::of_rows("");
            declaration.add_type(&format!("x={kind}")).unwrap();
            declaration.add_bounds("x=0..200000").unwrap();
            // As registered data have it: with a grid, which the suggested bounds need not be on.
            let registered = Declaration::of(&declaration.with_types().unwrap());
            assert!(registered.columns()[0].grid.is_some());
            for (at, low) in edges.iter().enumerate() {
                for high in &edges[at + 1..] {
                    let suggested = SuggestedBounds::with_grid(*low, *high, kind);
                    assert!(suggested.low <= *low && *high <= suggested.high, "{kind}: {suggested}");
                    let mut declaration = registered.clone();
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
