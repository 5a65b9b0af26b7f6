//! *The Rényi-mixture odometer*, the default: any cost with a Rényi curve.
//!
//! For every order α the process e^{(α−1)(Loss − Σ D_α)} is a supermartingale (Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3),
//! and so is every average of them over orders fixed in advance. By Ville's inequality the reading u that solves
//! Σ_j w_j e^{(α_j−1)(u − R_j)} = 1/δ, R_j = Σ_i D_{α_j}, is exceeded at any time with probability at most δ. Guarantee: one-sided at
//! δ, in either order, since the curves bound both orders.
//!
//! *The wide prior.* The orders stand three to a factor of four, and the weights are small integers: equal from α − 1 = 4 on,
//! where the square root of the loss dominates and every order matters alike; falling in a straight line below, where a weight
//! matters less to the reading; and thin at both ends, for losses far from what is usual.
//!
//! *The prior with a scale.* Beside a filter the scale of the ride is known when the odometer is made: V = Σε_i² ends at about the
//! V_g that the budget buys. The order that matters at V is about z/√V above one, with Φ(−z) = δ. So four fifths of the weight go
//! to four orders from s = z/√V_g to 4s, which serve V from V_g down to a sixteenth of it, and one fifth to the wide prior, for
//! every other ride. The scale s is a parameter like any other: fixed when the odometer is made, and stored.

use std::sync::LazyLock;

use super::PricedCost;
use super::normal_mixture::expected_variance;
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::numeric::{Interval, normal};
use crate::price::{self, Order};

/// How many orders the wide prior has.
pub(super) const WIDE: usize = 25;

/// How many orders a scale adds.
const NEAR: usize = 4;

/// What one charge adds at the orders of the wide prior.
pub(super) type WidePrices = [Divergence; WIDE];

/// What one charge adds at the orders of a scale.
pub(super) type NearPrices = [Divergence; NEAR];

/// One term of the wide prior.
struct Term {
    order: Order,
    /// ln w_j.
    log_weight: Interval,
}

/// The wide prior, from the smallest order to the largest.
static WIDE_PRIOR: LazyLock<[Term; WIDE]> = LazyLock::new(|| {
    let sum = f64::from(wide_prior().map(|(_, weight)| weight).sum::<u32>());
    let terms: Vec<Term> = wide_prior()
        .map(|(above_one, weight)| Term {
            order: Order::above_one(Interval::point(above_one)),
            log_weight: (Interval::point(f64::from(weight)) / sum).ln(),
        })
        .collect();
    terms.try_into().unwrap_or_else(|_| unreachable!("the wide prior has {WIDE} orders"))
});

/// α_j − 1, about 2^{2j/3}, exactly (1, 13/8 or 5/2 times a power of four), and the weight before normalising.
fn wide_prior() -> impl Iterator<Item = (f64, u32)> {
    const STEPS: [f64; 3] = [1.0, 1.625, 2.5];
    let guards_below = [-10, -8, -6];
    let guards_above = [17, 19];
    let core = (-4..=15).map(|j: i32| (j, (j + 5).min(8) as u32));
    let with_guards =
        guards_below.into_iter().map(|j| (j, 1)).chain(core).chain(guards_above.into_iter().map(|j| (j, 1)));
    with_guards.map(|(j, weight)| {
        // Multiplied out, because what a power function rounds may differ between machines.
        let (base, power) = (if j < 0 { 0.25 } else { 4.0 }, j.div_euclid(3).unsigned_abs() as usize);
        (std::iter::repeat_n(base, power).fold(STEPS[j.rem_euclid(3) as usize], |product, base| product * base), weight)
    })
}

/// α − 1 at the orders of a scale: 1, 8/5, 5/2 and 4 times it, about powers of 4^{1/3}. A scale is a decimal, so none is a float.
fn near_orders(scale: Amount) -> [Interval; NEAR] {
    let scale = scale.interval();
    [scale, 8.0 * scale / 5.0, 2.5 * scale, 4.0 * scale]
}

/// The scale of a budget for an odometer that holds at this level: z/√V_g. Nothing where there is none that an amount holds, and
/// for a budget without a δ, which buys no V.
pub(super) fn default_scale(budget: &Budget, level: Amount) -> Option<Amount> {
    if budget.composition_delta().is_zero() {
        return None;
    }
    let variance = expected_variance(budget.epsilon(), budget.composition_delta());
    let scale = Amount::at_most(normal::quantile(level.interval()) / variance.sqrt());
    (!scale.is_zero() && scale < Amount::MAX).then(|| scale.significant(6))
}

/// What a cost adds at the orders of the wide prior.
pub(super) fn wide_prices(cost: &Cost) -> WidePrices {
    std::array::from_fn(|at| price::renyi(&WIDE_PRIOR[at].order, cost).into())
}

/// What a cost adds at the orders of a scale.
pub(super) fn near_prices(cost: &Cost, scale: Amount) -> NearPrices {
    near_orders(scale).map(|above_one| price::renyi(&Order::above_one(above_one), cost).into())
}

