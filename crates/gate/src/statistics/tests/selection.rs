use super::*;

#[test]
fn the_intervals_of_all_groups_miss_together() {
    assert_eq!(simultaneous_miss(MISS, 1), MISS);
    assert_eq!(simultaneous_miss(MISS, 0), MISS);
    for groups in [2, 30, 10_000] {
        let each = simultaneous_miss(MISS, groups);
        assert!(((1.0 - each).powi(groups as i32) - (1.0 - MISS)).abs() < 1e-9, "{groups}: {each}");
    }
}

/// The largest of forty averages that are all the same: its interval holds with the miss of all of them, and not with its own.
#[test]
fn the_largest_of_many_is_covered_by_a_simultaneous_interval() {
    let half = 100.0;
    for gaussian in [false, true] {
        let laws = laws(gaussian, 5.0, half, &[0, 1]);
        let drawn: Vec<NoiseDraws> = (0..8).map(|seed| NoiseDraws::new(&each(&laws), DRAWS, &[seed; 32])).collect();
        let group = Simulated { truth: &[400.0, 400.0 * 20.0], laws: &laws, statistic: average(half), given: None };
        let mut generator = SplitMix::new(&[4; 32], 0);
        let (groups, repetitions) = (40, 600);
        let (mut single, mut simultaneous) = (0, 0);
        for (_, drawn) in (0..repetitions).zip(drawn.iter().cycle()) {
            let all = (0..groups).map(|_| group.noisy(&mut generator));
            let largest = all.max_by(|one, other| (one[1] / one[0]).total_cmp(&(other[1] / other[0]))).unwrap();
            let covers = |miss: f64| {
                let said = drawn.group(&largest, None).estimate(&average(half), miss).unwrap();
                usize::from(said.low <= 20.0 && 20.0 <= said.high)
            };
            single += covers(MISS);
            simultaneous += covers(simultaneous_miss(MISS, groups));
        }
        assert!(simultaneous * 100 >= repetitions * 93, "{gaussian}: {simultaneous} of {repetitions}");
        assert!(single * 100 < repetitions * 60, "{gaussian}: {single} of {repetitions}");
    }
}

#[test]
fn many_groups_take_fewer_draws() {
    assert_eq!(number_of_draws(1, 1), 4_000);
    assert_eq!(number_of_draws(10_000, 16), 1_000);
    assert_eq!(number_of_draws(0, 0), 4_000);
    assert_eq!(number_of_draws(usize::MAX, 16), 1_000);
}
