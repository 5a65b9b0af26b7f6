//! *The free-x odometer.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Lemma 6.4, as printed.
//!
//! Σ ε_i(e^{ε_i}−1)/2 + √(2 (S + x) (1 + ½ ln(1 + S/x)) ln(2/δ_g)) with S = Σε_i² and any x > 0 fixed before the interaction;
//! δ_g ∈ (0, 1/e). Guarantee: two-sided at δ_g. By default x is what Theorem 5.1 takes, u²/(28.04 ln(1/δ_g)) for the expected
//! reading u.

use crate::amount::{Amount, FineAmount};
use crate::filter::advanced::deviation;
use crate::numeric::Interval;

/// The x of Theorem 5.1 for the expected reading.
pub(super) fn default_x(expected: Amount, at_delta: Amount) -> Amount {
    let (expected, log) = (expected.approximate(), -core_math::log(at_delta.approximate()));
    Amount::at_most(expected * expected / (28.04 * log)).significant(6).max(Amount::UNIT)
}

pub(super) fn bound(x: Amount, mean: FineAmount, squares: FineAmount, delta: Interval) -> Interval {
    mean.interval() + deviation(squares.interval(), x.interval(), (2.0 / delta).ln())
}
