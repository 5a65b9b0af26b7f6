//! The discrete Laplace distribution: P(x) = (1 − q)/(1 + q)·q^|x| on the integers, with q = e^{−1/s} for a rational scale s.
//!
//! *Sampled* by Canonne, Kamath, Steinke, arXiv:2004.00010v5, Algorithm 2, on integers alone.
//!
//! *Privacy.* If one unit moves integers by z, then by the triangle inequality no list of noisy ones gets more than e^{‖z‖₁/s} times as
//! likely: ε-differential privacy for s = ‖z‖₁/ε.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::error::NoiseError;
use crate::exp::exp_minus;
use crate::randomness::{RandomBits, Randomness};
use crate::{MARGIN, checked_scale};

/// Noise with P(x) ∝ e^{−|x|/scale}.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscreteLaplace {
    scale: RBig,
}

impl DiscreteLaplace {
    /// Noise of a scale above 0 and up to 2¹⁰⁰.
    pub fn new(scale: RBig) -> Result<DiscreteLaplace, NoiseError> {
        Ok(DiscreteLaplace { scale: checked_scale(scale)? })
    }

    /// The scale, exactly.
    pub fn scale(&self) -> &RBig {
        &self.scale
    }

    /// One sample.
    pub fn sample(&self, randomness: &mut Randomness) -> Result<i128, NoiseError> {
        let bits = randomness.ready()?;
        let (numerator, denominator) = (self.scale.numerator().clone().into_parts().1, self.scale.denominator());
        loop {
            let magnitude = exponential(&numerator, bits) / denominator;
            let is_negative = bits.coin();
            // 0 has one sign, or it would be twice as likely.
            if !(is_negative && magnitude.is_zero()) {
                let magnitude = IBig::from(magnitude);
                let sample = if is_negative { -magnitude } else { magnitude };
                return i128::try_from(sample).map_err(|_| NoiseError::TooLarge);
            }
        }
    }

    /// The smallest t with P(|noise| > t) at most `miss`; never too small, and too large by at most a step or 10⁻⁹ of it. `miss` is
    /// between 10⁻¹² and ½.
    ///
    /// P(|X| > t) = 2·q^{t+1}/(1 + q), and q^{t+1} = e^{−(t+1)/s}; so the condition is t + 1 ≥ s·ln(2/((1 + q)·miss)).
    pub fn half_width(&self, miss: f64) -> i128 {
        let scale = self.approximate_scale();
        let q = core_math::exp(-1.0 / scale);
        // The logarithm has lost an absolute part too, where its argument is near 1.
        let log = core_math::log(2.0 / ((1.0 + q) * miss)) + MARGIN * 1e-2;
        let least = scale * log * (1.0 + MARGIN);
        (least.ceil() as i128 - 1).max(0)
    }

    /// P(noise ≥ x), nearly: q^k/(1 + q) for the next integer k ≥ 1, and the rest of 1 on the other side.
    pub fn survival(&self, x: f64) -> f64 {
        let scale = self.approximate_scale();
        let beyond = |k: f64| core_math::exp(-k / scale) / (1.0 + core_math::exp(-1.0 / scale));
        let k = x.ceil();
        if k >= 1.0 { beyond(k) } else { 1.0 - beyond(1.0 - k) }
    }

    /// P(noise ≤ x), nearly.
    pub fn cumulative(&self, x: f64) -> f64 {
        self.survival(-x)
    }

    /// The smallest t ≥ 1 with P(noise ≥ t) at most this probability, exactly: what a noisy count has to reach so that a count of 0 is
    /// mistaken for more with no larger probability.
    pub fn threshold(&self, probability: &RBig) -> Result<i128, NoiseError> {
        if *probability <= RBig::ZERO {
            return Err(NoiseError::Probability { probability: probability.clone() });
        }
        let (mut low, mut high) = (0, 1i128);
        while !self.is_reached_at_most(high, probability) {
            low = high;
            high = high.checked_mul(2).ok_or(NoiseError::TooLarge)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.is_reached_at_most(middle, probability) { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// Whether P(noise ≥ t) = e^{−t/s}/(1 + e^{−1/s}) is at most p, for t ≥ 1.
    ///
    /// Decided by bounds, of more and more bits. They end: by the theorem of Lindemann and Weierstrass no two of the sides
    /// e^{−t/s} and p + p·e^{−1/s} are equal, since 1, e^{−1/s} and, for t > 1, e^{−t/s} are linearly independent over the rationals.
    fn is_reached_at_most(&self, t: i128, probability: &RBig) -> bool {
        let (numerator, denominator) =
            (probability.numerator().clone().into_parts().1, probability.denominator().clone());
        let mut bits = 128;
        loop {
            let (tail, q) =
                (exp_minus(&(RBig::from(t) / &self.scale), bits), exp_minus(&(RBig::ONE / &self.scale), bits));
            let one = UBig::ONE << bits;
            if tail.high * &denominator <= &numerator * (&one + q.low) {
                return true;
            }
            if tail.low * &denominator > &numerator * (one + q.high) {
                return false;
            }
            bits *= 2;
        }
    }

    fn approximate_scale(&self) -> f64 {
        self.scale.to_f64().value()
    }
}

/// An integer x ≥ 0 with P(x) ∝ e^{−x/t}: x = u + t·v, u below t with P(u) ∝ e^{−u/t}, by rejection, and v with P(v) ∝ e^{−v}.
///
/// Then ⌊x/s⌋ has P(y) ∝ e^{−y·s/t}, since the s values that give y + 1 are those that give y, each moved by s.
fn exponential(t: &UBig, bits: &mut RandomBits) -> UBig {
    let remainder = loop {
        let u = bits.below(t);
        if bits.bernoulli_exp(&u, t) {
            break u;
        }
    };
    let mut quotient = 0u64;
    while bits.bernoulli_exp(&UBig::ONE, &UBig::ONE) {
        quotient += 1;
    }
    remainder + t * UBig::from(quotient)
}
