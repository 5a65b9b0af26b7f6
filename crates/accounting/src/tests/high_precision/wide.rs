//! Floating point of a fixed 384 bits, about 115 digits: fast enough for hundreds of thousands of evaluations.
//!
//! Results are cut, not rounded: an operation errs by a few units of 2⁻³⁸², a function by a few hundred. The module's test
//! holds it against `dashu`, function by function.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

use ethnum::U256;

use super::Real;

const LIMBS: usize = 6;
const BITS: i64 = 64 * LIMBS as i64;
/// Up to here a normal tail is ½ less a series, which loses up to 39 digits; beyond it is a continued fraction.
const SERIES_UP_TO: f64 = 13.0;

/// ± limbs · 2^exponent, the lowest limb first and the highest bit set; all limbs are 0 for zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    negative: bool,
    exponent: i64,
    limbs: [u64; LIMBS],
}

impl Wide {
    const ZERO: Wide = Wide { negative: false, exponent: 0, limbs: [0; LIMBS] };

    fn from_limbs(limbs: [u64; LIMBS], exponent: i64) -> Wide {
        let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else { return Wide::ZERO };
        let bits = limbs[top].leading_zeros();
        let mut shifted = [0; LIMBS];
        for (to, limb) in shifted.iter_mut().enumerate().skip(LIMBS - 1 - top) {
            let from = to + top + 1 - LIMBS;
            let below = if from > 0 && bits > 0 { limbs[from - 1] >> (64 - bits) } else { 0 };
            *limb = limbs[from] << bits | below;
        }
        let shift = 64 * (LIMBS - 1 - top) as i64 + i64::from(bits);
        Wide { negative: false, exponent: exponent - shift, limbs: shifted }
    }

    fn from_u128(value: u128) -> Wide {
        let mut limbs = [0; LIMBS];
        (limbs[0], limbs[1]) = (value as u64, (value >> 64) as u64);
        Wide::from_limbs(limbs, 0)
    }

    fn is_zero(&self) -> bool {
        self.limbs[LIMBS - 1] == 0
    }

    /// The number times 2^by.
    fn scaled(self, by: i64) -> Wide {
        Wide { exponent: self.exponent + by, ..self }
    }

    /// The k with 2^{k−1} ≤ |self| < 2^k.
    fn magnitude(&self) -> i64 {
        if self.is_zero() { i64::MIN / 2 } else { self.exponent + BITS }
    }

    fn times(mut self, factor: u64) -> Wide {
        let mut carry = 0u128;
        for limb in &mut self.limbs {
            carry += u128::from(*limb) * u128::from(factor);
            *limb = carry as u64;
            carry >>= 64;
        }
        let high = carry as u64;
        if high == 0 {
            let negative = self.negative;
            return Wide { negative, ..Wide::from_limbs(self.limbs, self.exponent) };
        }
        let lead = high.leading_zeros();
        let mut above = high;
        for limb in self.limbs.iter_mut().rev() {
            let own = *limb;
            *limb = if lead == 0 { above } else { above << lead | own >> (64 - lead) };
            above = own;
        }
        self.exponent += 64 - i64::from(lead);
        self
    }

    fn compare_size(&self, other: &Wide) -> Ordering {
        let key = |value: &Wide| value.magnitude();
        key(self).cmp(&key(other)).then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }

    /// The limbs shifted down by a number of bits.
    fn lowered(&self, by: i64) -> [u64; LIMBS] {
        let mut lowered = [0; LIMBS];
        if by < BITS {
            let (whole, bits) = ((by / 64) as usize, (by % 64) as u32);
            for (at, limb) in lowered.iter_mut().enumerate().take(LIMBS - whole) {
                let from = at + whole;
                let above = if bits > 0 && from + 1 < LIMBS { self.limbs[from + 1] << (64 - bits) } else { 0 };
                *limb = self.limbs[from] >> bits | above;
            }
        }
        lowered
    }

