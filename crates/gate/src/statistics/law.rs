//! The laws of noise: symmetric distributions on the integers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The public distribution of the noise on a part, in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NoiseLaw {
    /// Discrete Laplace: P(x) ∝ e^{−|x|/scale}.
    Laplace { scale: f64 },
    /// A Gaussian with this standard deviation, rounded to the nearest integer. A discrete Gaussian with the same σ is as good a
    /// reading: from σ = 1 on their tails differ by less than simulation shows.
    Gaussian { sigma: f64 },
    /// No noise: the part is public.
    Exact,
}

impl NoiseLaw {
    /// P(noise ≥ x) at an integer x.
    pub(crate) fn survival(self, x: f64) -> f64 {
        match self {
            NoiseLaw::Laplace { scale } => {
                let ratio = core_math::exp(-1.0 / scale);
                let tail = |x: f64| core_math::exp(-x / scale) / (1.0 + ratio);
                if x >= 1.0 { tail(x) } else { 1.0 - tail(1.0 - x) }
            }
            NoiseLaw::Gaussian { sigma } => gaussian_tail((x - 0.5) / sigma),
            NoiseLaw::Exact => f64::from(u8::from(x <= 0.0)),
        }
    }

    /// P(noise = x) at an integer x.
    pub(super) fn probability(self, x: f64) -> f64 {
        match self {
            NoiseLaw::Laplace { scale } => {
                let ratio = core_math::exp(-1.0 / scale);
                -core_math::expm1(-1.0 / scale) / (1.0 + ratio) * core_math::exp(-x.abs() / scale)
            }
            // In the upper tail, where no two numbers near 1 are subtracted.
            NoiseLaw::Gaussian { sigma } => {
                gaussian_tail((x.abs() - 0.5) / sigma) - gaussian_tail((x.abs() + 0.5) / sigma)
            }
            NoiseLaw::Exact => f64::from(u8::from(x == 0.0)),
        }
    }

    /// The smallest integer x with P(noise ≤ x) ≥ rank, for a rank between 0 and 1.
    pub(super) fn quantile(self, rank: f64) -> f64 {
        if rank < 0.5 { -self.upper_quantile(rank) } else { self.upper_quantile(1.0 - rank) }
    }

    /// The smallest integer x ≥ 0 with P(noise > x) ≤ tail, for a tail of at most ½.
    pub(crate) fn upper_quantile(self, tail: f64) -> f64 {
        let x = match self {
            NoiseLaw::Laplace { scale } => {
                let ratio = core_math::exp(-1.0 / scale);
                (-scale * core_math::log(tail * (1.0 + ratio))).ceil() - 1.0
            }
            NoiseLaw::Gaussian { sigma } => (sigma * gaussian_quantile(tail) - 0.5).ceil(),
            NoiseLaw::Exact => 0.0,
        };
        x.max(0.0)
    }
}

/// The noise of a number that is the sum of some noisy ones, all with noise of one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SummedNoise {
    pub(super) law: NoiseLaw,
    pub(super) addends: usize,
}

/// From how many addends on their sum is taken to be normal. The tail of a sum of this many Laplace variables at 2.5 % is further out
/// by 0.6 %, by the first term of the Cornish–Fisher expansion.
const NEARLY_NORMAL: usize = 16;

impl SummedNoise {
    pub(crate) fn new(law: NoiseLaw, addends: usize) -> SummedNoise {
        let normal = |variance: f64| NoiseLaw::Gaussian { sigma: (addends as f64 * variance).sqrt() };
        match law {
            _ if addends == 0 => SummedNoise { law: NoiseLaw::Exact, addends: 1 },
            // Rounding adds the variance of a uniform step.
            NoiseLaw::Gaussian { sigma } if addends > 1 => {
                SummedNoise { law: normal(sigma * sigma + 1.0 / 12.0), addends: 1 }
            }
            NoiseLaw::Laplace { scale } if addends >= NEARLY_NORMAL => {
                let ratio = core_math::exp(-1.0 / scale);
                let less = -core_math::expm1(-1.0 / scale);
                SummedNoise { law: normal(2.0 * ratio / (less * less)), addends: 1 }
            }
            law => SummedNoise { law, addends },
        }
    }
}

/// P(Z ≥ z) of a standard Gaussian.
fn gaussian_tail(z: f64) -> f64 {
    0.5 * core_math::erfc(z * FRAC_1_SQRT_2)
}

/// The z with P(Z ≥ z) = tail, for a tail of at most ½: the approximation of Abramowitz and Stegun, *Handbook of Mathematical
/// Functions*, 26.2.23, whose error is below 4.5·10⁻⁴, and two steps of Newton's method.
fn gaussian_quantile(tail: f64) -> f64 {
    let t = (-2.0 * core_math::log(tail)).sqrt();
    let start = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    (0..2).fold(start, |z, _| {
        let density = core_math::exp(-0.5 * z * z) / (2.0 * PI).sqrt();
        z + (gaussian_tail(z) - tail) / density
    })
}
