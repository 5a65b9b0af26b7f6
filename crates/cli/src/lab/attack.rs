//! `taximeter lab attack`: the stopping-time adversary against an odometer, exactly.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use taximeter_accounting::{Amount, Cost, Odometer, OdometerRule, Rounding};
use taximeter_api::Computed;
use taximeter_lab::engine::heuristics::Heuristic;
use taximeter_lab::engine::stopping::{Violation, stopping_time};

use crate::args::{Level, RuleArgs, flag};
use crate::output::{Failure, print_json, print_line, show_number, thousands};
use crate::progress::Progress;

/// How often the stopping-time adversary beats an odometer, exactly
///
/// The adversary plays randomized response of the same epsilon and stops at the first round in which the loss is outside of the
/// reading. A valid odometer loses with a probability of at most delta. drv and drv-tanh are the advanced theorem for costs fixed
/// in advance, misused as an odometer; they are not valid.
#[derive(Args)]
#[command(after_help = "Example: taximeter lab attack --odometer drv --epsilon 0.01 --rounds 1000 --at-delta 1e-6")]
pub struct Attack {
    /// The odometer, or an invalid heuristic
    #[arg(long, value_name = "NAME", value_parser = names())]
    odometer: String,
    /// The epsilon of every round
    #[arg(long, value_name = "EPSILON")]
    epsilon: String,
    /// How many rounds the adversary may play
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rounds: u64,
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
struct Document {
    odometer: String,
    epsilon: Amount,
    rounds: u64,
    at_delta: Amount,
    two_sided: bool,
    probability: Computed,
    above: Computed,
    below: Computed,
    ratio: Computed,
    ratio_lower: Computed,
    ratio_upper: Computed,
}

impl Attack {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let epsilon = flag("--epsilon", &self.epsilon, Rounding::Up)?;
        let at_delta = flag("--at-delta", &self.at_delta, Rounding::Down)?;
        if epsilon.is_zero() || at_delta.is_zero() || at_delta >= Amount::ONE {
            return Err(Failure::Usage(
                "an attack needs an epsilon above 0, and a delta above 0 and below 1".to_string(),
            ));
        }
        let rule = OdometerRule::ALL.into_iter().find(|rule| rule.name() == self.odometer);
        self.rules.refuse_foreign(None, rule)?;
        let progress = Progress::new("attacking");
        let tell = |round: u64| progress.share(round as f64 / self.rounds as f64);
        let (violation, two_sided) =
            match Heuristic::ALL.into_iter().find(|heuristic| heuristic.name() == self.odometer) {
                Some(heuristic) => (
                    stopping_time(epsilon, self.rounds, |round| {
                        tell(round);
                        heuristic.reading(epsilon.approximate(), round, at_delta.approximate())
                    }),
                    true,
                ),
                None => self.against_odometer(epsilon, at_delta, &tell)?,
            };
        drop(progress);
        self.print(epsilon, at_delta, violation, two_sided)
    }

    fn against_odometer(
        &self,
        epsilon: Amount,
        at_delta: Amount,
        tell: &dyn Fn(u64),
    ) -> Result<(Violation, bool), Failure> {
        let level = Level { at_delta, mechanism_delta: Amount::ZERO, expected: Amount::ONE };
        let spec = self.rules.odometer(OdometerRule::from_name(&self.odometer)?, level)?;
        let mut odometer = Odometer::new(spec)?;
        let cost = Cost::Pure { epsilon };
        let mut failed = None;
        let violation = stopping_time(epsilon, self.rounds, |round| {
            tell(round);
            failed = failed.take().or(odometer.charge(&cost).err());
            odometer.reading().value
        });
        match failed {
            Some(error) => Err(error.into()),
            None => Ok((violation, odometer.guarantee().two_sided)),
        }
    }

    fn print(
        &self,
        epsilon: Amount,
        at_delta: Amount,
        violation: Violation,
        two_sided: bool,
    ) -> Result<ExitCode, Failure> {
        // What the rule claims: both sides, or the upper one.
        let judged = if two_sided { violation.total() } else { violation.above };
        let delta = at_delta.approximate();
        let ratio = judged.middle() / delta;
        if self.json {
            print_json(&Document {
                odometer: self.odometer.clone(),
                epsilon,
                rounds: self.rounds,
                at_delta,
                two_sided,
                probability: Computed(judged.middle()),
                above: Computed(violation.above.middle()),
                below: Computed(violation.below.middle()),
                ratio: Computed(ratio),
                ratio_lower: Computed(judged.lower / delta),
                ratio_upper: Computed(judged.upper / delta),
            })?;
            return Ok(ExitCode::SUCCESS);
        }
        let verdict = if judged.lower > delta {
            "the odometer is broken"
        } else if judged.upper <= delta {
            "the odometer holds"
        } else {
            "too close to tell"
        };
        let claim = if two_sided { "|loss| ≤ reading" } else { "loss ≤ reading" };
        print_line(&format!(
            "{} against up to {} rounds of ε = {epsilon}, stopped at the first violation:\n\n\
             loss above the reading   {}\n\
             loss below its negative  {}\n\
             claimed                  {claim}, but for a probability of {at_delta}\n\
             ratio                    {}\n\n{verdict}.",
            self.odometer,
            thousands(self.rounds),
            show_number(violation.above.middle()),
            show_number(violation.below.middle()),
            show_number(ratio),
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}