/// R_j of what was charged: at the orders of the wide prior, then at those of the scale, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divergences(pub(super) Box<[Divergence]>);

impl Divergences {
    /// Those of nothing charged.
    pub(super) fn new(scale: Option<Amount>) -> Divergences {
        let count = if scale.is_some() { WIDE + NEAR } else { WIDE };
        Divergences(vec![Divergence(FineAmount::ZERO); count].into())
    }

    /// Adds `times` charges of a cost.
    pub(super) fn add(&mut self, priced: &PricedCost, scale: Option<Amount>, times: u64) {
        let (wide, near) = self.0.split_at_mut(WIDE);
        add_each(wide, priced.wide(), times);
        if let Some(scale) = scale {
            add_each(near, &priced.near(scale), times);
        }
    }

    /// The reading at level δ, as an interval whose upper end is proven.
    pub(super) fn bound(&self, scale: Option<Amount>, delta: Interval) -> Interval {
        // With a scale there are five equal parts: one for the wide prior and one for each order of the scale.
        let log_level = if scale.is_some() { (delta / 5.0).ln() } else { delta.ln() };
        let (wide, near) = self.0.split_at(WIDE);
        let mut exponents = [Exponent::NONE; WIDE + NEAR];
        for ((exponent, term), &sum) in exponents.iter_mut().zip(&*WIDE_PRIOR).zip(wide) {
            *exponent = Exponent::new(term.order.above_one, sum, (term.log_weight + log_level).lo());
        }
        if let Some(scale) = scale {
            for ((exponent, rate), &sum) in exponents[WIDE..].iter_mut().zip(near_orders(scale)).zip(near) {
                *exponent = Exponent::new(rate, sum, log_level.lo());
            }
        }
        reading(&exponents[..self.0.len()])
    }
}

fn add_each(sums: &mut [Divergence], prices: &[Divergence], times: u64) {
    for (sum, price) in sums.iter_mut().zip(prices) {
        *sum = sum.plus(*price, times);
    }
}

/// Where Σ e^{exponents} = 1, as an interval whose upper end is proven.
fn reading(exponents: &[Exponent]) -> Interval {
    let above_root = exponents.iter().map(Exponent::zero).fold(f64::INFINITY, f64::min);
    if !(above_root < f64::INFINITY) {
        return Interval::point(f64::INFINITY);
    }
    // The exponents err by a few dozen units in the last place, so smaller steps would hardly ever do. Above the zero of one
    // exponent alone the first step always does.
    let upwards = |from: f64| (6..40).map(move |step| from + from.abs() * f64::EPSILON * (1u64 << step) as f64);
    let proven =
        [root(exponents, above_root), above_root].into_iter().flat_map(upwards).find(|&u| is_proven(exponents, u));
    Interval::between(f64::NEG_INFINITY, proven.unwrap_or(f64::INFINITY))
}

/// One exponent (α_j−1)(u − R_j) + ln w_j + ln δ, a line in u; the reading makes the sum of all e^{exponents} one.
#[derive(Clone, Copy)]
struct Exponent {
    /// α_j − 1: exact in the wide prior, between two floats at the orders of a scale.
    rate: Interval,
    /// R_j, rounded up.
    sum: f64,
    /// ln w_j + ln δ, rounded down; minus infinity where R_j is infinite, and then the exponent is too.
    level: f64,
}

impl Exponent {
    /// That of an order which counts for nothing.
    const NONE: Exponent = Exponent { rate: Interval::ONE, sum: 0.0, level: f64::NEG_INFINITY };

    #[inline]
    fn new(rate: Interval, sum: Divergence, level: f64) -> Exponent {
        match sum.finite() {
            Some(sum) => Exponent { rate, sum: sum.interval().hi(), level },
            None => Exponent::NONE,
        }
    }

    /// At u, to a few digits less than there are.
    fn about(&self, u: f64) -> f64 {
        self.rate.lo() * (u - self.sum) + self.level
    }

    /// At u, each operation rounded down.
    fn lower(&self, u: f64) -> f64 {
        let distance = (u - self.sum).next_down();
        // A line below its R_j falls with the rate.
        let rate = if distance < 0.0 { self.rate.hi() } else { self.rate.lo() };
        ((rate * distance).next_down() + self.level).next_down()
    }

    /// About where it is zero: the reading of this order alone.
    fn zero(&self) -> f64 {
        self.sum - self.level / self.rate.lo()
    }
}

