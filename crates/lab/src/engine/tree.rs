//! The best adversary against a filter that is asked itself, at every node of the tree of what it admits: exact, for small trees.
//!
//! The adversary plays, for each cost, the worst mechanism that has it:
//!
//! * ε-DP and (ε, δ)-DP: RR_{ε,δ}, so that W = max(stop, δ + (1−δ)(p W⁺ + (1−p) W⁻)).
//! * μ-GDP: a Gaussian that tells only in which of a few intervals its answer lies. That is a post-processing of a Gaussian, so the
//!   filter must withstand it; the Gaussian itself may do a little more.
//!
//! A refused request is a move too: if it changes the filter, the adversary may go on from there.

use std::f64::consts::FRAC_1_SQRT_2;

use taximeter_accounting::{Amount, Cost};

use super::{Bracket, probability_of_top};
use crate::error::Error;
use crate::games::Decides;
use crate::loss::Loss;

/// The δ at ε_g of the best adversary with these costs against a filter.
///
/// A filter that admits very many charges is followed until the tree has a few million nodes: then the lower end is what the adversary
/// has by then, and the upper end is 1.
pub fn follow<F: Decides + Clone + PartialEq>(filter: &F, costs: &[Cost], epsilon_g: Amount) -> Result<Bracket, Error> {
    let moves = costs.iter().map(Move::new).collect::<Result<Vec<Move>, Error>>()?;
    let mut tree = Tree { moves, epsilon_g, is_cut_off: true, work: 0 };
    let (mut value, mut rounds) = (0.0, 0);
    while tree.is_cut_off && tree.work < ENOUGH_WORK {
        rounds += 1;
        (tree.is_cut_off, tree.work) = (false, 0);
        value = tree.values(filter, &[Loss::ZERO], rounds)?[0];
    }
    // A few roundings for each round.
    Ok(Bracket::around(value, 8.0 * f64::from(rounds), if tree.is_cut_off { 1.0 } else { 0.0 }))
}

/// A tree of more nodes is not followed any deeper.
const ENOUGH_WORK: usize = 1 << 22;

struct Tree {
    moves: Vec<Move>,
    epsilon_g: Amount,
    /// Whether there is more below.
    is_cut_off: bool,
    /// How many nodes were visited.
    work: usize,
}

/// A cost, and the mechanism that is played for it.
struct Move {
    cost: Cost,
    /// The probability that the mechanism tells everything.
    leak: f64,
    /// Otherwise: probabilities under b = 0, and losses.
    outcomes: Vec<(f64, Loss)>,
}

impl Move {
    fn new(cost: &Cost) -> Result<Move, Error> {
        let outcomes = match (cost, cost.epsilon()) {
            (Cost::Gaussian { mu }, _) => binned_gaussian(mu.approximate()),
            (_, Some(epsilon)) => {
                let (size, units) = (epsilon.approximate(), epsilon.units() as i128);
                [(size, units), (-size, -units)]
                    .map(|(size, units)| (probability_of_top(size), Loss::from_units(units)))
                    .into()
            }
            _ => return Err(Error::parameter("costs", format!("{cost}: give costs of ε, of ε and δ, or Gaussians"))),
        };
        Ok(Move { cost: *cost, leak: cost.delta().approximate(), outcomes })
    }
}

impl Tree {
    /// What the best adversary achieves from each of some losses, with one state of the filter, in `left` more charges and refusals
    /// that change the filter.
    fn values<F: Decides + Clone + PartialEq>(
        &mut self,
        filter: &F,
        losses: &[Loss],
        left: u32,
    ) -> Result<Vec<f64>, Error> {
        self.work += losses.len();
        let payoff = |loss: &Loss| (-core_math::expm1(-loss.beyond(self.epsilon_g))).max(0.0);
        let mut best: Vec<f64> = losses.iter().map(payoff).collect();
        for at in 0..self.moves.len() {
            let Move { cost, leak, ref outcomes } = self.moves[at];
            let mut next = filter.clone();
            let is_admitted = next.admits(&cost)?;
            if !is_admitted && next == *filter {
                continue;
            }
            if left == 0 {
                self.is_cut_off = true;
                break;
            }
            let values = if is_admitted {
                let outcomes = outcomes.clone();
                let reached: Vec<Loss> =
                    losses.iter().flat_map(|&loss| outcomes.iter().map(move |outcome| loss + outcome.1)).collect();
                let mean = |values: &[f64]| outcomes.iter().zip(values).map(|((p, _), value)| p * value).sum::<f64>();
                let values = self.values(&next, &reached, left - 1)?;
                values.chunks(outcomes.len()).map(|values| leak + (1.0 - leak) * mean(values)).collect()
            } else {
                self.values(&next, losses, left - 1)?
            };
            best.iter_mut().zip(values).for_each(|(best, value)| *best = best.max(value));
        }
        Ok(best)
    }
}

/// The probabilities and losses of N(μ, 1) against N(0, 1), cut at four points about the middle between them.
fn binned_gaussian(mu: f64) -> Vec<(f64, Loss)> {
    const CUTS: [f64; 6] = [f64::NEG_INFINITY, -2.0, -0.7, 0.7, 2.0, f64::INFINITY];
    let normal = |x: f64| 0.5 * core_math::erfc(-x * FRAC_1_SQRT_2);
    let bins = CUTS.windows(2).map(|ends| {
        // In the upper half the tails are taken, which keep their digits.
        let (low, high) = if ends[0] < 0.0 { (ends[0], ends[1]) } else { (-ends[1], -ends[0]) };
        let mass = |shift: f64| normal(high + shift) - normal(low + shift);
        let masses = (mass(-0.5 * mu), mass(0.5 * mu));
        if ends[0] < 0.0 { masses } else { (masses.1, masses.0) }
    });
    bins.map(|(zero, one)| (zero, Loss::from_real(core_math::log(zero / one)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binned_gaussian_is_a_pair_of_distributions() {
        for mu in [0.05, 0.3, 1.0, 3.0] {
            let bins = binned_gaussian(mu);
            let zero: f64 = bins.iter().map(|bin| bin.0).sum();
            let one: f64 = bins.iter().map(|bin| bin.0 * core_math::exp(-bin.1.value())).sum();
            assert!((zero - 1.0).abs() < 1e-15 && (one - 1.0).abs() < 1e-15, "{mu}: {zero} {one}");
            // P(x < μ/2 − 2) under N(μ, 1), and the mirror image of the other world.
            assert!((bins[0].0 - 0.5 * core_math::erfc((2.0 + 0.5 * mu) * FRAC_1_SQRT_2)).abs() < 1e-16);
            assert!((bins[0].1.value() + bins[4].1.value()).abs() < 1e-13);
        }
    }
}
