//! The rounded Gaussian: round(σX) with X exactly standard normal, for a rational σ.
//!
//! *Sampled* by Karney, Sampling exactly from the normal distribution, arXiv:1303.6257, Algorithm N. Its uniform numbers have infinitely
//! many digits, drawn one by one: to compare two of them, or to round, those digits are drawn that decide it. What has been decided
//! depends on the drawn digits alone, so the others are still uniform. The digits here have 64 bits.
//!
//! *Privacy.* An integer n plus round(σX) is round(n + σX): a post-processing of the Gaussian mechanism, since rounding looks at the
//! noisy number alone. So if one unit moves integers by z, independent noise on each is μ-GDP with μ = ‖z‖₂/σ (Dong, Roth, Su,
//! arXiv:1905.02383v3, section 2). The discrete Gaussian is not.

use dashu::base::{BitTest, SquareRootRem};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::error::NoiseError;
use crate::randomness::{RandomBits, Randomness};
use crate::{MARGIN, checked_scale};

/// How many bits σ is given at least, so that rounding it up adds less than 2⁻⁶⁰ of it: a few digits more than people read.
const SIGMA_BITS: usize = 62;

/// Noise round(σX), X standard normal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundedGaussian {
    sigma: RBig,
}

impl RoundedGaussian {
    /// Noise of a σ above 0 and up to 2¹⁰⁰.
    pub fn new(sigma: RBig) -> Result<RoundedGaussian, NoiseError> {
        Ok(RoundedGaussian { sigma: checked_scale(sigma)? })
    }

    /// Noise that makes an answer of this L2 sensitivity μ-GDP; μ is above 0. σ is L2/μ, rounded up.
    ///
    /// σ = ⌈√⌈L2²·4^k/μ²⌉⌉/2^k, with the smallest k that leaves it enough bits. Then σ² ≥ L2²/μ². Where L2/μ has a short binary form,
    /// nothing is rounded.
    pub fn for_mu(l2_squared: u128, mu: &RBig) -> Result<RoundedGaussian, NoiseError> {
        let square = RBig::from(l2_squared) / mu.clone().pow(2);
        let (numerator, denominator) = (square.numerator().bit_len(), square.denominator().bit_len());
        // The square is at least 2^(numerator − denominator − 1).
        let places = (2 * SIGMA_BITS + 1 + denominator).saturating_sub(numerator).div_ceil(2);
        let scaled = (square * RBig::from(UBig::ONE << (2 * places))).ceil().into_parts().1;
        let (root, rest) = scaled.sqrt_rem();
        let root = if rest.is_zero() { root } else { root + UBig::ONE };
        RoundedGaussian::new(RBig::from_parts(root.into(), UBig::ONE << places))
    }

    /// σ, exactly.
    pub fn sigma(&self) -> &RBig {
        &self.sigma
    }

    /// One sample.
    pub fn sample(&self, randomness: &mut Randomness) -> Result<i128, NoiseError> {
        let bits = randomness.ready()?;
        let (whole, mut fraction) = half_normal(bits);
        let magnitude = IBig::from(self.rounded(whole, &mut fraction, bits));
        let sample = if bits.coin() { -magnitude } else { magnitude };
        i128::try_from(sample).map_err(|_| NoiseError::TooLarge)
    }

    /// ⌊σ·(whole + fraction) + ½⌋.
    ///
    /// After some digits the fraction is between a/2^p and (a + 1)/2^p. Multiplied by 2·denominator·2^p, σ(whole + fraction) + ½ is then
    /// between two integers, the upper one excluded; if both round down to the same, that is it. Otherwise another digit is drawn.
    fn rounded(&self, whole: u64, fraction: &mut Uniform, bits: &mut RandomBits) -> UBig {
        let doubled: UBig = self.sigma.numerator().clone().into_parts().1 * UBig::from(2u8);
        let denominator = self.sigma.denominator();
        let (mut digits, mut known) = (0, UBig::from(whole));
        loop {
            known = (known << 64) + UBig::from(fraction.digit(digits, bits));
            digits += 1;
            let half = denominator << (64 * digits);
            let step = &half * UBig::from(2u8);
            let low = &doubled * &known + half;
            let floor = &low / &step;
            if low + &doubled <= (&floor + UBig::ONE) * step {
                return floor;
            }
        }
    }

