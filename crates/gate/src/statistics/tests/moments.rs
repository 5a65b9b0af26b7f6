use super::*;

const HALF: f64 = 100.0;
const UNBOUNDED: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The moments of rows of pairs.
fn moments(rows: &[(f64, f64)]) -> TwoColumns {
    let sum = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum();
    TwoColumns {
        rows: rows.len() as f64,
        sum_x: sum(|(x, _)| *x),
        squares_x: sum(|(x, _)| x * x),
        sum_y: sum(|(_, y)| *y),
        squares_y: sum(|(_, y)| y * y),
        products: sum(|(x, y)| x * y),
    }
}

#[test]
fn statistics_are_those_of_the_rows() {
    let mut generator = SplitMix::new(&[1; 32], 0);
    for rows in 2..40 {
        let mut value = || (generator.unit() * 200.0 - 100.0).round();
        let data: Vec<(f64, f64)> = (0..rows).map(|_| (value(), value())).collect();
        let count = f64::from(rows);
        let [x, y] =
            [data.iter().map(|(x, _)| x).sum::<f64>() / count, data.iter().map(|(_, y)| y).sum::<f64>() / count];
        let deviations = |of: fn(f64, f64) -> f64| data.iter().map(|row| of(row.0 - x, row.1 - y)).sum::<f64>();
        let [xx, yy, xy] = [deviations(|x, _| x * x), deviations(|_, y| y * y), deviations(|x, y| x * y)];
        let found = moments(&data);
        let check = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} {expected} {data:?}");
        };
        check(found.x().mean(), x);
        check(found.x().variance(Divisor::Population), xx / count);
        check(found.y().variance(Divisor::Sample), yy / (count - 1.0));
        check(found.x().deviation(Divisor::Sample), (xx / (count - 1.0)).sqrt());
        check(found.covariance(Divisor::Population), xy / count);
        check(found.covariance(Divisor::Sample), xy / (count - 1.0));
        check(found.correlation(), xy / (xx * yy).sqrt());
        check(found.slope(), xy / xx);
        check(found.height(0.0), y - xy / xx * x);
        check(found.height(7.0), y + xy / xx * (7.0 - x));
    }
}

#[test]
fn too_few_rows_and_constant_columns_have_no_statistics() {
    let one = moments(&[(3.0, 4.0)]);
    assert_eq!(one.x().variance(Divisor::Population), Some(0.0));
    assert_eq!(one.x().variance(Divisor::Sample), None);
    assert_eq!(one.covariance(Divisor::Sample), None);
    let constant = moments(&[(3.0, 4.0), (3.0, 9.0)]);
    assert_eq!((constant.correlation(), constant.slope(), constant.height(0.0)), (None, None, None));
    let none = moments(&[]);
    assert_eq!((none.x().mean(), none.x().variance(Divisor::Population), none.correlation()), (None, None, None));
    assert_eq!(OneColumn::new(&[1.0, 2.0]), None);
    assert_eq!(TwoColumns::new(&[1.0, 2.0]), None);
}

fn variance(parts: &[f64]) -> Option<f64> {
    OneColumn::new(parts)?.variance(Divisor::Sample)
}

fn deviation(parts: &[f64]) -> Option<f64> {
    OneColumn::new(parts)?.deviation(Divisor::Population)
}

