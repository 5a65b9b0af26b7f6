use super::*;
use crate::question::scalar::Kind;

fn part(values: i64, epsilon: &str, moved_rows: u32) -> ModePart {
    let of = NumericExpr::steps(0, Kind::Integer, RBig::ONE);
    let values = (0..values).map(|number| (number, Value::Text(format!("value {number}")))).collect();
    let cost = Cost::Exponential { epsilon: Amount::parse_exact(epsilon).unwrap() };
    ModePart { of, filter: None, values, cost, moved_rows }
}

/// The exact probabilities of all values.
fn probabilities(part: &ModePart, counts: &[u64]) -> Vec<f64> {
    let rate = part.rate().to_f64().value();
    let weights: Vec<f64> = counts.iter().map(|rows| (rate * *rows as f64).exp()).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// All ways to give at most `most` rows to three values.
fn tables(most: u64) -> Vec<[u64; 3]> {
    let all = (0..=most).flat_map(|a| (0..=most).flat_map(move |b| (0..=most).map(move |c| [a, b, c])));
    all.filter(|counts| counts.iter().sum::<u64>() <= most).collect()
}

/// One unit more or less, with every number of rows in every group of two: the losses add up to no more than ε, and reach it nearly.
#[test]
fn no_neighbours_are_further_apart_than_the_price() {
    let rows = 3;
    let part = part(3, "1", rows as u32);
    let loss = |before: &[u64; 3], after: &[u64; 3]| {
        let (one, other) = (probabilities(&part, before), probabilities(&part, after));
        one.iter().zip(other).map(|(one, other)| (one / other).ln().abs()).fold(0.0, f64::max)
    };
    // What a unit brings to one group, and what to another one.
    let mut furthest: f64 = 0.0;
    for before in tables(2) {
        for first in tables(rows) {
            let left = rows - first.iter().sum::<u64>();
            for second in tables(left) {
                let add = |more: &[u64; 3]| [0, 1, 2].map(|at| before[at] + more[at]);
                let together = loss(&before, &add(&first)) + loss(&before, &add(&second));
                assert!(together <= 1.0 + 1e-9, "{before:?} {first:?} {second:?}: {together}");
                furthest = furthest.max(together);
            }
        }
    }
    assert!(furthest > 0.6, "{furthest}");
    // As many rows as units take away and bring: twice as many are needed there.
    let substitute = |rate: f64| {
        let weight = |counts: [u64; 2]| counts.map(|rows| (rate * rows as f64).exp());
        let ([a, b], [c, d]) = (weight([203, 0]), weight([200, 3]));
        ((a / (a + b)) / (c / (c + d))).ln().abs().max(((b / (a + b)) / (d / (c + d))).ln().abs())
    };
    assert!(substitute(1.0 / 6.0) <= 1.0 && substitute(1.0 / 3.0) > 1.0);
}

#[test]
fn values_are_drawn_as_often_as_they_should_be() {
    let part = part(4, "0.5", 1);
    let counts = [3u64, 0, 5, 2];
    let rows: Vec<(i64, u64)> = counts.iter().enumerate().map(|(at, rows)| (at as i64, *rows)).collect();
    let mut randomness = Randomness::repeatable(7);
    let mut drawn = [0u32; 4];
    const DRAWS: u32 = 20_000;
    for _ in 0..DRAWS {
        drawn[part.draw(&rows, &mut randomness).unwrap() as usize] += 1;
    }
    let squared: f64 = drawn
        .iter()
        .zip(probabilities(&part, &counts))
        .map(|(drawn, likely)| (f64::from(*drawn) - likely * f64::from(DRAWS)).powi(2) / (likely * f64::from(DRAWS)))
        .sum();
    // χ² of three degrees of freedom at 10⁻⁶.
    assert!(squared < 30.7, "{squared}: {drawn:?}");
}

#[test]
fn the_drawn_value_falls_short_by_no_more_than_its_reach() {
    let part = part(6, "1", 2);
    let rows = [(0, 40), (1, 35), (2, 3), (4, 39)];
    let mut randomness = Randomness::repeatable(8);
    let short = |randomness: &mut Randomness| {
        let drawn = part.draw(&rows, randomness).unwrap();
        40 - rows.iter().find(|(number, _)| *number == drawn).map_or(0, |(_, rows)| *rows) > part.reach()
    };
    let missed = (0..4_000).filter(|_| short(&mut randomness)).count();
    assert!(missed <= 200, "{missed}");
    assert!(part.draw(&[(9, 5)], &mut randomness).is_err());
    assert!((0..4).contains(&super::ModePart { ..self::part(4, "1", 1) }.draw(&[], &mut randomness).unwrap()));
}
