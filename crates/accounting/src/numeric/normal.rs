//! The normal distribution and the privacy profile of the Gaussian mechanism.
//!
//! With Φ the normal distribution function, φ its density and M(x) = Φ(−x)/φ(x) Mills' ratio, the profile of √w-GDP is
//! δ_w(t) = Φ(√w/2 − t/√w) − e^t Φ(−√w/2 − t/√w) (Dong, Roth, Su, arXiv:1905.02383v3, Corollary 2.13).

use std::f64::consts::FRAC_1_SQRT_2;

use super::{Interval, largest_float_where, smallest_float_where};

/// Up to here in √w/2 the profile is summed as a series, because its two terms agree in too many digits.
const SERIES_UP_TO: f64 = 0.25;

/// Φ(−x), accurate in relative terms also where it is tiny.
pub(crate) fn upper_tail(x: Interval) -> Interval {
    0.5 * (x * Interval::around(FRAC_1_SQRT_2, 1)).erfc()
}

/// 2Φ(x) − 1, accurate in relative terms also where x is tiny.
pub(crate) fn within(x: Interval) -> Interval {
    (x * Interval::around(FRAC_1_SQRT_2, 1)).erf()
}

/// φ(x).
pub(crate) fn density(x: Interval) -> Interval {
    const ONE_OVER_ROOT_TWO_PI: f64 = 0.398_942_280_401_432_7;
    (-0.5 * x.square()).exp() * Interval::around(ONE_OVER_ROOT_TWO_PI, 1)
}

/// δ_w(t) for t ≥ 0: the δ at which a √w-GDP interaction is (t, δ)-DP.
pub(crate) fn gaussian_profile(w: Interval, t: Interval) -> Interval {
    if w.hi() == 0.0 {
        return Interval::ZERO;
    }
    let root = w.sqrt();
    let half = 0.5 * root;
    let distance = t / root;
    // Far out the profile is below its first term, which is below 10⁻³⁰⁰; `distance` is also not a number where w may be 0.
    if distance.lo() > 37.0 + half.hi() || !(half.lo() > 0.0) {
        let bound = upper_tail((distance - half).not_negative());
        return Interval::between(0.0, if bound.hi().is_nan() { 1.0 } else { bound.hi() });
    }
    if half.hi() <= SERIES_UP_TO {
        return (density(distance - half) * mills_difference(distance, half)).not_negative();
    }
    // e^t Φ(−a − x) = φ(a − x) M(a + x), which does not overflow; there a + x ≥ √(2t) is large.
    let second = if t.hi() > 600.0 {
        density(distance - half) * mills_far(distance + half)
    } else {
        t.exp() * upper_tail(distance + half)
    };
    (upper_tail(distance - half) - second).not_negative()
}

/// M(z) = 1/(z + 1/(z + 2/(z + …))) for z ≥ 30: what stands behind the eighth level is between z and z + 9/z.
fn mills_far(z: Interval) -> Interval {
    let behind = Interval::between(z.lo(), (z + 9.0 / z).hi());
    Interval::ONE / (1..=8).rev().fold(behind, |rest, n| z + f64::from(n) / rest)
}

/// M(a − x) − M(a + x) = 2 Σ_j x^{2j+1}/(2j+1)! N_{2j+1}(a) with N_k(a) = ∫₀^∞ v^k e^{−v²/2 − av} dv, for x ≤ ¼.
///
/// N_0 = M(a), N_1 = 1 − a N_0 and N_{k+1} = k N_{k−1} − a N_k; all are positive, and N_{k+2} ≤ (k+1) N_k bounds the rest of the
/// series by a geometric one.
fn mills_difference(a: Interval, x: Interval) -> Interval {
    const TERMS: u32 = 7;
    let mut even = upper_tail(a) / density(a);
    let mut odd = (1.0 - a * even).not_negative();
    let mut power = x;
    let mut sum = Interval::ZERO;
    let square = x.square();
    for term in 0..TERMS {
        let order = f64::from(2 * term + 1);
        sum = sum + power * odd;
        if term + 1 == TERMS {
            let ratio = square.hi() / (order + 2.0);
            let rest = (power * odd).hi() * ratio / (1.0 - ratio);
            return 2.0 * (sum + Interval::between(0.0, rest.next_up()));
        }
        even = (order * even - a * odd).not_negative();
        let next = ((order + 1.0) * odd - a * even).not_negative();
        odd = next.min(Interval::between(next.lo(), ((order + 1.0) * odd).hi()));
        power = power * square / ((order + 1.0) * (order + 2.0));
    }
    unreachable!("the loop returns at its last term")
}

/// The largest V with δ_V(ε) ≤ δ: what a budget of (ε, δ) buys in μ², rounded down. For ε ≤ 1000.
pub(crate) fn largest_variance(epsilon: Interval, delta: Interval) -> f64 {
    largest_float_where(LARGEST_VARIANCE, |variance| is_variance_within(variance, epsilon, delta))
}

/// Whether δ_V(ε) ≤ δ is proven.
pub(crate) fn is_variance_within(variance: f64, epsilon: Interval, delta: Interval) -> bool {
    let within = || gaussian_profile(Interval::point(variance), epsilon).hi() <= delta.lo();
    variance == 0.0 || (variance <= LARGEST_VARIANCE && within())
}

/// No budget up to ε = 1000 buys as much.
const LARGEST_VARIANCE: f64 = 1e6;

/// The smallest ε with δ_V(ε) ≤ δ, rounded up.
pub(crate) fn smallest_epsilon(variance: Interval, delta: Interval) -> f64 {
    smallest_float_where(1e6, |epsilon| gaussian_profile(variance, Interval::point(epsilon)).hi() <= delta.lo())
        .unwrap_or(f64::INFINITY)
}
