//! `taximeter lab`: the evidence.

mod attack;
mod certify;
mod figures;
mod play;
mod worst;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Failure;

/// The evidence: exact attacks on the rules, games, figures
#[derive(Args)]
pub struct Lab {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    Attack(attack::Attack),
    Certify(certify::Certify),
    Figure(figures::Figures),
    Play(play::Play),
    Worst(worst::Worst),
}

impl Lab {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.experiment {
            Experiment::Attack(attack) => attack.run(),
            Experiment::Certify(certify) => certify.run(),
            Experiment::Figure(figure) => figure.run(),
            Experiment::Play(play) => play.run(),
            Experiment::Worst(worst) => worst.run(),
        }
    }
}

/// What the lab could not do is a matter of what was asked of it.
fn usage(error: taximeter_lab::Error) -> Failure {
    Failure::Usage(error.to_string())
}
