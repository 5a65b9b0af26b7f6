//! How far the default odometer is above the exact tail of a fixed number of rounds, which no odometer can be below:
//! `cargo run --release -p taximeter-accounting --example tightness [DELTA]`.

use taximeter_accounting::reference::FixedRounds;
use taximeter_accounting::{Amount, Cost, Error, Odometer, OdometerRule, OdometerSpec};

fn main() -> Result<(), Error> {
    let delta = Amount::parse_exact(&std::env::args().nth(1).unwrap_or("1e-6".to_string()))?;
    let ratio = |epsilon: f64, rounds: u64| -> Result<f64, Error> {
        let cost = Cost::Pure { epsilon: Amount::at_most(epsilon) };
        let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, delta))?;
        odometer.charge_times(&cost, rounds)?;
        Ok(odometer.reading().value / FixedRounds::new(&cost, rounds)?.loss_quantile(delta).value())
    };
    let counts = [100, 1_000, 10_000, 30_000, 100_000];
    println!("reading ÷ exact tail at δ = {delta}\n\n      k {}", counts.map(|count| format!("{count:>8}")).join(""));
    for epsilon in [0.001, 0.01, 0.1, 0.3, 1.0] {
        print!("ε {epsilon:<6}");
        for rounds in counts {
            print!("{:>8.3}", ratio(epsilon, rounds)?);
        }
        println!();
    }
    // A fine grid: 91 values of ε, and k from 100 to 100,000 in steps of 4 %.
    for (name, most_epsilon, most_rounds) in [
        ("100 ≤ k ≤ 100,000, 0.001 ≤ ε ≤ 1", 1.0, 100_000),
        ("100 ≤ k ≤ 1,000, 0.001 ≤ ε ≤ 1", 1.0, 1_000),
        ("100 ≤ k ≤ 10,000, 0.001 ≤ ε ≤ 0.3", 0.3, 10_000),
    ] {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for step in 0..=90 {
            let epsilon = 10f64.powf(-3.0 + f64::from(step) / 30.0);
            let mut rounds = 100;
            while epsilon <= most_epsilon * 1.000_001 && rounds <= most_rounds {
                let value = ratio(epsilon, rounds)?;
                (low, high) = (low.min(value), high.max(value));
                rounds = rounds * 104 / 100;
            }
        }
        println!("{name}: between {low:.4} and {high:.4}");
    }
    Ok(())
}
