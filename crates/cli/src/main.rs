//! The `taximeter` program: privacy filters and odometers at the command line.

#![forbid(unsafe_code)]

mod args;
mod compare;
mod demo;
mod figure;
mod lab;
mod meter;
mod output;
mod plan;
mod progress;
mod random;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::{Failure, tell};

/// Privacy odometers and filters: a budget for people who choose the next question after seeing the last answer.
#[derive(Parser)]
#[command(name = "taximeter", version, max_term_width = 110, after_help = EXIT_CODES)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 2 wrong usage or input, 3 refused by a filter set to stop, 4 a claim does not hold, 1 anything else.";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Plan(plan::Plan),
    Compare(compare::Compare),
    Meter(meter::Meter),
    Lab(lab::Lab),
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Demo(demo) => demo.run(),
        Command::Plan(plan) => plan.run(),
        Command::Compare(compare) => compare.run(),
        Command::Meter(meter) => meter.run(),
        Command::Lab(lab) => lab.run(),
    };
    match result {
        Ok(code) => code,
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            tell(&format!("error: {message}"));
            ExitCode::from(2)
        }
        Err(Failure::Other(message)) => {
            tell(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}
