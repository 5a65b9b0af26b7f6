//! The best adaptive adversary, backwards over the states of a rule:
//! W(C, l) = max(payoff(C, l), max_m p_m W(C⊕m, l+a) + (1−p_m) W(C⊕m, l−b)) over the moves that the rule admits.
//!
//! With the hockey-stick payoff (1 − e^{ε_g − hl})_+ randomized response is the worst mechanism (a = b = m), and W(start, 0) is the
//! exact δ. With a pointwise payoff it is not; then every two-point step with 0 < a, b ≤ m is tried as well.
//!
//! Only states that charges lead to are computed, and in each only losses that are within its charges. States that do not lead to each
//! other are computed in parallel, each with straight loops over l, and a state's values are kept until the last one that looks at
//! them is done.

use std::ops;

use rayon::prelude::*;

use super::Bracket;
use super::graph::StateGraph;

/// What the adversary plays for.
pub enum Payoff<'a> {
    /// The same in every state, by the loss in steps.
    Everywhere(&'a (dyn Fn(i64) -> f64 + Sync)),
    /// By state and loss.
    ByState(&'a (dyn Fn(usize, i64) -> f64 + Sync)),
}

/// The mechanisms that the adversary may use for a declared cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Randomized response: ±m.
    RandomizedResponse,
    /// Every two-point step up by a and down by b, 0 < a, b ≤ m.
    TwoPoint,
}

/// Which end is wanted where the range of losses is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Beyond the range the adversary stops.
    Lower,
    /// Beyond the upper end the adversary has won; beyond the lower end it is as well off as at it.
    Upper,
}

/// The range of losses that is followed, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest loss.
    pub low: i64,
    /// The largest loss.
    pub high: i64,
}

impl Range {
    fn width(self) -> usize {
        (self.high - self.low + 1) as usize
    }
}

/// What to solve.
pub struct StoppingProblem<'a> {
    /// The rule.
    pub graph: &'a StateGraph,
    /// h.
    pub step: f64,
    /// What the adversary plays for.
    pub payoff: Payoff<'a>,
    /// The mechanisms it has.
    pub steps: Steps,
    /// The losses that are followed.
    pub range: Range,
}

/// The value of the game and how it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// W(start, 0).
    pub value: f64,
    /// The first move of the best adversary in steps; nothing if it had better not play.
    pub first_move: Option<u32>,
    /// The best replies after ⊤ and after ⊥ of the first move.
    pub replies: [Option<u32>; 2],
}

/// One way to play a move: up by `a` with probability `p`, down by `b` otherwise.
struct Play {
    at: usize,
    a: i64,
    b: i64,
    p: f64,
    /// 1 − p, with its own digits.
    q: f64,
}

/// The values of one state: from some loss on.
#[derive(Default)]
struct StateRow {
    first: i64,
    values: Vec<f64>,
}

impl StateRow {
    /// `width` values from a loss on.
    fn from(&self, loss: i64, width: usize) -> &[f64] {
        &self.values[(loss - self.first) as usize..][..width]
    }
}

/// What is computed when, and kept how long.
struct Schedule {
    /// The largest loss in each state, in steps; nothing for a state that no charges lead to.
    reach: Vec<Option<u32>>,
    /// The last state that looks at each.
    last_use: Vec<usize>,
    /// States that do not lead to each other.
    batches: Vec<ops::Range<usize>>,
    /// How far beyond the range a move looks.
    pad: i64,
    range: Range,
}

