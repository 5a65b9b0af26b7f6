//! Scores against neighbours that are enumerated, draws against exact probabilities, and intervals against random data.

use std::collections::BTreeMap;

use taximeter_testing::random_inputs;

use super::*;
use crate::question::scalar::{Kind, Node, NumericExpr};
use crate::schema::{Column, ColumnType, PrivacyUnit};

const FRACTIONS: [&str; 7] = ["0", "0.1", "0.25", "0.5", "0.75", "0.999", "1"];

fn schema(neighbours: Neighbours, most: u32) -> Schema {
    let person = Column::new("person", ColumnType::Integer, None, None).unwrap();
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    Schema::new(unit, neighbours, vec![person]).unwrap()
}

/// A quantile over all whole numbers between two.
fn part(fraction: &str, (low, high): (i64, i64), epsilon: &str, score_sensitivity: u128) -> QuantilePart {
    let of = NumericExpr { node: Node::Column(0), kind: Kind::Integer, grid: RBig::ONE, low, high };
    let cost = Cost::Exponential { epsilon: Amount::parse_exact(epsilon).unwrap() };
    let fraction = fraction.parse().unwrap();
    QuantilePart { of, filter: None, fraction, cost, end_cost: Some(cost), miss: MISS, score_sensitivity }
}

/// Values in ascending order, each with how many rows have it.
fn counted(values: impl IntoIterator<Item = i64>) -> Vec<(i64, u64)> {
    let mut counts = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_insert(0) += 1);
    counts.into_iter().collect()
}

/// The score of every point of the grid, in steps.
fn scores(part: &QuantilePart, values: &[i64], rank: Rank) -> Vec<u64> {
    let counted = counted(values.iter().copied());
    let all = part.candidates(&RankedValues::new(&counted, &part.of).unwrap(), rank, 0..counted.len());
    all.iter().flat_map(|(_, candidate)| vec![candidate.score; candidate.weight as usize]).collect()
}

#[test]
fn a_score_is_how_many_rows_the_rank_misses() {
    for fraction in FRACTIONS {
        let part = part(fraction, (-2, 3), "1", 1);
        let (numerator, whole) = part.steps();
        for rows in multisets(&[-2, 0, 1, 3], 5) {
            for (offset, is_end) in (-3..=3).flat_map(|offset| [(offset, false), (offset, true)]) {
                let scores = scores(&part, &rows, Rank { offset, is_end });
                assert_eq!(scores.len(), 6);
                assert!(!is_end || scores.contains(&0), "{offset} from {fraction} of {rows:?}");
                for (point, score) in (-2..=3).zip(scores) {
                    let below = rows.iter().filter(|value| **value < point).count() as f64;
                    let not_above = rows.iter().filter(|value| **value <= point).count() as f64;
                    let wanted = numerator as f64 / whole as f64 * rows.len() as f64 + offset as f64;
                    let too_high = if is_end && point == -2 { 0.0 } else { below - wanted };
                    let too_low = if is_end && point == 3 { 0.0 } else { wanted - not_above };
                    let missed = too_high.max(too_low).max(0.0);
                    assert!((score as f64 / whole as f64 - missed).abs() < 1e-9, "{point} of {rows:?}, {fraction}");
                }
            }
        }
    }
}

/// All choices of up to `most` values, the same one more than once too; also none.
fn multisets<T: Clone>(values: &[T], most: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    if most > 0 {
        for (at, value) in values.iter().enumerate() {
            for mut others in multisets(&values[at..], most - 1) {
                others.push(value.clone());
                all.push(others);
            }
        }
    }
    all
}

/// A row: its group, and its value.
type Row = (usize, i64);

/// How far the scores of all groups together lie apart: in every group at the point where it is most.
fn moved(part: &QuantilePart, one: &[Row], other: &[Row], groups: usize, rank: Rank) -> u128 {
    let of = |rows: &[Row], group| rows.iter().filter(|row| row.0 == group).map(|row| row.1).collect::<Vec<_>>();
    let in_group = |group| {
        let (one, other) = (scores(part, &of(one, group), rank), scores(part, &of(other, group), rank));
        one.iter().zip(&other).map(|(one, other)| u128::from(one.abs_diff(*other))).max().unwrap_or(0)
    };
    (0..groups).map(in_group).sum()
}

