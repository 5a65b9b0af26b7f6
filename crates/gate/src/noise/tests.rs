//! The noise against its declared probabilities.
//!
//! Every statistical test raises a false alarm with a probability of at most [`LEVEL`] = 10⁻⁶: a χ² test of fit over at
//! least 500 expected samples a bin, and exact binomial limits for the coverage. There are some twenty of them in a
//! run, so a right program fails about once in 50,000 runs. A wrong one goes unnoticed as seldom: the wrong
//! distributions below are more than five standard deviations beyond the limit.

use std::f64::consts::SQRT_2;

use dashu::integer::UBig;
use dashu::rational::RBig;
use taximeter_accounting::{Amount, Cost, CostKind};

use super::*;

const SAMPLES: usize = 100_000;
const LEVEL: f64 = 1e-6;

/// Of ε and L1, of which the scales are ½, 1, 8.1…, 14 and 8.1…·10⁸.
const LAPLACE: [(&str, u128); 5] =
    [("2", 1), ("1", 1), ("0.123456789012345678901234567891", 1), ("0.5", 7), ("0.000000001234567890123456789013", 1)];

/// Of μ and L2², of which σ is ½, 1, 2.02…, 57.2… and 1.1…·10⁹.
const GAUSSIAN: [(&str, u128); 5] =
    [("2", 1), ("1", 1), ("0.7", 2), ("0.123456789012345678901234567891", 50), ("0.000000001234567890123456789013", 2)];

fn laplace(epsilon: &str, l1: u128) -> Noise {
    noise(CostKind::Epsilon, epsilon, Sensitivity { l1, l2_squared: l1 * l1 }).unwrap()
}

fn gaussian(mu: &str, l2_squared: u128) -> Noise {
    noise(CostKind::DiscreteGaussian, mu, Sensitivity { l1: l2_squared, l2_squared }).unwrap()
}

fn noise(kind: CostKind, size: &str, sensitivity: Sensitivity) -> Result<Noise, Error> {
    Noise::new(&kind.example().with_size(Amount::parse_exact(size).unwrap()), sensitivity)
}

fn all() -> impl Iterator<Item = Noise> {
    LAPLACE.map(|(epsilon, l1)| laplace(epsilon, l1)).into_iter().chain(GAUSSIAN.map(|(mu, l2)| gaussian(mu, l2)))
}

fn samples(noise: &Noise) -> Vec<i128> {
    (0..SAMPLES).map(|_| noise.sample().unwrap()).collect()
}

/// What is declared: the probability of at least k, for k above 0. Both sides are alike.
fn tail(noise: &Noise, k: i128) -> f64 {
    let (scale, at) = (noise.scale(), k as f64);
    match noise {
        Noise::Laplace { .. } => (-at / scale).exp() / (1.0 + (-1.0 / scale).exp()),
        // Between sum and integral there is about 1/(24σ²).
        Noise::Gaussian { .. } if scale > 1e4 => 0.5 * core_math::erfc((at - 0.5) / (scale * SQRT_2)),
        Noise::Gaussian { .. } => {
            let weight = |x: i128| (-0.5 * (x as f64 / scale).powi(2)).exp();
            let far = (50.0 * scale) as i128 + 2;
            let beyond = |k: i128| (k..=far.max(k)).rev().map(weight).sum::<f64>();
            beyond(k) / (1.0 + 2.0 * beyond(1))
        }
    }
}

/// The smallest k above 0 that is reached with at most this probability.
fn quantile(noise: &Noise, probability: f64) -> i128 {
    let (mut low, mut high) = (0, (40.0 * noise.scale()) as i128 + 2);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if tail(noise, middle) <= probability { high = middle } else { low = middle }
    }
    high
}

