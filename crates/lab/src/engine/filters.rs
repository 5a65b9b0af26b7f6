//! The exact δ of a filter under the best adversary that is restricted to a grid of costs.
//!
//! Basic composition beside a rule never helps the adversary: a path that ends with Σε_i ≤ ε_g has a loss of at most ε_g and so no
//! payoff, and on every other path the rule's own branch admitted each charge. So the rule's own branch is followed. Where its
//! state is a lattice (whitehouse, basic) the result is exact up to rounding errors; elsewhere the state is rounded in favour of
//! the adversary for the upper end and against it for the lower one.

use taximeter_accounting::reference::MixedRounds;
use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, residue_after, residue_of};

use super::Bracket;
use super::graph::StateGraph;
use super::solver::{End, Payoff, Problem, Range, Solution, Steps, solve, widened};
use crate::error::Error;
use crate::games::Decides;

/// A rule to attack: a valid one, or a tempting one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A filter of the library.
    Filter(FilterRule),
    /// The optimal composition of the realised costs. Invalid.
    Optimal,
    /// The best Rényi order for the realised costs. Invalid.
    RenyiMin,
}

impl Rule {
    /// Every rule, the valid ones first.
    pub const ALL: [Rule; 8] = [
        Rule::Filter(FilterRule::Basic),
        Rule::Filter(FilterRule::Advanced),
        Rule::Filter(FilterRule::Whitehouse),
        Rule::Filter(FilterRule::Zcdp),
        Rule::Filter(FilterRule::Renyi),
        Rule::Filter(FilterRule::Residue),
        Rule::Optimal,
        Rule::RenyiMin,
    ];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Filter(rule) => rule.name(),
            Rule::Optimal => "optimal",
            Rule::RenyiMin => "renyi-min",
        }
    }

    /// Whether the rule claims to be a filter.
    pub fn is_valid(self) -> bool {
        matches!(self, Rule::Filter(_))
    }

    /// Whether the rule promises what the adversary tries to break.
    pub fn claims(self, objective: Objective) -> bool {
        match objective {
            Objective::Dp => true,
            Objective::Pointwise => matches!(self, Rule::Filter(FilterRule::Basic | FilterRule::Advanced)),
        }
    }
}

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
            return Err(Error::new("a grid needs costs above 0, for instance 0.02,0.04,0.08"));
        }
        let step = units.iter().copied().fold(0, greatest_common_divisor);
        let most = units[units.len() - 1] / step;
        if most > Grid::LARGEST_MOVE {
            let advice = "choose costs that are small multiples of one step, for instance 0.02,0.04,0.08";
            return Err(Error::new(format!("the largest cost of the grid is {most} times its step; {advice}")));
        }
        let moves = units.iter().map(|&cost| (cost / step) as u32).collect();
        Ok(Grid { step: Amount::from_units(step), moves })
    }

    /// A cost of so many steps.
    pub fn cost(&self, steps: u32) -> Cost {
        Cost::Pure { epsilon: self.step.checked_times(steps.into()).unwrap_or(Amount::MAX) }
    }

    fn h(&self) -> f64 {
        self.step.approximate()
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// What the adversary tries to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// (ε_g, δ)-DP: E[(1 − e^{ε_g − Loss})_+].
    Dp,
    /// (ε_g, δ)-pointwise: P(|Loss| > ε_g), against two-point steps on the lattice of the grid. Finer steps may do a little more.
    Pointwise,
}

/// The best adversary's δ, and how it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstCase {
    /// δ.
    pub delta: Bracket,
    /// The best play for the lower end, which is a real strategy.
    pub strategy: Solution,
}

