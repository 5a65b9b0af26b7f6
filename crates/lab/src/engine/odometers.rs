//! The exact probability that an odometer is ever exceeded by the best adaptive adversary on a grid of costs, for readings that are
//! functions of V = Σε_i².

use taximeter_accounting::Amount;

use super::Bracket;
use super::graph::StateGraph;
use super::grid::Grid;
use super::solver::{End, Payoff, Range, Steps, StoppingProblem, solve, widened};
use super::stopping::multiples_within;
use crate::boundary::Sides;

/// The probability that the loss ever violates `reading(V)` while V ≤ `largest`, for the best adversary with these costs.
pub fn worst(
    grid: &Grid,
    largest: Amount,
    sides: Sides,
    steps: Steps,
    reading: &(dyn Fn(f64) -> f64 + Sync),
) -> Bracket {
    let h = grid.step.approximate();
    let capacity = (largest.approximate() / (h * h) * (1.0 + 1e-12)).floor() as usize;
    let graph = StateGraph::new(&grid.moves, capacity + 1, |left, at| {
        left.checked_sub(grid.moves[at] as usize * grid.moves[at] as usize)
    });
    // In steps: the largest loss that is still within the reading, in each state; compared exactly.
    let steps_within =
        |left: usize| multiples_within(grid.step, reading((capacity - left) as f64 * h * h)).min(1 << 30);
    let within: Vec<i64> = (0..=capacity).map(steps_within).collect();
    let payoff = |state: usize, loss: i64| {
        let violated = (sides.has_above() && loss > within[state]) || (sides.has_below() && -loss > within[state]);
        f64::from(violated)
    };
    let largest_move = i64::from(grid.moves[grid.moves.len() - 1]);
    let high = within.iter().copied().max().unwrap_or(0) + 2 * largest_move;
    let range = Range { low: -high, high };
    let problem = StoppingProblem { graph: &graph, step: h, payoff: Payoff::ByState(&payoff), steps, range };
    let end = |end: End| widened(&problem, solve(&problem, end, &|_| {}).value);
    Bracket { lower: end(End::Lower).lower, upper: end(End::Upper).upper.min(1.0) }
}
