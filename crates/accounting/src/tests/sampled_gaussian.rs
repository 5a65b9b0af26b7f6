//! `tests/data/sampled-gaussian.json`: Rényi divergences of sampled Gaussians, made by the script beside it with Google's
//! dp_accounting and with an integration of thirty digits.

use serde_json::Value;

use crate::amount::{Amount, Rounding};
use crate::filter::renyi;
use crate::price::sampled_gaussian;

/// dp_accounting computes in plain floating point and adds 1 and what is above it as logarithms, so it has few digits of a small
/// divergence. Its rounding comes to this share, and to this amount for every step.
const THEIR_SHARE: f64 = 1e-12;
const THEIR_ROUNDING: f64 = 2e-15;

/// An order of a setting: the number of steps, our divergence of all of them, and what the file has for it.
struct Entry {
    steps: f64,
    ours: f64,
    values: Value,
}

impl Entry {
    fn value(&self, at: usize) -> f64 {
        self.values[at].as_f64().unwrap()
    }
}

/// All entries of the file, at whole orders or between them.
fn entries(part: &str) -> Vec<Entry> {
    let all: Value = serde_json::from_str(include_str!("../../tests/data/sampled-gaussian.json")).unwrap();
    let amount = |value: &Value| Amount::parse(&value.to_string(), Rounding::Down).unwrap().amount;
    let of_setting = |setting: &Value| {
        let (rate, sigma) = (amount(&setting["rate"]).interval(), amount(&setting["sigma"]).interval());
        let steps = setting["steps"].as_f64().unwrap();
        let entry = |values: &Value| {
            let order = renyi::order(amount(&values[0])).unwrap();
            let ours = steps * sampled_gaussian::renyi(&order, rate, sigma).hi();
            Entry { steps, ours, values: values.clone() }
        };
        setting[part].as_array().unwrap().iter().map(entry).collect::<Vec<_>>()
    };
    all["settings"].as_array().unwrap().iter().flat_map(of_setting).collect()
}

#[test]
fn at_whole_orders_the_price_is_that_of_dp_accounting() {
    let entries = entries("whole");
    assert_eq!(entries.len(), 1000);
    for entry in entries {
        let (ours, theirs) = (entry.ours, entry.value(1));
        let rounding = entry.steps * THEIR_ROUNDING;
        assert!(ours >= theirs * (1.0 - THEIR_SHARE) - rounding, "{ours} is below {theirs}, {}", entry.values);
        assert!(ours <= theirs * (1.0 + 1e-9) + rounding, "{ours} is above {theirs}, {}", entry.values);
    }
}

/// dp_accounting is no measure there: it is too large itself, at low orders many times.
#[test]
fn between_whole_orders_the_price_is_above_the_divergence() {
    let entries = entries("between");
    assert_eq!(entries.len(), 1000);
    let mut above: Vec<f64> = entries.iter().map(|entry| entry.ours / entry.value(2) - 1.0).collect();
    above.sort_by(f64::total_cmp);
    assert!(above[0] >= -1e-15, "{} is below the divergence", above[0]);
    assert!(above[500] < 0.01, "half of the prices are above the divergence by {}", above[500]);
}
