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
    with_guards.map(|(j, weight)| (STEPS[j.rem_euclid(3) as usize] * 4f64.powi(j.div_euclid(3)), weight))
}

/// R_j for every order; nothing where it is infinite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divergences([Option<FineAmount>; ORDERS]);

impl Default for Divergences {
    fn default() -> Self {
        Divergences([Some(FineAmount::ZERO); ORDERS])
    }
}

impl Divergences {
    pub(super) fn charge(&mut self, cost: &Cost, times: u64) {
        for (sum, term) in self.0.iter_mut().zip(MIXTURE.iter()) {
            *sum = sum.and_then(|sum| sum.checked_add(price::renyi(&term.order, cost)?.checked_times(times)?));
        }
    }

    /// The reading at level δ, as an interval whose upper end is proven.
    pub(super) fn bound(&self, delta: Interval) -> Interval {
        let log_delta = delta.ln();
        let terms = || self.0.iter().zip(MIXTURE.iter()).filter_map(|(sum, term)| Some(((*sum)?.interval(), term)));
        // With one order alone u would be R_j + ln(1/(w_j δ))/(α_j−1); the smallest of these is above the root.
        let start = terms()
            .map(|(sum, term)| (sum - (term.log_weight + log_delta) / term.order.minus_one()).hi())
            .fold(f64::INFINITY, f64::min);
        if !(start < f64::INFINITY) {
            return Interval::point(f64::INFINITY);
        }
        // The exponents (α_j−1)(u − R_j) + ln w_j + ln δ, in plain numbers, as lines in u.
        let mut lines = [(0.0, f64::NEG_INFINITY); ORDERS];
        for (line, (sum, term)) in lines.iter_mut().zip(terms()) {
            let rate = term.order.minus_one().middle();
            *line = (rate, term.log_weight.middle() + log_delta.middle() - rate * sum.middle());
        }
        // ln Σ e^{exponents} is convex and rises: Newton's method comes down to its zero and does not pass it.
        let mut u = start;
        for _ in 0..50 {
            let (mut total, mut rising) = (0.0, 0.0);
            for (rate, offset) in lines {
                let exponent = rate * u + offset;
                // Below e^{−40} a term adds less than a rounding error.
                if exponent > -40.0 {
                    let weight = core_math::exp(exponent);
                    total += weight;
                    rising += rate * weight;
                }
            }
            let step = core_math::log(total) * total / rising;
            if !(step > 0.0) {
                break;
            }
            u -= step;
            if step <= 1e-13 * u.abs() {
                break;
            }
        }
        // Proven: at u the sum, each term and each addition rounded down, is at least 1/δ.
        let is_proven = |u: f64| {
            let exponent =
                |(sum, term): (Interval, &Term)| (u - sum) * term.order.minus_one() + term.log_weight + log_delta;
            let lower = |exponent: Interval| Interval::point(exponent.lo()).exp().lo();
            terms().map(exponent).map(lower).fold(0.0, |total, term| (total + term).next_down()) >= 1.0
        };
        // The exponents err by a few dozen units in the last place, so smaller steps would hardly ever do.
        let proven = (6..40).map(|try_| u + u.abs() * f64::EPSILON * 2f64.powi(try_)).find(|&u| is_proven(u));
        Interval::between(f64::NEG_INFINITY, proven.unwrap_or(start))
    }
}

impl Serialize for Divergences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0)
    }
}

impl<'de> Deserialize<'de> for Divergences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sums = Vec::<Option<FineAmount>>::deserialize(deserializer)?;
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