/// The furthest that the scores of neighbours lie apart.
fn furthest(fraction: &str, neighbours: Neighbours, most: u32, groups: usize) -> u128 {
    let part = part(fraction, (0, 3), "1", 1);
    let domain: Vec<Row> = (0..groups).flat_map(|group| [0, 2, 3].map(|value| (group, value))).collect();
    let units = multisets(&domain, most as usize);
    let mut furthest = 0;
    for of_one_group in [vec![], vec![1], vec![1, 1, 1], vec![0, 0, 3, 3], vec![0, 1, 2, 2, 3, 3]] {
        let rest: Vec<Row> =
            (0..groups).flat_map(|group| of_one_group.iter().map(move |value| (group, *value))).collect();
        let tables = units.iter().map(|unit| unit.iter().chain(&rest).copied().collect::<Vec<Row>>());
        let tables: Vec<Vec<Row>> = tables.collect();
        let others = match neighbours {
            Neighbours::AddRemove => &[rest][..],
            Neighbours::Substitute => &tables,
        };
        for one in &tables {
            for other in others {
                for (offset, is_end) in [(0, false), (-2, true), (2, true)] {
                    furthest = furthest.max(moved(&part, one, other, groups, Rank { offset, is_end }));
                }
            }
        }
    }
    furthest
}

/// A score sensitivity, right or wrong.
type Claim = fn(Number, &Schema, Option<usize>) -> u128;

