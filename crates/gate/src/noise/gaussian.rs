//! The discrete Gaussian distribution: P(x) = e^{−x²/(2σ²)} / Σ e^{−y²/(2σ²)}, the sum over all integers y.

use dashu::base::{BitTest, SquareRootRem};
use dashu::integer::UBig;
use dashu::rational::RBig;
use taximeter_accounting::Amount;

use super::{MARGIN, exact};

/// How many bits σ is given at least, so that rounding it up adds less than 2⁻⁶⁰ of it: a few digits more than people
/// read.
const SIGMA_BITS: usize = 62;

/// Below this σ the probabilities are added up one by one; from here on the tail of the continuous Gaussian is as good.
const SUMMED_BELOW: f64 = 16.0;

/// L2/μ, rounded up; μ is not 0.
///
/// σ = ⌈√⌈L2²·4^k/μ²⌉⌉/2^k, with the smallest k that leaves it enough bits. Then σ² ≥ L2²/μ². Where L2/μ has a short
/// binary form, nothing is rounded.
pub(super) fn sigma(l2_squared: u128, mu: Amount) -> RBig {
    let square = RBig::from(l2_squared) / exact(mu).pow(2);
    let (numerator, denominator) = (square.numerator().bit_len(), square.denominator().bit_len());
    // The square is at least 2^(numerator − denominator − 1).
    let places = (2 * SIGMA_BITS + 1 + denominator).saturating_sub(numerator).div_ceil(2);
    let scaled = (square * RBig::from(UBig::ONE << (2 * places))).ceil().into_parts().1;
    let (root, rest) = scaled.sqrt_rem();
    let root = if rest.is_zero() { root } else { root + UBig::ONE };
    RBig::from_parts(root.into(), UBig::ONE << places)
}

/// The smallest t with P(|X| > t) ≤ miss, or a little more.
pub(super) fn half_width(sigma: f64, miss: f64) -> i128 {
    if sigma < SUMMED_BELOW { summed(sigma, miss) } else { bounded(sigma, miss) }
}

/// The probabilities added up one by one, from the far end.
fn summed(sigma: f64, miss: f64) -> i128 {
    // Beyond 40σ there is less than e^{−800}: 0 in floating point.
    let far = (40.0 * sigma).ceil() as i32;
    let weight = |x: i32| {
        let deviations = f64::from(x) / sigma;
        core_math::exp(-0.5 * deviations * deviations)
    };
    let total: f64 = 1.0 + 2.0 * (1..=far).rev().map(weight).sum::<f64>();
    let mut beyond = 0.0;
    let enough = (1..=far).rev().find(|x| {
        beyond += 2.0 * weight(*x);
        beyond * (1.0 + MARGIN) > miss * total
    });
    enough.map_or(0, i128::from)
}

/// From the tail of the continuous Gaussian N of the same σ.
///
/// The sum over all integers is at least σ√(2π): by Poisson's summation formula it is that times 1 + 2·Σ e^{−2π²σ²k²}.
/// Where e^{−x²/(2σ²)} is convex, from σ on, its value in the middle of a step is at most its mean over the step; so
/// for t + ½ ≥ σ P(|X| > t) ≤ P(|N| > t + ½). Nearer to 0 it still falls, so P(|X| > t) ≤ P(|N| > t).
fn bounded(sigma: f64, miss: f64) -> i128 {
    let reach = sigma * deviations(miss) * (1.0 + MARGIN);
    let steps = if reach >= sigma { (reach - 0.5).ceil() } else { reach.ceil() };
    steps as i128
}

/// A z with P(|N(0, 1)| > z) = erfc(z/√2) at most `miss`, to the last bits.
fn deviations(miss: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        // Written so that NaN counts as too likely.
        if core_math::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) <= miss { high = middle } else { low = middle }
    }
}
