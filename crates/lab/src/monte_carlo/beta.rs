//! The regularised incomplete beta function I_x(a, b) and its quantiles.

/// A beta distribution with parameters a and b, both at least 1.
pub(super) struct Beta {
    a: f64,
    b: f64,
    /// ln B(a, b).
    log_beta: f64,
}

/// Which tail of the distribution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// Below: I_x(a, b).
    Lower,
    /// Above: 1 − I_x(a, b).
    Upper,
}

impl Beta {
    pub(super) fn new(a: f64, b: f64) -> Beta {
        Beta { a, b, log_beta: log_beta(a, b) }
    }

    /// Two neighbouring numbers between which the tail passes a probability.
    pub(super) fn quantile(&self, tail: Tail, probability: f64) -> (f64, f64) {
        let (mut below, mut above) = (0.0f64, 1.0f64);
        loop {
            // Halving the exponent first: a quantile may be as small as 10⁻³⁰⁰.
            let middle = if below == 0.0 && above > 1e-300 { above * 0.5 } else { 0.5 * (below + above) };
            if middle <= below || middle >= above || above - below <= 1e-15 * above {
                return (below, above);
            }
            let past = match tail {
                Tail::Lower => self.tail(tail, middle) > probability,
                Tail::Upper => self.tail(tail, middle) < probability,
            };
            if past {
                above = middle;
            } else {
                below = middle;
            }
        }
    }

    /// The probability of a tail, accurate in relative terms also where it is small.
    fn tail(&self, tail: Tail, x: f64) -> f64 {
        // The fraction converges fast on the side of the mean that it is used on; the other tail is the complement.
        let lower_is_direct = x < (self.a + 1.0) / (self.a + self.b + 2.0);
        let direct = if lower_is_direct {
            self.power(x) * continued_fraction(self.a, self.b, x) / self.a
        } else {
            self.power(x) * continued_fraction(self.b, self.a, 1.0 - x) / self.b
        };
        if lower_is_direct == (tail == Tail::Lower) { direct } else { 1.0 - direct }
    }

    /// x^a (1−x)^b / B(a, b).
    fn power(&self, x: f64) -> f64 {
        core_math::exp(self.a * core_math::log(x) + self.b * core_math::log1p(-x) - self.log_beta)
    }
}

/// ln B(a, b). For large parameters Stirling's corrections replace the difference of huge logarithms.
fn log_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 100.0 {
        return core_math::lgamma(a) + core_math::lgamma(b) - core_math::lgamma(a + b);
    }
    // ln Γ(z) = (z − ½) ln z − z + ½ ln 2π + correction(z).
    let sum = small + large;
    let difference = correction(large) - correction(sum);
    // ln Γ(large) − ln Γ(sum) = (large − ½) ln(large/sum) − small ln(sum) + small + difference.
    let ratio = -core_math::log1p(small / large);
    let large_part = (large - 0.5) * ratio - small * core_math::log(sum) + small + difference;
    if small < 100.0 {
        return core_math::lgamma(small) + large_part;
    }
    const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
    // The terms of size `small` cancel in the sum.
    (large - 0.5) * ratio + small * core_math::log(small / sum) - 0.5 * core_math::log(small)
        + HALF_LOG_TWO_PI
        + correction(small)
        + difference
}

/// The rest of Stirling's series, for z ≥ 100: the first term left out is below 10⁻¹⁷.
fn correction(z: f64) -> f64 {
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by the method of Lentz; it takes O(√max(a, b)) terms.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST_TERMS: u32 = 10_000_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut ratio_of_numerators = 1.0;
    let mut ratio_of_denominators = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = ratio_of_denominators;
    for term in 1..=MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            ratio_of_denominators = 1.0 / away_from_zero(1.0 + coefficient * ratio_of_denominators);
            ratio_of_numerators = away_from_zero(1.0 + coefficient / ratio_of_numerators);
            change = ratio_of_numerators * ratio_of_denominators;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: f64, b: f64, x: f64, lower: f64) {
        let beta = Beta::new(a, b);
        let (got, rest) = (beta.tail(Tail::Lower, x), beta.tail(Tail::Upper, x));
        assert!((got - lower).abs() <= TOLERANCE * lower, "I_{x}({a}, {b}) = {got}, expected {lower}");
        assert!((got + rest - 1.0).abs() < 1e-12, "{got} + {rest}");
    }

    const TOLERANCE: f64 = 1e-7;

    #[test]
    fn the_incomplete_beta_function_meets_closed_forms() {
        check(1.0, 1.0, 0.3, 0.3);
        check(1.0, 5.0, 0.2, 1.0 - 0.8f64.powi(5));
        check(3.0, 1.0, 0.2, 0.008);
        check(2.0, 2.0, 0.25, 0.15625);
    }

    #[test]
    fn the_incomplete_beta_function_meets_the_reference_values() {
        check(10.0, 991.0, 0.003, 0.0010783294663);
        check(18.0, 99984.0, 0.0001, 0.0142744225619);
        check(1001.0, 999000.0, 0.00095, 0.051511466148);
        check(1001.0, 999000.0, 0.0008, 4.29115396406e-12);
        check(150.0, 150.0, 0.45, 0.041374001627);
        check(50.0, 2000.0, 0.02, 0.0922812907712);
        check(1000001.0, 99000000.0, 0.00998, 0.0221062448107);
        check(3.0, 999999998.0, 1e-9, 0.0803013969794);
    }
}
