//! Interval arithmetic with outward rounding.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Two floating-point numbers with the true value between them.
///
/// A formula is written once, as in the paper; its upper end is then never below the truth, its lower end never above. An
/// operation outside its domain gives NaN, and every decision is written so that NaN means halt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    pub(crate) const ZERO: Interval = Interval::point(0.0);
    pub(crate) const ONE: Interval = Interval::point(1.0);

    /// A number that is exact.
    pub(crate) const fn point(value: f64) -> Self {
        Interval { lo: value, hi: value }
    }

    /// Between two numbers.
    pub(crate) const fn between(lo: f64, hi: f64) -> Self {
        Interval { lo, hi }
    }

    /// A non-negative number that is the result of at most this number of roundings to nearest.
    pub(crate) const fn around(value: f64, roundings: u32) -> Self {
        // Each rounding errs by at most 2⁻⁵³; the products below round once more.
        let width = roundings as f64 * f64::EPSILON;
        Interval { lo: value * (1.0 - width), hi: value * (1.0 + width) }
    }

    pub(crate) fn lo(self) -> f64 {
        self.lo
    }

    pub(crate) fn hi(self) -> f64 {
        self.hi
    }

    pub(crate) fn middle(self) -> f64 {
        0.5 * (self.lo + self.hi)
    }

    /// The upper end alone: for what only an upper bound is wanted of, and what rises in this value.
    pub(crate) fn raised(self) -> Self {
        Interval::point(self.hi)
    }

    /// The part of the interval that is not negative, for a value known not to be.
    pub(crate) fn not_negative(self) -> Self {
        Interval { lo: at_least_zero(self.lo), hi: self.hi }
    }

    /// An enclosure of the smaller of the two values.
    pub(crate) fn min(self, other: Interval) -> Self {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    pub(crate) fn square(self) -> Self {
        if self.lo >= 0.0 {
            self * self
        } else if self.hi <= 0.0 {
            (-self) * (-self)
        } else {
            let far = self.lo.abs().max(self.hi.abs());
            Interval { lo: 0.0, hi: up(far * far) }
        }
    }

    pub(crate) fn sqrt(self) -> Self {
        Interval { lo: at_least_zero(down(at_least_zero(self.lo).sqrt())), hi: up(self.hi.sqrt()) }
    }

    pub(crate) fn exp(self) -> Self {
        self.rising(core_math::exp).not_negative()
    }

    pub(crate) fn erfc(self) -> Self {
        (-self).rising(|negated| core_math::erfc(-negated)).not_negative()
    }

    /// A correctly rounded, rising function.
    #[inline]
    fn rising(self, function: impl Fn(f64) -> f64) -> Self {
        let lo = function(self.lo);
        let hi = if self.lo == self.hi { lo } else { function(self.hi) };
        Interval { lo: down(lo), hi: up(hi) }
    }
}

/// Functions that rise; the hyperbolic cosine does so for numbers that are not negative.
macro_rules! rising {
    ($($name:ident = $function:path),*) => {
        impl Interval {
            $(pub(crate) fn $name(self) -> Self { self.rising($function) })*
        }
    };
}
rising!(exp_m1 = core_math::expm1, ln = core_math::log, ln_1p = core_math::log1p);
rising!(sinh = core_math::sinh, cosh = core_math::cosh, tanh = core_math::tanh);

#[inline]
fn up(value: f64) -> f64 {
    value.next_up()
}

#[inline]
fn down(value: f64) -> f64 {
    value.next_down()
}

/// Zero for what is negative; NaN stays NaN, which `f64::max` would hide.
#[inline]
fn at_least_zero(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { lo: -self.hi, hi: -self.lo }
    }
}

impl Add for Interval {
    type Output = Interval;
    #[inline]
    fn add(self, other: Interval) -> Interval {
        Interval { lo: down(self.lo + other.lo), hi: up(self.hi + other.hi) }
    }
}

