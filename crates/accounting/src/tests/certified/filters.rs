//! The filters that add up: their limits, and K of Theorem 5.1.

use super::prices::too_large;
use super::{CLOSE, Outcome, Random, at_the_edge, certify, just_above, unit};
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::filter::advanced::Advanced;
use crate::filter::residue::Residue;
use crate::filter::{renyi, whitehouse, zcdp};
use crate::numeric::{Interval, normal};
use crate::reference::GaussianRounds;
use crate::tests::high_precision::{self as truth, Exact, Real, Wide};

/// A little more than a limit: 10⁻⁹ of it and one unit.
fn further<R: Real>(limit: &R) -> R {
    limit.clone() + limit.clone() * R::from_f64(CLOSE) + unit(1)
}

#[derive(Debug)]
struct Spent {
    budget: Budget,
    charges: Vec<(Cost, u64)>,
}

/// A budget with a few charges of very different sizes, half of the time with δ of their own.
fn spent(random: &mut Random) -> Spent {
    let epsilon = random.amount(1e-25, 300.0);
    let mut budget = Budget::new(epsilon, random.amount(1e-29, 0.367)).unwrap();
    let own_delta = random.below(2) == 0;
    if own_delta {
        budget = budget.with_mechanism_delta(Amount::from_units(budget.delta().units() / 2)).unwrap();
    }
    let charges = (0..1 + random.below(4)).map(|_| {
        let size = random.size(1e-12, 2.0) * epsilon.approximate();
        let size = Amount::at_least(size.min(17.0)).unwrap();
        let delta = if own_delta { random.amount(1e-30, 1e-3) } else { Amount::ZERO };
        (Cost::approximate(size, delta).unwrap(), random.times(1e6))
    });
    let charges = charges.collect();
    Spent { budget, charges }
}

#[test]
fn the_loss_of_theorem_5_1_is_just_above_the_truth() {
    fn check<R: Real>(Spent { budget, charges }: &Spent) -> Outcome {
        let fresh = Advanced::new(budget).unwrap();
        let charged = charges.iter().try_fold(fresh, |advanced, (cost, times)| advanced.counting(cost, *times));
        // Where something is set aside for the mechanisms' own δ, ε counts twice and 2Σδ_i is added.
        let factor = if budget.mechanism_delta().is_zero() { R::one() } else { R::whole(2) };
        let (mut mean, mut squares, mut shift, mut units) = (R::zero(), R::zero(), R::zero(), 0);
        for (cost, times) in charges {
            let (epsilon, count) = (R::amount(cost.size()) * factor.clone(), R::whole(*times));
            mean = mean + count.clone() * truth::printed_mean(epsilon.clone());
            squares = squares + count.clone() * epsilon.square();
            shift = shift + count * R::amount(cost.delta()).twice();
            units += times;
        }
        let (epsilon_g, delta_g) = (R::amount(budget.epsilon()), R::amount(budget.composition_delta()));
        let loss = truth::theorem_5_1(mean, squares, epsilon_g, delta_g) + shift;
        match charged {
            Some(advanced) => just_above(R::from_f64(advanced.loss()), loss, units),
            None => too_large(loss),
        }
    }
    certify(20, spent, check::<Wide>, check::<Exact>);
}

pub(super) fn budget(random: &mut Random) -> (Amount, Amount) {
    (random.amount(1e-25, 300.0), random.amount(1e-30, 0.999))
}

#[test]
fn the_limit_of_whitehouse_is_just_below_the_root() {
    fn check<R: Real>((epsilon, delta): &(Amount, Amount)) -> Outcome {
        let limit = R::fine(whitehouse::limit(epsilon.interval(), delta.interval()).unwrap());
        let beyond = further(&limit);
        at_the_edge(limit, beyond, |squares| truth::whitehouse(squares, R::amount(*delta)) <= R::amount(*epsilon))
    }
    certify(21, budget, check::<Wide>, check::<Exact>);
}

#[test]
fn the_limit_of_zcdp_is_just_below_the_root() {
    fn check<R: Real>(input: &(Amount, Amount)) -> Outcome {
        check_zcdp_limit(input, R::fine(zcdp::limit(input.0.interval(), input.1.interval()).unwrap()))
    }
    certify(22, budget, check::<Wide>, check::<Exact>);
}

pub(super) fn check_zcdp_limit<R: Real>((epsilon, delta): &(Amount, Amount), limit: R) -> Outcome {
    let (beyond, log_delta) = (further(&limit), R::amount(*delta).ln());
    at_the_edge(limit, beyond, |rho| truth::log_delta_of_zcdp(rho, R::amount(*epsilon)) <= log_delta)
}