    fn add_sizes(large: &Wide, small: &Wide) -> Wide {
        let addend = small.lowered(large.exponent - small.exponent);
        let (mut limbs, mut carry) = ([0; LIMBS], false);
        for at in 0..LIMBS {
            let (sum, first) = large.limbs[at].overflowing_add(addend[at]);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (limbs[at], carry) = (sum, first || second);
        }
        let mut sum = Wide { negative: false, exponent: large.exponent, limbs };
        if carry {
            sum.limbs = sum.lowered(1);
            sum.limbs[LIMBS - 1] |= 1 << 63;
            sum.exponent += 1;
        }
        sum
    }

    fn subtract_sizes(large: &Wide, small: &Wide) -> Wide {
        let taken = small.lowered(large.exponent - small.exponent);
        let (mut limbs, mut borrow) = ([0; LIMBS], false);
        for at in 0..LIMBS {
            let (rest, first) = large.limbs[at].overflowing_sub(taken[at]);
            let (rest, second) = rest.overflowing_sub(u64::from(borrow));
            (limbs[at], borrow) = (rest, first || second);
        }
        Wide::from_limbs(limbs, large.exponent)
    }

    /// 1/self by Newton's method: the number of correct digits doubles.
    fn reciprocal(self) -> Wide {
        let unit = Wide { negative: false, exponent: -BITS, ..self };
        let mut inverse = Wide::from_f64(1.0 / unit.to_f64());
        for _ in 0..3 {
            inverse = inverse + inverse * (Wide::whole(1) - unit * inverse);
        }
        Wide { negative: self.negative, ..inverse.scaled(-BITS - self.exponent) }
    }

    /// Σ c_n x^n.
    fn polynomial(self, coefficients: &[Wide]) -> Wide {
        coefficients.iter().rev().fold(Wide::ZERO, |sum, &coefficient| sum * self + coefficient)
    }

    /// The k with self ≈ k ln 2, and e^{self − k ln 2} − 1 with all its digits.
    fn exp_m1_reduced(self) -> (i64, Wide) {
        let rounds = (self.to_f64() / std::f64::consts::LN_2).round();
        assert!(rounds.abs() < 1e15, "an exponential that large has no digits");
        let rest = if rounds == 0.0 { self } else { self - Wide::from_f64(rounds) * *LN_2 };
        // Halved until it is below 2⁻¹⁶; (1 + e)² − 1 = e(2 + e) undoes one halving.
        let halvings = (rest.magnitude() + 16).max(0);
        let small = rest.scaled(-halvings);
        let terms = (BITS / -small.magnitude().max(-BITS) + 2).clamp(2, 22) as usize;
        let mut value = small * small.polynomial(&INVERSE_FACTORIALS[1..=terms]);
        for _ in 0..halvings {
            value = value.scaled(1) + value * value;
        }
        (rounds as i64, value)
    }

    /// φ(z).
    fn density(self) -> Wide {
        (-(self * self).scaled(-1)).exp() * *ONE_OVER_ROOT_TWO_PI
    }
}

/// 1/n!.
static INVERSE_FACTORIALS: LazyLock<Vec<Wide>> = LazyLock::new(|| {
    inverses((1..30u64).scan(Wide::whole(1), |product, n| {
        let inverse = *product;
        *product = product.times(n);
        Some(inverse)
    }))
});

/// 1/(2k+1)!!.
static INVERSE_DOUBLE_FACTORIALS: LazyLock<Vec<Wide>> = LazyLock::new(|| {
    inverses((0..400u64).scan(Wide::whole(1), |product, k| {
        *product = product.times(2 * k + 1);
        Some(*product)
    }))
});

fn inverses(numbers: impl Iterator<Item = Wide>) -> Vec<Wide> {
    numbers.map(Wide::reciprocal).collect()
}

