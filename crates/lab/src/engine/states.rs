//! How the state of a rule looks on a grid of costs.
//!
//! Where it is a lattice (basic, whitehouse) the graph is exact. Elsewhere it is rounded: in favour of the adversary for the upper
//! end, and against it for the lower one.

use rayon::prelude::*;
use taximeter_accounting::reference::MixedRounds;
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, FineAmount, residue_after, residue_of,
};

use super::filters::Rule;
use super::graph::StateGraph;
use super::grid::Grid;
use super::solver::End;
use crate::error::Error;

/// The states of a rule on a grid, for one end. A state that is not a lattice is cut into about `cells` cells.
pub fn graph(rule: Rule, budget: &Budget, grid: &Grid, end: End, cells: usize) -> Result<StateGraph, Error> {
    let filter = |rule| Filter::new(FilterSpec::new(rule, *budget));
    match rule {
        Rule::Filter(rule @ FilterRule::Basic) => lattice(grid, filter(rule)?.count(&grid.cost(1))?.count, u64::from),
        Rule::Filter(rule @ FilterRule::Whitehouse) => lattice(grid, filter(rule)?.count(&grid.cost(1))?.count, square),
        Rule::Filter(rule @ FilterRule::Advanced) => {
            // K rises in S and in the mean; per unit of S the mean is least for the smallest cost and most for the largest.
            let filter = filter(rule)?;
            let (smallest, largest) = (grid.moves[0], grid.moves[grid.moves.len() - 1]);
            let capacity = match end {
                End::Upper => (filter.count(&grid.cost(smallest))?.count + 1) * square(smallest) - 1,
                End::Lower => filter.count(&grid.cost(largest))?.count * square(largest),
            };
            lattice(grid, capacity, square)
        }
        Rule::Filter(rule @ (FilterRule::Zcdp | FilterRule::Renyi)) => additive(grid, &filter(rule)?, end, cells),
        Rule::Filter(FilterRule::Residue) => {
            let start = residue_of(budget)?.approximate();
            in_cells(grid, budget.epsilon(), start, end, cells, |cost, tau, residue| {
                residue_after(cost.size(), tau, FineAmount::at_most(residue)?).map(FineAmount::approximate)
            })
        }
        Rule::Optimal => by_counts(grid, |costs| {
            // The tempting rule is asked with plain numbers: a rounding error must not decide about it.
            MixedRounds::new(costs).is_ok_and(|fixed| {
                fixed.optimal_delta(budget.epsilon()).value() <= budget.delta().approximate() * (1.0 + 1e-12)
            })
        }),
        Rule::RenyiMin => by_counts(grid, |costs| best_order_admits(costs, budget)),
    }
}

fn square(steps: u32) -> u64 {
    u64::from(steps) * u64::from(steps)
}

/// A budget of `capacity` units, of which each move takes a whole number. The state is what is left.
fn lattice(grid: &Grid, capacity: u64, price: impl Fn(u32) -> u64 + Sync) -> Result<StateGraph, Error> {
    if capacity > MOST_STATES {
        return Err(too_fine());
    }
    Ok(StateGraph::new(&grid.moves, capacity as usize + 1, |left, at| {
        left.checked_sub(usize::try_from(price(grid.moves[at])).ok()?)
    }))
}

/// More states than this take too long and too much memory.
const MOST_STATES: u64 = 1 << 24;
/// More cells than this do too, of which only some are states.
const MOST_CELLS: u128 = 1 << 28;

pub(crate) fn too_fine() -> Error {
    Error::GridTooFine
}

