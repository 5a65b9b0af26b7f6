use super::*;

const LAWS: [NoiseLaw; 4] = [
    NoiseLaw::Laplace { scale: 2.0 },
    NoiseLaw::Laplace { scale: 30.0 },
    NoiseLaw::Gaussian { sigma: 3.0 },
    NoiseLaw::Gaussian { sigma: 40.0 },
];

/// What noise exceeds on either side together with a probability of at most `miss`.
fn reach(law: NoiseLaw, miss: f64) -> i128 {
    law.upper_quantile(miss / 2.0) as i128
}

/// The exact probability that an interval holds, given that its number is shown: by enumeration of all noise.
fn coverage(law: NoiseLaw, truth: i128, shown: Shown, interval: impl Fn(i128) -> [i128; 2]) -> f64 {
    let far = law.upper_quantile(1e-13) as i128;
    let (mut all, mut held) = (0.0, 0.0);
    for noise in -far..=far {
        let noisy = truth + noise;
        if shown.contains(noisy) {
            let [low, high] = interval(noisy);
            assert!(low <= noisy && noisy <= high, "{noisy}: {low} to {high}");
            all += law.probability(noise as f64);
            held += if low <= truth && truth <= high { law.probability(noise as f64) } else { 0.0 };
        }
    }
    held / all
}

#[test]
fn what_is_shown_is_covered_whatever_it_is() {
    for law in LAWS {
        let step = law.probability(0.0);
        for truth in [-10.0, -4.0, -2.0, -1.0, -0.3, 0.0, 0.5, 1.5, 3.0, 6.0, 12.0] {
            let truth = (truth * law.upper_quantile(0.16)) as i128;
            for shown in [Shown::AtLeast(0), Shown::AtMost(0)] {
                let interval = |noisy: i128| shown.interval(noisy, law, MISS, reach(law, MISS), 1_000_000);
                if law.survival(truth.unsigned_abs() as f64) < 1e-9 && !shown.contains(truth) {
                    continue;
                }
                let covered = coverage(law, truth, shown, interval);
                assert!(covered >= 1.0 - MISS - 1e-9, "{law:?}, {truth}, {shown:?}: {covered}");
                // Whole numbers take up to two steps more.
                assert!(covered <= 1.0 - MISS + 2.0 * step, "{law:?}, {truth}, {shown:?}: {covered}");
            }
        }
    }
}

/// As if nothing had been chosen, numbers near the bound are missed.
#[test]
fn intervals_that_ignore_the_choice_are_noticed() {
    for law in LAWS {
        let truth = -(law.upper_quantile(0.05) as i128);
        let plain = |noisy: i128| [noisy - reach(law, MISS), noisy + reach(law, MISS)];
        let covered = coverage(law, truth, Shown::AtLeast(0), plain);
        assert!(covered < 0.85, "{law:?}: {covered}");
    }
}

#[test]
fn a_number_far_from_its_bound_has_the_interval_of_its_noise() {
    for law in LAWS {
        let (noisy, reach) = (1_000_000, reach(law, MISS));
        for shown in [Shown::AtLeast(0), Shown::AtMost(2_000_000)] {
            let [low, high] = shown.interval(noisy, law, MISS, reach, noisy);
            assert!((noisy - low - reach).abs() <= 1 && (high - noisy - reach).abs() <= 1, "{law:?}: {low} to {high}");
        }
    }
}

#[test]
fn a_number_at_its_bound_may_be_anything_below() {
    let law = NoiseLaw::Laplace { scale: 10.0 };
    assert_eq!(Shown::AtLeast(100).interval(110, law, MISS, 29, 109), [1, 139]);
    assert_eq!(Shown::AtMost(-100).interval(-110, law, MISS, 29, 109), [-139, -1]);
    // Three scales above, it is not.
    assert!(Shown::AtLeast(100).interval(135, law, MISS, 29, 134)[0] > 60);
}

#[test]
fn sums_of_noise_have_their_law() {
    for scale in [0.5, 20.0] {
        let law = NoiseLaw::Laplace { scale };
        for addends in [1, 2, 5, 15, 16, 300] {
            let drawn = NoiseDraws::new(&[SummedNoise::new(law, addends)], 4_000, &[9; 32]);
            let statistic = Statistic {
                parts: &[0],
                formula: &|parts| Some(parts[0]),
                range: [f64::NEG_INFINITY, f64::INFINITY],
                counts: &[],
                divisors: &[],
                positive: false,
            };
            let said = drawn.group(&[0.0], None).estimate(&statistic, MISS).unwrap();
            let mut generator = SplitMix::new(&[5; 32], 0);
            let mut sum = || (0..addends).map(|_| law.quantile(generator.unit())).sum::<f64>();
            let held = (0..4_000).map(|_| sum()).filter(|sum| said.low <= *sum && *sum <= said.high).count() as f64;
            // Few whole numbers make steps.
            let most = if scale < 1.0 { 1.0 } else { 0.97 };
            assert!((0.937..most).contains(&(held / 4_000.0)), "{scale}, {addends}: {held} in {said:?}");
        }
    }
}