impl Sub for Interval {
    type Output = Interval;
    #[inline]
    fn sub(self, other: Interval) -> Interval {
        Interval { lo: down(self.lo - other.hi), hi: up(self.hi - other.lo) }
    }
}

impl Mul for Interval {
    type Output = Interval;
    #[inline]
    fn mul(self, other: Interval) -> Interval {
        if self.lo >= 0.0 && other.lo >= 0.0 {
            return Interval { lo: at_least_zero(down(self.lo * other.lo)), hi: up(self.hi * other.hi) };
        }
        let products = [self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi];
        if products.iter().any(|product| product.is_nan()) {
            return Interval::point(f64::NAN);
        }
        let lowest = products.into_iter().fold(f64::INFINITY, f64::min);
        let highest = products.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Interval { lo: down(lowest), hi: up(highest) }
    }
}

impl Div for Interval {
    type Output = Interval;
    /// By a positive number; by anything else the quotient is not a number.
    #[inline]
    fn div(self, other: Interval) -> Interval {
        if other.lo <= 0.0 {
            return Interval::point(f64::NAN);
        }
        let lo = if self.lo < 0.0 { down(self.lo / other.lo) } else { at_least_zero(down(self.lo / other.hi)) };
        let hi = if self.hi < 0.0 { self.hi / other.hi } else { self.hi / other.lo };
        Interval { lo, hi: up(hi) }
    }
}

/// By a power of two nothing is rounded, short of overflow and of numbers that no formula here comes near.
impl Mul<f64> for Interval {
    type Output = Interval;
    #[inline]
    fn mul(self, other: f64) -> Interval {
        const MANTISSA: u64 = (1 << 52) - 1;
        if other > 0.0 && other.to_bits() & MANTISSA == 0 {
            let (lo, hi) = (self.lo * other, self.hi * other);
            // Below the smallest normal number halving does round.
            if (lo.is_normal() || self.lo == 0.0) && (hi.is_normal() || self.hi == 0.0) {
                return Interval { lo, hi };
            }
        }
        self * Interval::point(other)
    }
}

impl Mul<Interval> for f64 {
    type Output = Interval;
    #[inline]
    fn mul(self, other: Interval) -> Interval {
        other * self
    }
}

/// The other operations with an exact number on either side.
macro_rules! with_exact {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait<f64> for Interval {
            type Output = Interval;
            #[inline]
            fn $method(self, other: f64) -> Interval {
                $trait::$method(self, Interval::point(other))
            }
        }
        impl $trait<Interval> for f64 {
            type Output = Interval;
            #[inline]
            fn $method(self, other: Interval) -> Interval {
                $trait::$method(Interval::point(self), other)
            }
        }
    )*};
}
with_exact!(Add add, Sub sub, Div div);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_widen_outwards() {
        let third = Interval::ONE / 3.0;
        assert!(third.lo < third.hi && third.hi - third.lo < 1e-15);
        let one = third * 3.0;
        assert!(one.lo < 1.0 && one.hi > 1.0);
        let difference = third - third;
        assert!(difference.lo <= 0.0 && difference.hi >= 0.0);
        let product = Interval::between(-2.0, 3.0) * Interval::between(-5.0, 1.0);
        assert!(product.lo <= -15.0 && product.lo > -15.1 && product.hi >= 10.0 && product.hi < 10.1);
    }

    #[test]
    fn outside_the_domain_no_comparison_holds() {
        for bad in [
            Interval::ONE / Interval::between(-1.0, 1.0),
            Interval::point(-1.0).ln(),
            Interval::point(f64::NAN).sqrt(),
            Interval::point(f64::NAN).exp(),
            Interval::point(f64::INFINITY) * Interval::between(-1.0, 0.0),
        ] {
            let admitted = bad.hi() <= 1e300;
            assert!(!admitted, "{bad:?}");
        }
    }
}
