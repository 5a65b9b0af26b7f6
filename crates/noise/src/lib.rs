//! All noise of the gate: exact, on integers alone, from secure random bytes.
//!
//! | | what is drawn | file |
//! |---|---|---|
//! | [`DiscreteLaplace`] | an integer, P(x) ∝ e^{−\|x\|/s} | `laplace.rs` |
//! | [`RoundedGaussian`] | round(σX), X standard normal | `gaussian.rs` |
//! | [`choose`] | a candidate, P(i) ∝ weight·e^{−rate·score} | `exponential.rs` |
//!
//! Every sample has exactly the distribution that is stated, for parameters that are rational numbers, if the bits of [`Randomness`] are
//! independent and fair: nothing is rounded on the way. What is for people alone (half widths, tails) is computed in floating point and
//! follows from the parameters; it tells nothing about the data.
//!
//! ```
//! use taximeter_noise::{DiscreteLaplace, Randomness};
//!
//! let mut randomness = Randomness::secure()?;
//! let noise = DiscreteLaplace::new("10/3".parse().unwrap())?;
//! let noisy = 1234 + noise.sample(&mut randomness)?;
//! println!("{noisy} ± {}", noise.half_width(0.05));
//! # Ok::<(), taximeter_noise::NoiseError>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod exp;
mod exponential;
mod gaussian;
mod laplace;
mod randomness;
#[cfg(test)]
mod tests;

pub use error::NoiseError;
pub use exponential::{Candidate, Choice, choose};
pub use gaussian::RoundedGaussian;
pub use laplace::DiscreteLaplace;
pub use randomness::Randomness;

use dashu::integer::UBig;
use dashu::rational::RBig;

/// No scale is above 2 to this power, so that samples fit into 128 bits but for a probability below e^{−2²⁶}.
const LARGEST_BITS: usize = 100;

/// What floating-point arithmetic may have lost, relatively: some ten roundings of 2⁻⁵³, and room.
const MARGIN: f64 = 1e-12;

/// A scale within the limits.
fn checked_scale(scale: RBig) -> Result<RBig, NoiseError> {
    let largest = RBig::from(UBig::ONE << LARGEST_BITS);
    if scale > RBig::ZERO && scale <= largest { Ok(scale) } else { Err(NoiseError::Scale { scale }) }
}
