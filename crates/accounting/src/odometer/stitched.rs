//! *The stitched odometer.* Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481v3, Theorem 4.
//!
//! V/2 + 1.7 √(V (ln ln(2V/v₀) + 0.72 ln(5.2/δ))) with V = Σε_i², for V ≥ v₀ fixed in advance; below v₀ the root is taken at v₀.
//! Guarantee: one-sided at δ, in either order. By default v₀ is a sixteenth of the V that the expected reading buys.

use super::normal_mixture::expected_variance;
use crate::amount::{Amount, FineAmount};
use crate::numeric::Interval;

/// A sixteenth of the V that the expected reading buys.
pub(super) fn default_v0(expected: Amount, at_delta: Amount) -> Amount {
    Amount::at_most(expected_variance(expected, at_delta) / 16.0).significant(6).max(Amount::UNIT)
}

pub(crate) fn bound(v0: Amount, squares: FineAmount, delta: Interval) -> Interval {
    let v = squares.interval();
    // ln 2 at the least, where V ≤ v₀.
    let (inside, log) = if squares > v0.into() {
        (v, (2.0 * v / v0.interval()).ln())
    } else {
        (v0.interval(), Interval::point(2.0).ln())
    };
    let level = Interval::around(0.72, 1) * (Interval::around(5.2, 1) / delta).ln();
    0.5 * v + Interval::around(1.7, 1) * (inside * (log.ln() + level)).sqrt()
}
