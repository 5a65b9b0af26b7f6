//! Bounds that are wrong on purpose: what catches nothing certifies nothing.

use super::filters::{budget, check_start, check_zcdp_limit};
use super::residue::{Step, check_rest};
use super::{Outcome, Random, at_the_edge, just_above, just_below};
use crate::amount::{Amount, FineAmount};
use crate::filter::residue::{Residue, join};
use crate::filter::zcdp;
use crate::numeric::Interval;
use crate::price;
use crate::tests::high_precision::{self as truth, Real, Wide};

/// How many of a thousand inputs a check objects to, for a reason that contains these words.
fn caught<Input>(draw: fn(&mut Random) -> Input, words: &str, check: impl Fn(&Input) -> Outcome) -> usize {
    let mut random = Random::new(100);
    (0..1000).filter(|_| check(&draw(&mut random)).is_err_and(|wrong| wrong.contains(words))).count()
}

fn small_step(random: &mut Random) -> Step {
    let residue = FineAmount::at_least(random.size(1e-20, 100.0)).unwrap();
    let epsilon = residue.approximate().sqrt() * random.size(1e-9, 1e-3);
    Step { epsilon: Amount::at_least(epsilon.min(0.1)).unwrap(), residue }
}

/// Φ(−z) in plain floating point.
fn plain_tail(z: f64) -> f64 {
    0.5 * core_math::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The w′ at which the join equation holds in plain floating point, by halving.
fn plain_rest(step: &Step) -> FineAmount {
    let (epsilon, residue) = (step.epsilon.approximate(), step.residue.approximate());
    let odds = epsilon.exp();
    let fits = |rest: f64| {
        let (half, distance) = (0.5 * rest.sqrt(), epsilon / rest.sqrt());
        let joined = plain_tail(half - distance) + odds * plain_tail(half + distance);
        (1.0 + odds) * plain_tail(0.5 * residue.sqrt()) <= joined
    };
    let (mut good, mut bad) = (0.0, residue);
    for _ in 0..100 {
        let middle = 0.5 * (good + bad);
        if fits(middle) { good = middle } else { bad = middle }
    }
    FineAmount::at_most(good).unwrap().min(step.residue)
}

#[test]
fn a_join_in_plain_floating_point_is_caught() {
    let too_much = caught(small_step, "too much", |step| check_rest::<Wide>(step, Some(plain_rest(step))));
    let too_little = caught(small_step, "too little", |step| check_rest::<Wide>(step, Some(plain_rest(step))));
    assert!(too_much > 100 && too_little > 100, "{too_much} and {too_little} of 1000");
}

#[test]
fn a_price_without_its_second_term_is_caught() {
    let without = |step: &Step| step.residue.checked_sub(step.epsilon.square());
    let found = caught(small_step, "too much", |step| check_rest::<Wide>(step, without(step)));
    assert!(found > 900, "{found} of 1000");
}

#[test]
fn a_residue_one_part_in_a_hundred_thousand_too_small_is_caught() {
    let shy = |step: &Step| {
        let price = step.residue.checked_sub(join::rest(step.epsilon, step.residue)?)?;
        step.residue.checked_sub(FineAmount::at_least(price.approximate() * 1.00001)?)
    };
    let found = caught(small_step, "too little", |step| check_rest::<Wide>(step, shy(step)));
    assert!(found > 900, "{found} of 1000");
    let none = caught(small_step, "too", |step| check_rest::<Wide>(step, join::rest(step.epsilon, step.residue)));
    assert_eq!(none, 0, "the filter itself is not caught");
}

#[test]
fn a_bound_rounded_the_wrong_way_is_caught() {
    let epsilon: fn(&mut Random) -> Amount = |random| random.amount(1e-20, 100.0);
    let check = |pick: fn(Interval) -> f64| {
        move |epsilon: &Amount| {
            let ours = pick(price::printed_mean(epsilon.interval()));
            just_above(Wide::from_f64(ours), truth::printed_mean(Wide::amount(*epsilon)), 0)
        }
    };
    assert_eq!(caught(epsilon, "below the truth", check(Interval::lo)), 1000);
    assert!(caught(epsilon, "below the truth", check(Interval::middle)) > 100);
    assert_eq!(caught(epsilon, "above the truth", check(|mean| mean.hi() * (1.0 + 2e-9))), 1000);
    assert_eq!(caught(epsilon, "the truth", check(Interval::hi)), 0);
}

/// Both edges of what was solved for: a limit a little larger is unsafe, a little smaller is not close.
#[test]
fn a_limit_a_little_off_its_root_is_caught() {
    let scaled = |limit: FineAmount, factor: f64| Wide::fine(limit) * Wide::from_f64(factor);
    let large: fn(&mut Random) -> (Amount, Amount) = |random| (random.amount(1e-3, 300.0), random.amount(1e-30, 0.5));
    let zcdp = |factor: f64| {
        move |input: &(Amount, Amount)| {
            let limit = zcdp::limit(input.0.interval(), input.1.interval()).unwrap();
            check_zcdp_limit(input, scaled(limit, factor))
        }
    };
    let start = |factor: f64| {
        move |input: &(Amount, Amount)| {
            check_start(input, scaled(Residue::new(input.0, input.1, None).unwrap().start(), factor))
        }
    };
    assert_eq!(caught(budget, "does not satisfy", zcdp(1.0 + 1e-8)), 1000);
    assert_eq!(caught(budget, "not the furthest", zcdp(1.0 - 1e-8)), 1000);
    assert_eq!(caught(large, "not the furthest", start(1.0 - 1e-8)), 1000);
    assert!(caught(large, "does not satisfy", start(1.0 + 1e-8)) > 900);
}

#[test]
fn a_limit_on_the_wrong_side_is_caught() {
    let (below, above) = (Wide::from_f64(1.0 - 1e-15), Wide::from_f64(1.0 + 1e-15));
    assert!(just_below(below, Wide::one(), 0).is_ok() && just_below(above, Wide::one(), 0).is_err());
    let within = |x: Wide| x <= Wide::one();
    assert!(at_the_edge(below, above, within).is_ok());
    assert!(at_the_edge(above, Wide::whole(2), within).is_err() && at_the_edge(below, below, within).is_err());
}
