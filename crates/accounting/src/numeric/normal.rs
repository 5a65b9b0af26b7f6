//! The normal distribution and the privacy profile of the Gaussian mechanism.
//!
//! With Φ the normal distribution function, φ its density and M(x) = Φ(−x)/φ(x) Mills' ratio, the profile of √w-GDP is
//! δ_w(t) = Φ(√w/2 − t/√w) − e^t Φ(−√w/2 − t/√w) (Dong, Roth, Su, arXiv:1905.02383v3, Corollary 2.13). With a = t/√w and h = √w/2,
//!
//! * δ_w(t) = φ(a − h) [M(a − h) − M(a + h)], which keeps its digits in the tail, and
//! * 1 − δ_w(t) = φ(a − h) [M(h − a) + M(h + a)], which keeps them where the profile is near 1.
//!
//! The density is kept apart as an exponent, so that two profiles can be compared where both would underflow.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{Interval, Scalar, largest_float_where, smallest_float_where};

/// Up to this h the two ratios agree in too many digits, and their difference is summed as a series.
const SERIES_UP_TO: f64 = 0.25;
/// From here on Mills' ratio is a continued fraction; below, erfc over the density.
const FRACTION_FROM: f64 = 3.5;

/// A positive number e^exponent · factor/√(2π).
#[derive(Clone, Copy)]
pub(crate) struct Profile<N> {
    pub(crate) exponent: N,
    pub(crate) factor: N,
    /// e^exponent · slope/√(2π) is φ(t/√w − √w/2), and that over 2√w is the derivative of the profile in w.
    pub(crate) slope: N,
}

/// √(2π).
pub(crate) const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_7;

/// δ_w(t) for t ≥ 0 and w > 0.
pub(crate) fn profile<N: Scalar>(w: N, t: N) -> Profile<N> {
    let (a, h) = distances(w, t);
    let factor = match h.hi() <= SERIES_UP_TO {
        true => mills_difference(a, h),
        false => (mills(a - h) - mills(a + h)).not_negative(),
    };
    Profile { exponent: log_density(a - h), factor, slope: N::point(1.0) }
}

/// 1 − δ_w(t) for t ≥ 0 and w > 0.
pub(crate) fn complement<N: Scalar>(w: N, t: N) -> Profile<N> {
    let (a, h) = distances(w, t);
    if (a - h).lo() > 0.0 {
        // The profile is below ½, so nothing is lost by taking it from 1.
        let Profile { exponent, factor, .. } = profile(w, t);
        let density = exponent.exp();
        let factor = N::constant(ROOT_TWO_PI) - density * factor;
        return Profile { exponent: N::point(0.0), factor, slope: density };
    }
    Profile { exponent: log_density(a - h), factor: mills(h - a) + mills(h + a), slope: N::point(1.0) }
}

/// t/√w and √w/2.
fn distances<N: Scalar>(w: N, t: N) -> (N, N) {
    let root = w.sqrt();
    (t / root, root * 0.5)
}

/// ln(√(2π) φ(x)).
fn log_density<N: Scalar>(x: N) -> N {
    N::point(0.0) - x.square() * 0.5
}

/// M(x) for x above −38.
fn mills<N: Scalar>(x: N) -> N {
    if x.lo() >= FRACTION_FROM {
        return N::point(1.0) / (x + ratios::<N, 1>(x)[0]);
    }
    (x * N::constant(FRAC_1_SQRT_2)).erfc() * (x.square() * 0.5).exp() * N::constant(0.5 * ROOT_TWO_PI)
}

