//! The noise of whole answers: 10,000 groups in a question, two questions for each mechanism.
//!
//! Each of the checks below fails by chance with a probability of at most 10⁻⁶.

use crate::common::{Setup, account, amount, answered, document, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{Price, Request};
use taximeter_noise::RoundedGaussian;

const GROUPS: usize = 10_000;

/// The noise on 20,000 counts whose exact values are known, and how many intervals hold them.
fn noise(setup: &Setup, price: Price) -> (Vec<i64>, usize) {
    let (mut noise, mut covered) = (Vec::new(), 0);
    for _ in 0..2 {
        let question = "SELECT ward, COUNT(*) FROM people GROUP BY ward";
        let answer = document(&answered(setup.ask(&Request::new(&account("people"), question, price).unwrap())));
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), GROUPS);
        for row in rows {
            let exact = exact(row[0].as_i64().unwrap());
            noise.push(row[1]["value"].as_i64().unwrap() - exact);
            let end = |at: usize| row[1]["interval"][at].as_i64().unwrap();
            covered += usize::from((end(0)..=end(1)).contains(&exact));
        }
    }
    (noise, covered)
}

/// How many people live in a ward: none in two of three.
fn exact(ward: i64) -> i64 {
    if ward % 3 == 0 { ward % 7 } else { 0 }
}

fn setup() -> Setup {
    let setup = Setup::new();
    let people = (0..GROUPS as i64).flat_map(|ward| std::iter::repeat_n(format!("{ward}\n"), exact(ward) as usize));
    let categories: Vec<String> = (0..GROUPS).map(|ward| ward.to_string()).collect();
    let schema = format!("[columns.ward]\ncategories = [{}]", categories.join(", "));
    let csv = format!("ward\n{}", people.collect::<String>());
    setup.register(setup.registration("people", &csv, &schema, Some(rules(FilterRule::Zcdp, "10,1e-6")))).unwrap();
    setup
}

/// Pearson's statistic over cells of which none is expected less than ten times, against a bound that it exceeds with a probability
/// of at most 10⁻⁶: a chi-square variable with k degrees of freedom is above k + 2√(kx) + 2x with a probability of at most e⁻ˣ
/// (Laurent and Massart, 2000, Lemma 1), and x = 14 is 8·10⁻⁷. The statistic is chi-square in the limit; a tenth is added for that.
fn fits(noise: &[i64], probability: impl Fn(i64) -> f64) -> bool {
    let total = noise.len() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let (mut expected, mut observed) = (0.0, 0.0);
    let counts = noise.iter().fold(std::collections::HashMap::<i64, f64>::new(), |mut counts, value| {
        *counts.entry(*value).or_default() += 1.0;
        counts
    });
    for value in -400..=400 {
        expected += total * probability(value);
        observed += counts.get(&value).copied().unwrap_or(0.0);
        if expected >= 10.0 {
            cells.push((expected, observed));
            (expected, observed) = (0.0, 0.0);
        }
    }
    let last = cells.last_mut().unwrap();
    *last = (last.0 + expected, last.1 + observed);
    let statistic: f64 = cells.iter().map(|(expected, observed)| (observed - expected).powi(2) / expected).sum();
    let (freedom, x) = ((cells.len() - 1) as f64, 14.0f64);
    statistic <= 1.1 * (freedom + 2.0 * (freedom * x).sqrt() + 2.0 * x)
}

/// At least 95% hold the truth; five standard deviations are allowed for chance.
fn covers(covered: usize) -> bool {
    let total = 2.0 * GROUPS as f64;
    covered as f64 >= 0.95 * total - 5.0 * (total * 0.95 * 0.05).sqrt()
}

#[test]
fn answers_have_discrete_laplace_noise_of_the_declared_scale() {
    let (noise, covered) = noise(&setup(), Price::Epsilon(amount("0.2")));
    let laplace = |epsilon: f64| {
        let ratio = (-epsilon).exp();
        move |value: i64| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(value.unsigned_abs() as i32)
    };
    assert!(fits(&noise, laplace(0.2)));
    assert!(
        !fits(&noise, laplace(0.17)) && !fits(&noise, laplace(0.23)),
        "a scale that is off by a seventh is noticed"
    );
    assert!(covers(covered), "{covered}");
}

#[test]
fn answers_have_rounded_gaussian_noise_of_the_declared_scale() {
    let (noise, covered) = noise(&setup(), Price::Gaussian(amount("0.2")));
    let gaussian = |sigma: &str| {
        let declared = RoundedGaussian::new(sigma.parse().unwrap()).unwrap();
        move |value: i64| declared.survival(value as f64) - declared.survival(value as f64 + 1.0)
    };
    assert!(fits(&noise, gaussian("5")));
    assert!(
        !fits(&noise, gaussian("23/4")) && !fits(&noise, gaussian("17/4")),
        "a scale that is off by a seventh is noticed"
    );
    assert!(covers(covered), "{covered}");
}
