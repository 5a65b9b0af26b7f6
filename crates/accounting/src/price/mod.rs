//! What one cost adds under each measure: the per-round constants.
//!
//! | quantity | formula | source |
//! |---|---|---|
//! | mean loss as the paper prints it | ε(e^ε − 1)/2 | Dwork, Rothblum, arXiv:1603.01887v2 |
//! | mean loss, tight; also the tight zCDP ρ of ε-DP | ε tanh(ε/2) | Harrison, Manurangsi, arXiv:2510.25746 |
//! | Rényi divergence of ε-DP | ln(cosh((α−½)ε)/cosh(ε/2))/(α−1) | Bun, Steinke, arXiv:1605.02065v1, Prop. 3.3 |
//! | zCDP ρ of Laplace noise | ε + e^{−ε} − 1 | Harrison, Manurangsi, arXiv:2510.25746 |
//! | Rényi divergence of Laplace noise | ln(α/(2α−1)·e^{(α−1)ε} + (α−1)/(2α−1)·e^{−αε})/(α−1) | Mironov, arXiv:1702.07476v3 |
//! | zCDP ρ of the exponential mechanism | η²/8 | Dong, Durfee, Rogers, arXiv:1909.13830v2 |
//! | zCDP ρ of a Gaussian, continuous or discrete | μ²/2 | Canonne, Kamath, Steinke, arXiv:2004.00010v5 |
//! | Rényi divergence of a sampled Gaussian | `sampled_gaussian.rs` | Mironov, Talwar, Zhang, arXiv:1908.10530v1 |
//!
//! Each is evaluated without cancellation, and rises in ε. Only upper bounds are needed, so intermediate values are raised to their
//! upper ends; the result is rounded up once into the exact sums.

pub(crate) mod sampled_gaussian;

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::numeric::Interval;

/// A Rényi order α > 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Order {
    /// α.
    pub(crate) alpha: Interval,
    /// α − 1.
    pub(crate) above_one: Interval,
    /// The largest whole order n that is not above α. A price that is known at whole orders may differ greatly between two of them.
    pub(crate) whole: f64,
    /// α − n, from 0 to 1.
    pub(crate) part: Interval,
}

impl Order {
    /// α = 1 + `above_one`; the whole part and the rest are those of the upper end.
    pub(crate) fn above_one(above_one: Interval) -> Order {
        let below = above_one.hi().floor();
        Order { alpha: 1.0 + above_one, above_one, whole: below + 1.0, part: Interval::point(above_one.hi() - below) }
    }

    /// α = 1 + `above_one`, the whole part exact.
    pub(crate) fn above_one_by(above_one: Amount) -> Order {
        let (below, part) = above_one.whole_and_part();
        Order { whole: below as f64 + 1.0, part: part.interval(), ..Order::above_one(above_one.interval()) }
    }
}

/// ε(e^ε − 1)/2.
pub(crate) fn printed_mean(epsilon: Interval) -> Interval {
    epsilon * epsilon.exp_m1() * 0.5
}

/// ε tanh(ε/2).
pub(crate) fn tight_mean(epsilon: Interval) -> Interval {
    epsilon * (0.5 * epsilon).tanh()
}

/// The Rényi divergence of ε-DP, written as ln(1 + 2 sinh(αε/2) sinh((α−1)ε/2)/cosh(ε/2))/(α−1), or, where that would
/// overflow, as (α−1)ε + ln(1 + e^{−(2α−1)ε}) − ln(1 + e^{−ε}) over α−1.
pub(crate) fn renyi_of_pure(order: &Order, epsilon: Interval) -> Interval {
    let Order { alpha, above_one, .. } = *order;
    let logarithm = if (alpha * epsilon).hi() <= 40.0 {
        let half = 0.5 * epsilon;
        let product = (alpha * half).raised().sinh() * (above_one * half).raised().sinh();
        (2.0 * product / half.cosh()).raised().ln_1p()
    } else {
        above_one * epsilon + (-((alpha + above_one) * epsilon)).exp().ln_1p() - (-epsilon).exp().ln_1p()
    };
    (logarithm / above_one).not_negative()
}

