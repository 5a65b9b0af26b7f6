//! *The reach theorem* in numbers: one step of the residue filter.
//!
//! An ε-DP cost at residue w and level τ is admitted iff there is a w′ ≥ 0 with
//!
//! ```text
//! p δ_{w′}(τ−ε) + (1−p) δ_{w′}(τ+ε) ≤ δ_w(τ),      p = e^ε/(1+e^ε),
//! ```
//!
//! and leaves the largest such w′. The left side rises in w′, so a w′ for which the inequality is *proven* is never above the true
//! one. Here it is searched for in plain floating point and proven in intervals, in one of two forms: [`small`] where ε, ε/√w and
//! ετ/w are at most ¼, [`large`] elsewhere.
//!
//! For ε → 0 the price c is ε². It is least where τ is large: what is admitted at a level is admitted at every higher one. At τ = 0,
//! the join theorem, c ≤ ε² + ε⁴/(6(w − 1.6ε²)) for ε ≤ 3 and w ≥ 2.6ε², so that bounds the price at every level.

mod large;
mod small;

use crate::amount::{Amount, FineAmount};
use crate::numeric::{Interval, Scalar};

/// The w′ that is left of a residue w after an ε-DP cost at level τ: the largest that is proven, to about ten digits of the price;
/// nothing if the cost is refused.
pub(crate) fn rest(epsilon: Amount, tau: Amount, residue: FineAmount) -> Option<FineAmount> {
    if epsilon.is_zero() {
        return Some(residue);
    }
    if residue.is_zero() {
        return (epsilon <= tau).then_some(residue);
    }
    let (whole, exact) = (residue.interval(), Step::<Interval>::new(epsilon, tau));
    let near = Step::<f64>::new(epsilon, tau);
    if near.is_small(whole.middle())
        && let Some(rest) = small::rest(&near, &exact, residue)
    {
        return Some(rest);
    }
    large::rest(&near, &exact, residue)
}

/// A cost at a level.
struct Step<N> {
    epsilon: N,
    tau: N,
    /// |τ − ε|, from the difference of exact amounts.
    gap: N,
    /// Whether ε > τ.
    overshoots: bool,
}

impl<N: Scalar> Step<N> {
    fn new(epsilon: Amount, tau: Amount) -> Step<N> {
        let number = |amount: Amount| N::between(amount.interval().lo(), amount.interval().hi());
        let (gap, overshoots) = match tau.checked_sub(epsilon) {
            Some(gap) => (gap, false),
            None => (epsilon.checked_sub(tau).unwrap_or(Amount::ZERO), true),
        };
        Step { epsilon: number(epsilon), tau: number(tau), gap: number(gap), overshoots }
    }

    /// Whether ε, ε/√w and ετ/w are at most a quarter.
    fn is_small(&self, residue: f64) -> bool {
        let epsilon = self.epsilon.hi();
        epsilon <= 0.25 && epsilon * epsilon <= residue / 16.0 && epsilon * self.tau.hi() <= residue / 4.0
    }
}

impl Step<f64> {
    /// About the rest that is left of a residue. With b = ετ/w the price is near 2w² ln(cosh b)/τ², which is ε² where b is small, as
    /// long as it is small against w; and where ε is near τ, w′ is near w (1 − ε/τ)².
    fn first_guess(&self, whole: f64) -> f64 {
        let b = self.epsilon * self.tau / whole;
        let log_cosh = b + core_math::log1p(core_math::exp(-2.0 * b)) - std::f64::consts::LN_2;
        let share = if b > 1e-4 { 2.0 * log_cosh / (b * b) } else { 1.0 };
        let kept = if self.overshoots { 0.0 } else { self.gap / self.tau };
        whole * (1.0 - share * self.epsilon * self.epsilon / whole).max(kept * kept).max(1e-3)
    }
}

/// A number of ε-DP charges that surely fit, in a few steps whatever it is: while the residue falls from w to w/2 each price is at most
/// that of the bound at w/2.
pub(crate) fn count_at_least(epsilon: Amount, residue: FineAmount) -> u64 {
    let eps = epsilon.interval();
    let Some(enough) = epsilon.square().checked_times(16) else { return 0 };
    let (mut left, mut count) = (residue, 0u64);
    while left > enough {
        let half = left.half();
        let Some(price) = bounded_price(eps, half) else { break };
        let Some(stretch) = left.checked_sub(half) else { break };
        let fits = stretch.count_of(price);
        if fits == u64::MAX {
            return u64::MAX;
        }
        let Some(rest) = price.checked_times(fits).and_then(|spent| left.checked_sub(spent)) else { break };
        if fits == 0 {
            break;
        }
        (left, count) = (rest, count.saturating_add(fits));
    }
    count
}

/// ε² + ε⁴/(6(w − 1.6ε²)), rounded up: enough at every level where ε ≤ 3 and w ≥ 2.6ε². What a step really takes is up to a
/// hundred-millionth more than it needs, so this has ten times as much on top.
pub(crate) fn bounded_price(epsilon: Interval, residue: FineAmount) -> Option<FineAmount> {
    let square = epsilon.square();
    let residue = residue.interval();
    if !(epsilon.hi() <= 3.0 && residue.lo() >= (2.6000001 * square).hi()) {
        return None;
    }
    let price = square + square.square() / (6.0 * (residue - Interval::around(1.6, 1) * square));
    FineAmount::at_least((price * (1.0 + 1e-7)).hi())
}