/// Whether samples look like the declared noise: χ² over some bins on both sides and one in the middle.
fn fits(declared: &Noise, samples: &[i128]) -> Result<(), String> {
    let mut cuts: Vec<i128> = Vec::new();
    for probability in [0.4, 0.25, 0.12, 0.04] {
        let cut = quantile(declared, probability);
        let (before, beyond) = (cuts.last().map_or(0.5, |last| tail(declared, *last)), tail(declared, cut));
        if cuts.last() != Some(&cut) && beyond > 0.005 && before - beyond > 0.005 {
            cuts.push(cut);
        }
    }
    let beyond: Vec<f64> = cuts.iter().map(|cut| tail(declared, *cut)).collect();
    let side = (0..cuts.len()).map(|at| beyond[at] - beyond.get(at + 1).unwrap_or(&0.0));
    let bin = |x: i128| cuts.iter().filter(|cut| **cut <= x.abs()).count() as i128 * x.signum();
    let counted = |wanted: i128| samples.iter().filter(|x| bin(**x) == wanted).count() as f64;
    let mut statistic = part(counted(0), 1.0 - 2.0 * beyond[0], samples.len());
    for (at, probability) in side.enumerate() {
        let at = at as i128 + 1;
        statistic += part(counted(at), probability, samples.len()) + part(counted(-at), probability, samples.len());
    }
    let p = chi_square_tail(statistic, 2 * cuts.len());
    if p >= LEVEL { Ok(()) } else { Err(format!("χ² = {statistic} in {} bins: p = {p}", 2 * cuts.len() + 1)) }
}

/// Whether the 95% interval of the declared noise covers as many samples as it should.
fn covers(declared: &Noise, samples: &[i128]) -> Result<(), String> {
    let width = declared.half_width(0.05);
    let coverage = 1.0 - 2.0 * tail(declared, width + 1);
    assert!(coverage >= 0.95 - 1e-12, "{declared:?} covers {coverage} within {width}");
    let covered = samples.iter().filter(|x| x.abs() <= width).count();
    let (low, high) = binomial_limits(samples.len(), coverage);
    if (low..=high).contains(&covered) { Ok(()) } else { Err(format!("{covered} within {width}, not {low} to {high}")) }
}

/// A bin's part of χ².
fn part(counted: f64, probability: f64, samples: usize) -> f64 {
    let expected = probability * samples as f64;
    assert!(expected >= 500.0, "a bin of {expected} expected samples is too small for the test");
    (counted - expected).powi(2) / expected
}

/// P(χ² ≥ x) for an even number n of degrees of freedom: e^{−x/2}·Σ_{i < n/2} (x/2)^i/i!.
fn chi_square_tail(x: f64, freedom: usize) -> f64 {
    assert!(freedom > 0 && freedom.is_multiple_of(2));
    let mut term = (-x / 2.0).exp();
    let mut sum = term;
    for i in 1..freedom / 2 {
        term *= x / 2.0 / i as f64;
        sum += term;
    }
    sum
}

/// The smallest and the largest count that a binomial distribution leaves, with at most [`LEVEL`] beyond both together.
fn binomial_limits(samples: usize, probability: f64) -> (usize, usize) {
    let odds = probability / (1.0 - probability);
    let mode = ((samples as f64 * probability) as usize).min(samples);
    // Relative to the mode: P(k+1)/P(k) = (n−k)/(k+1)·odds.
    let mut weights = vec![0.0; samples + 1];
    weights[mode] = 1.0;
    for k in mode..samples {
        weights[k + 1] = weights[k] * (samples - k) as f64 / (k + 1) as f64 * odds;
    }
    for k in (0..mode).rev() {
        weights[k] = weights[k + 1] * (k + 1) as f64 / (samples - k) as f64 / odds;
    }
    let allowed = LEVEL / 2.0 * weights.iter().sum::<f64>();
    let beyond = |sum: &mut f64, weight: &f64| {
        *sum += weight;
        Some(*sum <= allowed)
    };
    let low = weights.iter().scan(0.0, beyond).take_while(|out| *out).count();
    let high = weights.iter().rev().scan(0.0, beyond).take_while(|out| *out).count();
    (low, samples - high)
}

#[test]
fn samples_have_the_declared_probabilities_and_intervals_cover_as_often_as_they_say() {
    for noise in all() {
        let samples = samples(&noise);
        fits(&noise, &samples).unwrap_or_else(|why| panic!("{noise:?}: {why}"));
        covers(&noise, &samples).unwrap_or_else(|why| panic!("{noise:?}: {why}"));
    }
}

