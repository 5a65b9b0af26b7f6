//! Composition fixed in advance.

use super::{CLOSE, Outcome, RESOLVED, Random, at_the_edge, certify, just_above};
use crate::amount::Amount;
use crate::cost::Cost;
use crate::reference::{FixedRounds, MixedRounds};
use crate::tests::high_precision::{self as truth, Exact, Real, Wide};

/// A level ε_g counts as known to this number of digits: where a loss is that close to it, the excess has none.
const LEVEL: f64 = 1e-13;

#[derive(Debug)]
struct Rounds {
    epsilon: Amount,
    delta: Amount,
    rounds: u64,
    epsilon_g: Amount,
    delta_g: Amount,
}

/// A few rounds; ε_g between nothing and all that they can lose, half of the time at one of the losses.
fn rounds(random: &mut Random) -> Rounds {
    let rounds = 1 + random.below(20);
    let epsilon = random.amount(1e-25, 30.0);
    let delta = if random.below(2) == 0 { Amount::ZERO } else { random.amount(1e-30, 0.999) };
    let epsilon_g = match random.below(2) {
        0 => epsilon.checked_times(random.below(rounds + 1)).unwrap(),
        _ => Amount::at_least(epsilon.approximate() * rounds as f64 * random.size(1e-6, 1.1)).unwrap(),
    };
    Rounds { epsilon, delta, rounds, epsilon_g, delta_g: random.amount(1e-30, 0.999) }
}

impl Rounds {
    fn ours(&self) -> FixedRounds {
        FixedRounds::new(&Cost::approximate(self.epsilon, self.delta).unwrap(), self.rounds).unwrap()
    }

    fn optimal_delta<R: Real>(&self, epsilon_g: R) -> R {
        truth::optimal_delta(R::amount(self.epsilon), R::amount(self.delta), self.rounds, epsilon_g)
    }
}

/// Not below the truth at ε_g, and not above the truth at a slightly smaller ε_g by more than 10⁻⁹ of it.
fn just_above_at_level<R: Real>(ours: f64, at: R, at_less: R) -> Outcome {
    let ours = R::from_f64(ours);
    if ours < at {
        return just_above(ours, at, 0);
    }
    // Nothing but rounding where no loss reaches ε_g.
    if ours <= at_less.clone() + R::from_f64(1e-300) { Ok(()) } else { just_above(ours, at_less, 0) }
}

#[test]
fn the_optimal_delta_of_equal_rounds_is_just_above_the_truth() {
    fn check<R: Real>(rounds: &Rounds) -> Outcome {
        let ours = rounds.ours().optimal_delta(rounds.epsilon_g).value();
        let epsilon_g = R::amount(rounds.epsilon_g);
        let most = R::amount(rounds.epsilon) * R::whole(rounds.rounds);
        let less = epsilon_g.clone() - (epsilon_g.clone() + most) * R::from_f64(LEVEL);
        just_above_at_level(ours, rounds.optimal_delta(epsilon_g), rounds.optimal_delta(less))
    }
    certify(80, rounds, check::<Wide>, check::<Exact>);
}

/// There is no ε_g where the mechanisms' own δ alone are too much: δ at the largest loss of all, against δ_g.
fn refused<R: Real>(at_most: R, delta_g: Amount) -> Outcome {
    let fits = at_most <= R::amount(delta_g) * R::from_f64(1.0 - 1e-12);
    if fits { Err("refused, though it fits".to_string()) } else { Ok(()) }
}

/// One and a little more: where the δ of the costs are all of δ_g, both sides are equal but for the last digits of the reference.
fn resolved<R: Real>() -> R {
    R::one() + R::from_f64(RESOLVED)
}

#[test]
fn the_optimal_epsilon_of_equal_rounds_is_just_above_the_root() {
    fn check<R: Real>(rounds: &Rounds) -> Outcome {
        let most = R::amount(rounds.epsilon) * R::whole(rounds.rounds);
        let fits = |epsilon: R| rounds.optimal_delta(epsilon) <= R::amount(rounds.delta_g) * resolved::<R>();
        let Some(bound) = rounds.ours().optimal_epsilon(rounds.delta_g) else {
            return refused(rounds.optimal_delta(most), rounds.delta_g);
        };
        let epsilon = R::from_f64(bound.value());
        let lower = epsilon.clone() - epsilon.clone() * R::from_f64(CLOSE) - most * R::from_f64(LEVEL);
        at_the_edge(epsilon, lower, |epsilon| epsilon >= R::zero() && fits(epsilon))
    }
    certify(81, rounds, check::<Wide>, check::<Exact>);
}

