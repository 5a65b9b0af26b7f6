//! One step of the residue filter: the w′ that is kept after an ε-DP charge at a level τ.

use super::{Outcome, Random, certify};
use crate::amount::{Amount, FineAmount};
use crate::filter::residue::reach;
use crate::tests::high_precision::{Exact, Real, Wide, joins_within, reaches_within};

/// How far a price may be from the truth, as a share of it.
const CLOSE_PRICE: f64 = 1e-6;
/// Prices below this are a few thousand units of 10⁻⁶⁰ or less, and need not be close.
const SMALLEST_CLOSE_PRICE: f64 = 1e-52;

#[derive(Debug)]
pub(super) struct Step {
    pub(super) epsilon: Amount,
    pub(super) tau: Amount,
    pub(super) residue: FineAmount,
}

/// ε far below √w, near it, near τ, near the largest that fits without a level, and beyond; τ from nothing to 40√w.
fn step(random: &mut Random) -> Step {
    let residue = if random.below(2) == 0 { random.size(1e-12, 10.0) } else { random.size(1e-50, 2000.0) };
    let root = residue.sqrt();
    let tau = match random.below(6) {
        0 => 0.0,
        1 => root * random.between(0.0, 40.0),
        2 => root * random.size(1e-9, 40.0),
        // Where the profile is neither 0 nor 1.
        3 => (root * (random.between(-3.0, 12.0) + 0.5 * root)).max(0.0),
        _ => root * random.between(0.0, 8.0),
    };
    let epsilon = match random.below(7) {
        0 => random.size(1e-25, root.max(1e-24)),
        1 => root * random.size(1e-9, 1e-1),
        2 => root * random.between(0.05, 0.7),
        3 => largest(residue) * random.between(0.9, 1.0001),
        4 => largest(residue) * (1.0 - random.size(1e-15, 1e-1)),
        5 => tau * (1.0 + random.between(-1.0, 1.0) * random.size(1e-12, 1.0)),
        _ => tau * random.between(0.0, 1.2) + root * random.size(1e-6, 1.0),
    };
    let tau = Amount::at_most(tau.min(2000.0));
    Step {
        epsilon: Amount::at_least(epsilon.max(1e-25)).unwrap(),
        tau,
        residue: FineAmount::at_least(residue).unwrap(),
    }
}

/// About the largest ε at level 0: Φ(√w/2) = e^ε/(1 + e^ε).
fn largest(residue: f64) -> f64 {
    let root = residue.sqrt();
    if root < 1e-4 { root * (2.0 / std::f64::consts::PI).sqrt() } else { log_odds(0.5 * root) }
}

/// ln(Φ(y)/Φ(−y)).
fn log_odds(y: f64) -> f64 {
    let scaled = y * std::f64::consts::FRAC_1_SQRT_2;
    (core_math::erfc(-scaled) / core_math::erfc(scaled)).ln()
}

pub(super) fn check_rest<R: Real>(step: &Step, rest: Option<FineAmount>) -> Outcome {
    let (epsilon, tau, residue) = (R::amount(step.epsilon), R::amount(step.tau), R::fine(step.residue));
    let within = |rest: R, whole: R| reaches_within(epsilon.clone(), tau.clone(), rest, whole);
    let Some(rest) = rest else {
        // Refused: even with nothing left the price must be more than there is, but for rounding.
        let little_less = residue.clone() - residue.clone() * R::from_f64(super::CLOSE) - super::unit(1);
        let fits = little_less > R::zero() && within(R::zero(), little_less);
        return if fits { Err("refused, though it fits".to_string()) } else { Ok(()) };
    };
    let rest = R::fine(rest);
    if rest > residue || !within(rest.clone(), residue.clone()) {
        return Err(format!("{:e} is left, which is too much", rest.to_f64()));
    }
    let price = residue.clone() - rest.clone();
    if price < R::from_f64(SMALLEST_CLOSE_PRICE) {
        return Ok(());
    }
    // Just before the end what is left depends on the last digits of w; there w counts as known to twelve digits of the price.
    let known = residue - price.clone() * R::from_f64(1e-12);
    if within(rest.clone() + price.clone() * R::from_f64(CLOSE_PRICE), known) {
        return Err(format!("{:e} is left, which is too little, at a price of {:e}", rest.to_f64(), price.to_f64()));
    }
    Ok(())
}

fn check<R: Real>(step: &Step) -> Outcome {
    check_rest::<R>(step, reach::rest(step.epsilon, step.tau, step.residue))
}

#[test]
fn what_is_left_after_a_charge_is_just_below_the_truth() {
    certify(40, step, check::<Wide>, check::<Exact>);
}

/// At τ = 0 the theorem is the join theorem, which has a closed form of its own.
#[test]
fn at_level_nothing_the_step_is_the_join() {
    let mut random = Random::new(42);
    for _ in 0..2000 {
        let Step { epsilon, residue, .. } = step(&mut random);
        let Some(rest) = reach::rest(epsilon, Amount::ZERO, residue) else { continue };
        let price = residue.checked_sub(rest).unwrap();
        let further = rest.checked_add(FineAmount::at_least(price.approximate() * CLOSE_PRICE).unwrap()).unwrap();
        let known = residue.checked_sub(FineAmount::at_least(price.approximate() * 1e-12).unwrap()).unwrap();
        let joins = |rest, whole| joins_within(Wide::amount(epsilon), Wide::fine(rest), Wide::fine(whole));
        assert!(joins(rest, residue), "{rest} is too much after {epsilon} of {residue}");
        let is_close = price.approximate() < SMALLEST_CLOSE_PRICE || !joins(further, known);
        assert!(is_close, "{rest} is too little after {epsilon} of {residue}");
    }
}

/// A bound on how many charges fit, which the filter uses where counting one by one would take too long.
#[test]
fn as_many_charges_fit_as_are_counted_in_a_few_steps() {
    let mut random = Random::new(41);
    for _ in 0..2000 {
        let residue = random.size(1e-40, 1500.0);
        let epsilon = (residue.sqrt() * random.between(0.05, 0.24)).min(2.9);
        let tau = Amount::at_most(residue.sqrt() * [0.0, 1.0, 6.0][random.below(3) as usize]);
        let (epsilon, start) = (Amount::at_least(epsilon).unwrap(), FineAmount::at_least(residue).unwrap());
        let count = reach::count_at_least(epsilon, start);
        let left = (0..count.min(1000)).try_fold(start, |left, _| reach::rest(epsilon, tau, left));
        assert!(count > 0 && left.is_some(), "{count} charges of {epsilon} do not fit into {start}");
    }
}

/// The same for charges that are far too small to be counted: what a step takes, with its own margin, is within the bound on the price.
#[test]
fn no_charge_however_small_takes_more_than_the_bound_on_its_price() {
    let mut random = Random::new(43);
    for _ in 0..20_000 {
        let residue = random.size(1e-20, 1500.0);
        let epsilon = Amount::at_least((residue.sqrt() * random.size(1e-8, 0.24)).min(2.9)).unwrap();
        let tau = Amount::at_most(residue.sqrt() * random.between(0.0, 40.0));
        let whole = FineAmount::at_least(residue).unwrap();
        let rest = reach::rest(epsilon, tau, whole).unwrap();
        let bound = reach::bounded_price(epsilon.interval(), whole).unwrap();
        let price = whole.checked_sub(rest).unwrap();
        assert!(price <= bound, "{epsilon} at {tau} takes {price} of {whole}, more than {bound}");
    }
}
