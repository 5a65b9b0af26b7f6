//! The discrete Laplace distribution: P(x) = (1 − q)/(1 + q) · q^|x| with q = e^{−1/s}.

use dashu::rational::RBig;
use taximeter_accounting::Amount;

use super::{MARGIN, exact};

/// L1/ε, exactly; ε is not 0.
pub(super) fn scale(l1: u128, epsilon: Amount) -> RBig {
    RBig::from(l1) / exact(epsilon)
}

/// The smallest t with P(|X| > t) ≤ miss, or a little more.
///
/// P(|X| > t) = 2·(1 − q)/(1 + q)·(q^{t+1} + q^{t+2} + …) = 2·q^{t+1}/(1 + q), and q^{t+1} = e^{−(t+1)/s}; so the
/// condition is t + 1 ≥ s·ln(2/((1 + q)·miss)).
pub(super) fn half_width(scale: f64, miss: f64) -> i128 {
    let q = core_math::exp(-1.0 / scale);
    // The logarithm has lost an absolute part too, where its argument is near 1.
    let log = core_math::log(2.0 / ((1.0 + q) * miss)) + MARGIN * 1e-2;
    let least = scale * log * (1.0 + MARGIN);
    (least.ceil() as i128 - 1).max(0)
}
