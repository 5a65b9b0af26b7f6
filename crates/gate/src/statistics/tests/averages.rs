use super::*;

const HALF: f64 = 1_000.0;

fn simulated<'a>(truth: &'a [f64], laws: &'a [NoiseLaw]) -> Simulated<'a> {
    Simulated { truth, laws, statistic: average(HALF), given: None }
}

/// Sizes are multiples of the threshold; means are parts of the bounds.
#[test]
fn averages_are_covered() {
    for gaussian in [false, true] {
        for scale in [0.7, 20.0] {
            let laws = laws(gaussian, scale, HALF, &[0, 1]);
            for (size, part) in [(2.0, -0.95), (2.0, 0.3), (4.0, -0.7), (20.0, 0.0), (20.0, 0.9)] {
                let rows = (size * threshold(laws[0])).round();
                let tally = simulated(&[rows, rows * part * HALF], &laws).run(random_inputs(1_000));
                assert_eq!(tally.said, tally.asked);
                tally.assert_covers(&format!("{:?}, {rows} rows, mean {part}", laws[0]));
                assert!(
                    (tally.above / tally.said - 0.5).abs() < 1.5 / tally.said.sqrt(),
                    "{laws:?} {rows} {part}: {tally:?}"
                );
            }
        }
    }
}

#[test]
fn means_at_their_bounds_are_covered() {
    let laws = laws(false, 20.0, HALF, &[0, 1]);
    for part in [-1.0, 1.0] {
        let rows = 3.0 * threshold(laws[0]);
        simulated(&[rows, rows * part * HALF], &laws).run(random_inputs(600)).assert_covers_at_least("at a bound");
    }
}

#[test]
fn wrong_noise_and_wrong_percentiles_are_noticed() {
    let right = laws(false, 20.0, HALF, &[0, 1]);
    let halved = laws(false, 10.0, HALF, &[0, 1]);
    let rows = 4.0 * threshold(right[0]);
    let truth = [rows, 0.4 * rows * HALF];
    let simulated = simulated(&truth, &right);
    let is_noticed = |tally: Tally| tally.coverage() < 0.945 - tally.tolerance();
    assert!(!is_noticed(simulated.run(1_500)));
    assert!(is_noticed(simulated.run_with(1_500, &halved, MISS)));
    assert!(is_noticed(simulated.run_with(1_500, &right, 2.0 * MISS)));
}

/// P(|a·X − b·Y| > t) for Laplace variables of scale 1.
fn tail_of_difference(a: f64, b: f64, t: f64) -> f64 {
    (a * a * (-t / a).exp() - b * b * (-t / b).exp()) / (a * a - b * b)
}

/// The θ nearest to S/C on one side for which |S − θ·C| exceeds the quantile of |N_S − θ·N_C|, by bisection.
fn fieller(sum: f64, count: f64, scale: f64, direction: f64) -> f64 {
    let (mut inside, mut outside) = (sum / count, sum / count + direction * HALF);
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        let tail = tail_of_difference(scale * HALF, scale * middle.abs(), (sum - middle * count).abs());
        if tail > MISS { inside = middle } else { outside = middle }
    }
    inside
}

#[test]
fn draws_of_a_quotient_give_fiellers_interval() {
    let scale = 20.0;
    let laws = laws(false, scale, HALF, &[0, 1]);
    let unbounded = Statistic { range: [f64::NEG_INFINITY, f64::INFINITY], ..average(HALF) };
    for (count, part) in [(500.0, 0.1), (500.0, -0.8), (3_000.0, 0.5)] {
        let sum = count * part * HALF;
        let said = NoiseDraws::new(&each(&laws), 20_000, &[5; 32])
            .group(&[count, sum], None)
            .estimate(&unbounded, MISS)
            .unwrap();
        let [low, high] = [-1.0, 1.0].map(|direction| fieller(sum, count, scale, direction));
        let near = |one: f64, other: f64| (one - other).abs() < 0.02 * (high - low);
        assert!(near(said.low, low) && near(said.high, high), "{said:?}, Fieller {low} to {high}");
    }
}

/// What two intervals of 97.5 % give, one for the sum and one for the count.
#[test]
fn intervals_are_much_narrower_than_boxes() {
    let laws = laws(false, 20.0, HALF, &[0, 1]);
    let drawn = NoiseDraws::new(&each(&laws), DRAWS, &[5; 32]);
    let [count_reach, sum_reach] = [laws[0], laws[1]].map(|law| law.upper_quantile(MISS / 4.0));
    for (count, part) in [(2_000.0, 0.5), (2_000.0, -0.9), (20_000.0, 0.8)] {
        let sum = count * part * HALF;
        let said = drawn.group(&[count, sum], None).estimate(&average(HALF), MISS).unwrap();
        let ends = [-1.0, 1.0].map(|side: f64| (sum.abs() + side * sum_reach) / (count - side * count_reach));
        let ratio = (ends[1] - ends[0]) / (said.high - said.low);
        assert!(ratio > 1.4, "{ratio}: {said:?}, box {ends:?}");
    }
}
