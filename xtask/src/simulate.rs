//! `cargo xtask simulate`: the simulation of the ledger, and of the gate on it, for as long as one likes.

use std::process::{Command, ExitCode};

/// The tests that play episodes, from a seed on: of the ledger, and of the gate.
const LEDGER: [&str; 4] =
    ["taximeter-ledger", "--lib", "--", "simulation::tests::nothing_acknowledged_is_lost_whatever_goes_wrong"];
const GATE: [&str; 5] = [
    "taximeter-gate",
    "--test",
    "gate",
    "--",
    "simulated::every_key_is_charged_once_and_answered_once_whatever_goes_wrong",
];

/// How many steps there are unless it is said: minutes.
const STEPS: u64 = 1_000_000;

pub fn run(arguments: &[String]) -> ExitCode {
    let (test, seed, steps) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(crate::WRONG_USAGE);
        }
    };
    eprintln!("{steps} steps from seed {seed} on; a failure names its seed and the command that repeats it");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--package"]).args(test).args(["--exact", "--nocapture"]);
    command.env("TAXIMETER_SIMULATE_SEED", seed.to_string()).env("TAXIMETER_SIMULATE_STEPS", steps.to_string());
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The test, the seed and the number of steps.
fn parse(arguments: &[String]) -> Result<(&'static [&'static str], u64, u64), String> {
    let (mut test, mut seed, mut steps) = (&LEDGER[..], 1, STEPS);
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let place = match name.as_str() {
            "--seed" => &mut seed,
            "--steps" => &mut steps,
            "--gate" => {
                test = &GATE;
                continue;
            }
            other => {
                return Err(format!("`cargo xtask simulate` takes --gate, --seed N and --steps N, not {other:?}"));
            }
        };
        let value = rest.next().ok_or_else(|| format!("{name} needs a number"))?;
        *place = value.parse().map_err(|_| format!("{name} needs a number, not {value:?}"))?;
    }
    Ok((test, seed, steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str]) -> Result<(&'static [&'static str], u64, u64), String> {
        parse(&arguments.iter().map(|argument| argument.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn a_seed_and_a_number_of_steps_can_be_given() {
        assert_eq!(check(&[]), Ok((&LEDGER[..], 1, STEPS)));
        assert_eq!(check(&["--steps", "500", "--gate", "--seed", "7"]), Ok((&GATE[..], 7, 500)));
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--for", "1"]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }
}
