//! How far the default odometer is above the exact tail of a fixed number of rounds, which no odometer can be below, by itself
//! and beside a filter: `cargo run --release -p taximeter-accounting --example tightness [DELTA]`.

use taximeter_accounting::reference::FixedRounds;
use taximeter_accounting::{Amount, Budget, Cost, Error, Odometer, OdometerRule, OdometerSpec, residue_of};

fn main() -> Result<(), Error> {
    let delta = Amount::parse_exact(&std::env::args().nth(1).unwrap_or("1e-6".to_string()))?;
    by_itself(delta)?;
    for budget in ["1,1e-6", "0.3,1e-9", "4,1e-6", "8,1e-6"] {
        println!();
        beside_a_filter(&Budget::parse(budget)?)?;
    }
    Ok(())
}

/// Reading ÷ exact tail after a number of rounds of ε.
fn ratio(spec: &OdometerSpec, epsilon: f64, rounds: u64) -> Result<f64, Error> {
    let cost = Cost::Pure { epsilon: Amount::at_most(epsilon) };
    let mut odometer = Odometer::new(spec.clone())?;
    odometer.charge_times(&cost, rounds)?;
    Ok(odometer.reading().value / FixedRounds::new(&cost, rounds)?.loss_quantile(spec.at_delta).value())
}

fn by_itself(delta: Amount) -> Result<(), Error> {
    let spec = OdometerSpec::new(OdometerRule::RenyiMixture, delta);
    let counts = [100, 1_000, 10_000, 30_000, 100_000];
    println!("reading ÷ exact tail at δ = {delta}\n\n      k {}", counts.map(|count| format!("{count:>8}")).join(""));
    for epsilon in [0.001, 0.01, 0.1, 0.3, 1.0] {
        print!("ε {epsilon:<6}");
        for rounds in counts {
            print!("{:>8.3}", ratio(&spec, epsilon, rounds)?);
        }
        println!();
    }
    // A fine grid: 91 values of ε, and k from 100 to 100,000 in steps of 4 %.
    for (name, most_epsilon, most_rounds) in [
        ("100 ≤ k ≤ 100,000, 0.001 ≤ ε ≤ 1", 1.0, 100_000),
        ("100 ≤ k ≤ 1,000, 0.001 ≤ ε ≤ 1", 1.0, 1_000),
        ("100 ≤ k ≤ 10,000, 0.001 ≤ ε ≤ 0.3", 0.3, 10_000),
    ] {
        let mut range = Range::default();
        for step in 0..=90 {
            let epsilon = 10f64.powf(-3.0 + f64::from(step) / 30.0);
            let mut rounds = 100;
            while epsilon <= most_epsilon * 1.000_001 && rounds <= most_rounds {
                range.add(ratio(&spec, epsilon, rounds)?);
                rounds = rounds * 104 / 100;
            }
        }
        println!("{name}: between {:.4} and {:.4}", range.low, range.high);
    }
    Ok(())
}

/// Both priors, by the share that the rounds use up of the V that the budget buys.
fn beside_a_filter(budget: &Budget) -> Result<(), Error> {
    let bought = residue_of(budget)?.approximate();
    let wide = OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta());
    let with_scale = OdometerSpec::beside(OdometerRule::RenyiMixture, budget);
    println!("beside a filter of {budget}, 1,000 ≤ k ≤ 100,000: the wide prior, and with the scale of the budget");
    for (name, from, to) in [
        ("from a half of V to all", 0.5, 1.0),
        ("from a sixteenth to all", 1.0 / 16.0, 1.0),
        ("from a hundredth to a sixteenth", 0.01, 1.0 / 16.0),
        ("from a thousandth to a hundredth", 0.001, 0.01),
        ("from all to a hundred times as much", 1.0, 100.0),
    ] {
        let (mut before, mut after) = (Range::default(), Range::default());
        for step in 0..=60 {
            let share = from * f64::powf(to / from, f64::from(step) / 60.0);
            for rounds in [1_000, 10_000, 100_000] {
                let epsilon = (share * bought / rounds as f64).sqrt();
                before.add(ratio(&wide, epsilon, rounds)?);
                after.add(ratio(&with_scale, epsilon, rounds)?);
            }
        }
        println!("  {name:<36}{:.3}–{:.3}   {:.3}–{:.3}", before.low, before.high, after.low, after.high);
    }
    Ok(())
}

struct Range {
    low: f64,
    high: f64,
}

impl Default for Range {
    fn default() -> Range {
        Range { low: f64::INFINITY, high: 0.0 }
    }
}

impl Range {
    fn add(&mut self, value: f64) {
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }
}
