//! Rounded Gaussian noise against the normal distribution.

use std::f64::consts::FRAC_1_SQRT_2;

use dashu::integer::UBig;
use dashu::rational::RBig;
use opendp::traits::samplers::sample_discrete_gaussian;

use super::fit::{SAMPLES, covers, fits, fits_tails};
use super::rational;
use crate::{NoiseError, Randomness, RoundedGaussian};

const SIGMAS: [&str; 10] = [
    "3/10",
    "1/2",
    "1",
    "10/7",
    "2020202020202020202020202020202/1000000000000000000000000000001",
    "572/10",
    "1000/3",
    "1145324612",
    "2^40",
    "2^100",
];

fn gaussian(sigma: &str) -> RoundedGaussian {
    RoundedGaussian::new(rational(sigma)).unwrap()
}

fn drawn(sigma: &str, count: u32) -> Vec<i128> {
    let (noise, mut random) = (gaussian(sigma), Randomness::repeatable(31));
    (0..count).map(|_| noise.sample(&mut random).unwrap()).collect()
}

/// P(noise ≥ k) for k ≥ 1: the continuous noise is above k − ½.
fn tail(sigma: &str) -> impl Fn(i128) -> f64 {
    let sigma = rational(sigma).to_f64().value();
    move |k| 0.5 * core_math::erfc((k as f64 - 0.5) / sigma * FRAC_1_SQRT_2)
}

#[test]
fn samples_have_the_declared_distribution() {
    for sigma in SIGMAS {
        let samples = drawn(sigma, SAMPLES);
        fits_tails(&samples, tail(sigma)).unwrap_or_else(|why| panic!("{sigma}: {why}"));
        covers(&samples, gaussian(sigma).half_width(0.05), tail(sigma)).unwrap_or_else(|why| panic!("{sigma}: {why}"));
    }
}

#[test]
fn the_last_digits_of_large_noise_are_uniform() {
    for sigma in ["1145324612", "2^40", "2^100"] {
        let mut counted = [0; 17];
        drawn(sigma, SAMPLES).iter().for_each(|x| counted[x.rem_euclid(17) as usize] += 1);
        fits(counted.map(|counted| (counted, 1.0 / 17.0))).unwrap_or_else(|why| panic!("{sigma}: {why}"));
    }
}

#[test]
fn wrong_distributions_are_found() {
    let found = |declared: &str, wrong: &str, samples: &[i128]| {
        assert!(fits_tails(samples, tail(declared)).is_err(), "{wrong} passes for {declared}");
    };
    for (declared, off) in [("1", "20/21"), ("572/10", "6006/100"), ("2^40", "1154487209165")] {
        found(declared, "a σ that is off by 5%", &drawn(off, SAMPLES));
    }
    found("3", "σ² for σ", &drawn("9", SAMPLES));
    for sigma in ["1", "10"] {
        let right = drawn(sigma, SAMPLES);
        found(sigma, "a shift by one", &right.iter().map(|x| x + 1).collect::<Vec<_>>());
        found(sigma, "one side for both", &right.iter().map(|x| x.abs()).collect::<Vec<_>>());
        for (wrong, round) in [("noise rounded to 0", f64::trunc as fn(f64) -> f64), ("noise rounded down", f64::floor)]
        {
            found(sigma, wrong, &in_floating_point(sigma, round));
        }
        assert!(fits_tails(&in_floating_point(sigma, f64::round), tail(sigma)).is_ok());
    }
    let discrete = |_| i128::try_from(sample_discrete_gaussian(rational("1/2")).unwrap()).unwrap();
    found("1/2", "the discrete Gaussian", &(0..SAMPLES).map(discrete).collect::<Vec<_>>());
}