#[test]
fn the_limit_of_renyi_is_just_below_the_truth() {
    type Input = (Amount, Amount, Amount);
    fn check<R: Real>((above_one, epsilon, delta): &Input) -> Outcome {
        let order = Amount::ONE.checked_add(*above_one).unwrap();
        let limit = |epsilon: R| truth::renyi_limit(R::amount(*above_one), epsilon, R::amount(*delta));
        let largest = limit(R::amount(*epsilon));
        // The limit is a difference, which may be much smaller than what it is the difference of.
        let parts = R::amount(*epsilon) + (R::one() - R::amount(*delta).ln()) / R::amount(*above_one);
        let rounding = parts * R::from_f64(1e-14);
        match renyi::limit(order, epsilon.interval(), delta.interval()) {
            Ok(Some(ours)) if R::fine(ours) > largest => Err(format!("{ours} is above the truth")),
            Ok(Some(ours)) if further(&R::fine(ours)) + rounding.clone() < largest => {
                Err(format!("{ours} is not close"))
            }
            Err(_) if rounding < largest => Err(format!("refused, but the truth is {:e}", largest.to_f64())),
            Ok(None) => Err("a limit that cannot be held".to_string()),
            _ => Ok(()),
        }
    }
    let draw = |random: &mut Random| {
        let (epsilon, delta) = budget(random);
        // Half of the orders are near those that admit anything: α − 1 about ln(1/δ)/ε.
        let near = -delta.approximate().ln() / epsilon.approximate() * random.size(0.3, 10.0);
        let above_one = if random.below(2) == 0 { near.clamp(1e-6, 1e6) } else { random.size(1e-6, 1e6) };
        (Amount::at_least(above_one).unwrap(), epsilon, delta)
    };
    certify(23, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn the_residue_starts_just_below_the_largest_variance() {
    fn check<R: Real>(input: &(Amount, Amount)) -> Outcome {
        check_start(input, R::fine(Residue::new(input.0, input.1, None).unwrap().start()))
    }
    let draw = |random: &mut Random| (random.amount(1e-25, 1000.0), random.amount(1e-30, 0.999));
    certify(24, draw, check::<Wide>, check::<Exact>);
}

pub(super) fn check_start<R: Real>((epsilon, delta): &(Amount, Amount), start: R) -> Outcome {
    let (beyond, delta) = (further(&start), R::amount(*delta));
    let fits = |variance: R| variance <= R::zero() || truth::gaussian_profile(variance, R::amount(*epsilon)) <= delta;
    at_the_edge(start, beyond, fits)
}

#[test]
fn the_gaussian_profile_is_just_above_the_truth() {
    fn check<R: Real>((w, t): &(f64, f64)) -> Outcome {
        let ours = normal::gaussian_profile(Interval::point(*w), Interval::point(*t)).hi();
        let profile = truth::gaussian_profile(R::from_f64(*w), R::from_f64(*t));
        // What is far below every δ need not be close, only above.
        if profile < R::from_f64(1e-40) {
            let safe = R::from_f64(ours) >= profile && ours < 2e-40;
            return if safe { Ok(()) } else { Err(format!("{ours:e} for {:e}", profile.to_f64())) };
        }
        just_above(R::from_f64(ours), profile, 0)
    }
    let draw = |random: &mut Random| {
        let w = random.size(1e-50, 4000.0);
        // Half of the time where the profile is neither 0 nor 1.
        let near = w.sqrt() * (random.between(-3.0, 14.0) + 0.5 * w.sqrt());
        (w, if random.below(2) == 0 && near > 0.0 && near < 1000.0 { near } else { random.size(1e-25, 1000.0) })
    };
    certify(25, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn the_epsilon_of_gaussian_rounds_is_just_above_the_root() {
    type Input = (Amount, u64, Amount);
    fn check<R: Real>((mu, rounds, delta): &Input) -> Outcome {
        let Some(bound) = GaussianRounds::new(*mu, *rounds).optimal_epsilon(*delta) else {
            return Err("there is no bound".to_string());
        };
        let variance = R::amount(*mu).square() * R::whole(*rounds);
        let needs_more =
            |epsilon: R| epsilon < R::zero() || truth::gaussian_profile(variance.clone(), epsilon) > R::amount(*delta);
        let epsilon = R::from_f64(bound.value());
        // A small ε is a difference of numbers of the size of √V.
        let close = epsilon.clone() * R::from_f64(CLOSE) + variance.sqrt() * R::from_f64(1e-12);
        at_the_edge(epsilon.clone(), epsilon - close, |epsilon| !needs_more(epsilon))
    }
    let draw = |random: &mut Random| {
        let rounds = random.times(1e9);
        let mu = random.size(1e-20, 40.0) / (rounds as f64).sqrt();
        (Amount::at_least(mu).unwrap(), rounds, random.amount(1e-30, 0.999))
    };
    certify(26, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn a_limit_that_is_kept_as_units_is_not_above_the_number_that_it_came_from() {
    fn check<R: Real>(value: &f64) -> Outcome {
        let (up, down) = (FineAmount::at_least(*value).unwrap(), FineAmount::at_most(*value).unwrap());
        just_above(R::fine(up), R::from_f64(*value), 1)?;
        super::just_below(R::fine(down), R::from_f64(*value), 1)
    }
    certify(27, |random| random.size(1e-70, 1e17), check::<Wide>, check::<Exact>);
}