impl Schedule {
    fn new(graph: &StateGraph, range: Range) -> Schedule {
        const LARGEST_BATCH: usize = 4096;
        let reach = graph.furthest(|steps| steps);
        let mut last_use = vec![0; graph.states()];
        let mut batches = Vec::new();
        let mut first = 0;
        for (state, reach) in reach.iter().enumerate() {
            if state - first == LARGEST_BATCH || graph.successors(state).any(|to| to >= first) {
                batches.push(first..state);
                first = state;
            }
            if reach.is_some() {
                graph.successors(state).for_each(|to| last_use[to] = state);
            }
        }
        batches.push(first..graph.states());
        // The replies to the first move are looked at in the end.
        for to in graph.successors(graph.start) {
            last_use[to] = usize::MAX;
            graph.successors(to).for_each(|reply| last_use[reply] = usize::MAX);
        }
        let pad = graph.moves.iter().copied().max().unwrap_or(0).into();
        Schedule { reach, last_use, batches, pad, range }
    }

    /// The losses that are kept of a state, and those of them within the range.
    fn window(&self, state: usize) -> Option<(Range, Range)> {
        let reach = i64::from(self.reach[state]?);
        let within = |beyond: i64| Range {
            low: (self.range.low - beyond).max(-reach),
            high: (self.range.high + beyond).min(reach),
        };
        Some((within(self.pad), within(0)))
    }

    /// The states that nothing looks at after a batch.
    fn done_with<'a>(
        &'a self,
        graph: &'a StateGraph,
        batch: &'a ops::Range<usize>,
    ) -> impl Iterator<Item = usize> + 'a {
        batch
            .clone()
            .filter(|&state| self.reach[state].is_some())
            .flat_map(|state| graph.successors(state))
            .filter(|&to| batch.contains(&self.last_use[to]))
    }
}

/// How many numbers are kept at the same time.
pub fn most_kept(graph: &StateGraph, range: Range) -> u64 {
    let schedule = Schedule::new(graph, range);
    let width = |state: usize| schedule.window(state).map_or(0, |(kept, _)| kept.width() as u64);
    let mut is_kept = vec![false; graph.states()];
    let (mut now, mut most) = (0, 0);
    for batch in &schedule.batches {
        for state in batch.clone() {
            now += width(state);
            is_kept[state] = true;
        }
        most = most.max(now);
        for state in schedule.done_with(graph, batch) {
            now -= if is_kept[state] { width(state) } else { 0 };
            is_kept[state] = false;
        }
    }
    most
}

/// Solves for one end. `progress` is told how many states are done.
pub fn solve(problem: &StoppingProblem, end: End, progress: &dyn Fn(usize)) -> Solution {
    let StoppingProblem { graph, range, .. } = problem;
    let plays = plays(problem);
    let schedule = Schedule::new(graph, *range);
    let everywhere: Option<Vec<f64>> = match problem.payoff {
        Payoff::Everywhere(payoff) => Some((range.low..=range.high).map(payoff).collect()),
        Payoff::ByState(_) => None,
    };
    let mut rows: Vec<StateRow> = Vec::new();
    rows.resize_with(graph.states(), StateRow::default);
    for batch in &schedule.batches {
        let compute = |state: usize| -> StateRow {
            let Some((kept, inner)) = schedule.window(state) else { return StateRow::default() };
            let mut row = StateRow { first: kept.low, values: vec![0.0; kept.width()] };
            let values = &mut row.values[(inner.low - kept.low) as usize..][..inner.width()];
            match &everywhere {
                Some(payoffs) => {
                    values.copy_from_slice(&payoffs[(inner.low - range.low) as usize..][..inner.width()]);
                }
                None => {
                    values.iter_mut().zip(inner.low..).for_each(|(value, loss)| *value = payoff(problem, state, loss))
                }
            }
            for play in &plays {
                if let Some(to) = graph.after(state, play.at) {
                    improve(values, &rows[to], play, inner.low);
                }
            }
            fill_pads(&mut row, problem, state, inner, end);
            row
        };
        let fresh: Vec<StateRow> = if batch.len() >= 8 {
            batch.clone().into_par_iter().with_min_len(4).map(compute).collect()
        } else {
            batch.clone().map(compute).collect()
        };
        for (state, row) in batch.clone().zip(fresh) {
            rows[state] = row;
        }
        for state in schedule.done_with(graph, batch) {
            rows[state] = StateRow::default();
        }
        progress(batch.end);
    }
    let best = |state: usize, loss: i64| best_move(problem, &plays, &rows, state, loss);
    let play = best(graph.start, 0);
    let reply = |up: bool| {
        let play = &plays[play?];
        let loss = if up { play.a } else { -play.b };
        let to = graph.after(graph.start, play.at)?;
        best(to, loss).map(|reply| graph.moves[plays[reply].at])
    };
    Solution {
        value: rows[graph.start].from(0, 1)[0],
        first_move: play.map(|play| graph.moves[plays[play].at]),
        replies: [reply(true), reply(false)],
    }
}

