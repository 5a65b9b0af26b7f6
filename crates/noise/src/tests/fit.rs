//! Whether samples look like a distribution: Pearson's χ².

use std::collections::HashMap;

/// How often a right distribution fails.
pub(super) const LEVEL: f64 = 1e-6;

/// How many samples a right distribution passes with and a wrong one does not. A quick run takes as many: with fewer, rare values
/// would be in no bin of their own.
pub(super) const SAMPLES: u32 = 100_000;

/// The fewest samples that a bin is expected to have.
const SMALLEST: f64 = 40.0;

/// Compares counts with the probabilities of their bins, which add up to 1. Bins that are too small for the test are put together.
pub(super) fn fits(bins: impl IntoIterator<Item = (u64, f64)>) -> Result<(), String> {
    let bins: Vec<(f64, f64)> = bins.into_iter().map(|(counted, probability)| (counted as f64, probability)).collect();
    let total: f64 = bins.iter().map(|(counted, _)| counted).sum();
    let certain: f64 = bins.iter().map(|(_, probability)| probability).sum();
    assert!((certain - 1.0).abs() < 1e-9, "the probabilities add up to {certain}");
    let expected = bins.into_iter().map(|(counted, probability)| (counted, probability * total));
    let (mut large, small): (Vec<_>, Vec<_>) = expected.partition(|(_, expected)| *expected >= SMALLEST);
    let (counted, expected) = small.iter().fold((0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
    // What is never expected must never happen.
    if expected < 1e-9 && counted > 0.0 {
        return Err(format!("{counted} samples that are as good as impossible"));
    }
    match large.iter_mut().min_by(|one, other| one.1.total_cmp(&other.1)) {
        Some(least) if expected < SMALLEST => *least = (least.0 + counted, least.1 + expected),
        _ => large.push((counted, expected)),
    }
    let statistic: f64 = large.iter().map(|(counted, expected)| (counted - expected).powi(2) / expected).sum();
    let freedom = large.len() as u32 - 1;
    assert!(freedom > 0, "one bin tells nothing");
    let p = chi_square_tail(statistic, freedom);
    if p >= LEVEL { Ok(()) } else { Err(format!("χ² = {statistic} with {freedom} degrees of freedom: p = {p}")) }
}

/// Compares integers with a distribution that is symmetric about 0, given by P(x ≥ k) for k ≥ 1: bins on both sides, and one
/// for 0.
pub(super) fn fits_tails(samples: &[i128], tail: impl Fn(i128) -> f64) -> Result<(), String> {
    let spread = [0.45, 0.4, 0.32, 0.25, 0.18, 0.12, 0.07, 0.03, 0.01, 0.003].map(|p| quantile(&tail, p));
    // The first integers by themselves, where mistakes about 0 and signs are seen.
    let mut cuts: Vec<i128> = [1, 2, 3].into_iter().chain(spread).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let bin = |x: i128| cuts.partition_point(|cut| *cut <= x.abs()) as i128 * x.signum();
    let mut counted: HashMap<i128, u64> = HashMap::new();
    for sample in samples {
        *counted.entry(bin(*sample)).or_default() += 1;
    }
    let beyond = |at: usize| cuts.get(at).map_or(0.0, |cut| tail(*cut));
    let sides =
        (0..cuts.len()).flat_map(|at| [1, -1].map(|side| (side * (at as i128 + 1), beyond(at) - beyond(at + 1))));
    let bins = std::iter::once((0, 1.0 - 2.0 * beyond(0))).chain(sides);
    fits(bins.map(|(bin, probability)| (counted.get(&bin).copied().unwrap_or(0), probability)))
}

/// Whether an interval of this half width holds as many samples as it should, which is 95% or more. By Bernstein's inequality the number
/// of those beyond is further from its mean m than √(2mx) + 2x/3 with a probability of at most 2e^{−x}.
pub(super) fn covers(samples: &[i128], width: i128, tail: impl Fn(i128) -> f64) -> Result<(), String> {
    let missed = 2.0 * tail(width + 1);
    assert!(missed <= 0.05, "{width} is missed with {missed}");
    let beyond = samples.iter().filter(|x| x.abs() > width).count() as f64;
    let (mean, x) = (missed * samples.len() as f64, (2.0 / LEVEL).ln());
    let off = (beyond - mean).abs();
    if off <= (2.0 * mean * x).sqrt() + 2.0 * x / 3.0 {
        Ok(())
    } else {
        Err(format!("{beyond} beyond {width}, not {mean}"))
    }
}

/// The smallest k ≥ 1 that is reached with at most this probability.
fn quantile(tail: impl Fn(i128) -> f64, probability: f64) -> i128 {
    let (mut low, mut high) = (0, 1 << 110);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if tail(middle) <= probability { high = middle } else { low = middle }
    }
    high
}

/// P(χ² ≥ x), by Q(n + 2) = Q(n) + (x/2)^{n/2}·e^{−x/2}/Γ(n/2 + 1) from Q(1) = erfc(√(x/2)) or Q(2) = e^{−x/2} on.
fn chi_square_tail(x: f64, freedom: u32) -> f64 {
    let half = x / 2.0;
    let fall = (-half).exp();
    let (mut n, mut sum, mut term) = match freedom % 2 {
        0 => (2, fall, half * fall),
        _ => (1, core_math::erfc(half.sqrt()), 2.0 * (half / std::f64::consts::PI).sqrt() * fall),
    };
    while n < freedom {
        sum += term;
        n += 2;
        term *= half / (f64::from(n) / 2.0);
    }
    sum
}

/// Reference values from tables of χ².
#[test]
fn the_test_has_the_level_that_it_states() {
    for (x, freedom, p) in [
        (3.841_458_821, 1, 0.05),
        (5.991_464_547, 2, 0.05),
        (7.814_727_903, 3, 0.05),
        (15.507_313_06, 8, 0.05),
        (21.665_994_33, 9, 0.01),
        (20.090_235_03, 8, 0.01),
    ] {
        assert!((chi_square_tail(x, freedom) / p - 1.0).abs() < 1e-6, "{x}, {freedom}");
    }
}

#[test]
fn counts_that_are_off_are_found() {
    assert!(fits([(5_000, 0.5), (5_000, 0.5)]).is_ok());
    assert!(fits([(5_200, 0.5), (4_800, 0.5)]).is_ok());
    assert!(fits([(5_300, 0.5), (4_700, 0.5)]).is_err());
    assert!(fits([(5_000, 0.5), (4_999, 0.5), (1, 0.0)]).is_err());
}