/// A rule that adds up prices, from the numbers that a filter shows: the price of each move in cells, rounded for one end.
fn additive(grid: &Grid, fresh: &Filter, end: End, cells: usize) -> Result<StateGraph, Error> {
    let shown = |filter: &Filter| {
        let state = filter.state();
        // The last two numbers are what is spent and the limit.
        (state[state.len() - 2].1, state[state.len() - 1].1)
    };
    let (_, limit) = shown(fresh);
    let mut prices = Vec::new();
    for &steps in &grid.moves {
        let mut filter = fresh.clone();
        // A cost that the rule does not admit even first has no price.
        if !filter.charge(&grid.cost(steps))?.continues() {
            prices.push(usize::MAX);
            continue;
        }
        let price = shown(&filter).0 / limit * cells as f64;
        // The numbers shown are right to the last digit or so; a little more is given way for.
        prices.push(match end {
            End::Upper => (price * (1.0 - 1e-12)).floor(),
            End::Lower => (price * (1.0 + 1e-12)).ceil(),
        } as usize);
        // Rounded down to nothing, a price would give the adversary everything.
        if prices.last() == Some(&0) {
            return Err(too_fine());
        }
    }
    Ok(StateGraph::new(&grid.moves, cells + 1, |left, at| left.checked_sub(prices[at])))
}

/// States (w, A) of a residue that starts somewhere and a reach that starts at 0 and matters up to a limit; `after` is what is left
/// of a residue after a cost at the level τ = limit − A.
///
/// A is a whole number of steps and so is exact; one state stands for all A from the limit on, where τ = 0. w is cut into cells and
/// rounded up for the upper end, down for the lower one. A larger residue admits all that a smaller one does, and leaves more of it:
/// so by induction the upper end is no smaller, and the lower one no larger, than the truth.
///
/// A charge leads to a smaller state because A rises; from the limit on, because w falls, by 8 ln cosh(ε/2) ≥ ε²/(1 + ε²/4) at
/// least, which must be more than a cell. Below the limit w may stay, and even be 0: there adding up admits a cost for every w.
/// Only what charges lead to is looked at, which is little while A is small.
///
/// Cells are a part of h²: from the limit on a price is a little above ε², so that rounding it down loses next to nothing.
pub fn in_cells(
    grid: &Grid,
    limit: Amount,
    start: f64,
    end: End,
    cells: usize,
    after: impl Fn(&Cost, Amount, f64) -> Option<f64> + Sync,
) -> Result<StateGraph, Error> {
    let square = grid.h() * grid.h();
    let size = square / (square * cells as f64 / start.max(1e-6 * square)).ceil();
    let smallest = square * f64::from(grid.moves[0]).powi(2);
    if smallest / (1.0 + smallest / 4.0) < 2.0 * size {
        return Err(too_fine());
    }
    let cells = Cells { grid, size, end, after };
    let start = cells.round(start / size, 1e-12 * start / size);
    let below = cells.below(limit, start)?;
    let all: Vec<usize> = (0..=start).collect();
    let at_limit = cells.targets(Amount::ZERO, &all);
    // The states at the limit are the first, then come those of falling A.
    let mut firsts = vec![start + 1; below.len()];
    for layer in (1..below.len()).rev() {
        firsts[layer - 1] = firsts[layer] + below[layer].own.len();
    }
    let states = start + 1 + below.iter().map(|layer| layer.own.len()).sum::<usize>();
    Ok(StateGraph::new(&grid.moves, states, |state, at| {
        if state <= start {
            return at_limit[at][state];
        }
        let layer = firsts.partition_point(|&first| first > state);
        let to = below[layer].targets[at][state - firsts[layer]]?;
        let above = layer + grid.moves[at] as usize;
        match below.get(above) {
            Some(layer) => layer.own.binary_search(&to).ok().map(|rank| firsts[above] + rank),
            None => Some(to),
        }
    }))
}

/// The states of one A below the limit.
struct Layer {
    /// Their cells, in rising order.
    own: Vec<usize>,
    /// For each move, the cell that it leads to from each of them.
    targets: Vec<Vec<Option<usize>>>,
}

/// Numbers that are rounded to cells for one end.
struct Cells<'a, F> {
    grid: &'a Grid,
    size: f64,
    end: End,
    after: F,
}

