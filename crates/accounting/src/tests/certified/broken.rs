//! Bounds that are wrong on purpose: what catches nothing certifies nothing.

use super::filters::{budget, check_start, check_zcdp_limit};
use super::odometers::MixedRide;
use super::reach::{Step, check_rest};
use super::{Outcome, Random, at_the_edge, just_above, just_below, sampled_gaussian};
use crate::amount::{Amount, FineAmount};
use crate::filter::residue::{Residue, reach};
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
    let tau = if random.below(2) == 0 { 0.0 } else { residue.approximate().sqrt() * random.between(0.5, 8.0) };
    Step { epsilon: Amount::at_least(epsilon.min(0.1)).unwrap(), tau: Amount::at_most(tau), residue }
}

/// Φ(−z) in plain floating point.
fn plain_tail(z: f64) -> f64 {
    0.5 * core_math::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

fn plain_profile(w: f64, t: f64) -> f64 {
    let (half, distance) = (0.5 * w.sqrt(), t / w.sqrt());
    plain_tail(distance - half) - t.exp() * plain_tail(distance + half)
}

/// The w′ at which the inequality holds in plain floating point, by halving.
fn plain_rest(step: &Step) -> FineAmount {
    let (epsilon, tau) = (step.epsilon.approximate(), step.tau.approximate());
    let residue = step.residue.approximate();
    let odds = epsilon.exp();
    let fits = |rest: f64| {
        let left = odds * plain_profile(rest, tau - epsilon) + plain_profile(rest, tau + epsilon);
        left <= (1.0 + odds) * plain_profile(residue, tau)
    };
    let (mut good, mut bad) = (0.0, residue);
    for _ in 0..100 {
        let middle = 0.5 * (good + bad);
        if fits(middle) { good = middle } else { bad = middle }
    }
    FineAmount::at_most(good).unwrap().min(step.residue)
}

#[test]
fn a_step_in_plain_floating_point_is_caught() {
    let too_much = caught(small_step, "too much", |step| check_rest::<Wide>(step, Some(plain_rest(step))));
    let too_little = caught(small_step, "too little", |step| check_rest::<Wide>(step, Some(plain_rest(step))));
    assert!(too_much > 100 && too_little > 100, "{too_much} and {too_little} of 1000");
}

/// ε² alone: at level 0 the price is more.
#[test]
fn a_price_without_its_second_term_is_caught() {
    let at_nothing: fn(&mut Random) -> Step = |random| Step { tau: Amount::ZERO, ..small_step(random) };
    let without = |step: &Step| step.residue.checked_sub(step.epsilon.square());
    let found = caught(at_nothing, "too much", |step| check_rest::<Wide>(step, without(step)));
    assert!(found > 900, "{found} of 1000");
}

/// The level must not be taken too high: what is feasible grows with it.
#[test]
fn a_level_taken_too_high_is_caught() {
    let large_step: fn(&mut Random) -> Step = |random| {
        let residue = random.size(1e-6, 1.0);
        let (epsilon, tau) = (residue.sqrt() * random.between(0.1, 0.6), residue.sqrt() * random.between(0.0, 6.0));
        let residue = FineAmount::at_least(residue).unwrap();
        Step { epsilon: Amount::at_least(epsilon).unwrap(), tau: Amount::at_most(tau), residue }
    };
    let shifted = |step: &Step| reach::rest(step.epsilon, step.tau.checked_add(step.epsilon)?, step.residue);
    let found = caught(large_step, "too much", |step| check_rest::<Wide>(step, shifted(step)));
    assert!(found > 900, "{found} of 1000");
}

#[test]
fn a_residue_one_part_in_a_hundred_thousand_too_small_is_caught() {
    let shy = |step: &Step| {
        let price = step.residue.checked_sub(reach::rest(step.epsilon, step.tau, step.residue)?)?;
        step.residue.checked_sub(FineAmount::at_least(price.approximate() * 1.00001)?)
    };
    let found = caught(small_step, "too little", |step| check_rest::<Wide>(step, shy(step)));
    assert!(found > 900, "{found} of 1000");
    let none =
        caught(small_step, "too", |step| check_rest::<Wide>(step, reach::rest(step.epsilon, step.tau, step.residue)));
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

/// A supermartingale starts at the sum of its weights: with more than one it is above 1/δ too often.
#[test]
fn a_prior_whose_weights_sum_to_more_than_one_is_caught() {
    let found = |wide: f64, near: f64| {
        caught(MixedRide::draw, "does not satisfy", |ride| {
            ride.reading_weighted(wide, near).map_or(Ok(()), |it| ride.check_reading(it))
        })
    };
    let mut random = Random::new(100);
    let read_by_mixture =
        (0..1000).filter(|_| MixedRide::draw(&mut random).reading_weighted(0.2, 0.2).is_some()).count();
    assert!(read_by_mixture > 200, "{read_by_mixture} of 1000");
    // The wide prior as it stands, and the orders of the scale beside it: 9/5 in all.
    assert_eq!(found(1.0, 0.2), read_by_mixture);
    assert_eq!(found(0.2 + 1e-6, 0.2 + 1e-6), read_by_mixture);
    assert_eq!(caught(MixedRide::draw, "", |ride| ride.check_reading(ride.reading())), 0, "the odometer is not caught");
}

/// The price of a sampled Gaussian in plain floating point, with a mistake.
fn plain_step(step: &sampled_gaussian::Step, mistake: &str) -> f64 {
    let (rate, sigma) = (step.rate.approximate(), step.sigma.approximate());
    let inverse_variance = 1.0 / (sigma * sigma);
    let divergence = |n: u64, part: f64| {
        let summand = |k: u64| {
            let choices = (0..k).fold(1.0, |choices, i| choices * (n - i) as f64 / (i + 1) as f64);
            let weight = choices * (1.0 - rate).powi((n - k) as i32) * rate.powi(k as i32);
            let log_mean = core_math::log1p(rate * core_math::expm1(k as f64 * inverse_variance));
            weight * core_math::expm1((k * (k - 1)) as f64 * 0.5 * inverse_variance + part * log_mean)
        };
        let left_out = if mistake == "a term is missing" { 2 } else { 0 };
        let sum = (1..=n).filter(|k| *k != left_out).map(summand).sum();
        core_math::log1p(sum) / ((n - 1) as f64 + part)
    };
    let (n, part) = (step.order.whole_and_part().0, step.order.whole_and_part().1.approximate());
    match mistake {
        "the divergence is interpolated" => (1.0 - part) * divergence(n, 0.0) + part * divergence(n + 1, 0.0),
        "the order is rounded down" => divergence(n, 0.0),
        _ => divergence(n, part),
    }
}

#[test]
fn a_sampled_gaussian_with_a_mistake_is_caught() {
    let draw: fn(&mut Random) -> sampled_gaussian::Step = |random| sampled_gaussian::Step {
        order: Amount::at_least(random.between(2.0, 30.0)).unwrap(),
        rate: random.amount(1e-6, 0.3),
        sigma: random.amount(0.8, 5.0),
    };
    let found = |mistake: &'static str, scale: f64| {
        caught(draw, "below the truth", |step| {
            just_above(Wide::from_f64(plain_step(step, mistake) * scale), step.divergence(), 0)
        })
    };
    for mistake in ["the divergence is interpolated", "the order is rounded down", "a term is missing"] {
        assert!(found(mistake, 1.0) > 900, "{mistake}: {} of 1000", found(mistake, 1.0));
    }
    assert!(found("nothing is rounded up", 1.0) > 100);
    assert_eq!(found("it is rounded down", 1.0 - 1e-12), 1000);
    assert_eq!(found("nothing is rounded up", 1.0 + 1e-12), 0, "the formula itself is not caught");
}