/// r_k = N_k/N_{k−1} for k = 1, 2, … up to `KEPT`, where N_k(a) = ∫₀^∞ v^k e^{−v²/2 − av} dv and N_0 = M(a).
///
/// Integrating by parts, N_{k+1} = k N_{k−1} − a N_k; so r_k = k/(a + r_{k+1}), a continued fraction of positive terms. The N_k are
/// log-convex in k (Cauchy–Schwarz), so r_k ≤ r_{k+1}, and what stands behind the last term is between ρ_k and ρ_{k+1}, where ρ_k is
/// the positive root of ρ(a + ρ) = k. For a ≥ 3.5 the terms taken give r_1 to fourteen digits, and the others to more than their place
/// in a series needs.
///
/// The r_k fall in a, so the lower and the upper ends are two chains of plain numbers. A step adds two roundings and, since r_{k+1} ≤
/// 2a for k < 6a², leaves at most two thirds of the relative error before it: six roundings bound it everywhere, the first value
/// included.
fn ratios<N: Scalar, const KEPT: usize>(a: N) -> [N; KEPT] {
    const WIDTH: f64 = 4.0 * f64::EPSILON;
    let depth = KEPT.max((100.0 / a.lo()) as usize + 2);
    let root = |a: f64, k: usize| 2.0 * k as f64 / (a + (a * a + 4.0 * k as f64).sqrt());
    let (mut lo, mut hi) = (root(a.hi(), depth), root(a.lo(), depth + 1));
    let mut ratios = [N::point(0.0); KEPT];
    for k in (1..=depth).rev() {
        (lo, hi) = (k as f64 / (a.hi() + hi), k as f64 / (a.lo() + lo));
        if let Some(ratio) = ratios.get_mut(k - 1) {
            *ratio = N::between(lo * (1.0 - WIDTH), hi * (1.0 + WIDTH));
        }
    }
    ratios
}

/// How many terms of the series below are summed.
const TERMS: usize = 7;

/// M(a − h) − M(a + h) = 2 Σ_j h^{2j+1}/(2j+1)! N_{2j+1}(a), for h ≤ ¼.
///
/// N_{k+2} ≤ (k+1) N_k bounds the rest of the series by a geometric one.
fn mills_difference<N: Scalar>(a: N, h: N) -> N {
    let odd = odd_moments(a);
    let (square, mut power, mut sum) = (h.square(), h, N::point(0.0));
    for (term, moment) in odd.into_iter().enumerate() {
        let order = (2 * term + 1) as f64;
        sum = sum + power * moment;
        if term + 1 == TERMS {
            let ratio = square.hi() / (order + 2.0);
            let rest = (power * moment).hi() * ratio / (1.0 - ratio);
            sum = sum + N::between(0.0, rest * (1.0 + 4.0 * f64::EPSILON));
        }
        power = power * square * N::constant(1.0 / ((order + 1.0) * (order + 2.0)));
    }
    sum * 2.0
}

/// N_1, N_3, N_5, … at a.
fn odd_moments<N: Scalar>(a: N) -> [N; TERMS] {
    let mut odd = [N::point(0.0); TERMS];
    if a.lo() >= FRACTION_FROM {
        let ratios = ratios::<N, { 2 * TERMS - 1 }>(a);
        let mut moment = N::point(1.0) / (a + ratios[0]);
        for (at, ratio) in ratios.into_iter().enumerate() {
            moment = moment * ratio;
            if at % 2 == 0 {
                odd[at / 2] = moment;
            }
        }
        return odd;
    }
    let mut even = mills(a);
    odd[0] = (N::point(1.0) - a * even).not_negative();
    for term in 1..TERMS {
        let order = (2 * term - 1) as f64;
        even = (even * order - a * odd[term - 1]).not_negative();
        odd[term] = (odd[term - 1] * (order + 1.0) - a * even).not_negative();
    }
    odd
}

/// Φ(−x), accurate in relative terms also where it is tiny.
fn upper_tail(x: Interval) -> Interval {
    0.5 * (x * Interval::constant(FRAC_1_SQRT_2)).erfc()
}

/// The z with Φ(−z) = δ, rounded down; zero from one half on. For δ ≥ 10⁻³⁰⁰.
pub(crate) fn quantile(delta: Interval) -> f64 {
    largest_float_where(37.0, |z| upper_tail(Interval::point(z)).lo() >= delta.hi())
}

/// δ_w(t) for t ≥ 0: the δ at which a √w-GDP interaction is (t, δ)-DP.
pub(crate) fn gaussian_profile(w: Interval, t: Interval) -> Interval {
    if w.hi() == 0.0 {
        return Interval::ZERO;
    }
    // Where w may be 0 the distance is not a number, and neither is what comes of it.
    let Profile { exponent, factor, .. } = profile(w, t);
    (exponent.exp() * factor / Interval::constant(ROOT_TWO_PI)).not_negative()
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