/// The Rényi divergence of Laplace noise. With E(z) = e^z − 1 − z the argument of the logarithm is
/// 1 + (αE((α−1)ε) + (α−1)E(−αε))/(2α−1); where that would overflow, the larger exponential is taken out.
pub(crate) fn renyi_of_laplace(order: &Order, epsilon: Interval) -> Interval {
    let Order { alpha, above_one, .. } = *order;
    let total = alpha + above_one;
    let logarithm = if (alpha * epsilon).hi() <= 40.0 {
        let up = alpha * exp_minus_line(above_one * epsilon);
        let down = above_one * exp_minus_line(-(alpha * epsilon));
        ((up + down) / total).ln_1p()
    } else {
        let share = above_one / alpha;
        above_one * epsilon - share.ln_1p() + (share * (-(total * epsilon)).exp()).ln_1p()
    };
    (logarithm / above_one).not_negative()
}

/// E(z) = e^z − 1 − z, without cancellation: for small z the series z²/2·(1 + z/3·(1 + z/4·(…))).
fn exp_minus_line(z: Interval) -> Interval {
    if z.lo() < -0.5 || z.hi() > 0.5 {
        return (z.exp_m1() - z).not_negative();
    }
    // Behind the last term stands a factor 1 + z/18 + …, which is between ½ and 2.
    let series = (3..=17).rev().fold(Interval::between(0.5, 2.0), |rest, n| 1.0 + z / f64::from(n) * rest);
    z.square() * 0.5 * series
}

/// The ρ of a cost, rounded up; nothing if it is too large to hold.
pub(crate) fn zcdp(cost: &Cost) -> Option<FineAmount> {
    let pure = |epsilon: Amount, rho: fn(Interval) -> Interval| match epsilon.is_zero() {
        true => Some(FineAmount::ZERO),
        false => FineAmount::at_least(rho(epsilon.interval().raised()).hi()),
    };
    match *cost {
        Cost::Pure { epsilon }
        | Cost::Approximate { epsilon, .. }
        | Cost::DiscreteLaplace { epsilon }
        | Cost::RandomizedResponse { epsilon } => pure(epsilon, tight_mean),
        Cost::Laplace { epsilon } => pure(epsilon, |epsilon| exp_minus_line(-epsilon)),
        Cost::Exponential { epsilon } => Some(epsilon.square().half().half().half()),
        Cost::Gaussian { mu } | Cost::DiscreteGaussian { mu } => Some(mu.square().half()),
        Cost::Zcdp { rho } => Some(rho.into()),
        Cost::SampledGaussian { .. } => None,
    }
}

/// The Rényi divergence of a cost at an order, rounded up; nothing if it is too large to hold.
pub(crate) fn renyi(order: &Order, cost: &Cost) -> Option<FineAmount> {
    if cost.size().is_zero() {
        return Some(FineAmount::ZERO);
    }
    let divergence = match *cost {
        Cost::Pure { epsilon }
        | Cost::Approximate { epsilon, .. }
        | Cost::DiscreteLaplace { epsilon }
        | Cost::RandomizedResponse { epsilon } => renyi_of_pure(order, epsilon.interval().raised()),
        Cost::Laplace { epsilon } => renyi_of_laplace(order, epsilon.interval().raised()),
        // αη²/8 and the curve of η-DP both hold.
        Cost::Exponential { epsilon } => {
            (order.alpha * zcdp(cost)?.interval()).min(renyi_of_pure(order, epsilon.interval().raised()))
        }
        Cost::SampledGaussian { rate, sigma, steps } => {
            let step = sampled_gaussian::renyi(order, rate.interval(), sigma.interval());
            return FineAmount::at_least(step.hi())?.checked_times(steps);
        }
        Cost::Gaussian { .. } | Cost::DiscreteGaussian { .. } | Cost::Zcdp { .. } => {
            order.alpha * zcdp(cost)?.interval()
        }
    };
    FineAmount::at_least(divergence.hi())
}