/// Σ ±1/((2k+1) n^{2k+1}): the area tangent of 1/n, or its arc tangent with alternating signs.
fn inverse_tangent(n: u64, alternating: bool) -> Wide {
    let (step, mut power) = (Wide::whole(n * n).reciprocal(), Wide::whole(n).reciprocal());
    let mut sum = Wide::ZERO;
    for k in 0..300u64 {
        let term = power / Wide::whole(2 * k + 1);
        sum = if alternating && k % 2 == 1 { sum - term } else { sum + term };
        power = power * step;
    }
    sum
}

static LN_2: LazyLock<Wide> = LazyLock::new(|| {
    let part = |factor: u64, n: u64| inverse_tangent(n, false).times(factor);
    part(18, 26) - part(2, 4801) + part(8, 8749)
});

static ONE_OVER_ROOT_TWO_PI: LazyLock<Wide> = LazyLock::new(|| {
    let pi = inverse_tangent(5, true).times(16) - inverse_tangent(239, true).times(4);
    pi.scaled(1).sqrt().reciprocal()
});

/// 10⁻³⁰ and 10⁻⁶⁰.
static UNITS: LazyLock<[Wide; 2]> = LazyLock::new(|| {
    let unit = Wide::from_u128(10u128.pow(30)).reciprocal();
    [unit, unit * unit]
});

impl Real for Wide {
    fn from_f64(value: f64) -> Wide {
        assert!(value.is_finite(), "{value} has no digits");
        let field = (value.to_bits() >> 52 & 0x7ff) as i64;
        let fraction = value.to_bits() & ((1 << 52) - 1);
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        Wide { negative: value < 0.0, ..Wide::from_u128(mantissa.into()).scaled(exponent) }
    }

    fn whole(value: u64) -> Wide {
        Wide::from_u128(value.into())
    }

    fn units(units: U256, places: u32) -> Wide {
        let mut limbs = [0; LIMBS];
        let (high, low) = units.into_words();
        for (at, word) in [low, low >> 64, high, high >> 64].into_iter().enumerate() {
            limbs[at] = word as u64;
        }
        Wide::from_limbs(limbs, 0) * UNITS[(places / 30 - 1) as usize]
    }

    fn to_f64(&self) -> f64 {
        let head = self.limbs[LIMBS - 1] as f64 * 2f64.powi(-64);
        let exponent = self.magnitude().clamp(-2000, 2000) as i32;
        let value = head * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        if self.negative { -value } else { value }
    }

    fn sqrt(&self) -> Wide {
        if self.is_zero() {
            return *self;
        }
        assert!(!self.negative, "the square root of a negative number");
        let half = self.magnitude().div_euclid(2);
        let unit = self.scaled(-2 * half);
        let mut inverse = Wide::from_f64(1.0 / unit.to_f64().sqrt());
        for _ in 0..3 {
            inverse = inverse + (inverse * (Wide::whole(1) - unit * inverse * inverse)).scaled(-1);
        }
        (unit * inverse).scaled(half)
    }

    fn exp(&self) -> Wide {
        let (rounds, value) = self.exp_m1_reduced();
        (Wide::whole(1) + value).scaled(rounds)
    }

    fn exp_m1(&self) -> Wide {
        let (rounds, value) = self.exp_m1_reduced();
        if rounds == 0 { value } else { (Wide::whole(1) + value).scaled(rounds) - Wide::whole(1) }
    }

    fn ln(&self) -> Wide {
        assert!(!self.negative && !self.is_zero(), "the logarithm of {}", self.to_f64());
        let mut exponent = self.magnitude();
        let mut unit = self.scaled(-exponent);
        if unit.to_f64() < std::f64::consts::FRAC_1_SQRT_2 {
            exponent -= 1;
            unit = unit.scaled(1);
        }
        // Halley's method: y + 2(x − e^y)/(x + e^y) triples the number of correct digits.
        let mut log = Wide::from_f64(unit.to_f64().ln());
        for _ in 0..2 {
            let power = log.exp();
            log = log + ((unit - power) / (unit + power)).scaled(1);
        }
        log + Wide::from_f64(exponent as f64) * *LN_2
    }

