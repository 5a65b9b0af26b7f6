//! The noise against its declared probabilities.
//!
//! Samples come from repeatable seeds, so that a test that passes always passes. A right distribution fails a χ² test with a probability of
//! at most [`fit::LEVEL`] = 10⁻⁶ when its seed is chosen; the wrong ones below are far beyond that limit.

mod exponential;
mod fit;
mod gaussian;
mod laplace;
mod random_bits;

use dashu::integer::UBig;
use dashu::rational::RBig;

/// A rational number: `10`, `1/3`, or `2^100`.
fn rational(text: &str) -> RBig {
    match text.split_once('^') {
        Some((base, exponent)) => RBig::from(base.parse::<UBig>().unwrap().pow(exponent.parse().unwrap())),
        None => text.parse().unwrap(),
    }
}
