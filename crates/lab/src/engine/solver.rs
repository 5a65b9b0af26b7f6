//! The best adaptive adversary, backwards over the states of a rule:
//! W(C, l) = max(payoff(C, l), max_m p_m W(C⊕m, l+a) + (1−p_m) W(C⊕m, l−b)) over the moves that the rule admits.
//!
//! With the hockey-stick payoff (1 − e^{ε_g − hl})_+ randomized response is the worst mechanism (a = b = m), and W(start, 0) is the
//! exact δ. With a pointwise payoff it is not; then every two-point step with 0 < a, b ≤ m is tried as well.
//!
//! Rows of states that do not depend on each other are computed in parallel, each with straight loops over l, and only as many
//! rows are kept as the longest move reaches back.

use std::collections::VecDeque;

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

/// What to solve.
pub struct Problem<'a> {
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

/// Solves for one end. `progress` is told how many states are done.
pub fn solve(problem: &Problem, end: End, progress: &dyn Fn(usize)) -> Solution {
    let Problem { graph, range, .. } = problem;
    let pad = graph.moves.iter().copied().max().unwrap_or(0) as usize;
    let width = (range.high - range.low + 1) as usize;
    let plays = plays(problem);
    let (gap, reach) = graph.strides();
    // Replies to the first move are two moves away from the start.
    let kept = 2 * reach + 1;
    let mut rows: VecDeque<Vec<f64>> = VecDeque::new();
    let mut first = 0;
    let mut spare: Vec<Vec<f64>> = Vec::new();
    let payoff_row =
        |state: usize| -> Vec<f64> { (range.low..=range.high).map(|loss| payoff(problem, state, loss)).collect() };
    let everywhere = matches!(problem.payoff, Payoff::Everywhere(_)).then(|| payoff_row(0));

    let mut state = 0;
    while state < graph.states() {
        let batch = gap.clamp(1, 4096).min(graph.states() - state);
        let mut fresh: Vec<Vec<f64>> =
            (0..batch).map(|_| spare.pop().unwrap_or_else(|| vec![0.0; width + 2 * pad])).collect();
        let compute = |(offset, row): (usize, &mut Vec<f64>)| {
            let own = state + offset;
            let by_state;
            let payoffs = match &everywhere {
                Some(row) => row,
                None => {
                    by_state = payoff_row(own);
                    &by_state
                }
            };
            row[pad..pad + width].copy_from_slice(payoffs);
            for play in &plays {
                if let Some(to) = graph.after(own, play.at) {
                    improve(&mut row[pad..pad + width], &rows[to - first], play, pad);
                }
            }
            fill_pads(row, problem, own, pad, end);
        };
        if batch * width >= 1 << 13 {
            fresh.par_iter_mut().enumerate().for_each(compute);
        } else {
            fresh.iter_mut().enumerate().for_each(compute);
        }
        rows.extend(fresh);
        state += batch;
        while rows.len() > kept.max(batch) {
            spare.extend(rows.pop_front());
            first += 1;
        }
        progress(state);
    }
    let best = |state: usize, loss: i64| best_move(problem, &plays, &rows, first, pad, state, loss);
    let at = |state: usize, loss: i64| rows[state - first][pad + (loss - range.low) as usize];
    let play = best(graph.start, 0);
    let reply = |up: bool| {
        let play = &plays[play?];
        let loss = if up { play.a } else { -play.b };
        let to = graph.after(graph.start, play.at)?;
        best(to, loss).map(|reply| graph.moves[plays[reply].at])
    };
    Solution {
        value: at(graph.start, 0),
        first_move: play.map(|play| graph.moves[plays[play].at]),
        replies: [reply(true), reply(false)],
    }
}

/// Both ends of one problem, widened by the rounding errors of the recursion.
pub fn bracket(problem: &Problem, progress: &dyn Fn(usize)) -> (Bracket, Solution) {
    let lower = solve(problem, End::Lower, progress);
    let upper = solve(problem, End::Upper, progress);
    (Bracket { lower: widened(problem, lower.value).lower, upper: widened(problem, upper.value).upper }, lower)
}

/// A value with the rounding errors of as many rounds as there can be.
pub(crate) fn widened(problem: &Problem, value: f64) -> Bracket {
    let (gap, _) = problem.graph.strides();
    let rounds = problem.graph.states() as f64 / gap.max(1) as f64;
    Bracket::around(value, 8.0 * (rounds + 1.0), 0.0)
}

fn payoff(problem: &Problem, state: usize, loss: i64) -> f64 {
    match problem.payoff {
        Payoff::Everywhere(payoff) => payoff(loss),
        Payoff::ByState(payoff) => payoff(state, loss),
    }
}

fn plays(problem: &Problem) -> Vec<Play> {
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
fn improve(row: &mut [f64], next: &[f64], play: &Play, pad: usize) {
    let width = row.len();
    let up = &next[pad + play.a as usize..][..width];
    let down = &next[pad - play.b as usize..][..width];
    let (p, q) = (play.p, play.q);
    for ((value, &up), &down) in row.iter_mut().zip(up).zip(down) {
        let candidate = p * up + q * down;
        *value = if candidate > *value { candidate } else { *value };
    }
}

/// What stands beyond the range.
fn fill_pads(row: &mut [f64], problem: &Problem, state: usize, pad: usize, end: End) {
    let width = row.len() - 2 * pad;
    let (below, above) = match end {
        End::Lower => (0.0, None),
        End::Upper => (row[pad], Some(1.0)),
    };
    row[..pad].fill(below);
    for at in 0..pad {
        let loss = problem.range.high + 1 + at as i64;
        row[pad + width + at] = above.unwrap_or_else(|| payoff(problem, state, loss));
    }
}

/// The best play in a state at a loss; nothing if stopping is as good.
fn best_move(
    problem: &Problem,
    plays: &[Play],
    rows: &VecDeque<Vec<f64>>,
    first: usize,
    pad: usize,
    state: usize,
    loss: i64,
) -> Option<usize> {
    let mut best = (payoff(problem, state, loss), None);
    for (at, play) in plays.iter().enumerate() {
        let Some(to) = problem.graph.after(state, play.at) else { continue };
        let row = rows.get(to.checked_sub(first)?)?;
        let value = |loss: i64| row.get((pad as i64 + loss - problem.range.low) as usize).copied().unwrap_or(0.0);
        let candidate = play.p * value(loss + play.a) + play.q * value(loss - play.b);
        if candidate > best.0 {
            best = (candidate, Some(at));
        }
    }
    best.1
}
