//! The exact δ of a filter under the best adversary that is restricted to a grid of costs.

use taximeter_accounting::{Budget, FilterRule, residue_of};

use super::Bracket;
use super::graph::StateGraph;
pub use super::grid::Grid;
use super::solver::{End, Payoff, Range, Solution, Steps, StoppingProblem, most_kept, solve, widened};
use super::states::{graph, too_fine};
use crate::error::Error;

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
    pub fn all() -> impl Iterator<Item = Rule> {
        FilterRule::ALL.into_iter().map(Rule::Filter).chain([Rule::Optimal, Rule::RenyiMin])
    }

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
        objective == Objective::Dp || matches!(self, Rule::Filter(rule) if rule.is_pointwise())
    }
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

/// More numbers that are kept at the same time do not fit into memory: two gibibytes.
const MOST_KEPT: u64 = 1 << 28;

/// More losses than this do not either.
const MOST_LOSSES: i64 = 1 << 20;

/// How many cells a continuous state is cut into: at first, and then again as long as neither end decides.
fn cells(rule: Rule) -> &'static [usize] {
    match rule {
        // Beside the residue there is the reach.
        Rule::Filter(FilterRule::Residue) => &[1 << 13, 1 << 15, 1 << 17, 1 << 19],
        _ => &[1 << 17, 1 << 19, 1 << 20],
    }
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
    let at = |cells: usize| -> Result<WorstCase, Error> {
        let end = |end: End| {
            let graph = graph(rule, budget, grid, end, cells)?;
            if most_kept(&graph, widest) > MOST_KEPT { Err(too_fine()) } else { Ok(graph) }
        };
        Ok(worst_of(&[end(End::Lower)?, end(End::Upper)?], budget, grid, objective, progress))
    };
    let mut case = Err(too_fine());
    for &cells in cells(rule) {
        match at(cells) {
            // Too many cells: what fewer gave stands.
            Err(_) if case.is_ok() => break,
            finer => case = finer,
        }
        // Finer cells only where the ends stand on both sides of δ, and only if cells are what keeps them apart.
        let is_decided = |case: &WorstCase| {
            case.delta.lower > delta || case.delta.upper <= delta || case.delta.upper - case.delta.lower <= 1e-9 * delta
        };
        if case.as_ref().is_ok_and(is_decided) {
            break;
        }
    }
    case
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
        let problem = StoppingProblem { graph: &graphs[at], step: h, payoff: Payoff::Everywhere(payoff), steps, range };
        let solution = solve(&problem, end, &|done| progress((before + done) as f64 / total));
        let bracket = widened(&problem, solution.value);
        (solution, bracket)
    };
    let (strategy, lower) = run(0, End::Lower, 0);
    let (_, upper) = run(1, End::Upper, graphs[0].states());
    WorstCase { delta: Bracket { lower: lower.lower, upper: upper.upper.min(1.0) }, strategy }
}

/// The most that Σε² of what a filter admits can come to, with costs from a grid.
pub fn most_squares(rule: FilterRule, budget: &Budget, grid: &Grid) -> Result<f64, Error> {
    let rule = Rule::Filter(rule);
    let graph = cells(rule)
        .iter()
        .map(|&cells| graph(rule, budget, grid, End::Upper, cells))
        .find(Result::is_ok)
        .unwrap_or_else(|| Err(too_fine()))?;
    let squares = graph.furthest(|steps| steps * steps).into_iter().flatten().max().unwrap_or(0);
    Ok(f64::from(squares) * grid.h() * grid.h())
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
    let high = (steps(epsilon + 8.0 * deviation) + 4.0 * largest).min(most) as i64 + 1;
    Range { low: -high, high }
}
