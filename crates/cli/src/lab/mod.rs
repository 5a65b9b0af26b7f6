//! `taximeter lab`: evidence that the rules hold.

mod attack;
mod certify;
mod figures;
mod play;
mod worst;

use std::process::ExitCode;

use clap::Subcommand;

use crate::output::Failure;

/// Evidence: exact attacks on the rules, games, figures
#[derive(Subcommand)]
pub enum LabCommand {
    Attack(attack::AttackCommand),
    Certify(certify::CertifyCommand),
    Figure(figures::FigureCommand),
    Play(play::PlayCommand),
    Worst(worst::WorstCommand),
}

impl LabCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            LabCommand::Attack(attack) => attack.run(),
            LabCommand::Certify(certify) => certify.run(),
            LabCommand::Figure(figure) => figure.run(),
            LabCommand::Play(play) => play.run(),
            LabCommand::Worst(worst) => worst.run(),
        }
    }
}
