//! The `taximeter` program: privacy filters and odometers at the command line.

mod args;
mod compare;
mod demo;
mod figure;
mod meter;
mod output;
mod plan;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::Failure;

/// Privacy odometers and filters: a budget for people who choose the next question after seeing the last answer.
#[derive(Parser)]
#[command(name = "taximeter", version, max_term_width = 110, after_help = EXIT_CODES)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 2 wrong usage or input, 3 refused by a filter set to stop, 1 anything else.";

#[derive(Subcommand)]
enum Command {
    /// Ride along with an analyst who spends a budget of (1, 1e-6)
    Demo(demo::Demo),
    /// How many equal costs a budget admits, by each rule
    Plan(plan::Plan),
    /// What k equal costs add up to, by each odometer, filter and theorem
    Compare(compare::Compare),
    /// Decide and read, cost by cost, from standard input
    Meter(meter::Meter),
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Demo(demo) => demo.run(),
        Command::Plan(plan) => plan.run(),
        Command::Compare(compare) => compare.run(),
        Command::Meter(meter) => meter.run(),
    };
    match result {
        Ok(code) => code,
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
        Err(Failure::Other(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
