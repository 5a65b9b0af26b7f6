//! The range of a column's values, and the grid that they are put on.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ColumnType;
use crate::error::Error;
use crate::number::Number;

/// The range that values are clamped to, and the grid that they are put on before they are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    low: Number,
    high: Number,
    grid: Number,
}

impl Bounds {
    /// The most steps between 0 and a value on the grid, so that no sum overflows.
    pub const STEPS: i64 = 1 << 30;

    /// The bounds of a column, both on the grid.
    pub fn new(low: Number, high: Number, grid: Number) -> Result<Bounds, Error> {
        if low >= high {
            return Err(Error::schema(format!(
                "the bounds {low} and {high}: the lower one must be below the upper one"
            )));
        }
        if !grid.is_positive() {
            return Err(Error::schema(format!("the grid {grid} must be above 0")));
        }
        for bound in [low, high] {
            match bound.steps(grid) {
                None => {
                    return Err(Error::schema(format!(
                        "the bound {bound} is not on the grid of {grid}: make it a multiple of {grid}, or the grid finer"
                    )));
                }
                Some(steps) if !(-Bounds::STEPS..=Bounds::STEPS).contains(&steps) => {
                    return Err(Error::schema(format!(
                        "the bound {bound} is {steps} steps of {grid} away from 0, more than 2^30: choose a coarser grid"
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(Bounds { low, high, grid })
    }

    /// Bounds with the grid that a column has unless it is declared: 1 for whole numbers; for others a power of ten of which about a
    /// million steps reach the bounds, or a finer one that the bounds are on.
    pub fn with_default_grid(low: Number, high: Number, kind: ColumnType) -> Result<Bounds, Error> {
        if kind == ColumnType::Integer {
            return Bounds::new(low, high, Number::ONE);
        }
        let reach = low.abs().max(high.abs());
        let coarse = (-18..18).rev().find(|exponent| {
            Number::power_of_ten(*exponent)
                .and_then(|step| step.times(1_000_000))
                .is_some_and(|million| million <= reach)
        });
        let coarse = coarse.unwrap_or(-18);
        let fitting = (coarse - 3..=coarse).rev().filter_map(Number::power_of_ten);
        fitting.map(|grid| Bounds::new(low, high, grid)).find(Result::is_ok).unwrap_or_else(|| {
            Bounds::new(low, high, Number::ONE)?;
            Err(Error::schema(format!(
                "the bounds {low} and {high} need a grid: declare one of which they are multiples"
            )))
        })
    }

    /// The lower bound.
    pub fn low(&self) -> Number {
        self.low
    }

    /// The upper bound.
    pub fn high(&self) -> Number {
        self.high
    }

    /// The step of the grid.
    pub fn grid(&self) -> Number {
        self.grid
    }

    /// The bounds in steps of the grid.
    pub(crate) fn steps(&self) -> (i64, i64) {
        let steps = |bound: Number| bound.steps(self.grid).expect("both bounds are on the grid");
        (steps(self.low), steps(self.high))
    }

    /// The point of the grid in the middle, in steps.
    pub(crate) fn centre(&self) -> i64 {
        let (low, high) = self.steps();
        low + (high - low) / 2
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} in steps of {}", self.low, self.high, self.grid)
    }
}