impl<F: Fn(&Cost, Amount, f64) -> Option<f64> + Sync> Cells<'_, F> {
    /// How far apart the cells are whose prices are computed.
    const APART: usize = 16;

    fn round(&self, value: f64, slack: f64) -> usize {
        match self.end {
            End::Upper => (value + slack).ceil() as usize,
            End::Lower => (value - slack).floor().max(0.0) as usize,
        }
    }

    /// What charges from a cell lead to while A is below the limit.
    fn below(&self, limit: Amount, start: usize) -> Result<Vec<Layer>, Error> {
        let layers = limit.units().div_ceil(self.grid.step.units());
        if layers.saturating_mul(start as u128 + 1) > MOST_CELLS {
            return Err(too_fine());
        }
        let mut reached = vec![vec![false; start + 1]; layers as usize];
        if let Some(first) = reached.first_mut() {
            first[start] = true;
        }
        let (mut below, mut states) = (Vec::new(), 0);
        for layer in 0..reached.len() {
            let own: Vec<usize> = (0..=start).filter(|&cell| reached[layer][cell]).collect();
            let reach = self.grid.step.checked_times(layer as u64);
            let tau = reach.and_then(|reach| limit.checked_sub(reach)).unwrap_or(Amount::ZERO);
            let targets = self.targets(tau, &own);
            for (targets, &steps) in targets.iter().zip(&self.grid.moves) {
                if let Some(above) = reached.get_mut(layer + steps as usize) {
                    targets.iter().flatten().for_each(|&to| above[to] = true);
                }
            }
            states += own.len() as u64;
            if states > MOST_STATES {
                return Err(too_fine());
            }
            below.push(Layer { own, targets });
        }
        Ok(below)
    }

    /// Where each move leads at a level from each of some cells, in rising order.
    fn targets(&self, tau: Amount, own: &[usize]) -> Vec<Vec<Option<usize>>> {
        self.grid.moves.iter().map(|&steps| self.targets_of(&self.grid.cost(steps), tau, own)).collect()
    }

    /// Where one cost leads.
    ///
    /// Between cells whose prices are computed the price is interpolated, where that is exact to a small part of a cell: the error is
    /// about an eighth of the second difference, and a quarter is given way for.
    fn targets_of(&self, cost: &Cost, tau: Amount, own: &[usize]) -> Vec<Option<usize>> {
        let price = |cell: usize| {
            let residue = self.size * cell as f64;
            (self.after)(cost, tau, residue).map(|rest| (residue - rest) / self.size)
        };
        let (first, last) =
            own.first().zip(own.last()).map_or((0, 0), |(first, last)| (first / Self::APART, last / Self::APART));
        let (first, count) = (first.saturating_sub(1), last + 4 - first);
        let nodes: Vec<Option<f64>> = match own.len() > 2 * count {
            true => (0..count).into_par_iter().map(|node| price((first + node) * Self::APART)).collect(),
            false => Vec::new(),
        };
        let interpolated = |cell: usize| {
            let at = (cell / Self::APART - first).checked_sub(1)?;
            let &[Some(before), Some(low), Some(high), Some(beyond)] = nodes.get(at..at + 4)? else { return None };
            let bend = (before - 2.0 * low + high).abs().max((low - 2.0 * high + beyond).abs());
            let share = (cell % Self::APART) as f64 / Self::APART as f64;
            (bend <= 0.1).then_some((low + (high - low) * share, 0.25 * bend))
        };
        own.par_iter()
            .with_min_len(64)
            .map(|&cell| {
                let (price, error) = interpolated(cell).or_else(|| Some((price(cell)?, 0.0)))?;
                // What is left is itself rounded, by at most 10⁻⁹.
                Some(self.round(cell as f64 - price, error + 1e-9 * cell as f64).min(cell))
            })
            .collect()
    }
}

/// The most charges of each cost that a rule by counts is followed for.
const MOST_OF_EACH: u64 = 2000;
/// Each of its states is a theorem evaluated.
const MOST_COUNTED_STATES: u64 = 200_000;