/// A value with the rounding errors of as many rounds as there can be.
pub(crate) fn widened(problem: &StoppingProblem, value: f64) -> Bracket {
    let rounds = problem.graph.furthest(|_| 1).into_iter().flatten().max().unwrap_or(0);
    Bracket::around(value, 8.0 * (f64::from(rounds) + 1.0), 0.0)
}

fn payoff(problem: &StoppingProblem, state: usize, loss: i64) -> f64 {
    match problem.payoff {
        Payoff::Everywhere(payoff) => payoff(loss),
        Payoff::ByState(payoff) => payoff(state, loss),
    }
}

fn plays(problem: &StoppingProblem) -> Vec<Play> {
    let h = problem.step;
    let mut plays = Vec::new();
    for (at, &m) in problem.graph.moves.iter().enumerate() {
        let m = i64::from(m);
        let sizes = match problem.steps {
            Steps::RandomizedResponse => m..=m,
            Steps::TwoPoint => 1..=m,
        };
        for a in sizes.clone() {
            for b in sizes.clone() {
                // (e^b − 1)/(e^b − e^{−a}), which is 1/(1 + e^{−m}) for a = b = m.
                let (up, down) = (core_math::expm1(-h * a as f64), core_math::expm1(h * b as f64));
                plays.push(Play { at, a, b, p: down / (down - up), q: -up / (down - up) });
            }
        }
    }
    plays
}

/// row[l] ← max(row[l], p·next[l+a] + (1−p)·next[l−b]): straight loops that a compiler can vectorise.
fn improve(row: &mut [f64], next: &StateRow, play: &Play, first: i64) {
    let width = row.len();
    let (up, down) = (next.from(first + play.a, width), next.from(first - play.b, width));
    let (p, q) = (play.p, play.q);
    for ((value, &up), &down) in row.iter_mut().zip(up).zip(down) {
        let candidate = p * up + q * down;
        *value = if candidate > *value { candidate } else { *value };
    }
}

/// What stands beyond the range.
fn fill_pads(row: &mut StateRow, problem: &StoppingProblem, state: usize, inner: Range, end: End) {
    let below = (inner.low - row.first) as usize;
    let above = below + inner.width();
    let lowest = if end == End::Upper { row.values[below] } else { 0.0 };
    row.values[..below].fill(lowest);
    for (value, loss) in row.values[above..].iter_mut().zip(inner.high + 1..) {
        *value = if end == End::Upper { 1.0 } else { payoff(problem, state, loss) };
    }
}

/// The best play in a state at a loss; nothing if stopping is as good.
fn best_move(problem: &StoppingProblem, plays: &[Play], rows: &[StateRow], state: usize, loss: i64) -> Option<usize> {
    let mut best = (payoff(problem, state, loss), None);
    for (at, play) in plays.iter().enumerate() {
        let Some(to) = problem.graph.after(state, play.at) else { continue };
        let value = |loss: i64| rows[to].from(loss, 1)[0];
        let candidate = play.p * value(loss + play.a) + play.q * value(loss - play.b);
        if candidate > best.0 {
            best = (candidate, Some(at));
        }
    }
    best.1
}
