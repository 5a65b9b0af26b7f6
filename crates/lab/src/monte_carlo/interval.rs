//! Confidence intervals that hold for every number of runs, not only in the limit.

use super::beta::{Beta, Tail};

/// The incomplete beta function errs by less than this, relative to the tail, up to 10⁹ runs; the tail that is aimed at is smaller by
/// as much, so that the interval is never too short.
const TAIL_ERROR: f64 = 1e-6;

/// The interval of Clopper and Pearson (Biometrika 1934) for a probability, from a number of hits among independent runs.
///
/// Its lower end is the probability at which that number of hits or more have a chance of half the allowed error, its upper end the
/// one at which that number or fewer have.
pub fn clopper_pearson(hits: u64, runs: u64, confidence: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - confidence) * (1.0 - TAIL_ERROR);
    let (hits, misses) = (hits as f64, runs.saturating_sub(hits) as f64);
    // P(at least h hits at p) = I_p(h, n−h+1), and P(at most h at p) = 1 − I_p(h+1, n−h).
    let lower = if hits == 0.0 { 0.0 } else { Beta::new(hits, misses + 1.0).quantile(Tail::Lower, tail).0 };
    let upper = if misses == 0.0 { 1.0 } else { Beta::new(hits + 1.0, misses).quantile(Tail::Upper, tail).1 };
    (lower, upper)
}

/// The empirical Bernstein interval for the mean of independent values in [0, bound], from their mean and unbiased variance.
///
/// Maurer, Pontil, *Empirical Bernstein Bounds and Sample Variance Penalization* (COLT 2009, arXiv:0907.3740v1), Theorem 4: for
/// values in [0, 1] and n ≥ 2, with probability at least 1 − a, E ≤ mean + √(2 var ln(2/a)/n) + 7 ln(2/a)/(3(n−1)). Used for both
/// sides, each with half of the allowed error. It needs no more than the bound, and is short where the variance is small.
pub fn empirical_bernstein(mean: f64, variance: f64, runs: u64, bound: f64, confidence: f64) -> (f64, f64) {
    let runs = runs as f64;
    let logarithm = core_math::log(4.0 / (1.0 - confidence));
    let radius = (2.0 * variance.max(0.0) * logarithm / runs).sqrt() + 7.0 * bound * logarithm / (3.0 * (runs - 1.0));
    ((mean - radius).max(0.0), (mean + radius).min(bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends against reference values, which are computed with fifty digits.
    fn check(hits: u64, runs: u64, confidence: f64, lower: f64, upper: f64) {
        let (got_lower, got_upper) = clopper_pearson(hits, runs, confidence);
        let close = |got: f64, expected: f64| (got - expected).abs() <= 1e-5 * expected;
        assert!(close(got_lower, lower), "{hits} of {runs}: lower {got_lower}, expected {lower}");
        assert!(close(got_upper, upper), "{hits} of {runs}: upper {got_upper}, expected {upper}");
        assert!(got_lower <= lower && got_upper >= upper, "{hits} of {runs}: the interval is too short");
    }

    #[test]
    fn clopper_pearson_meets_the_reference_values() {
        check(0, 10, 0.95, 0.0, 0.308497107819);
        check(1, 10, 0.95, 0.00252857854446, 0.445016117028);
        check(5, 10, 0.95, 0.187086028447, 0.812913971553);
        check(9, 10, 0.99, 0.4557129431, 0.999498871425);
        check(10, 10, 0.99, 0.588704018652, 1.0);
        check(3, 1000, 0.99, 0.000338144529066, 0.0109337774204);
        check(17, 100000, 0.95, 9.90342837969e-5, 0.000272172561193);
        check(1000, 1000000, 0.99, 0.000920460217822, 0.00108432711218);
        check(499000, 1000000, 0.95, 0.498019524052, 0.499980481741);
        check(2, 1000000000, 0.99, 1.03494546794e-10, 9.27379205553e-09);
        check(1000000, 100000000, 0.99, 0.00997438913022, 0.0100256574971);
    }

    #[test]
    fn no_hits_and_only_hits_have_closed_forms() {
        let (lower, upper) = clopper_pearson(0, 1000, 0.95);
        assert_eq!(lower, 0.0);
        assert!((upper - (1.0 - 0.025f64.powf(1e-3))).abs() < 1e-6);
        let (lower, upper) = clopper_pearson(1000, 1000, 0.95);
        assert!((lower - 0.025f64.powf(1e-3)).abs() < 1e-6);
        assert_eq!(upper, 1.0);
    }

    #[test]
    fn empirical_bernstein_is_the_formula_and_stays_in_range() {
        let (lower, upper) = empirical_bernstein(0.5, 0.04, 10_001, 1.0, 0.98);
        let logarithm = 200f64.ln();
        let radius = (0.08 * logarithm / 10_001.0).sqrt() + 7.0 * logarithm / 30_000.0;
        assert!((upper - 0.5 - radius).abs() < 1e-12 && (0.5 - lower - radius).abs() < 1e-12);
        assert_eq!(empirical_bernstein(0.0, 0.0, 10, 1e-6, 0.99), (0.0, 1e-6));
    }
}
