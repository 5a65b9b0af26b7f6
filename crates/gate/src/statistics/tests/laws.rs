use super::*;

const LAWS: [NoiseLaw; 8] = [
    NoiseLaw::Laplace { scale: 0.2 },
    NoiseLaw::Laplace { scale: 1.0 },
    NoiseLaw::Laplace { scale: 37.5 },
    NoiseLaw::Laplace { scale: 1e6 },
    NoiseLaw::Gaussian { sigma: 0.4 },
    NoiseLaw::Gaussian { sigma: 3.0 },
    NoiseLaw::Gaussian { sigma: 1e5 },
    NoiseLaw::Exact,
];

#[test]
fn quantiles_invert_the_tails() {
    for law in LAWS {
        for rank in [1e-9, 1e-4, 0.025, 0.2, 0.4999, 0.5001, 0.7, 0.95, 0.9999] {
            let x = law.quantile(rank);
            assert_eq!(x, x.round(), "{law:?}");
            let upto = |x: f64| law.survival(-x);
            assert!(upto(x) >= rank * (1.0 - 1e-6), "{law:?} {rank} {x}: {}", upto(x));
            assert!(upto(x - 1.0) <= rank * (1.0 + 1e-6), "{law:?} {rank} {x}: {}", upto(x - 1.0));
        }
    }
}

#[test]
fn probabilities_are_differences_of_tails_and_add_up() {
    for law in LAWS.into_iter().filter(|law| law.upper_quantile(1e-9) < 1e4) {
        let far = law.upper_quantile(1e-12) + 2.0;
        let all: Vec<f64> = (-far as i64..=far as i64).map(|x| law.probability(x as f64)).collect();
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{law:?}");
        for x in [-3.0, -1.0, 0.0, 1.0, 2.0, 5.0] {
            let difference = law.survival(x) - law.survival(x + 1.0);
            assert!((law.probability(x) - difference).abs() < 1e-12, "{law:?} {x}");
        }
    }
}

#[test]
fn the_same_seed_draws_the_same_and_another_one_does_not() {
    let said = |seed: u8| {
        let laws = laws(false, 10.0, 100.0, &[0, 1]);
        NoiseDraws::new(&each(&laws), DRAWS, &[seed; 32])
            .group(&[300.0, 9_000.0], None)
            .estimate(&average(100.0), MISS)
            .unwrap()
    };
    assert_eq!(said(1), said(1));
    assert_ne!(said(1), said(2));
    // The estimate of a quotient is the quotient, whatever the draws are.
    assert!((said(1).value - 30.0).abs() < 0.05, "{:?}", said(1));
}

#[test]
fn draws_have_their_law() {
    let laws = laws(false, 10.0, 1.0, &[0, 0]);
    let drawn = NoiseDraws::new(&each(&laws), DRAWS, &[3; 32]);
    let one = |part: &'static [usize]| Statistic {
        parts: part,
        formula: &|parts| Some(parts[0]),
        range: [f64::NEG_INFINITY, f64::INFINITY],
        counts: &[],
        divisors: &[],
        positive: false,
    };
    let said = drawn.group(&[50.0, 1e15], None).estimate(&one(&[0]), MISS).unwrap();
    let reach = laws[0].upper_quantile(MISS / 2.0);
    assert_eq!(said.value, 50.0);
    assert!((said.high - 50.0 - reach).abs() <= 1.0 && (50.0 - said.low - reach).abs() <= 1.0, "{said:?} {reach}");
    let said = drawn.group(&[50.0, 1e15], None).estimate(&one(&[1]), MISS).unwrap();
    assert!((said.high - 1e15 - reach).abs() <= 1.0, "{said:?}");
}

#[test]
fn what_is_mostly_undefined_or_infinite_is_not_said() {
    let laws = laws(false, 10.0, 1.0, &[0]);
    let drawn = NoiseDraws::new(&each(&laws), DRAWS, &[3; 32]);
    let check = |formula: &dyn Fn(&[f64]) -> Option<f64>, noisy: f64, said: bool| {
        let range = [f64::NEG_INFINITY, f64::INFINITY];
        let statistic = Statistic { parts: &[0], formula, range, counts: &[], divisors: &[], positive: false };
        assert_eq!(drawn.group(&[noisy], None).estimate(&statistic, MISS).is_some(), said, "{noisy}");
    };
    check(&|parts| Some(parts[0].sqrt()), 100.0, true);
    // Noise of more than 30 comes in 2.5 %: from then on, the lower end is unknown.
    check(&|parts| Some(parts[0].sqrt()), 20.0, false);
    check(&|parts| (parts[0] > 0.0).then_some(1.0), 20.0, false);
    check(&|parts| Some(parts[0] * f64::MAX), 100.0, false);
    check(&|_| None, 100.0, false);
    check(&|parts| Some(parts[0]), f64::NAN, false);
}