#[test]
fn wrong_distributions_are_found() {
    let found = |declared: &Noise, wrong: &str, samples: &[i128]| {
        assert!(fits(declared, samples).is_err(), "{wrong} passes for {declared:?}");
    };
    for (declared, off) in [
        (laplace("1", 1), laplace("1.05", 1)),
        (laplace("0.5", 7), laplace("0.475", 7)),
        (gaussian("1", 1), gaussian("1.05", 1)),
        (gaussian("0.01", 1), gaussian("0.0095", 1)),
    ] {
        found(&declared, "a scale that is off by 5%", &samples(&off));
    }
    let squared = Noise::Gaussian { sigma: RBig::from(9u8) };
    found(&gaussian("0.3333333333333333", 1), "σ² for σ", &samples(&squared));
    found(&laplace("1", 1), "a Gaussian", &samples(&gaussian("1", 1)));
    found(&laplace("1", 1), "a shift by one", &samples(&laplace("1", 1)).iter().map(|x| x + 1).collect::<Vec<_>>());
    let sided: Vec<_> = samples(&laplace("1", 1)).iter().map(|x| x.abs()).collect();
    found(&laplace("1", 1), "one side for both", &sided);

    // Continuous noise, rounded: quantiles of evenly spread probabilities are as good as samples, and better than most.
    let even = (0..SAMPLES).map(|at| (at as f64 + 0.5) / SAMPLES as f64);
    let rounded: Vec<_> =
        even.map(|u| ((0.5 - (u - 0.5).abs()) * 2.0).ln().copysign(u - 0.5).round() as i128).collect();
    found(&laplace("1", 1), "continuous Laplace noise, rounded", &rounded);
}

#[test]
fn an_interval_for_a_scale_that_is_off_by_a_tenth_is_found() {
    for (declared, off) in [(laplace("1", 1), laplace("0.9", 1)), (gaussian("0.01", 1), gaussian("0.011", 1))] {
        assert!(covers(&declared, &samples(&off)).is_err(), "the interval of {declared:?} covers {off:?} as well");
    }
}

/// Reference values: χ² tables, and binomial limits added up with exact arithmetic.
#[test]
fn the_checkers_have_the_level_that_they_state() {
    for (x, freedom, p) in [(5.991_464_547, 2, 0.05), (15.507_313_06, 8, 0.05), (20.090_235_03, 8, 0.01)] {
        assert!((chi_square_tail(x, freedom) / p - 1.0).abs() < 1e-6, "{x}, {freedom}");
    }
    // Of 40 fair coins: C(40, 0) + … + C(40, k) ≤ 2^40·LEVEL/2 = 549,755.8… holds for k ≤ 4, where the sum is 102,091.
    assert_eq!(binomial_limits(40, 0.5), (5, 35));
}

/// Up to a σ of 10⁴ the probabilities are added up here, which the half widths are not from 16 on.
#[test]
fn half_widths_hold_and_are_the_smallest() {
    let finer = ["50", "0.001"].map(|epsilon| laplace(epsilon, 1));
    let more = ["20", "3", "0.063", "0.0625", "0.06", "0.001", "0.0002"].map(|mu| gaussian(mu, 1));
    for noise in all().chain(finer).chain(more) {
        for miss in [0.5, 0.4, 0.32, 0.3, 0.05, 0.05 / 1000.0, 1e-6, 1e-9, 1e-12] {
            let width = noise.half_width(miss);
            let missed = 2.0 * tail(&noise, width + 1);
            assert!(missed <= miss * (1.0 + 1e-9), "{noise:?}: {width} is missed with {missed}, not {miss}");
            // Where a Gaussian is not convex, a step more than the smallest is allowed.
            let concave = noise.name() == "discrete-gaussian" && noise.scale() >= 16.0 && miss > 0.3;
            let less = width - 1 - i128::from(concave) - (width as f64 * 1e-9) as i128;
            let missed = 2.0 * tail(&noise, less + 1);
            assert!(less < 0 || missed > miss, "{noise:?}: {less} would do for {miss}");
        }
    }
}

