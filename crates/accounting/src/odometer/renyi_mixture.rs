//! *The Rényi-mixture odometer*, the default: any cost with a Rényi curve.
//!
//! For every order α the process e^{(α−1)(Loss − Σ D_α)} is a supermartingale (Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3),
//! and so is every average of them over orders fixed in advance. By Ville's inequality the reading u that solves
//! Σ_j w_j e^{(α_j−1)(u − R_j)} = 1/δ, R_j = Σ_i D_{α_j}, is exceeded at any time with probability at most δ. Guarantee: one-sided at
//! δ, in either order, since the curves bound both orders.
//!
//! The orders stand three to a factor of four, and the weights are small integers: equal from α − 1 = 4 on, where the square
//! root of the loss dominates and every order matters alike; falling in a straight line below, where a weight matters less to
//! the reading; and thin at both ends, for losses far from what is usual.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::amount::FineAmount;
use crate::cost::Cost;
use crate::numeric::Interval;
use crate::price::{self, Order};

/// How many orders there are.
const ORDERS: usize = 25;

/// One term of the mixture.
struct Term {
    order: Order,
    /// ln w_j.
    log_weight: Interval,
}

/// The mixture, from the smallest order to the largest.
static MIXTURE: LazyLock<[Term; ORDERS]> = LazyLock::new(|| {
    let sum = f64::from(prior().map(|(_, weight)| weight).sum::<u32>());
    let terms: Vec<Term> = prior()
        .map(|(above_one, weight)| Term {
            order: Order::above_one(Interval::point(above_one)),
            log_weight: (Interval::point(f64::from(weight)) / sum).ln(),
        })
        .collect();
    terms.try_into().unwrap_or_else(|_| unreachable!("the prior has {ORDERS} orders"))
});

/// α_j − 1, about 2^{2j/3}, exactly (1, 13/8 or 5/2 times a power of four), and the weight before normalising.
fn prior() -> impl Iterator<Item = (f64, u32)> {
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

/// One number for every order: the D_α of a cost, or the R_j of what was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divergences([Divergence; ORDERS]);

impl Default for Divergences {
    fn default() -> Self {
        Divergences([Divergence(FineAmount::ZERO); ORDERS])
    }
}

impl Divergences {
    /// What one charge of a cost adds.
    pub(super) fn of(cost: &Cost) -> Divergences {
        Divergences(std::array::from_fn(|at| price::renyi(&MIXTURE[at].order, cost).into()))
    }

    /// Adds so many charges.
    pub(super) fn add(&mut self, charge: &Divergences, times: u64) {
        for (sum, divergence) in self.0.iter_mut().zip(&charge.0) {
            *sum = sum.plus(*divergence, times);
        }
    }

    /// The reading at level δ, as an interval whose upper end is proven.
    pub(super) fn bound(&self, delta: Interval) -> Interval {
        let log_delta = delta.ln();
        let exponents: [Exponent; ORDERS] =
            std::array::from_fn(|at| Exponent::new(&MIXTURE[at], self.0[at], log_delta));
        let above_root = exponents.iter().map(Exponent::zero).fold(f64::INFINITY, f64::min);
        if !(above_root < f64::INFINITY) {
            return Interval::point(f64::INFINITY);
        }
        // The exponents err by a few dozen units in the last place, so smaller steps would hardly ever do. Above the zero of one
        // exponent alone the first step always does.
        let upwards = |from: f64| (6..40).map(move |step| from + from.abs() * f64::EPSILON * (1u64 << step) as f64);
        let proven = [root(&exponents, above_root), above_root]
            .into_iter()
            .flat_map(upwards)
            .find(|&u| is_proven(&exponents, u));
        Interval::between(f64::NEG_INFINITY, proven.unwrap_or(f64::INFINITY))
    }
}

/// One exponent (α_j−1)(u − R_j) + ln w_j + ln δ, a line in u; the reading makes the sum of all e^{exponents} one.
struct Exponent {
    /// α_j − 1, which is exact.
    rate: f64,
    /// R_j, rounded up.
    sum: f64,
    /// ln w_j + ln δ, rounded down; minus infinity where R_j is infinite, and then the exponent is too.
    level: f64,
}

impl Exponent {
    fn new(term: &Term, sum: Divergence, log_delta: Interval) -> Exponent {
        let rate = term.order.minus_one().lo();
        match sum.finite() {
            Some(sum) => Exponent { rate, sum: sum.interval().hi(), level: (term.log_weight + log_delta).lo() },
            None => Exponent { rate, sum: 0.0, level: f64::NEG_INFINITY },
        }
    }

    /// At u, to a few digits less than there are.
    fn near(&self, u: f64) -> f64 {
        self.rate * (u - self.sum) + self.level
    }

    /// At u, each operation rounded down.
    fn lower(&self, u: f64) -> f64 {
        ((self.rate * (u - self.sum).next_down()).next_down() + self.level).next_down()
    }

    /// About where it is zero: the reading of this order alone.
    fn zero(&self) -> f64 {
        self.sum - self.level / self.rate
    }
}

/// About where Σ e^{exponents} = 1, sought from a point above it where no exponent is above zero. This proves nothing.
///
/// ln Σ e^{exponents} is convex and rises, so Newton's method comes down to its zero. Where the curve bends little, Halley's
/// method, which follows the bend too, takes fewer steps: what is missing falls to its third power.
fn root(exponents: &[Exponent; ORDERS], above_root: f64) -> f64 {
    let mut u = above_root;
    for _ in 0..50 {
        let (mut total, mut rising, mut bending) = (0.0, 0.0, 0.0);
        for exponent in exponents {
            let near = exponent.near(u);
            // Below e^{−40} a term adds less than a rounding error.
            if near > -40.0 {
                let weight = core_math::exp(near);
                total += weight;
                rising += exponent.rate * weight;
                bending += exponent.rate * exponent.rate * weight;
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
fn is_proven(exponents: &[Exponent; ORDERS], u: f64) -> bool {
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
struct Divergence(FineAmount);

impl Divergence {
    const INFINITE: Divergence = Divergence(FineAmount::MAX);

    /// The number, if it is finite.
    fn finite(self) -> Option<FineAmount> {
        (self != Divergence::INFINITE).then_some(self.0)
    }

    /// After so many more; what is too large to hold is infinite.
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

impl Serialize for Divergences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|sum| sum.finite()))
    }
}

impl<'de> Deserialize<'de> for Divergences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sums = Vec::<Option<FineAmount>>::deserialize(deserializer)?;
        let sums: Vec<Divergence> = sums.into_iter().map(Divergence::from).collect();
        let found = sums.len();
        sums.try_into().map(Divergences).map_err(|_| {
            serde::de::Error::custom(format!("a Rényi mixture has {ORDERS} sums; the stored state has {found}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_is_as_documented() {
        let prior: Vec<_> = prior().collect();
        assert_eq!(prior.len(), ORDERS);
        assert_eq!(prior.iter().map(|(_, weight)| weight).sum::<u32>(), 137);
        assert!(prior.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for ((above_one, _), j) in prior.iter().zip([-10, -8, -6].into_iter().chain(-4..=15).chain([17, 19])) {
            let meant = 2f64.powf(2.0 * f64::from(j) / 3.0);
            assert!((above_one / meant - 1.0).abs() < 0.025, "{above_one} stands for {meant}");
        }
    }
}