/// Noise from the method of Box and Muller in floating point, rounded in some way.
fn in_floating_point(sigma: &str, round: fn(f64) -> f64) -> Vec<i128> {
    let (sigma, mut random) = (rational(sigma).to_f64().value(), Randomness::repeatable(32));
    let mut uniform = || (u64::try_from(random.bits(53).unwrap()).unwrap() as f64 + 0.5) / 2f64.powi(53);
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    (0..SAMPLES).map(|_| round(sigma * normal()) as i128).collect()
}

#[test]
fn half_widths_hold_and_are_the_smallest() {
    for sigma in SIGMAS.into_iter().chain(["1/50", "10000"]) {
        let (noise, tail) = (gaussian(sigma), tail(sigma));
        for miss in [0.5, 0.32, 0.05, 0.05 / 1000.0, 1e-6, 1e-12] {
            let width = noise.half_width(miss);
            let missed = 2.0 * tail(width + 1);
            assert!(missed <= miss * (1.0 + 1e-9), "{sigma}: {width} is missed with {missed}, not {miss}");
            let less = width - 1 - (width as f64 * 1e-9) as i128;
            assert!(less < 0 || 2.0 * tail(less + 1) > miss, "{sigma}: {less} would do for {miss}");
        }
    }
    // ±1.96σ, less the half step.
    assert_eq!(gaussian("1000").half_width(0.05), 1960);
    assert_eq!(gaussian("10").half_width(0.05), 20);
}

#[test]
fn tails_are_those_of_the_samples() {
    for sigma in ["1/2", "10/7", "572/10"] {
        let (noise, tail) = (gaussian(sigma), tail(sigma));
        for k in 1..40 {
            assert!((noise.survival(k as f64) - tail(k)).abs() < 1e-14, "{sigma}: {k}");
            assert!((noise.survival(k as f64 - 0.4) - tail(k)).abs() < 1e-14, "{sigma}: {k}");
            assert!((noise.survival(1.0 - k as f64) - (1.0 - tail(k))).abs() < 1e-14, "{sigma}: {k}");
            assert!((noise.cumulative(-k as f64) - tail(k)).abs() < 1e-14, "{sigma}: {k}");
            assert!((noise.cumulative(k as f64 - 0.1) - (1.0 - tail(k))).abs() < 1e-14, "{sigma}: {k}");
        }
    }
}

#[test]
fn a_sigma_is_at_least_sensitivity_over_mu_and_hardly_more() {
    let squares = [1, 2, 3, 4, 49, 98, (1 << 40) + 1, 2 * (1_000_000u128 << 31).pow(2), 1 << 126];
    for mu in ["7/10", "1", "3/1000000000000000000000", "340282366", "1/10", "12345678/10000"] {
        for l2_squared in squares {
            let mu = rational(mu);
            let Ok(noise) = RoundedGaussian::for_mu(l2_squared, &mu) else { continue };
            let (reached, wanted) = ((noise.sigma() * &mu).pow(2), RBig::from(l2_squared));
            assert!(reached >= wanted, "μ = {mu}, L2² = {l2_squared}: σ²μ² = {reached}");
            let most = RBig::from_parts(1.into(), UBig::ONE << 59) + RBig::ONE;
            assert!(reached <= wanted * most.pow(2), "μ = {mu}, L2² = {l2_squared}: σ²μ² = {reached}");
        }
    }
    // What has a finite binary form is kept.
    assert_eq!(RoundedGaussian::for_mu(1, &rational("1/10")).unwrap(), gaussian("10"));
    assert_eq!(RoundedGaussian::for_mu(49, &rational("8")).unwrap(), gaussian("7/8"));
}

#[test]
fn sigmas_that_no_noise_has_are_refused() {
    for sigma in ["0", "-1", "1267650600228229401496703205377"] {
        assert!(matches!(RoundedGaussian::new(rational(sigma)), Err(NoiseError::Scale { .. })), "{sigma}");
    }
    // As good as no noise.
    assert!(drawn("1/1000000", 100).iter().all(|x| *x == 0));
}