/// About where Σ e^{exponents} = 1, sought from a point above it where no exponent is above zero. This proves nothing.
///
/// ln Σ e^{exponents} is convex and rises, so Newton's method comes down to its zero. Where the curve bends little, Halley's
/// method, which follows the bend too, takes fewer steps: what is missing falls to its third power.
fn root(exponents: &[Exponent], above_root: f64) -> f64 {
    let mut u = above_root;
    for _ in 0..50 {
        let (mut total, mut rising, mut bending) = (0.0, 0.0, 0.0);
        for exponent in exponents {
            let about = exponent.about(u);
            // Below e^{−40} a term adds less than a rounding error.
            if about > -40.0 {
                let weight = core_math::exp(about);
                total += weight;
                let rate = exponent.rate.lo();
                rising += rate * weight;
                bending += rate * rate * weight;
            }
        }
        // Near one, 2(t−1)/(t+1) is ln t but for a third power too, and far quicker than the last digit of a logarithm.
        let value = if total < 1.5 { 2.0 * (total - 1.0) / (total + 1.0) } else { core_math::log(total) };
        let slope = rising / total;
        let newton = value / slope;
        // By how much the slope changes on the way, relative to itself.
        let bend = newton * (bending / rising - slope);
        let is_straight = bend.abs() <= 0.5;
        let step = if is_straight { newton / (1.0 - 0.5 * bend) } else { newton };
        if !step.is_finite() {
            break;
        }
        u = (u - step).min(above_root);
        // What Halley's method leaves is about the third power of the step, on the scale on which the weights change.
        let scaled = step * bending / rising;
        let missing = if is_straight { step.abs() * scaled * scaled } else { step.abs() };
        if !(missing > 1e-15 * u.abs()) {
            break;
        }
    }
    u
}

/// Whether Σ e^{exponents} ≥ 1 at u, each term and each addition rounded down.
fn is_proven(exponents: &[Exponent], u: f64) -> bool {
    let mut total = 0.0f64;
    for exponent in exponents {
        let lower = exponent.lower(u);
        // Leaving out what is positive only lowers the sum.
        if lower > -45.0 {
            total = (total + core_math::exp(lower).next_down()).next_down();
        }
    }
    total >= 1.0
}

/// A divergence that may be infinite, no larger than one that may not: the largest amount stands for infinity. A sum that comes
/// to exactly that is read as infinite too, which is on the safe side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divergence(FineAmount);

impl Divergence {
    const INFINITE: Divergence = Divergence(FineAmount::MAX);

    /// The number, if it is finite.
    pub(super) fn finite(self) -> Option<FineAmount> {
        (!self.0.is_max()).then_some(self.0)
    }

    /// The sum with a multiple of another; infinite if it is too large to hold.
    fn plus(self, more: Divergence, times: u64) -> Divergence {
        let sum = || self.finite()?.checked_add(more.finite()?.checked_times(times)?);
        sum().into()
    }
}

impl From<Option<FineAmount>> for Divergence {
    fn from(finite: Option<FineAmount>) -> Divergence {
        finite.map_or(Divergence::INFINITE, Divergence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wide_prior_is_as_documented() {
        let prior: Vec<_> = wide_prior().collect();
        assert_eq!(prior.len(), WIDE);
        assert_eq!(prior.iter().map(|(_, weight)| weight).sum::<u32>(), 137);
        assert!(prior.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for ((above_one, _), j) in prior.iter().zip([-10, -8, -6].into_iter().chain(-4..=15).chain([17, 19])) {
            let meant = 2f64.powf(2.0 * f64::from(j) / 3.0);
            assert!((above_one / meant - 1.0).abs() < 0.025, "{above_one} stands for {meant}");
        }
    }

    #[test]
    fn the_orders_of_a_scale_are_as_documented() {
        for scale in ["1e-30", "20.0816", "0.1", "3e8"] {
            let scale = Amount::parse_exact(scale).unwrap();
            for (above_one, step) in near_orders(scale).into_iter().zip([1.0, 1.6, 2.5, 4.0]) {
                let meant = scale.approximate() * step;
                assert!(above_one.lo() <= meant && meant <= above_one.hi(), "{above_one:?} holds {meant}");
                assert!(above_one.hi() - above_one.lo() < 1e-14 * meant);
            }
        }
    }

    /// z/√V_g. A budget that buys so little that its scale is too large for an amount goes without, and so does a level without
    /// a z above zero.
    #[test]
    fn the_scale_of_a_budget_is_as_documented() {
        let check = |budget: &str, level: &str, scale: Option<&str>| {
            let found = default_scale(&Budget::parse(budget).unwrap(), Amount::parse_exact(level).unwrap());
            assert_eq!(found.map(|scale| scale.to_string()).as_deref(), scale, "{budget} at {level}");
        };
        check("1,1e-6", "1e-6", Some("20.0816"));
        check("1,1e-6", "1e-9", Some("25.3388"));
        check("0.3,1e-9", "1e-9", Some("104.603"));
        check("4,1e-6", "1e-6", Some("5.6733"));
        check("8,1e-6", "1e-6", Some("3.10367"));
        check("1e-9,1e-6", "1e-6", Some("1895390"));
        check("1e-9,1e-15", "1e-15", None);
        check("0,1e-6", "1e-6", Some("1896340"));
        check("1,0.6", "0.6", None);
        check("1", "1e-6", None);
    }
}
