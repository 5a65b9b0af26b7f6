//! Bounds without looking: an owner who does not know the range of a column asks for it, and pays for the answer as anyone does.
//!
//! The question is a histogram over powers of two on both sides of 0. The suggestion spans the buckets that surely have rows.

use serde::Serialize;

use crate::document::{AnswerDocument, Cell};
use crate::error::Error;
use crate::number::Number;
use crate::question::quoted;
use crate::schema::{ColumnType, Value};

/// The largest power of two that a bucket ends at.
const LARGEST: i32 = 50;
/// The smallest one for numbers that are not whole.
const SMALLEST: i32 = -10;

/// Bounds that a noisy histogram suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SuggestedBounds {
    /// The lower end of the lowest bucket that surely has rows.
    pub low: Number,
    /// The upper end of the highest one.
    pub high: Number,
}

impl SuggestedBounds {
    /// The question to ask about a column.
    pub fn question(dataset: &str, column: &str, kind: ColumnType) -> Result<String, Error> {
        if !matches!(kind, ColumnType::Integer | ColumnType::Real) {
            let needs = format!("it holds {kind}; bounds are suggested for integer and real columns");
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
        let edges = edges(kind);
        let surely = |row: &Vec<Cell>| match row.as_slice() {
            [Cell::Group(Value::Integer(bucket)), Cell::Estimate(count)] => {
                // Twice the reach of the noise, since the largest of a hundred noises is looked at.
                let [low, high] = count.interval.as_ref()?.clone().map(|end| end.as_f64());
                let (low, high) = (low?, high?);
                (low - (high - low) / 2.0 > 0.0).then(|| usize::try_from(*bucket).ok()).flatten()
            }
            _ => None,
        };
        let buckets: Vec<usize> = answer.rows.iter().filter_map(surely).collect();
        let (first, last) = (*buckets.iter().min()?, *buckets.iter().max()?);
        let low = edges[first.saturating_sub(1).min(edges.len() - 1)];
        let high = edges[last.min(edges.len() - 1)];
        Some(SuggestedBounds { low, high })
    }
}

/// The ends of the buckets, from the lowest.
fn edges(kind: ColumnType) -> Vec<Number> {
    let smallest = if kind == ColumnType::Integer { 0 } else { SMALLEST };
    let powers: Vec<Number> = (smallest..=LARGEST).map(power_of_two).collect();
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
    use super::*;

    #[test]
    fn the_ends_of_buckets_ascend() {
        for kind in [ColumnType::Integer, ColumnType::Real] {
            let edges = edges(kind);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
        }
    }
}
