//! The residue step: the w′ that is kept after an ε-DP charge.

use super::{Outcome, Random, certify};
use crate::amount::{Amount, FineAmount};
use crate::filter::residue::join;
use crate::tests::high_precision::{Exact, Real, Wide, joins_within};

/// How far a price may be from the truth, as a share of it.
const CLOSE_PRICE: f64 = 1e-6;
/// Prices below this are a few thousand units of 10⁻⁶⁰ or less, and need not be close.
const SMALLEST_CLOSE_PRICE: f64 = 1e-52;

#[derive(Debug)]
pub(super) struct Step {
    pub(super) epsilon: Amount,
    pub(super) residue: FineAmount,
}

/// ε far below √w, near it, near the largest that still fits, and beyond.
fn step(random: &mut Random) -> Step {
    let residue = random.size(1e-50, 2000.0);
    // √w units of ε: the largest that fits is about 0.8√w while w is small, and below √w·(1 + √w/4) always.
    let root = residue.sqrt();
    let epsilon = match random.below(5) {
        0 => random.size(1e-25, root.max(1e-24)),
        1 => root * random.size(1e-9, 1e-1),
        2 => root * random.between(0.05, 0.7),
        3 => largest(residue) * random.between(0.9, 1.0001),
        _ => largest(residue) * (1.0 - random.size(1e-15, 1e-1)),
    };
    Step { epsilon: Amount::at_least(epsilon.max(1e-25)).unwrap(), residue: FineAmount::at_least(residue).unwrap() }
}

/// About the ε with join(ε, 0) = w: Φ(√w/2) = e^ε/(1 + e^ε).
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
    let (epsilon, residue) = (R::amount(step.epsilon), R::fine(step.residue));
    let Some(rest) = rest else {
        // Refused: even with nothing left the price must be more than there is, but for rounding.
        let little_less = residue.clone() - residue.clone() * R::from_f64(super::CLOSE) - super::unit(1);
        let fits = little_less > R::zero() && joins_within(epsilon, R::zero(), little_less);
        return if fits { Err("refused, though it fits".to_string()) } else { Ok(()) };
    };
    let rest = R::fine(rest);
    if rest > residue || !joins_within(epsilon.clone(), rest.clone(), residue.clone()) {
        return Err(format!("{:e} is left, which is too much", rest.to_f64()));
    }
    let price = residue.clone() - rest.clone();
    if price < R::from_f64(SMALLEST_CLOSE_PRICE) {
        return Ok(());
    }
    // Just before the end what is left depends on the last digits of w; there w counts as known to twelve digits of the price.
    let known = residue - price.clone() * R::from_f64(1e-12);
    if joins_within(epsilon, rest.clone() + price.clone() * R::from_f64(CLOSE_PRICE), known) {
        return Err(format!("{:e} is left, which is too little, at a price of {:e}", rest.to_f64(), price.to_f64()));
    }
    Ok(())
}

fn check<R: Real>(step: &Step) -> Outcome {
    check_rest::<R>(step, join::rest(step.epsilon, step.residue))
}

#[test]
fn what_is_left_after_a_charge_is_just_below_the_truth() {
    certify(40, step, check::<Wide>, check::<Exact>);
}

/// A bound on how many charges fit, which the filter uses where counting one by one would take too long.
#[test]
fn as_many_charges_fit_as_are_counted_in_a_few_steps() {
    let mut random = Random::new(41);
    for _ in 0..2000 {
        let residue = random.size(1e-40, 1500.0);
        let epsilon = (residue.sqrt() * random.between(0.05, 0.24)).min(2.9);
        let (epsilon, start) = (Amount::at_least(epsilon).unwrap(), FineAmount::at_least(residue).unwrap());
        let count = join::count_at_least(epsilon, start);
        let left = (0..count.min(1000)).try_fold(start, |left, _| join::rest(epsilon, left));
        assert!(count > 0 && left.is_some(), "{count} charges of {epsilon} do not fit into {start}");
    }
}
