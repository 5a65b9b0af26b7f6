//! *The normal-mixture odometer.* Howard, Ramdas, McAuliffe, Sekhon, arXiv:1810.08240v7, Section 3.2, on the privacy loss as in
//! Whitehouse et al., arXiv:2203.05481v3.
//!
//! A + √((V + γ)(2 ln(1/δ) + ln(1 + V/γ))) with A = Σ ε_i tanh(ε_i/2), V = Σε_i² and any γ > 0 fixed in advance. Guarantee: two-sided
//! at δ. The best γ for a target V₀ is V₀/(2L + ln(1 + 2L)), L = ln(1/δ); by default V₀ is what the expected reading buys.

use crate::amount::{Amount, FineAmount};
use crate::numeric::{Interval, normal};

/// The best γ for the V that the expected reading buys.
pub(super) fn default_gamma(expected: Amount, at_delta: Amount) -> Amount {
    let twice_log = -2.0 * core_math::log(at_delta.approximate());
    Amount::at_most(expected_variance(expected, at_delta) / (twice_log + core_math::log1p(twice_log)))
        .significant(6)
        .max(Amount::UNIT)
}

/// The V at which the loss of a Gaussian is as expected.
pub(super) fn expected_variance(expected: Amount, at_delta: Amount) -> f64 {
    let expected = expected.min(Amount::from_whole(1000).unwrap_or(Amount::ONE));
    normal::largest_variance(expected.interval(), at_delta.interval())
}

pub(crate) fn bound(gamma: Amount, mean: FineAmount, squares: FineAmount, delta: Interval) -> Interval {
    let gamma = gamma.interval();
    let v = squares.interval();
    mean.interval() + ((v + gamma) * (-2.0 * delta.ln() + (v / gamma).ln_1p())).sqrt()
}