/// Whether every claim is attained by some neighbours and exceeded by none.
fn enumerate(claim: Claim) -> Result<(), String> {
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        for (most, groups) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)] {
            for fraction in FRACTIONS {
                let furthest = furthest(fraction, neighbours, most, groups);
                let claimed = claim(fraction.parse().unwrap(), &schema(neighbours, most), Some(groups));
                if furthest != claimed {
                    return Err(format!(
                        "{fraction}, {neighbours:?}, {most} rows, {groups} groups: {furthest}, not {claimed}"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_score_sensitivity_is_attained_by_some_neighbours_and_exceeded_by_none() {
    enumerate(QuantilePart::score_sensitivity).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn wrong_score_sensitivities_are_found() {
    let wrong: [(&str, Claim); 4] = [
        ("half", |fraction, schema, groups| QuantilePart::score_sensitivity(fraction, schema, groups) / 2),
        ("one row a unit", |fraction, schema, groups| {
            QuantilePart::score_sensitivity(fraction, &self::schema(schema.neighbours, 1), groups)
        }),
        ("substitution counted as removal", |fraction, schema, groups| {
            let schema = self::schema(Neighbours::AddRemove, schema.rows_per_unit());
            QuantilePart::score_sensitivity(fraction, &schema, groups)
        }),
        ("substitution within one group only", |fraction, schema, _| {
            QuantilePart::score_sensitivity(fraction, schema, Some(1))
        }),
    ];
    for (wrong, claim) in wrong {
        assert!(enumerate(claim).is_err(), "{wrong}: nobody noticed");
    }
}

/// The probabilities of all points from the definition, for a rank that is moved by an offset.
fn probabilities(part: &QuantilePart, values: &[i64], offset: f64) -> Vec<f64> {
    let wanted = part.fraction.to_f64() * values.len() as f64 + offset;
    let likely = |point: i64| {
        let below = values.iter().filter(|value| **value < point).count() as f64;
        let not_above = values.iter().filter(|value| **value <= point).count() as f64;
        let is_end = offset != 0.0;
        let too_high = if is_end && point == part.of.low { 0.0 } else { below - wanted };
        let too_low = if is_end && point == part.of.high { 0.0 } else { wanted - not_above };
        let missed = too_high.max(too_low).max(0.0);
        (-part.cost.size().approximate() * missed / (2.0 * part.rows_moved())).exp()
    };
    let likely: Vec<f64> = (part.of.low..=part.of.high).map(likely).collect();
    let sum: f64 = likely.iter().sum();
    likely.into_iter().map(|point| point / sum).collect()
}

/// The distribution of the less of two independent draws.
fn least(one: &[f64], other: &[f64]) -> Vec<f64> {
    let from = |probabilities: &[f64], at: usize| probabilities[at..].iter().sum::<f64>();
    let at_least = |at: usize| from(one, at) * from(other, at);
    (0..one.len()).map(|at| at_least(at) - if at + 1 < one.len() { at_least(at + 1) } else { 0.0 }).collect()
}

/// Whether samples agree with probabilities: χ² with a risk of 10⁻⁶, by the bound of Laurent and Massart (Adaptive estimation of a
/// quadratic functional, Annals of Statistics 28, 2000, Lemma 1). Unlikely points count as one.
fn agrees(counts: &[u64], probabilities: &[f64]) -> bool {
    let samples: u64 = counts.iter().sum();
    let (mut statistic, mut cells, mut rest) = (0.0, 0, (0.0, 0.0));
    for (count, probability) in counts.iter().zip(probabilities) {
        let (count, expected) = (*count as f64, probability * samples as f64);
        if expected < 10.0 {
            rest = (rest.0 + count, rest.1 + expected);
        } else {
            statistic += (count - expected).powi(2) / expected;
            cells += 1;
        }
    }
    if rest.1 >= 1.0 {
        statistic += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1;
    }
    let (freedom, risk) = (f64::from(cells - 1), 1e6f64.ln());
    let rare = rest.1 >= 1.0 || rest.0 <= 12.0;
    rare && statistic <= freedom + 2.0 * (freedom * risk).sqrt() + 2.0 * risk
}

const SAMPLES: u64 = 10_000;

fn with_interval(drawn: DrawnQuantile) -> (i64, [i64; 2]) {
    (drawn.value, drawn.interval.expect("it is paid for"))
}

/// How often the lower end, the quantile and the upper end are which point.
fn drawn(part: &QuantilePart, values: &[i64]) -> [Vec<u64>; 3] {
    let mut randomness = Randomness::repeatable(19);
    let counted = counted(values.iter().copied());
    let mut counts = [(); 3].map(|()| vec![0; (part.of.high - part.of.low + 1) as usize]);
    for _ in 0..SAMPLES {
        let (value, [low, high]) = with_interval(part.draw(&counted, &mut randomness).unwrap());
        for (counts, drawn) in counts.iter_mut().zip([low, value, high]) {
            counts[(drawn - part.of.low) as usize] += 1;
        }
    }
    counts
}

#[test]
fn draws_have_exactly_the_probabilities_of_the_exponential_mechanism() {
    let values = [-1, -1, 0, 2, 2, 2, 3];
    for (fraction, epsilon, sensitivity) in
        [("0.5", "2", 1), ("0.25", "3", 3), ("0.9", "12", 18), ("0.5", "0.1", 2), ("0.75", "10", 4)]
    {
        let part = part(fraction, (-2, 5), epsilon, sensitivity);
        let reach = part.end_reach(part.cost) as f64;
        let [low, value, high] = [-reach, 0.0, reach].map(|offset| probabilities(&part, &values, offset));
        let mirrored = |probabilities: &[f64]| probabilities.iter().rev().copied().collect::<Vec<_>>();
        let greatest = mirrored(&least(&mirrored(&high), &mirrored(&value)));
        for (counts, expected) in drawn(&part, &values).iter().zip([least(&low, &value), value.clone(), greatest]) {
            assert!(agrees(counts, &expected), "{fraction}, {epsilon}: {counts:?}, not {expected:?}");
        }
        if epsilon != "0.1" {
            // Scores that count half or twice, and ranks that are one off.
            let other = |change: &dyn Fn(&mut QuantilePart)| {
                let mut other = self::part(fraction, (-2, 5), epsilon, sensitivity);
                change(&mut other);
                !agrees(&drawn(&other, &values)[1], &value)
            };
            assert!(other(&|part| part.score_sensitivity *= 2), "{fraction}, {epsilon}");
            assert!(other(&|part| part.cost = part.cost.with_size(Amount::from_units(part.cost.size().units() / 2))));
            let with_greater_ones: Vec<i64> = values.iter().copied().chain([5, 5, 5]).collect();
            let shifted = probabilities(&part, &with_greater_ones, 0.0);
            assert!(!agrees(&drawn(&part, &values)[1], &shifted), "{fraction}, {epsilon}");
        }
    }
}

/// Data of every kind: many rows at few values and few at many, all at one end, wide gaps, and ranks beyond the rows.
#[test]
fn the_near_candidates_decide_what_all_of_them_decide() {
    let mut data = Randomness::repeatable(3);
    let mut number = |most: u64| u64::try_from(data.below(&most.into()).unwrap()).unwrap();
    let (mut decided, mut left_out) = (0, 0);
    let cases = random_inputs(1_000);
    for case in 0..u64::from(cases) {
        let width = [1, 5, 100, 100_000][number(4) as usize];
        let (distinct, most) = (number(300), [2, 100, 1_000_000][number(3) as usize]);
        let values: BTreeMap<i64, u64> = (0..distinct).map(|_| (number(width) as i64, 1 + number(most))).collect();
        let values: Vec<(i64, u64)> = values.into_iter().collect();
        let part = part(FRACTIONS[number(7) as usize], (0, width as i64 - 1), "1", 1);
        let ranked = RankedValues::new(&values, &part.of).unwrap();
        let offset = [0, number(1_000) as i128, -i128::from(number(1_000)), 1 << 40][number(4) as usize];
        let rank = Rank { offset, is_end: number(2) == 0 };
        let rate = RBig::from_parts(1.into(), [1u64, 7, 300, 50_000][number(4) as usize].into());
        let all = part.candidates(&ranked, rank, 0..values.len());
        let candidates: Vec<Candidate> = all.iter().map(|(_, candidate)| *candidate).collect();
        let best = candidates.iter().map(|candidate| candidate.score).min().unwrap();
        let draws = &mut Randomness::repeatable(case);
        let far = Choice::begin(&rate, draws).unwrap().far().unwrap();
        if let Some(near) = part.near(&ranked, rank, far) {
            let points = |of: &[(i64, Candidate)]| of.iter().map(|(_, candidate)| candidate.weight).sum::<u64>();
            assert_eq!(points(&near), width, "{values:?}");
            // What stands together is far from the best, and the others are where they are among all.
            let own = &near[1..near.len() - 1];
            assert!(all.windows(own.len()).any(|part| part == own), "{own:?}");
            let missing = all.iter().filter(|one| !own.contains(one));
            assert!(missing.clone().all(|(_, candidate)| candidate.score - best >= far), "{near:?}");
            left_out += missing.count();
        }
        for seed in 0..10 {
            let again = || Randomness::repeatable(1_000 * case + seed);
            let index = Choice::begin(&rate, &mut again()).unwrap().among_all(&candidates).unwrap();
            let expected = (all[index].0, all[index].1.weight);
            assert_eq!(part.chosen(&ranked, rank, &rate, &mut again()), Ok(expected), "{values:?}");
            decided += 1;
        }
    }
    assert!(decided == 10 * cases && left_out > cases as usize, "{decided} draws, {left_out} left out");
}

#[test]
fn the_least_and_the_greatest_value_are_drawn_among_the_values() {
    let values: Vec<i64> = (0..2000).map(|at| 100 + at % 400).collect();
    let counted = counted(values);
    let mut randomness = Randomness::repeatable(7);
    let mut among = [0; 2];
    for _ in 0..1000 {
        let (value, [low, high]) = with_interval(part("0", (0, 1000), "1", 1).draw(&counted, &mut randomness).unwrap());
        assert_eq!(low, 0);
        among[0] += u32::from((100..150).contains(&value) && (value..200).contains(&high));
        let (value, [low, high]) = with_interval(part("1", (0, 1000), "1", 1).draw(&counted, &mut randomness).unwrap());
        assert_eq!(high, 1000);
        among[1] += u32::from((450..500).contains(&value) && (400..=value).contains(&low));
    }
    assert!(among.iter().all(|among| *among > 950), "{among:?} of 1000");
}

/// The least value that is not below this part of the rows.
fn truth(counted: &[(i64, u64)], fraction: f64) -> i64 {
    let rows: u64 = counted.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let found = counted.iter().find(|(_, count)| {
        seen += count;
        seen as f64 >= fraction * rows as f64
    });
    found.expect("there are rows").0
}

#[test]
fn intervals_cover_the_quantile_of_random_data() {
    let draws = 20 * random_inputs(100);
    let mut randomness = Randomness::repeatable(1);
    for (fraction, epsilon, sensitivity, rows, spread) in [
        ("0.5", "0.5", 1, 300, 1000),
        ("0.25", "1", 3, 40, 50),
        ("0.9", "0.2", 9, 1000, 100_000),
        ("0", "1", 1, 200, 1000),
        ("1", "0.5", 2, 200, 7),
        // Fewer rows than the ends reach to.
        ("0.5", "0.1", 1, 5, 100),
    ] {
        let part = part(fraction, (-spread, 2 * spread), epsilon, sensitivity);
        let mut covered = 0;
        for _ in 0..draws {
            let below = (spread as u64).into();
            let value = |_| i64::try_from(randomness.below(&below).unwrap()).unwrap();
            let counted = counted((0..rows).map(value).collect::<Vec<_>>());
            let (value, [low, high]) = with_interval(part.draw(&counted, &mut randomness).unwrap());
            assert!(-spread <= low && low <= value && value <= high && high <= 2 * spread);
            covered += u32::from((low..=high).contains(&truth(&counted, part.fraction.to_f64())));
        }
        assert!(f64::from(covered) >= 0.95 * f64::from(draws), "{fraction}, {epsilon}: {covered} of {draws}");
    }
}

/// Rows at two values, and all other points between them: no other data make the ends miss as often as their bound allows.
#[test]
fn intervals_cover_the_quantile_of_the_worst_data() {
    // All of them in a quick run too: fewer would miss too seldom to tell.
    let draws = 2000;
    let mut randomness = Randomness::repeatable(2);
    let part = part("0.5", (0, 10_000), "0.5", 1);
    let missed = (0..draws).filter(|_| {
        let (_, [low, _]) = with_interval(part.draw(&[(0, 500), (1, 1), (10_000, 500)], &mut randomness).unwrap());
        low > 1
    });
    let missed = missed.count() as f64 / f64::from(draws);
    assert!((0.001..0.045).contains(&missed), "{missed}");
}

#[test]
fn without_an_interval_all_is_spent_on_the_quantile() {
    let alone = QuantilePart { end_cost: None, ..part("0.5", (0, 9), "1", 1) };
    let mut randomness = Randomness::repeatable(1);
    assert_eq!(alone.draw(&[(3, 10)], &mut randomness).unwrap().interval, None);
    assert_eq!((alone.costs().count(), alone.total()), (1, alone.cost));
    assert_eq!(part("0.5", (0, 9), "1", 1).costs().count(), 3);
    assert_eq!(part("0", (0, 9), "1", 1).costs().count(), 2);
}

#[test]
fn values_that_cannot_come_back_are_an_error() {
    let part = part("0.5", (0, 9), "1", 1);
    let mut randomness = Randomness::repeatable(1);
    for values in [&[(-1, 1)][..], &[(10, 1)], &[(3, 1), (2, 1)], &[(3, 1), (3, 1)]] {
        assert!(part.draw(values, &mut randomness).is_err(), "{values:?}");
    }
    assert!(part.draw(&[], &mut randomness).is_ok());
}
