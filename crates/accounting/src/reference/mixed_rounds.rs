//! *Optimal composition of different costs, fixed in advance.* Murtagh, Vadhan, TCC 2016-A, Theorem 1.5:
//! δ(ε_g) = 1 − Π(1−δ_i)(1 − Σ_{T⊆[k]} max(e^{Σ_T ε} − e^{ε_g} e^{Σ_{T^c} ε}, 0)/Π(1+e^{ε_i})).
//!
//! Computing it is #P-hard in general. Equal costs are grouped, so that a group of k has k + 1 outcomes; while all groups
//! together have few outcomes the sum is taken as it stands. Beyond that the losses are added on a grid, each group's rounded
//! up, which gives an upper bound.

use super::FixedInAdvance;
use super::binomial::Binomial;
use crate::amount::Amount;
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::{Interval, smallest_float_where};

/// Different (ε, δ)-DP costs, all fixed in advance.
#[derive(Clone, Debug)]
pub struct MixedRounds {
    /// Each ε once, with how often it stands.
    groups: Groups,
    /// Each δ with how often it stands.
    deltas: Groups,
    losses: Losses,
}

/// Amounts in rising order, each with how often it stands.
type Groups = Vec<(Amount, u64)>;

/// The distribution of the loss of all rounds together.
#[derive(Clone, Debug)]
enum Losses {
    /// Every outcome of all groups together.
    Exact(Vec<(Interval, Interval)>),
    /// Probabilities on a grid, rounded up, with what lies beyond it.
    Grid { first: f64, step: f64, probabilities: Vec<f64>, beyond: f64 },
}

/// The most outcomes of which the sum is taken as it stands.
const EXACT_OUTCOMES: u64 = 200_000;
/// The cells of the grid, at the least: each group is rounded up by one of them, so that many groups need more.
const CELLS: usize = 1 << 15;

impl MixedRounds {
    /// These costs, in any order; an error if one has no finite ε.
    pub fn new(costs: &[Cost]) -> Result<MixedRounds, Error> {
        let (mut groups, mut deltas) = (Groups::new(), Groups::new());
        let add = |list: &mut Groups, amount: Amount| match list.binary_search_by_key(&amount, |entry| entry.0) {
            Ok(at) => list[at].1 += 1,
            Err(at) => list.insert(at, (amount, 1)),
        };
        for cost in costs {
            let epsilon = super::epsilon_of(cost)?;
            if !epsilon.is_zero() {
                add(&mut groups, epsilon);
            }
            if !cost.delta().is_zero() {
                add(&mut deltas, cost.delta());
            }
        }
        let outcomes = groups.iter().try_fold(1u64, |product, group| product.checked_mul(group.1 + 1));
        let losses = match outcomes {
            Some(outcomes) if outcomes <= EXACT_OUTCOMES => exact(&groups),
            _ => on_a_grid(&groups),
        };
        Ok(MixedRounds { groups, deltas, losses })
    }

    /// *Advanced composition* of different costs: Dwork, Rothblum, Vadhan, FOCS 2010, as generalised by Kairouz, Oh, Viswanath,
    /// arXiv:1311.0776v4: Σε_i(e^{ε_i}−1) + √(2Σε_i² ln(1/δ̂)) with δ̂ = δ_g − Σδ_i. Nothing if there is no δ̂ > 0.
    pub fn advanced_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        let left = delta_g.checked_sub(sum_of(&self.deltas)?).filter(|left| !left.is_zero())?;
        let (mut mean, mut squares) = (Interval::ZERO, Interval::ZERO);
        for &(epsilon, count) in &self.groups {
            let (epsilon, count) = (epsilon.interval(), Interval::around(count as f64, 1));
            mean = mean + count * epsilon * epsilon.exp_m1();
            squares = squares + count * epsilon.square();
        }
        Some(FixedInAdvance((mean + (-2.0 * squares * left.interval().ln()).sqrt()).hi()))
    }

    /// δ(ε_g), rounded up.
    pub fn optimal_delta(&self, epsilon_g: Amount) -> FixedInAdvance {
        FixedInAdvance(self.delta_at(epsilon_g.interval()).hi().min(1.0))
    }

    /// The smallest ε_g with δ(ε_g) ≤ δ_g, rounded up; nothing if there is none.
    pub fn optimal_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        let most = sum_of(&self.groups)?.upper();
        let fits = |epsilon: f64| self.delta_at(Interval::point(epsilon)).hi() <= delta_g.interval().lo();
        // At the sum of all ε at most Σδ_i is left, whatever rounding makes of it.
        let by_basic = || sum_of(&self.deltas).filter(|&sum| sum <= delta_g).map(|_| most);
        smallest_float_where(most, fits).or_else(by_basic).map(FixedInAdvance)
    }

    fn delta_at(&self, epsilon_g: Interval) -> Interval {
        let sum = match &self.losses {
            Losses::Exact(outcomes) => outcomes.iter().fold(Interval::ZERO, |sum, &(loss, probability)| {
                let excess = loss - epsilon_g;
                if excess.hi() <= 0.0 { sum } else { sum + probability * (-(-excess).exp_m1()).not_negative() }
            }),
            Losses::Grid { first, step, probabilities, beyond } => {
                let tail = probabilities.iter().enumerate().rev().map_while(|(cell, &probability)| {
                    let excess = first + step * cell as f64 - epsilon_g.lo();
                    (excess > 0.0).then(|| probability * -core_math::expm1(-excess))
                });
                // Each term and each sum is rounded at most a few times.
                let sum = tail.sum::<f64>() * (1.0 + probabilities.len() as f64 * f64::EPSILON) + beyond;
                Interval::between(0.0, sum.next_up())
            }
        };
        let kept = self.deltas.iter().fold(Interval::ZERO, |log, &(delta, count)| {
            log + Interval::around(count as f64, 1) * (-delta.interval()).ln_1p()
        });
        let leak = if self.deltas.is_empty() { Interval::ZERO } else { -kept.exp_m1() };
        sum + (1.0 - sum).not_negative() * leak
    }
}