#[test]
fn the_epsilon_of_advanced_composition_is_just_above_the_truth() {
    fn check<R: Real>(rounds: &Rounds) -> Outcome {
        let left = R::amount(rounds.delta_g) - R::amount(rounds.delta) * R::whole(rounds.rounds);
        let Some(bound) = rounds.ours().advanced_epsilon(rounds.delta_g) else {
            return if left <= R::units(1u8.into(), 60) { Ok(()) } else { Err("refused".to_string()) };
        };
        let (epsilon, count) = (R::amount(rounds.epsilon), R::whole(rounds.rounds));
        let deviation = (-(count.twice() * left.ln())).sqrt();
        let truth = count * truth::printed_mean(epsilon.clone()).twice() + epsilon * deviation;
        just_above(R::from_f64(bound.value()), truth, 0)
    }
    certify(82, rounds, check::<Wide>, check::<Exact>);
}

#[derive(Debug)]
struct Mixed {
    costs: Vec<(Amount, Amount)>,
    epsilon_g: Amount,
    delta_g: Amount,
}

/// Up to six costs of different sizes, some of them equal.
fn mixed(random: &mut Random) -> Mixed {
    let scale = random.size(1e-22, 10.0);
    let mut costs: Vec<(Amount, Amount)> = Vec::new();
    for _ in 0..1 + random.below(6) {
        let again = random.below(4) == 0;
        let epsilon = match costs.last() {
            Some(&(epsilon, _)) if again => epsilon,
            _ => random.amount(scale * 1e-3, scale),
        };
        let delta = if random.below(2) == 0 { Amount::ZERO } else { random.amount(1e-30, 0.999) };
        costs.push((epsilon, delta));
    }
    let sum: f64 = costs.iter().map(|(epsilon, _)| epsilon.approximate()).sum();
    let epsilon_g = Amount::at_least(sum * random.size(1e-6, 1.1)).unwrap();
    Mixed { costs, epsilon_g, delta_g: random.amount(1e-30, 0.999) }
}

impl Mixed {
    fn ours(&self) -> MixedRounds {
        let costs = self.costs.iter().map(|&(epsilon, delta)| Cost::approximate(epsilon, delta).unwrap());
        MixedRounds::new(&costs.collect::<Vec<_>>()).unwrap()
    }

    fn optimal_delta<R: Real>(&self, epsilon_g: R) -> R {
        let costs: Vec<_> = self.costs.iter().map(|&(epsilon, delta)| (R::amount(epsilon), R::amount(delta))).collect();
        truth::optimal_delta_of_all(&costs, epsilon_g)
    }

    fn most<R: Real>(&self) -> R {
        self.costs.iter().fold(R::zero(), |sum, &(epsilon, _)| sum + R::amount(epsilon))
    }
}

#[test]
fn the_optimal_delta_of_different_costs_is_just_above_the_truth() {
    fn check<R: Real>(mixed: &Mixed) -> Outcome {
        let ours = mixed.ours().optimal_delta(mixed.epsilon_g).value();
        let epsilon_g = R::amount(mixed.epsilon_g);
        let less = epsilon_g.clone() - (epsilon_g.clone() + mixed.most()) * R::from_f64(LEVEL);
        just_above_at_level(ours, mixed.optimal_delta(epsilon_g), mixed.optimal_delta(less))
    }
    certify(83, mixed, check::<Wide>, check::<Exact>);
}

#[test]
fn the_optimal_epsilon_of_different_costs_is_just_above_the_root() {
    fn check<R: Real>(mixed: &Mixed) -> Outcome {
        let fits = |epsilon: R| mixed.optimal_delta(epsilon) <= R::amount(mixed.delta_g) * resolved::<R>();
        let Some(bound) = mixed.ours().optimal_epsilon(mixed.delta_g) else {
            return refused(mixed.optimal_delta(mixed.most::<R>()), mixed.delta_g);
        };
        let epsilon = R::from_f64(bound.value());
        let lower = epsilon.clone() - epsilon.clone() * R::from_f64(CLOSE) - mixed.most::<R>() * R::from_f64(LEVEL);
        at_the_edge(epsilon, lower, |epsilon| epsilon >= R::zero() && fits(epsilon))
    }
    certify(84, mixed, check::<Wide>, check::<Exact>);
}
