//! What one charge adds.

use super::{CLOSE, Outcome, Random, at_the_edge, certify, just_above};
use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::filter::renyi;
use crate::lemma;
use crate::price;
use crate::tests::high_precision::{self as truth, Exact, Real, Wide};

fn epsilon(random: &mut Random) -> Amount {
    random.amount(1e-25, 300.0)
}

#[test]
fn the_printed_mean_is_just_above_the_truth() {
    fn check<R: Real>(epsilon: &Amount) -> Outcome {
        let ours = price::printed_mean(epsilon.interval()).hi();
        just_above(R::from_f64(ours), truth::printed_mean(R::amount(*epsilon)), 0)
    }
    certify(1, epsilon, check::<Wide>, check::<Exact>);
}

#[test]
fn the_tight_mean_is_just_above_the_truth() {
    fn check<R: Real>(epsilon: &Amount) -> Outcome {
        let ours = price::tight_mean(epsilon.interval()).hi();
        just_above(R::from_f64(ours), truth::tight_mean(R::amount(*epsilon)), 0)
    }
    certify(2, epsilon, check::<Wide>, check::<Exact>);
}

/// One of the costs, all kinds equally often.
fn any_cost(random: &mut Random) -> Cost {
    let size = epsilon(random);
    match random.below(6) {
        0 => Cost::Pure { epsilon: size },
        1 => Cost::Laplace { epsilon: size },
        2 => Cost::Exponential { epsilon: size },
        3 => Cost::Gaussian { mu: size },
        4 => Cost::DiscreteGaussian { mu: size },
        _ => Cost::Zcdp { rho: size },
    }
}

/// ρ as the literature has it.
pub(super) fn zcdp<R: Real>(cost: &Cost) -> R {
    let size = R::amount(cost.size());
    match cost {
        Cost::Laplace { .. } => truth::zcdp_of_laplace(size),
        Cost::Exponential { .. } => size.square() / R::whole(8),
        Cost::Gaussian { .. } | Cost::DiscreteGaussian { .. } => size.square().half(),
        Cost::Zcdp { .. } => size,
        _ => truth::tight_mean(size),
    }
}

/// D_α as the literature has it.
pub(super) fn renyi_divergence<R: Real>(above_one: R, cost: &Cost) -> R {
    let size = R::amount(cost.size());
    let of_zcdp = || (above_one.clone() + R::one()) * zcdp(cost);
    match cost {
        Cost::Laplace { .. } => truth::renyi_of_laplace(above_one, size),
        Cost::Gaussian { .. } | Cost::DiscreteGaussian { .. } | Cost::Zcdp { .. } => of_zcdp(),
        Cost::Exponential { .. } => {
            let (bounded, pure) = (of_zcdp(), truth::renyi_of_pure(above_one, size));
            if bounded < pure { bounded } else { pure }
        }
        _ => truth::renyi_of_pure(above_one, size),
    }
}

#[test]
fn the_zcdp_of_laplace_is_just_above_the_truth() {
    fn check<R: Real>(cost: &Cost) -> Outcome {
        just_above(R::fine(price::zcdp(cost).unwrap()), zcdp(cost), 1)
    }
    certify(3, |random| Cost::Laplace { epsilon: epsilon(random) }, check::<Wide>, check::<Exact>);
}

#[test]
fn the_zcdp_of_every_cost_is_just_above_the_truth() {
    fn check<R: Real>(cost: &Cost) -> Outcome {
        just_above(R::fine(price::zcdp(cost).unwrap()), zcdp(cost), 2)
    }
    certify(4, any_cost, check::<Wide>, check::<Exact>);
}

fn with_order(random: &mut Random, cost: Cost) -> (Amount, Cost) {
    (Amount::ONE.checked_add(random.amount(1e-6, 1e6)).unwrap(), cost)
}

fn check_renyi<R: Real>((order, cost): &(Amount, Cost)) -> Outcome {
    let above_one = order.checked_sub(Amount::ONE).unwrap();
    let ours = price::renyi(&renyi::order(*order).unwrap(), cost).unwrap();
    just_above(R::fine(ours), renyi_divergence(R::amount(above_one), cost), 2)
}

#[test]
fn the_renyi_divergence_of_pure_costs_is_just_above_the_truth() {
    let draw = |random: &mut Random| {
        let epsilon = epsilon(random);
        with_order(random, Cost::Pure { epsilon })
    };
    certify(5, draw, check_renyi::<Wide>, check_renyi::<Exact>);
}

#[test]
fn the_renyi_divergence_of_laplace_is_just_above_the_truth() {
    let draw = |random: &mut Random| {
        let epsilon = epsilon(random);
        with_order(random, Cost::Laplace { epsilon })
    };
    certify(6, draw, check_renyi::<Wide>, check_renyi::<Exact>);
}

#[test]
fn the_renyi_divergence_of_every_cost_is_just_above_the_truth() {
    let draw = |random: &mut Random| {
        let cost = any_cost(random);
        with_order(random, cost)
    };
    certify(7, draw, check_renyi::<Wide>, check_renyi::<Exact>);
}

#[test]
fn kappa_is_just_above_the_truth() {
    fn check<R: Real>((epsilon, delta): &(Amount, Amount)) -> Outcome {
        let truth = truth::kappa(R::amount(*epsilon), R::amount(*delta));
        match lemma::kappa(*epsilon, *delta) {
            Some(kappa) => just_above(R::fine(kappa), truth, 1),
            None => too_large(truth),
        }
    }
    certify(8, |random| (epsilon(random), random.amount(1e-30, 0.999)), check::<Wide>, check::<Exact>);
}

#[test]
fn the_epsilon_of_a_truth_probability_is_just_above_the_truth() {
    fn check<R: Real>(truth: &Amount) -> Outcome {
        let Ok(Cost::RandomizedResponse { epsilon }) = Cost::from_truth_probability(*truth) else {
            return Err("refused".to_string());
        };
        let lie = R::one() - R::amount(*truth);
        // An ε is kept in units of 10⁻³⁰.
        let ours = R::amount(epsilon);
        let less = ours.clone() - ours.clone() * R::from_f64(CLOSE) - R::amount(Amount::UNIT);
        let log_odds = (R::amount(*truth) / lie).ln();
        at_the_edge(ours, less, |epsilon| epsilon >= log_odds)
    }
    let draw = |random: &mut Random| {
        let lie = random.amount(1e-30, 0.499);
        if random.below(2) == 0 {
            return Amount::ONE.checked_sub(lie).unwrap();
        }
        let half = Amount::from_units(Amount::ONE.units() / 2);
        half.checked_add(random.amount(1e-30, 0.499)).unwrap()
    };
    certify(9, draw, check::<Wide>, check::<Exact>);
}

/// No number at all is right where it would be beyond what a sum holds.
pub(super) fn too_large<R: Real>(truth: R) -> Outcome {
    let largest = FineAmount::at_least(1e17).map_or(R::zero(), R::fine);
    if truth > largest { Ok(()) } else { Err(format!("there is no bound, but the truth is {:e}", truth.to_f64())) }
}