/// The sum of all of them; nothing if it is too large to hold.
fn sum_of(groups: &Groups) -> Option<Amount> {
    groups.iter().try_fold(Amount::ZERO, |sum, group| sum.checked_add(group.0.checked_times(group.1)?))
}

/// Every outcome: its loss and its probability.
fn exact(groups: &[(Amount, u64)]) -> Losses {
    let mut outcomes = vec![(Interval::ZERO, Interval::ONE)];
    for &(epsilon, rounds) in groups {
        let binomial = Binomial::new(epsilon.interval(), rounds);
        let mut next = Vec::with_capacity(outcomes.len() * binomial.outcomes.len());
        for &(loss, probability) in &outcomes {
            for outcome in &binomial.outcomes {
                let net = rounds as f64 - 2.0 * outcome.count as f64;
                next.push((loss + net * epsilon.interval(), probability * outcome.probability));
            }
        }
        // What the group left out counts with its largest loss, whatever the others lose.
        let left_out = binomial.below + binomial.above;
        if left_out > 0.0 {
            next.push((Interval::point(f64::INFINITY), Interval::between(0.0, left_out)));
        }
        outcomes = next;
    }
    Losses::Exact(outcomes)
}

/// The losses added on a grid of cells, each group's rounded up to the next one.
fn on_a_grid(groups: &[(Amount, u64)]) -> Losses {
    let (mut most, mut variance) = (0.0f64, 0.0f64);
    for &(epsilon, rounds) in groups {
        let (epsilon, rounds) = (epsilon.interval().hi(), rounds as f64);
        most += epsilon * rounds;
        variance += epsilon * epsilon * rounds;
    }
    // Losses beyond fourteen standard deviations from their mean are rarer than any δ; they count as infinite.
    let range = (most * 1.000_001).min(0.5 * variance + 14.0 * variance.sqrt());
    let cells = CELLS.max(8 * groups.len());
    let step = 2.0 * range / (cells - 2 * groups.len() - 2) as f64;
    let first = -range;
    let mut probabilities = vec![0.0; cells];
    let mut beyond = 0.0f64;
    let cell_of = |loss: f64| ((loss - first) / step).ceil();
    probabilities[cell_of(0.0) as usize] = 1.0;
    for &(epsilon, rounds) in groups {
        let binomial = Binomial::new(epsilon.interval(), rounds);
        let mut next = vec![0.0; cells];
        beyond += binomial.below;
        let moves = binomial.outcomes.iter().map(|outcome| {
            let net = rounds as f64 - 2.0 * outcome.count as f64;
            (((net * epsilon.interval()).hi() / step).ceil(), outcome.probability.hi())
        });
        // What was left out below the smallest loss counts with the smallest one listed.
        let lowest = binomial.outcomes.len() - 1;
        for (at, (by, probability)) in moves.enumerate() {
            let probability = if at == lowest { probability + binomial.above } else { probability };
            for (cell, &mass) in probabilities.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let to = cell as f64 + by;
                let part = mass * probability;
                match to {
                    to if to < 0.0 => next[0] += part,
                    to if to >= cells as f64 => beyond += part,
                    to => next[to as usize] += part,
                }
            }
        }
        // A cell is a sum of at most as many rounded products as there are cells.
        let widen = 1.0 + 2.0 * cells as f64 * f64::EPSILON;
        next.iter_mut().for_each(|mass| *mass *= widen);
        beyond *= widen;
        probabilities = next;
    }
    Losses::Grid { first: first + step, step, probabilities, beyond }
}
