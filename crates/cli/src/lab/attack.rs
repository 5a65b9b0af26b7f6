//! `taximeter lab attack`: the exact success of the stopping-time adversary against an odometer.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use taximeter_accounting::{Amount, Cost, Odometer, OdometerRule, OdometerSpec, Rounding};
use taximeter_lab::engine::heuristics::Heuristic;
use taximeter_lab::engine::stopping::stopping_time;
use taximeter_lab::{Boundary, Sides};
use taximeter_service::Computed;

use crate::args::{RuleArgs, flag};
use crate::output::{Failure, print, show_number, thousands, usage};
use crate::progress::Progress;

/// The exact probability that the stopping-time adversary beats an odometer
///
/// The adversary plays randomized response with the same epsilon and stops at the first round in which the loss exceeds the reading. A
/// valid odometer loses with a probability of at most delta. drv and drv-tanh misuse the advanced theorem for costs fixed in advance
/// as an odometer; they are not valid.
#[derive(Args)]
#[command(after_help = "Example: taximeter lab attack --odometer drv --epsilon 0.01 --rounds 1000 --at-delta 1e-6")]
pub struct AttackCommand {
    /// The odometer, or an invalid heuristic
    #[arg(long, value_name = "NAME", value_parser = names())]
    odometer: String,
    /// The epsilon of every round
    #[arg(long, value_name = "EPSILON")]
    epsilon: String,
    /// The largest number of rounds
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rounds: u32,
    /// The delta at which the odometer reads
    #[arg(long, value_name = "DELTA", default_value = "1e-6")]
    at_delta: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rules: RuleArgs,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        OdometerRule::ALL.map(OdometerRule::name).into_iter().chain(Heuristic::ALL.map(Heuristic::name)),
    )
}

#[derive(Serialize)]
struct Document<'a> {
    odometer: &'a str,
    epsilon: Amount,
    rounds: u32,
    at_delta: Amount,
    two_sided: bool,
    probability: Computed,
    above: Computed,
    below: Computed,
    ratio: Computed,
    ratio_lower: Computed,
    ratio_upper: Computed,
}

impl AttackCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let epsilon = flag("--epsilon", &self.epsilon, Rounding::Up)?;
        let at_delta = flag("--at-delta", &self.at_delta, Rounding::Down)?;
        if epsilon.is_zero() || at_delta.is_zero() || at_delta >= Amount::ONE {
            return Err(usage("an attack needs an epsilon above 0, and a delta above 0 and below 1"));
        }
        let (readings, sides) = self.readings(epsilon, at_delta)?;
        let progress = Progress::new("attacking");
        let tell = |round, _| progress.share(round as f64 / f64::from(self.rounds));
        let violation = stopping_time(epsilon, &readings, tell);
        drop(progress);
        let judged = violation.on(sides);
        let ratio = judged.over(at_delta.approximate());
        let document = Document {
            odometer: &self.odometer,
            epsilon,
            rounds: self.rounds,
            at_delta,
            two_sided: sides == Sides::Both,
            probability: Computed(judged.middle()),
            above: Computed(violation.above.middle()),
            below: Computed(violation.below.middle()),
            ratio: Computed(ratio.middle()),
            ratio_lower: Computed(ratio.lower),
            ratio_upper: Computed(ratio.upper),
        };
        print(self.json, &document, || document.text())
    }

    /// The reading after each round, and the sides of the loss that it bounds.
    fn readings(&self, epsilon: Amount, at_delta: Amount) -> Result<(Boundary, Sides), Failure> {
        let rounds = self.rounds as usize;
        if let Some(heuristic) = Heuristic::ALL.into_iter().find(|heuristic| heuristic.name() == self.odometer) {
            self.rules.refuse_foreign(None, None)?;
            return Ok((heuristic.readings(epsilon, at_delta, rounds), Sides::Both));
        }
        let rule = OdometerRule::from_name(&self.odometer)?;
        self.rules.refuse_foreign(None, Some(rule))?;
        let odometer = Odometer::new(self.rules.odometer(rule, &OdometerSpec::new(rule, at_delta))?)?;
        let sides = Sides::of(&odometer);
        Ok((Boundary::of_odometer(odometer, &Cost::Pure { epsilon }, rounds)?, sides))
    }
}

impl Document<'_> {
    fn text(&self) -> String {
        let verdict = if self.ratio_lower.0 > 1.0 {
            "the odometer is broken"
        } else if self.ratio_upper.0 <= 1.0 {
            "the odometer holds"
        } else {
            "too close to tell"
        };
        let claim = if self.two_sided { "|loss| ≤ reading" } else { "loss ≤ reading" };
        format!(
            "{} against up to {} rounds of ε = {}, stopped at the first violation:\n\n\
             loss above the reading   {}\n\
             loss below its negative  {}\n\
             claimed                  {claim}, except with probability {}\n\
             ratio                    {}\n\n{verdict}.",
            self.odometer,
            thousands(self.rounds.into()),
            self.epsilon,
            show_number(self.above.0),
            show_number(self.below.0),
            self.at_delta,
            show_number(self.ratio.0),
        )
    }
}