    fn ln_1p(&self) -> Wide {
        if self.magnitude() > -20 {
            return (Wide::whole(1) + *self).ln();
        }
        // 2 artanh(x/(2 + x)), a short series.
        let ratio = *self / (Wide::whole(2) + *self);
        let odd: Vec<Wide> = (0..11u64).map(|k| Wide::whole(2 * k + 1).reciprocal()).collect();
        (ratio * (ratio * ratio).polynomial(&odd)).scaled(1)
    }

    fn upper_tail(&self) -> Wide {
        let z = Wide { negative: false, ..*self };
        let near = z.to_f64();
        let tail = if near > super::NO_TAIL_BEYOND {
            Wide::ZERO
        } else if near < SERIES_UP_TO {
            // Φ(z) = ½ + φ(z) Σ z^{2k+1}/(2k+1)!!, up to where the terms no longer matter.
            let (mut terms, mut log) = (1, 0.0);
            while log > -400.0 && terms < 400 {
                log += (near * near / (2.0 * terms as f64 + 1.0)).log2();
                terms += 1;
            }
            let series = z * (z * z).polynomial(&INVERSE_DOUBLE_FACTORIALS[..terms]);
            Wide::from_f64(0.5) - z.density() * series
        } else {
            // Mills' ratio 1/(z + 1/(z + 2/(z + …))), numerators and denominators forward.
            let terms = super::fraction_terms(near, 90.0);
            let (mut above, mut below) = ((Wide::ZERO, Wide::whole(1)), (Wide::whole(1), z));
            for n in 1..terms {
                above = (above.1, z * above.1 + above.0.times(n));
                below = (below.1, z * below.1 + below.0.times(n));
            }
            z.density() * above.1 / below.1
        };
        if self.negative { Wide::whole(1) - tail } else { tail }
    }
}

impl PartialEq for Wide {
    fn eq(&self, other: &Wide) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        let difference = *self - *other;
        Some(match (difference.is_zero(), difference.negative) {
            (true, _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            _ => Ordering::Greater,
        })
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide { negative: !self.negative, ..self }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, other: Wide) -> Wide {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other } else { self };
        }
        let (large, small) = if self.compare_size(&other).is_ge() { (&self, &other) } else { (&other, &self) };
        let size = if large.negative == small.negative {
            Wide::add_sizes(large, small)
        } else {
            Wide::subtract_sizes(large, small)
        };
        Wide { negative: large.negative, ..size }
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, other: Wide) -> Wide {
        if self.is_zero() || other.is_zero() {
            return Wide::ZERO;
        }
        // The columns that are cut would add a few units in the last place.
        const FROM: usize = LIMBS - 2;
        let mut product = [0u64; 2 * LIMBS];
        for (i, &left) in self.limbs.iter().enumerate() {
            let mut carry = 0u128;
            for j in FROM.saturating_sub(i)..LIMBS {
                carry += u128::from(left) * u128::from(other.limbs[j]) + u128::from(product[i + j]);
                product[i + j] = carry as u64;
                carry >>= 64;
            }
            product[i + LIMBS] = carry as u64;
        }
        let (mut limbs, mut exponent) = ([0; LIMBS], self.exponent + other.exponent + BITS);
        limbs.copy_from_slice(&product[LIMBS..]);
        if limbs[LIMBS - 1] >> 63 == 0 {
            let mut below = product[LIMBS - 1];
            for limb in &mut limbs {
                (below, *limb) = (*limb, *limb << 1 | below >> 63);
            }
            exponent -= 1;
        }
        Wide { negative: self.negative != other.negative, exponent, limbs }
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, other: Wide) -> Wide {
        assert!(!other.is_zero(), "a division by zero");
        self * other.reciprocal()
    }
}
