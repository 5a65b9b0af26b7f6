use proptest::prelude::*;

use super::*;

/// The largest number of points of a curve.
const MOST: usize = THINNED + 2 * (2 * STEPS) + 1;

/// A series of readings and of what is left, with one charge per point except the first.
fn series(values: impl IntoIterator<Item = (Option<f64>, Option<f64>)>) -> Vec<Point> {
    let point = |(at, (reading, left)): (usize, _)| Point {
        charges: at as u64,
        sequence: 3 * at as u64 + 1,
        time: Timestamp::from_second(at as i64).unwrap(),
        reading,
        left,
    };
    values.into_iter().enumerate().map(point).collect()
}

fn thinned(truth: &[Point]) -> Vec<Point> {
    let mut curve = Curve::default();
    truth.iter().for_each(|point| curve.push(*point));
    curve.points()
}

fn reading(point: &Point) -> Option<f64> {
    point.reading
}

fn left(point: &Point) -> Option<f64> {
    point.left
}

/// The positions of the kept points in the full series: in order, each once, including the first and the newest, and not too many.
fn places(truth: &[Point], kept: &[Point]) -> Result<Vec<usize>, String> {
    let place = |point: &Point| {
        let at = truth.binary_search_by_key(&point.sequence, |point| point.sequence).ok()?;
        (truth[at] == *point).then_some(at)
    };
    let places: Option<Vec<usize>> = kept.iter().map(place).collect();
    let places = places.ok_or("a point is kept that there never was")?;
    if !places.is_sorted_by(|one, next| one < next) {
        return Err("the points are not in order".to_string());
    }
    if kept.first() != truth.first() || kept.last() != truth.last() {
        return Err("an end is missing".to_string());
    }
    match kept.len() <= MOST {
        true => Ok(places),
        false => Err(format!("{} points are kept", kept.len())),
    }
}

/// The largest steps of the full series must be kept with both ends, with no point between them.
fn check_jumps(truth: &[Point], kept: &[Point]) -> Result<(), String> {
    let places = places(truth, kept)?;
    for value in [reading, left] {
        let step = |at: usize| size(value(&truth[at]), value(&truth[at + 1]));
        let mut sizes: Vec<f64> = (0..truth.len().saturating_sub(1)).map(step).collect();
        sizes.sort_by(|one, other| other.total_cmp(one));
        // Of steps as large as the first that need not be kept, any may be kept.
        let enough = sizes.get(STEPS).copied().unwrap_or(0.0);
        let shown: Vec<usize> = places.windows(2).filter(|ends| ends[0] + 1 == ends[1]).map(|ends| ends[0]).collect();
        if let Some(hidden) =
            (0..sizes.len()).find(|at| step(*at) > enough.max(0.0) && shown.binary_search(at).is_err())
        {
            return Err(format!("the step of {} after point {hidden} is hidden", step(hidden)));
        }
        let large = sizes.iter().take(STEPS).filter(|size| **size > 0.0).count();
        if shown.iter().filter(|at| step(**at) >= enough && step(**at) > 0.0).count() < large {
            return Err(format!("fewer than the {large} largest steps are there"));
        }
    }
    Ok(())
}

/// Consecutive kept points must be close to each other, and the full series between them must lie between their values.
fn check_steps_drawn(truth: &[Point], kept: &[Point]) -> Result<(), String> {
    let places = places(truth, kept)?;
    for ends in places.windows(2) {
        let (start, end) = (&truth[ends[0]], &truth[ends[1]]);
        if (end.charges - start.charges) as usize > truth.len() / 200 + 1 {
            return Err(format!("of {} points, those from {} to {} are left out", truth.len(), ends[0], ends[1]));
        }
        for value in [reading, left] {
            let change = size(value(start), value(end));
            if let Some(far) = truth[ends[0]..ends[1]].iter().find(|point| size(value(start), value(point)) > change) {
                return Err(format!("record {} is further from what is drawn than {change}", far.sequence));
            }
        }
    }
    Ok(())
}

/// Values of any kind: mostly near each other, sometimes far away, sometimes none.
fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        8 => (0.0..1.0f64).prop_map(Some),
        4 => Just(Some(0.5)),
        1 => (-1e9..1e9f64).prop_map(Some),
        1 => Just(None),
    ]
}