/// How a rule's states look on a grid, for one end.
///
/// A state that is not a lattice is cut into so many cells.
pub fn graph(rule: Rule, budget: &Budget, grid: &Grid, end: End, cells: usize) -> Result<StateGraph, Error> {
    let spec = |rule| FilterSpec::new(rule, *budget);
    match rule {
        Rule::Filter(FilterRule::Basic) => {
            let filter = Filter::new(spec(FilterRule::Basic))?;
            let capacity = filter.count(&grid.cost(1))?.count;
            lattice(grid, capacity, u64::from)
        }
        Rule::Filter(FilterRule::Whitehouse) => {
            let filter = Filter::new(spec(FilterRule::Whitehouse))?;
            let capacity = filter.counts(&grid.cost(1))?.0.count;
            lattice(grid, capacity, square)
        }
        Rule::Filter(FilterRule::Advanced) => {
            // K rises in S and in the mean; per unit of S the mean is least for the smallest cost and most for the largest.
            let filter = Filter::new(spec(FilterRule::Advanced))?;
            let (smallest, largest) = (grid.moves[0], grid.moves[grid.moves.len() - 1]);
            let capacity = match end {
                End::Upper => (filter.counts(&grid.cost(smallest))?.0.count + 1) * square(smallest) - 1,
                End::Lower => filter.counts(&grid.cost(largest))?.0.count * square(largest),
            };
            lattice(grid, capacity, square)
        }
        Rule::Filter(rule @ (FilterRule::Zcdp | FilterRule::Renyi)) => {
            additive(grid, &Filter::new(spec(rule))?, end, cells)
        }
        Rule::Filter(FilterRule::Residue) => {
            let start = residue_of(budget)?.approximate();
            // A step costs at least 8 ln cosh(ε/2) ≥ ε²/(1 + ε²/4), and must be more than a cell.
            let smallest = grid.cost(grid.moves[0]).size().approximate().powi(2);
            if smallest / (1.0 + smallest / 4.0) * cells as f64 <= 2.0 * start {
                return Err(too_fine());
            }
            Ok(in_cells(grid, start, end, cells, |cost, residue| {
                let residue = taximeter_accounting::FineAmount::at_most(residue)?;
                residue_after(cost.size(), residue).map(|rest| rest.approximate())
            }))
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

/// A budget of so many units, of which each move takes a whole number. The state is what is left.
fn lattice(grid: &Grid, capacity: u64, price: impl Fn(u32) -> u64 + Sync) -> Result<StateGraph, Error> {
    if capacity > MOST_STATES {
        return Err(too_fine());
    }
    Ok(StateGraph::new(&grid.moves, capacity as usize + 1, |left, at| {
        left.checked_sub(usize::try_from(price(grid.moves[at])).ok()?)
    }))
}

/// More numbers in the rows that are kept do not fit into memory: two gibibytes.
const MOST_KEPT: u64 = 1 << 28;

/// How many rows the solver keeps.
fn kept_rows(graph: &StateGraph) -> u64 {
    2 * graph.strides().1 as u64 + 1
}

/// More losses than this do too.
const MOST_LOSSES: i64 = 1 << 20;

/// More states than this take too long and too much memory.
const MOST_STATES: u64 = 1 << 24;

fn too_fine() -> Error {
    Error::new("the costs of the grid are too small for this budget; choose larger costs or a smaller budget")
}

/// How many cells a continuous state is cut into: at first, and then again as long as neither end decides.
const CELLS: [usize; 3] = [1 << 17, 1 << 19, 1 << 20];

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
        // A cost that the rule's own branch does not admit even first has no price.
        if fresh.counts(&grid.cost(steps))?.0.count == 0 {
            prices.push(usize::MAX);
            continue;
        }
        filter.charge(&grid.cost(steps))?;
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

/// A state that is a positive number, cut into cells from 0 to where it starts; `after` is what is left after a charge, which must be
/// at least a cell less.
pub fn in_cells(
    grid: &Grid,
    start: f64,
    end: End,
    cells: usize,
    after: impl Fn(&Cost, f64) -> Option<f64> + Sync,
) -> StateGraph {
    let way = if end == End::Upper { 1e-12 } else { -1e-12 };
    let size = start * (1.0 + way) / cells as f64;
    StateGraph::new(&grid.moves, cells + 1, |cell, at| {
        let rest = after(&grid.cost(grid.moves[at]), size * cell as f64)? / size;
        // The price itself is rounded, by at most 10⁻⁹ of it.
        let slack = 1e-9 * (cell as f64 - rest) + 1e-12 * rest;
        let to = match end {
            End::Upper => (rest + slack).ceil() as usize,
            End::Lower => (rest - slack).floor().max(0.0) as usize,
        };
        Some(to)
    })
}

/// The most charges of each cost that a rule by counts is followed for.
const MOST_OF_EACH: u64 = 2000;
/// Each of its states is a theorem evaluated.
const MOST_COUNTED_STATES: u64 = 200_000;

/// A rule that looks at the realised costs as a set: the state is how many there are of each. For one or two costs.
fn by_counts(grid: &Grid, admits: impl Fn(&[Cost]) -> bool + Sync) -> Result<StateGraph, Error> {
    if grid.moves.len() > 2 {
        return Err(Error::new(
            "this rule looks at all realised costs and is followed for one or two different ones; give two",
        ));
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
    let admitted: Vec<bool> = {
        use rayon::prelude::*;
        (0..states).into_par_iter().map(|state| admits(&costs(&counts_of(state)))).collect()
    };
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

/// The exact δ of the best adaptive adversary against a rule, with costs from a grid. `progress` is told a share of the work.
pub fn worst(
    rule: Rule,
    budget: &Budget,
    grid: &Grid,
    objective: Objective,
    progress: &dyn Fn(f64),
) -> Result<WorstCase, Error> {
    let delta = budget.delta().approximate();
    let widest = range(budget, grid, usize::MAX);
    if widest.high - widest.low > MOST_LOSSES {
        return Err(too_fine());
    }
    let at = |cells: usize, progress: &dyn Fn(f64)| -> Result<WorstCase, Error> {
        let end = |end: End| {
            let graph = graph(rule, budget, grid, end, cells)?;
            if kept_rows(&graph) * (widest.high - widest.low) as u64 > MOST_KEPT {
                return Err(too_fine());
            }
            Ok(graph)
        };
        Ok(worst_of(&[end(End::Lower)?, end(End::Upper)?], budget, grid, objective, progress))
    };
    let width = (widest.high - widest.low) as u64;
    let mut case = at(CELLS[0], progress)?;
    for cells in CELLS.into_iter().skip(1) {
        // Finer cells only where the ends stand on both sides of δ, and only if cells are what keeps them apart.
        let undecided = case.delta.lower <= delta && case.delta.upper > delta;
        if !undecided || case.delta.upper - case.delta.lower <= 1e-9 * delta {
            break;
        }
        // The rows that are kept grow with the cells; what does not fit is left undecided.
        if kept_rows(&graph(rule, budget, grid, End::Upper, cells)?) * width > MOST_KEPT {
            break;
        }
        case = at(cells, progress)?;
    }
    Ok(case)
}

/// The same for states of one's own: the graph for the lower end, and the graph for the upper end.
pub fn worst_of(
    graphs: &[StateGraph; 2],
    budget: &Budget,
    grid: &Grid,
    objective: Objective,
    progress: &dyn Fn(f64),
) -> WorstCase {
    let h = grid.h();
    let (step_units, epsilon_units) = (grid.step.units() as i128, budget.epsilon().units() as i128);
    let hockey_stick = move |loss: i64| {
        // ε_g − hl in exact units: where the two are close, a difference of numbers would lose its digits.
        let short = epsilon_units - step_units * i128::from(loss);
        (-core_math::expm1(short as f64 * 1e-30)).max(0.0)
    };
    // Exactly on integers: |loss|·h > ε_g.
    let within = (budget.epsilon().units() / grid.step.units()) as i64;
    let pointwise = move |loss: i64| f64::from(loss.abs() > within);
    let (payoff, steps): (&(dyn Fn(i64) -> f64 + Sync), Steps) = match objective {
        Objective::Dp => (&hockey_stick, Steps::RandomizedResponse),
        Objective::Pointwise => (&pointwise, Steps::TwoPoint),
    };
    let range = range(budget, grid, graphs[1].states());
    let total = graphs.iter().map(|graph| graph.states()).sum::<usize>() as f64;
    let run = |at: usize, end: End, before: usize| {
        let problem = Problem { graph: &graphs[at], step: h, payoff: Payoff::Everywhere(payoff), steps, range };
        let solution = solve(&problem, end, &|done| progress((before + done) as f64 / total));
        let bracket = widened(&problem, solution.value);
        (solution, bracket)
    };
    let (strategy, lower) = run(0, End::Lower, 0);
    let (_, upper) = run(1, End::Upper, graphs[0].states());
    WorstCase { delta: Bracket { lower: lower.lower, upper: upper.upper.min(1.0) }, strategy }
}

/// Losses far enough out that hardly any path gets there: some standard deviations of what the budget buys beyond ε_g, and below 0.
pub fn range(budget: &Budget, grid: &Grid, states: usize) -> Range {
    let h = grid.h();
    let epsilon = budget.epsilon().approximate();
    let deviation = residue_of(budget).map_or(epsilon, |variance| variance.approximate().sqrt());
    let largest = f64::from(grid.moves[grid.moves.len() - 1]);
    let steps = |value: f64| (value / h).ceil();
    // No path has more charges than there are states.
    let most = (states as f64 * largest).min(1e9);
    let high = (steps(epsilon + 8.0 * deviation) + 4.0 * largest).min(most);
    let low = (steps(8.0 * deviation + epsilon) + 4.0 * largest).min(most);
    Range { low: -(low as i64) - 1, high: high as i64 + 1 }
}

/// The best adversary against a filter that is asked itself, at every node of the tree of what it admits: exact, for small trees.
///
/// The adversary plays RR_{ε,δ} of the given costs, so that the mechanisms' own δ is part of the game:
/// W = max(stop, δ_i + (1−δ_i)(p W⁺ + (1−p) W⁻)).
pub fn follow<F: Decides + Clone>(filter: &F, costs: &[Cost], epsilon_g: f64) -> Result<f64, Error> {
    fn value<F: Decides + Clone>(
        filter: &F,
        costs: &[Cost],
        loss: f64,
        epsilon_g: f64,
        depth: u32,
    ) -> Result<f64, Error> {
        const DEEPEST: u32 = 12;
        if depth > DEEPEST {
            return Err(Error::new(format!(
                "the filter admits more than {DEEPEST} charges; give larger costs or a smaller budget"
            )));
        }
        let mut best = (-core_math::expm1(epsilon_g - loss)).max(0.0);
        for cost in costs {
            let mut next = filter.clone();
            if !next.admits(cost)? {
                continue;
            }
            let (size, delta) = (cost.size().approximate(), cost.delta().approximate());
            let p = super::probability_of_top(size);
            let up = value(&next, costs, loss + size, epsilon_g, depth + 1)?;
            let down = value(&next, costs, loss - size, epsilon_g, depth + 1)?;
            best = best.max(delta + (1.0 - delta) * (p * up + (1.0 - p) * down));
        }
        Ok(best)
    }
    value(filter, costs, 0.0, epsilon_g, 0)
}