/// A rule that looks at the realised costs as a set: the state is how many there are of each. For one or two costs.
fn by_counts(grid: &Grid, admits: impl Fn(&[Cost]) -> bool + Sync) -> Result<StateGraph, Error> {
    if grid.moves.len() > 2 {
        let why = "this rule looks at all realised costs and is followed for one or two different ones; give two";
        return Err(Error::parameter("grid", why));
    }
    let kinds = grid.moves.clone();
    let costs = |counts: &[u64]| -> Vec<Cost> {
        counts.iter().zip(&kinds).flat_map(|(&count, &steps)| vec![grid.cost(steps); count as usize]).collect()
    };
    let alone = |kind: usize| {
        let mut counts = vec![0; kinds.len()];
        (1..=MOST_OF_EACH)
            .take_while(|&count| {
                counts[kind] = count;
                admits(&costs(&counts))
            })
            .count() as u64
    };
    let most: Vec<u64> = (0..kinds.len()).map(alone).collect();
    // Cut off, the counts would hide what the rule admits beyond them.
    if most.contains(&MOST_OF_EACH) || most.iter().map(|most| most + 1).product::<u64>() > MOST_COUNTED_STATES {
        return Err(too_fine());
    }
    let stride = |kind: usize| most[kind + 1..].iter().map(|most| most + 1).product::<u64>();
    let states = most.iter().map(|most| most + 1).product::<u64>();
    // State s stands for what is left of `most`: s = states − 1 is nothing charged.
    let counts_of = |state: u64| -> Vec<u64> {
        (0..kinds.len()).map(|kind| most[kind] - state / stride(kind) % (most[kind] + 1)).collect()
    };
    let admitted: Vec<bool> = (0..states).into_par_iter().map(|state| admits(&costs(&counts_of(state)))).collect();
    Ok(StateGraph::new(&kinds, states as usize, |state, at| {
        let counts = counts_of(state as u64);
        let to = (counts[at] < most[at]).then(|| state - stride(at) as usize)?;
        admitted[to].then_some(to)
    }))
}

/// Whether min over α of R_α + ln(1−1/α) + (ln(1/δ) − ln α)/(α−1) is at most ε_g.
fn best_order_admits(costs: &[Cost], budget: &Budget) -> bool {
    let log = -core_math::log(budget.delta().approximate());
    let mut sums: Vec<(f64, u64)> = Vec::new();
    for cost in costs {
        let epsilon = cost.size().approximate();
        match sums.last_mut() {
            Some((last, count)) if *last == epsilon => *count += 1,
            _ => sums.push((epsilon, 1)),
        }
    }
    let log_cosh = |x: f64| x + core_math::log1p(core_math::exp(-2.0 * x)) - std::f64::consts::LN_2;
    (0..400).any(|at| {
        let above_one = core_math::exp(-4.0 + 0.03 * f64::from(at));
        let alpha = 1.0 + above_one;
        let divergence: f64 = sums
            .iter()
            .map(|&(epsilon, count)| {
                count as f64 * (log_cosh((alpha - 0.5) * epsilon) - log_cosh(0.5 * epsilon)) / above_one
            })
            .sum();
        divergence + core_math::log1p(-1.0 / alpha) + (log - core_math::log(alpha)) / above_one
            <= budget.epsilon().approximate()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolated_prices_round_as_computed_ones_or_further() {
        let after = |cost: &Cost, tau, residue: f64| {
            residue_after(cost.size(), tau, FineAmount::at_most(residue)?).map(FineAmount::approximate)
        };
        let start = residue_of(&Budget::parse("1,1e-6").unwrap()).unwrap().approximate();
        let own: Vec<usize> = (0..=4096).collect();
        for (epsilon, tau) in [("0.01", "0.9"), ("0.04", "0.3"), ("0.08", "0.5"), ("0.08", "0")] {
            let (epsilon, tau) = (Amount::parse_exact(epsilon).unwrap(), Amount::parse_exact(tau).unwrap());
            let grid = Grid::new(&[epsilon]).unwrap();
            let cost = grid.cost(1);
            let [lower, upper] = [End::Lower, End::Upper]
                .map(|end| Cells { grid: &grid, size: start / 4096.0, end, after }.targets_of(&cost, tau, &own));
            for ((&cell, lower), upper) in own.iter().zip(lower).zip(upper) {
                let rest = after(&cost, tau, start / 4096.0 * cell as f64).map(|rest| rest / start * 4096.0);
                assert_eq!([lower.is_some(), upper.is_some()], [rest.is_some(); 2], "{cell}");
                let (Some(rest), Some(lower), Some(upper)) = (rest, lower, upper) else { continue };
                let is_close = (upper - lower) as f64 <= 2.0;
                assert!(lower as f64 <= rest && rest <= upper as f64 && is_close, "{cell}: {lower} {rest} {upper}");
            }
        }
    }
}