#[test]
fn a_laplace_scale_is_exactly_sensitivity_over_epsilon() {
    for (epsilon, l1) in LAPLACE
        .into_iter()
        .chain([("0.000000000000000000000000000001", 1), ("340282366.920938463463374607431768211455", 1)])
    {
        let Noise::Laplace { scale } = laplace(epsilon, l1) else { panic!("ε buys Laplace noise") };
        let epsilon = Amount::parse_exact(epsilon).unwrap().units();
        let ten = RBig::from(UBig::from(10u8).pow(30));
        assert_eq!(scale * RBig::from(epsilon), RBig::from(l1) * ten, "ε = {epsilon}");
    }
}

#[test]
fn a_gaussian_sigma_is_at_least_sensitivity_over_mu_and_hardly_more() {
    let sizes = [
        "0.7",
        "1",
        "0.000000000000000000000000000003",
        "340282366.920938463463374607431768211455",
        "0.1",
        "1234.5678",
    ];
    let squares = [1, 2, 3, 4, 49, 98, (1 << 40) + 1, 2 * (1_000_000u128 << 31).pow(2), 1 << 126];
    for mu in sizes {
        for l2_squared in squares {
            let sensitivity = Sensitivity { l1: 1, l2_squared };
            let Ok(Noise::Gaussian { sigma }) = noise(CostKind::DiscreteGaussian, mu, sensitivity) else { continue };
            let units = RBig::from(Amount::parse_exact(mu).unwrap().units());
            let reached = (sigma * units / RBig::from(UBig::from(10u8).pow(30))).pow(2);
            let wanted = RBig::from(l2_squared);
            assert!(reached >= wanted, "μ = {mu}, L2² = {l2_squared}: σ²μ² = {reached}");
            let most = RBig::from_parts(1.into(), UBig::ONE << 40) + RBig::ONE;
            assert!(reached <= wanted * most.pow(2), "μ = {mu}, L2² = {l2_squared}: σ²μ² = {reached}");
        }
    }
    // What has a finite binary form is kept.
    assert_eq!(gaussian("0.1", 1), Noise::Gaussian { sigma: RBig::from(10u8) });
    assert_eq!(gaussian("8", 49), Noise::Gaussian { sigma: RBig::from_parts(7.into(), 8u8.into()) });
}

#[test]
fn costs_that_buy_no_noise_are_refused_with_what_to_do() {
    let one = Sensitivity { l1: 1, l2_squared: 1 };
    let check = |cost: Cost, sensitivity: Sensitivity, words: &str| {
        let error = Noise::new(&cost, sensitivity).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(words), "{cost}: {error}");
    };
    for kind in CostKind::ALL {
        let cost = kind.example().with_size(Amount::ONE);
        if matches!(kind, CostKind::Epsilon | CostKind::DiscreteGaussian) {
            assert!(Noise::new(&cost, one).is_ok(), "{cost}");
            check(kind.example().with_size(Amount::ZERO), one, "spend more");
            check(
                kind.example().with_size(Amount::UNIT),
                Sensitivity { l1: 1 << 60, l2_squared: 1 << 120 },
                "spend more",
            );
        } else {
            check(cost, one, "spend an epsilon");
        }
    }
    let delta = Amount::parse_exact("0.000001").unwrap();
    check(Cost::approximate(Amount::ONE, delta).unwrap(), one, "spend an epsilon");
}

#[test]
fn the_largest_noise_and_the_smallest_are_sampled() {
    for (kind, size) in [(CostKind::Epsilon, "1"), (CostKind::DiscreteGaussian, "0.000000000008")] {
        let noise = noise(kind, size, Sensitivity { l1: 1 << 99, l2_squared: 1 << 126 }).unwrap();
        assert!(noise.sample().unwrap().abs() < noise.half_width(1e-12));
        assert!(noise.scale() > 2f64.powi(98) && noise.half_width(0.05) > 1 << 98);
    }
    for noise in [laplace("340282366", 1), gaussian("340282366", 1)] {
        assert_eq!((noise.sample(), noise.half_width(1e-12)), (Ok(0), 0));
    }
}
