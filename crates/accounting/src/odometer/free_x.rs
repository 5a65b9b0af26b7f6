//! *The free-x odometer.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Lemma 6.4, as printed.
//!
//! Σ ε_i(e^{ε_i}−1)/2 + √(2 (S + x) (1 + ½ ln(1 + S/x)) ln(2/δ_g)) with S = Σε_i² and any x > 0 fixed before the interaction;
//! δ_g ∈ (0, 1/e). Guarantee: two-sided at δ_g. By default x is what Theorem 5.1 takes, u²/(28.04 ln(1/δ_g)) for the expected
//! reading u.

use super::OdometerSpec;
use super::rule::require_positive;
use crate::amount::{Amount, FineAmount};
use crate::error::Error;
use crate::numeric::Interval;

pub(super) fn resolve(spec: &mut OdometerSpec) -> Result<(), Error> {
    let default = || {
        let log = -core_math::log(spec.at_delta.approximate());
        Amount::at_most(spec.expected.approximate().powi(2) / (28.04 * log)).significant(6).max(Amount::UNIT)
    };
    let x = spec.x.unwrap_or_else(default);
    spec.x = Some(x);
    require_positive("x", x)
}

pub(super) fn bound(spec: &OdometerSpec, mean: FineAmount, squares: FineAmount, delta: Interval) -> Interval {
    let x = spec.x.unwrap_or(Amount::ONE).interval();
    let s = squares.interval();
    mean.interval() + (2.0 * (s + x) * (1.0 + 0.5 * (s / x).ln_1p()) * (2.0 / delta).ln()).sqrt()
}