fn spread(formula: Formula<'_>, greatest: f64) -> Statistic<'_> {
    Statistic { parts: &[0, 1, 2], formula, range: [0.0, greatest], counts: &[0], divisors: &[], positive: true }
}

/// A number of rows with a mean and a variance, as parts of the bounds.
fn one_column(rows: f64, mean: f64, variance: f64) -> [f64; 3] {
    [rows, (rows * mean * HALF).round(), (rows * (variance + mean * mean) * HALF * HALF).round()]
}

#[test]
fn variances_and_deviations_are_covered() {
    for gaussian in [false, true] {
        let laws = laws(gaussian, 10.0, HALF, &[0, 1, 2]);
        for (size, mean, part) in
            [(1.5, 0.5, 0.3), (3.0, 0.0, 0.3), (5.0, -0.9, 0.1), (20.0, 0.5, 0.7), (20.0, 0.0, 0.02)]
        {
            let truth = one_column((size * threshold(laws[0])).round(), mean, part);
            for (formula, greatest) in [(&variance as Formula, 1.1 * HALF * HALF), (&deviation, HALF)] {
                let statistic = spread(formula, greatest);
                let tally = Simulated { truth: &truth, laws: &laws, statistic, given: None }.run(random_inputs(400));
                tally
                    .assert_covers_at_least(&format!("{:?}, {size} thresholds, mean {mean}, variance {part}", laws[0]));
            }
        }
    }
}

/// A constant column: its variance is said about half of the time, never below 0, and then 0 is in the interval.
#[test]
fn a_variance_of_zero_is_covered_where_it_is_said() {
    for gaussian in [false, true] {
        let laws = laws(gaussian, 10.0, HALF, &[0, 1, 2]);
        for size in [2.0, 20.0] {
            let truth = one_column((size * threshold(laws[0])).round(), 0.3, 0.0);
            let statistic = spread(&variance, HALF * HALF);
            let tally = Simulated { truth: &truth, laws: &laws, statistic, given: None }.run(random_inputs(1_000));
            tally.assert_covers_at_least("constant");
            assert!((0.35..0.6).contains(&(tally.said / tally.asked)), "{tally:?}");
        }
    }
}

fn correlation(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.correlation()
}

fn covariance(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.covariance(Divisor::Sample)
}

fn slope(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.slope()
}

fn intercept(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.height(-HALF)
}

fn variance_of_x(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.x().variance(Divisor::Population)
}

fn variance_of_y(parts: &[f64]) -> Option<f64> {
    TwoColumns::new(parts)?.y().variance(Divisor::Population)
}

fn of_two<'a>(formula: Formula<'a>, range: [f64; 2], divisors: &'a [Formula<'a>]) -> Statistic<'a> {
    Statistic { parts: &[0, 1, 2, 3, 4, 5], formula, range, counts: &[0], divisors, positive: false }
}

/// A number of rows with equal means, variances and a correlation, as parts of the bounds.
fn two_columns(rows: f64, mean: f64, variance: f64, correlation: f64) -> [f64; 6] {
    let [rows, sum, squares] = one_column(rows, mean, variance);
    let products = (rows * (correlation * variance + mean * mean) * HALF * HALF).round();
    [rows, sum, squares, sum, squares, products]
}

#[test]
fn statistics_of_two_columns_are_covered() {
    let divisors: [Formula; 2] = [&variance_of_x, &variance_of_y];
    let statistics = [
        ("correlation", of_two(&correlation, [-1.0, 1.0], &divisors)),
        ("covariance", of_two(&covariance, UNBOUNDED, &[])),
        ("slope", of_two(&slope, UNBOUNDED, &divisors[..1])),
        ("intercept", of_two(&intercept, UNBOUNDED, &divisors[..1])),
    ];
    for gaussian in [false, true] {
        let laws = laws(gaussian, 10.0, HALF, &[0, 1, 2, 1, 2, 2]);
        for (size, mean, variance, correlation) in [(8.0, 0.0, 0.3, 0.0), (8.0, 0.2, 0.3, 0.9), (40.0, -0.7, 0.1, -0.6)]
        {
            let truth = two_columns((size * threshold(laws[0])).round(), mean, variance, correlation);
            for (name, statistic) in &statistics {
                let group = Simulated { truth: &truth, laws: &laws, statistic: *statistic, given: None };
                let tally = group.run(random_inputs(300));
                tally.assert_covers_at_least(&format!("{name}, {:?}, {size} thresholds, {correlation}", laws[0]));
                assert!(tally.said >= 0.9 * tally.asked, "{name} {tally:?}");
                let above = tally.above / tally.said;
                assert!((above - 0.5).abs() < 0.06 + 1.5 / tally.said.sqrt(), "{name} {size} {correlation}: {above}");
            }
        }
    }
}

/// A column without any variance has no correlation, however lucky its noise is.
#[test]
fn a_correlation_with_a_constant_is_not_said() {
    let divisors: [Formula; 2] = [&variance_of_x, &variance_of_y];
    for (gaussian, size) in [(false, 2.0), (false, 50.0), (true, 2.0), (true, 50.0)] {
        let laws = laws(gaussian, 10.0, HALF, &[0, 1, 2, 1, 2, 2]);
        let truth = one_column((size * threshold(laws[0])).round(), 0.1, 0.0);
        let [rows, sum, squares] = truth;
        let statistic = of_two(&correlation, [-1.0, 1.0], &divisors);
        let truth = [rows, sum, squares, 0.0, 0.3 * rows * HALF * HALF, 0.0];
        let drawn = NoiseDraws::new(&each(&laws), DRAWS, &[7; 32]);
        let group = Simulated { truth: &truth, laws: &laws, statistic, given: None };
        let mut generator = SplitMix::new(&[8; 32], 0);
        let said =
            (0..500).filter(|_| drawn.group(&group.noisy(&mut generator), None).estimate(&statistic, MISS).is_some());
        assert!(said.count() <= 4, "{gaussian} {size}");
    }
}
