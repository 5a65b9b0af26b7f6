//! The price of the sampled Gaussian.

use super::{Outcome, Random, certify, just_above};
use crate::amount::Amount;
use crate::filter::renyi;
use crate::numeric::Interval;
use crate::price::sampled_gaussian;
use crate::tests::high_precision::{self as truth, Exact, Real, Wide};

#[derive(Debug)]
pub(super) struct Step {
    pub(super) order: Amount,
    pub(super) rate: Amount,
    pub(super) sigma: Amount,
}

/// One order in a hundred is between 60 and 10,000, where the truth has thousands of terms; the others are below. A third are
/// whole. A third of the noises are such that the last term of the sum is about as large as the first.
fn step(random: &mut Random) -> Step {
    let above_one = if random.below(100) == 0 { random.amount(60.0, 1e4) } else { random.amount(1e-6, 60.0) };
    let is_whole = random.below(3) == 0;
    let above_one = if is_whole { Amount::from_whole(above_one.upper().ceil() as u64).unwrap() } else { above_one };
    let rate = match random.below(16) {
        0 => Amount::at_least(1.0 - random.size(1e-25, 0.5)).unwrap(),
        _ => random.amount(1e-12, 1.0),
    };
    let balanced = (-0.5 * above_one.upper() / rate.upper().ln()).sqrt() * random.between(0.9, 1.1);
    let sigma = match random.below(3) {
        0 if (0.01..1e6).contains(&balanced) => Amount::at_least(balanced).unwrap(),
        _ => random.amount(0.01, 1e6),
    };
    Step { order: Amount::ONE.checked_add(above_one).unwrap(), rate, sigma }
}

impl Step {
    fn ours(&self) -> Interval {
        let order = renyi::order(self.order).unwrap();
        sampled_gaussian::renyi(&order, self.rate.interval(), self.sigma.interval())
    }

    /// The smallest of the bounds, as the file of the price has them.
    pub(super) fn divergence<R: Real>(&self) -> R {
        let (rate, sigma) = (R::amount(self.rate), R::amount(self.sigma));
        let without_sampling = R::amount(self.order) / sigma.square().twice();
        if self.rate == Amount::ONE {
            return without_sampling;
        }
        let (n, part) = self.order.whole_and_part();
        let above_one = R::amount(self.order) - R::one();
        let mut moment = truth::moment_of_sampled_gaussian(n, &R::amount(part), &rate, &sigma);
        if n == 1 {
            moment = smaller(moment, truth::moment_of_sampled_gaussian_below_two(&above_one, &rate, &sigma));
        }
        smaller(moment.ln() / above_one, without_sampling)
    }
}

fn smaller<R: Real>(left: R, right: R) -> R {
    if left < right { left } else { right }
}

#[test]
fn the_renyi_divergence_of_the_sampled_gaussian_is_just_above_the_truth() {
    fn check<R: Real>(step: &Step) -> Outcome {
        just_above(R::from_f64(step.ours().hi()), step.divergence(), 0)
    }
    certify(28, step, check::<Wide>, check::<Exact>);
}

fn at(order: &str, rate: &str, sigma: &str) -> Step {
    let amount = |text| Amount::parse_exact(text).unwrap();
    Step { order: amount(order), rate: amount(rate), sigma: amount(sigma) }
}

#[test]
fn all_that_is_sampled_costs_what_it_costs_without_sampling() {
    for (order, expected) in [("1.5", 0.1875), ("2", 0.25), ("32", 4.0), ("1e8", 1.25e7)] {
        let ours = at(order, "1", "2").ours().hi();
        assert!(ours >= expected && ours <= expected * (1.0 + 1e-14), "{ours} at order {order}");
    }
}

/// Where there are more terms than are added up, the bound is coarser.
#[test]
fn beyond_some_ten_thousand_the_bound_still_holds() {
    for (order, rate, sigma) in [("40000", "0.5", "1000"), ("40000.5", "0.01", "100"), ("30000", "0.001", "50")] {
        let step = at(order, rate, sigma);
        let (ours, truth) = (step.ours().hi(), step.divergence::<Wide>().to_f64());
        let without_sampling = step.order.upper() / (2.0 * step.sigma.upper().powi(2));
        assert!(
            ours >= truth && ours <= without_sampling,
            "{ours} for {truth}, and {without_sampling} without sampling"
        );
    }
}

/// A few digits of an order below a whole one make a great difference where the last term rules; none must be lost.
#[test]
fn a_whole_order_is_priced_as_one() {
    let (whole, above) = (at("32", "1e-12", "0.3"), at("32.0000000000000001", "1e-12", "0.3"));
    for step in [whole, above] {
        assert_eq!(just_above(Wide::from_f64(step.ours().hi()), step.divergence(), 0), Ok(()), "{step:?}");
    }
}