    /// The smallest t with P(|noise| > t) at most `miss`; never too small, and too large by at most a step or 10⁻⁹ of it. `miss` is
    /// between 10⁻¹² and ½.
    ///
    /// The noise is beyond t where |σX| is beyond t + ½.
    pub fn half_width(&self, miss: f64) -> i128 {
        let reach = self.approximate_sigma() * deviations(miss) * (1.0 + MARGIN);
        ((reach - 0.5).ceil() as i128).max(0)
    }

    /// P(noise ≥ x), nearly: that of σX ≥ k − ½ for the next integer k.
    pub fn survival(&self, x: f64) -> f64 {
        let deviations = (x.ceil() - 0.5) / self.approximate_sigma();
        0.5 * core_math::erfc(deviations * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// P(noise ≤ x), nearly.
    pub fn cumulative(&self, x: f64) -> f64 {
        self.survival(-x)
    }

    fn approximate_sigma(&self) -> f64 {
        self.sigma.to_f64().value()
    }
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

/// The absolute value of a standard normal number, as k + x with x in [0, 1): Algorithm N.
///
/// P(k) ∝ e^{−k/2}·e^{−k(k−1)/2} = e^{−k²/2}, and x is kept with probability e^{−x(2k+x)/2}; so k + x has density ∝ e^{−(k+x)²/2}.
fn half_normal(bits: &mut RandomBits) -> (u64, Uniform) {
    loop {
        let mut k = 0;
        while exp_minus_half(bits) {
            k += 1;
        }
        if !(0..k).all(|_| (1..k).all(|_| exp_minus_half(bits))) {
            continue;
        }
        let mut x = Uniform::new(bits);
        // e^{−x(2k+x)/2} is this k + 1 times.
        if (0..=k).all(|_| is_kept(k, &mut x, bits)) {
            return (k, x);
        }
    }
}

/// True with probability e^{−½}.
fn exp_minus_half(bits: &mut RandomBits) -> bool {
    bits.bernoulli_exp(&UBig::ONE, &UBig::from(2u8))
}

/// True with probability e^{−x·r}, r = (2k + x)/(2k + 2): Karney's Algorithm B.
///
/// A run of uniform numbers that fall from x on, each with a success of probability r, has n members or more with probability (x·r)^n/n!.
/// So it has an even number with probability 1 − x·r + (x·r)²/2! − … = e^{−x·r}.
fn is_kept(k: u64, x: &mut Uniform, bits: &mut RandomBits) -> bool {
    let mut last: Option<Uniform> = None;
    let mut is_even = true;
    loop {
        let mut next = Uniform::new(bits);
        let falls = next.is_below(last.as_mut().unwrap_or(x), bits);
        if !falls || !is_within(k, x, bits) {
            return is_even;
        }
        last = Some(next);
        is_even = !is_even;
    }
}

/// True with probability (2k + x)/(2k + 2): whether a uniform number below 2k + 2 is below 2k + x.
fn is_within(k: u64, x: &mut Uniform, bits: &mut RandomBits) -> bool {
    let whole = bits.below_word(2 * k + 2);
    whole < 2 * k || whole == 2 * k && Uniform::new(bits).is_below(x, bits)
}

/// A uniform number in [0, 1), of which the first digits are drawn: the n-th counts for 2^(−64(n+1)).
struct Uniform {
    first: u64,
    more: Vec<u64>,
}

impl Uniform {
    fn new(bits: &mut RandomBits) -> Uniform {
        Uniform { first: bits.word(), more: Vec::new() }
    }

    /// A digit, drawn if it is the first time that it is asked for; digits are asked for in order.
    fn digit(&mut self, place: usize, bits: &mut RandomBits) -> u64 {
        if place == 0 {
            return self.first;
        }
        if place > self.more.len() {
            self.more.push(bits.word());
        }
        self.more[place - 1]
    }

    fn is_below(&mut self, other: &mut Uniform, bits: &mut RandomBits) -> bool {
        let mut place = 0;
        loop {
            let (own, others) = (self.digit(place, bits), other.digit(place, bits));
            if own != others {
                return own < others;
            }
            place += 1;
        }
    }
}
