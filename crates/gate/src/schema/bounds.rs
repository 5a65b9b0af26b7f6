//! The range of a column's values, and the grid that they are put on.

use serde::{Deserialize, Serialize};

use super::ColumnType;
use super::calendar::{DAYS, SECONDS_PER_DAY};
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

    /// Bounds with the grid that a column has unless it is declared: 1 for whole numbers and days; for times the finest of a second, a
    /// minute and an hour; for decimal numbers the finest power of ten; for others a power of ten of which about a million steps
    /// reach the bounds, or a finer one that the bounds are on.
    pub fn with_default_grid(low: Number, high: Number, kind: ColumnType) -> Result<Bounds, Error> {
        match kind {
            ColumnType::Real => Bounds::with_a_million_steps(low, high),
            ColumnType::Decimal => {
                let grids = (-6..0).filter_map(Number::power_of_ten);
                let fitting = grids.map(|grid| Bounds::new(low, high, grid)).find(Result::is_ok);
                fitting.unwrap_or_else(|| Bounds::new(low, high, Number::ONE))
            }
            ColumnType::Timestamp => {
                // A time is put on the step before it, and so are the bounds.
                let on = |grid| Bounds::new(low.floor_to(grid), high.floor_to(grid), grid);
                let fitting = [1, 60].map(Number::from_integer).into_iter().map(on).find(Result::is_ok);
                fitting.unwrap_or_else(|| on(Number::from_integer(3600)))
            }
            _ => Bounds::new(low, high, Number::ONE),
        }
    }

    fn with_a_million_steps(low: Number, high: Number) -> Result<Bounds, Error> {
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

    /// Whether a column of this type can have them. Those of dates are in days since 1970-01-01, those of times in seconds.
    pub(super) fn check(&self, kind: ColumnType) -> Result<(), String> {
        let grid = self.grid;
        let numbers = [self.low, self.high, grid];
        let in_calendar = |unit: i64| {
            let day = |day: i32| Number::from_integer(i64::from(day) * unit);
            day(DAYS[0]) <= self.low && self.high <= day(DAYS[1] + 1)
        };
        let why = match kind {
            ColumnType::Text | ColumnType::Boolean => "which has no bounds; omit them".to_string(),
            ColumnType::Date if grid != Number::ONE => format!("whose grid is one day, not {grid}; omit the grid"),
            ColumnType::Integer if grid.to_integer().is_none() => {
                format!("so its grid must be a whole number, not {grid}")
            }
            ColumnType::Timestamp if grid.to_integer().is_none() => {
                format!("so its grid must be a whole number of seconds, not {grid}")
            }
            ColumnType::Date if !in_calendar(1) => "whose bounds are from 0001-01-01 to 9999-12-31".to_string(),
            ColumnType::Timestamp if !in_calendar(SECONDS_PER_DAY) => {
                "whose bounds are from 0001-01-01 to 9999-12-31".to_string()
            }
            ColumnType::Decimal if numbers.iter().any(|number| number.to_millionths().is_none()) => {
                "so its bounds and its grid have at most 12 digits before the point and 6 after it".to_string()
            }
            _ => return Ok(()),
        };
        Err(format!("it holds {kind}, {why}"))
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
}