/// A series whose reading only rises and whose remaining budget only falls: steps of many sizes, most of them small, and the extremes.
fn monotone() -> impl Strategy<Value = Vec<Point>> {
    let step = || prop_oneof![20 => 0.0..1e-6f64, 5 => Just(0.0), 1 => 0.0..1.0f64];
    (proptest::collection::vec((step(), step()), 1..6000), any::<bool>()).prop_map(|(steps, ends_unbounded)| {
        let (mut reading, mut left) = (0.0, 1.0);
        let mut values: Vec<_> = steps
            .into_iter()
            .map(|(rise, fall)| {
                (reading, left) = (reading + rise, f64::max(left - fall, 0.0));
                (Some(reading), Some(left))
            })
            .collect();
        if ends_unbounded {
            values.push((None, Some(0.0)));
        }
        series(values)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(taximeter_testing::random_inputs(64)))]

    #[test]
    fn no_series_has_too_many_points_or_hides_its_largest_steps(
        values in proptest::collection::vec((value(), value()), 0..6000)
    ) {
        let truth = series(values);
        prop_assert_eq!(check_jumps(&truth, &thinned(&truth)), Ok(()));
    }

    #[test]
    fn what_only_rises_or_falls_is_drawn_as_it_was(truth in monotone()) {
        let kept = thinned(&truth);
        prop_assert_eq!(check_jumps(&truth, &kept), Ok(()));
        prop_assert_eq!(check_steps_drawn(&truth, &kept), Ok(()));
    }
}

/// A hundred thousand charges of the same kind, and one that took a tenth of the budget at once.
fn one_jump_in_many(at: usize) -> Vec<Point> {
    series((0..100_000).map(|charge| {
        let jump = if charge >= at { 0.1 } else { 0.0 };
        (Some((charge as f64).sqrt() * 1e-3 + jump), Some(1.0 - charge as f64 * 1e-6 - jump))
    }))
}

#[test]
fn a_jump_among_a_hundred_thousand_charges_is_there_as_one_charge() {
    for at in [1, 255, 256, 257, 54_321, 65_536, 65_537, 99_998, 99_999] {
        let truth = one_jump_in_many(at);
        let kept = thinned(&truth);
        check_jumps(&truth, &kept).unwrap();
        check_steps_drawn(&truth, &kept).unwrap();
        let jump = kept.windows(2).find(|ends| ends[0].left.unwrap() - ends[1].left.unwrap() > 0.09).unwrap();
        assert_eq!((jump[0].charges, jump[1].charges), (at as u64 - 1, at as u64));
        assert!(kept.len() > 256, "{}", kept.len());
    }
}

#[test]
fn every_kth_point_hides_a_jump() {
    let truth = one_jump_in_many(54_321);
    for most in [100, MOST] {
        let every = truth.len().div_ceil(most - 1);
        let kept: Vec<Point> = truth.iter().step_by(every).chain(truth.last()).copied().collect();
        let why = check_jumps(&truth, &kept).unwrap_err();
        assert!(why.contains("hidden"), "{why}");
    }
}

#[test]
fn the_bound_that_is_lost_is_larger_than_any_step() {
    // A thousand large steps, and between them a small one that loses the bound and a small one that regains it.
    let value = |at: usize| (!(1500..1600).contains(&at)).then_some((at % 2) as f64 * 1e6);
    let truth = series((0..3000).map(|at| (value(at), None)));
    let kept = thinned(&truth);
    check_jumps(&truth, &kept).unwrap();
    for at in [1499, 1500, 1599, 1600] {
        assert!(kept.contains(&truth[at]), "point {at}");
    }
}

#[test]
fn few_points_are_all_kept() {
    for count in [0, 1, 2, 3, 100, THINNED] {
        let truth = series((0..count).map(|at| (Some(at as f64), Some(1.0))));
        assert_eq!(thinned(&truth), truth);
    }
}

#[test]
fn a_curve_takes_at_most_fifty_kilobytes() {
    let mut curve = Curve::default();
    // Every step is larger than all before it.
    for point in series((0..100_000).map(|at| (Some((at as f64).powi(3)), Some(-(at as f64).powi(3))))) {
        curve.push(point);
    }
    let points = curve.thinned.capacity() * size_of::<Point>();
    let steps = (curve.reading.0.capacity() + curve.left.0.capacity()) * size_of::<Step>();
    assert!(points + steps <= 51_000, "{points} and {steps} bytes");
}
