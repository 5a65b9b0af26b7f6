//! The costs among which an adversary may choose.

use taximeter_accounting::{Amount, Cost};

use crate::error::Error;

/// Costs that are multiples of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// h.
    pub step: Amount,
    /// The costs in steps, rising.
    pub moves: Vec<u32>,
}

impl Grid {
    /// The largest cost in steps: the work grows with it, and with its square for two-point steps.
    pub const LARGEST_MOVE: u128 = 10_000;

    /// The coarsest lattice that holds all of these costs.
    pub fn new(costs: &[Amount]) -> Result<Grid, Error> {
        let mut units: Vec<u128> = costs.iter().map(|cost| cost.units()).collect();
        units.sort_unstable();
        units.dedup();
        if units.first().is_none_or(|&smallest| smallest == 0) {
            return Err(Error::parameter("grid", "a grid needs costs above 0, for instance 0.02,0.04,0.08"));
        }
        let step = units.iter().copied().fold(0, greatest_common_divisor);
        let most = units[units.len() - 1] / step;
        if most > Grid::LARGEST_MOVE {
            let advice = "choose costs that are small multiples of one step, for instance 0.02,0.04,0.08";
            let why = format!("the largest cost of the grid is {most} times its step; {advice}");
            return Err(Error::parameter("grid", why));
        }
        let moves = units.iter().map(|&cost| (cost / step) as u32).collect();
        Ok(Grid { step: Amount::from_units(step), moves })
    }

    /// A cost of a number of steps.
    pub fn cost(&self, steps: u32) -> Cost {
        Cost::Pure { epsilon: self.step.checked_times(steps.into()).unwrap_or(Amount::MAX) }
    }

    /// h as a number.
    pub(crate) fn h(&self) -> f64 {
        self.step.approximate()
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
