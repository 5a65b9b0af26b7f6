//! Upper bounds far beyond the range of floating point.

use std::f64::consts::LN_2;

use super::Interval;

/// A positive number that is at most m·2^{512 b}, with m between about 2⁻²⁵⁶ and 2²⁵⁶; or zero.
///
/// For sums of products of positive numbers, each rounded up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    mantissa: f64,
    blocks: i64,
}

const BLOCK: f64 = power_of_two(512);
const LARGE: f64 = power_of_two(256);
const SMALL: f64 = power_of_two(-256);

const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Scaled {
    pub(crate) const ZERO: Scaled = Scaled { mantissa: 0.0, blocks: 0 };

    /// e^x; nothing where x is so large that hardly a digit of the result is known.
    pub(crate) fn exp(x: Interval) -> Option<Scaled> {
        if !(x.hi().abs() < 1e15) {
            return None;
        }
        let blocks = (x.hi() / (512.0 * LN_2)).round();
        let rest = x.raised() - blocks * log_of_block();
        Some(Scaled { mantissa: rest.exp().hi(), blocks: blocks as i64 })
    }

    /// A positive mantissa, not above 2⁷⁰⁰ and rounded up already.
    fn normal(mantissa: f64, blocks: i64) -> Scaled {
        // A power of two changes no digit.
        if mantissa > LARGE {
            Scaled { mantissa: mantissa / BLOCK, blocks: blocks + 1 }
        } else if mantissa < SMALL {
            // What is smaller yet is rounded up further.
            Scaled { mantissa: (mantissa * BLOCK).max(SMALL), blocks: blocks - 1 }
        } else {
            Scaled { mantissa, blocks }
        }
    }

    /// The product with a number up to 2⁴⁰⁰.
    pub(crate) fn times(self, factor: Interval) -> Scaled {
        Scaled::normal((Interval::point(self.mantissa) * factor).hi(), self.blocks)
    }

    pub(crate) fn times_scaled(self, factor: Scaled) -> Scaled {
        Scaled::normal((self.mantissa * factor.mantissa).next_up(), self.blocks + factor.blocks)
    }

    pub(crate) fn plus(self, other: Scaled) -> Scaled {
        if self.mantissa == 0.0 {
            return other;
        }
        let (large, small) = if self.blocks >= other.blocks { (self, other) } else { (other, self) };
        // Two blocks below, less than the last digit is added.
        let addend = match large.blocks - small.blocks {
            0 => small.mantissa,
            1 => small.mantissa / BLOCK,
            _ => 0.0,
        };
        Scaled { mantissa: (large.mantissa + addend).next_up(), ..large }
    }

    /// The sum of all that follow this number, if the m-th of them is at most ratio^m times it; nothing if there is no bound.
    pub(crate) fn rest(self, ratio: Interval) -> Option<Scaled> {
        (ratio.hi() < 1.0).then(|| self.times((ratio / (1.0 - ratio)).raised()))
    }

    /// About self/other, for deciding what is negligible: zero for what is far below, infinity for what is far above.
    pub(crate) fn share_of(self, other: Scaled) -> f64 {
        match self.blocks - other.blocks {
            0 => self.mantissa / other.mantissa,
            -1 => self.mantissa / other.mantissa / BLOCK,
            apart if apart < 0 => 0.0,
            _ => f64::INFINITY,
        }
    }

    /// ln(1 + self).
    pub(crate) fn ln_1p(self) -> Interval {
        let mantissa = Interval::point(self.mantissa);
        match self.blocks {
            0 => mantissa.ln_1p(),
            // ln(1 + s) = ln s + ln(1 + 1/s), and s is above 2²⁵⁵.
            1.. => self.blocks as f64 * log_of_block() + mantissa.ln() + Interval::between(0.0, 1e-70),
            -1 => Interval::point(self.mantissa / BLOCK).ln_1p(),
            _ => Interval::point(1.0 / BLOCK).ln_1p(),
        }
    }
}

/// 512 ln 2.
fn log_of_block() -> Interval {
    512.0 * Interval::around(LN_2, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln(1 + e^x) is x + ln(1 + e^{−x}).
    #[test]
    fn exponentials_of_all_sizes_come_back_as_logarithms() {
        for x in [-1e3, -400.0, -100.0, -1.0, 0.0, 1.0, 100.0, 177.0, 178.0, 400.0, 1e3, 1e6, 1e12] {
            let back = Scaled::exp(Interval::point(x)).unwrap().ln_1p().hi();
            let expected = if x < 0.0 { x.exp().ln_1p() } else { x + (-x).exp().ln_1p() };
            let close = if x < -500.0 { 1e-150 } else { expected * 1e-12 };
            assert!(back >= expected && back <= expected + close, "{back} for {expected} at {x}");
        }
        assert!(Scaled::exp(Interval::point(1e16)).is_none() && Scaled::exp(Interval::point(f64::NAN)).is_none());
    }

    #[test]
    fn sums_and_products_are_those_of_the_exponents() {
        let exp = |x: f64| Scaled::exp(Interval::point(x)).unwrap();
        let log = |scaled: Scaled| scaled.ln_1p().hi();
        let close = |value: f64, expected: f64| value >= expected && value <= expected * (1.0 + 1e-12);
        assert!(close(log(exp(5e5).times_scaled(exp(-4.99e5))), 1e3));
        assert!(close(log(exp(1e3).plus(exp(1e3))), 1e3 + LN_2));
        assert!(close(log(exp(1e3).plus(exp(1e2)).plus(exp(-1e6)).plus(Scaled::ZERO)), 1e3));
        let halves = (0..5000).fold(exp(2e3), |product, _| product.times(Interval::point(0.5)));
        assert!(close(log(halves.times_scaled(exp(5000.0 * LN_2))), 2e3));
        let rest = exp(1e3).rest(Interval::point(0.75)).unwrap();
        assert!(close(log(rest), 1e3 + 3f64.ln()) && exp(1.0).rest(Interval::ONE).is_none());
        assert!(exp(-1e3).share_of(exp(0.0)) == 0.0 && exp(1.0).share_of(exp(1.0)) == 1.0);
    }
}
