//! The `taximeter` program: privacy filters and odometers at the command line.

#![forbid(unsafe_code)]

mod advice;
mod args;
mod backend;
mod compare;
mod completions;
mod config;
mod cost_examples;
mod demo;
mod drivers;
mod figure;
mod gate;
mod key_values;
mod lab;
mod ledger;
mod meter;
mod oidc;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod plan;
mod progress;
mod report;
mod serve;
mod signing;
mod table;
mod token;
mod top;
mod witness;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use output::{Failure, tell};

/// Privacy odometers and filters: a budget for people who choose the next question after seeing the last answer.
#[derive(Parser)]
#[command(name = "taximeter", version = version(), max_term_width = 110, after_help = EXIT_CODES)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success, 2 wrong usage or input, 3 refused by a filter, 4 a damaged record or a failed check, 5 charged \
but no answer, 6 charged earlier under the same key, 1 any other failure.";

#[derive(Subcommand)]
enum Command {
    Demo(demo::DemoCommand),
    Plan(plan::PlanCommand),
    Compare(compare::CompareCommand),
    Meter(meter::MeterCommand),
    #[command(subcommand)]
    Dataset(gate::dataset::DatasetCommand),
    Ask(gate::ask::AskCommand),
    Drivers(drivers::DriversCommand),
    #[command(subcommand)]
    Account(ledger::account::AccountCommand),
    Top(top::TopCommand),
    Charge(ledger::charge::ChargeCommand),
    Quote(ledger::quote::QuoteCommand),
    History(ledger::history::HistoryCommand),
    #[command(subcommand)]
    Receipt(ledger::proof::ReceiptCommand),
    Verify(ledger::verify::VerifyCommand),
    Report(report::ReportCommand),
    Export(ledger::export::ExportCommand),
    Import(ledger::import::ImportCommand),
    #[command(subcommand)]
    Backup(ledger::backup::BackupCommand),
    #[command(subcommand)]
    Checkpoint(ledger::checkpoint::CheckpointCommand),
    #[command(subcommand)]
    Ledger(ledger::manage::ManageCommand),
    Serve(serve::ServeCommand),
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Witness(witness::WitnessCommand),
    #[command(subcommand)]
    Lab(lab::LabCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Completions(completions::CompletionsCommand),
    #[command(hide = true)]
    Man(completions::ManCommand),
}

/// The commands as the help shows them.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Start here", &["demo"]),
    ("Data protected by a budget", &["dataset", "ask", "drivers"]),
    ("Without a ledger", &["plan", "compare", "meter"]),
    ("Accounts and charges", &["account", "charge", "quote", "history", "receipt", "top"]),
    ("Ledger maintenance", &["verify", "checkpoint", "report", "backup", "export", "import", "ledger"]),
    ("For a team", &["serve", "token", "witness"]),
    ("Evidence", &["lab"]),
    ("This program", &["config", "completions", "help"]),
];

fn main() -> ExitCode {
    let matches = with_groups(Program::command()).get_matches();
    let command = Program::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command;
    let result = match command {
        Command::Demo(demo) => demo.run(),
        Command::Plan(plan) => plan.run(),
        Command::Compare(compare) => compare.run(),
        Command::Meter(meter) => meter.run(),
        Command::Dataset(dataset) => dataset.run(),
        Command::Ask(ask) => ask.run(),
        Command::Drivers(drivers) => drivers.run(),
        Command::Account(account) => account.run(),
        Command::Top(top) => top.run(),
        Command::Charge(charge) => charge.run(),
        Command::Quote(quote) => quote.run(),
        Command::History(history) => history.run(),
        Command::Receipt(receipt) => receipt.run(),
        Command::Verify(verify) => verify.run(),
        Command::Report(report) => report.run(),
        Command::Export(export) => export.run(),
        Command::Import(import) => import.run(),
        Command::Backup(backup) => backup.run(),
        Command::Checkpoint(checkpoint) => checkpoint.run(),
        Command::Ledger(ledger) => ledger.run(),
        Command::Serve(serve) => serve.run(),
        Command::Token(token) => token.run(),
        Command::Witness(witness) => witness.run(),
        Command::Lab(lab) => lab.run(),
        Command::Config(config) => config.run(),
        Command::Completions(completions) => completions.run(Program::command()),
        Command::Man(man) => man.run(Program::command()),
    };
    result.unwrap_or_else(|failure| {
        if !matches!(failure, Failure::ClosedPipe) {
            tell(&format!("error: {}", failure.message()));
        }
        failure.exit_code()
    })
}

/// The version, with the commit that it was built from if that is known.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("TAXIMETER_BUILT_FROM").map_or(version.to_string(), |commit| format!("{version} ({commit})"))
}

/// Groups the commands in the help. Clap groups flags, but not commands.
fn with_groups(program: clap::Command) -> clap::Command {
    let header = *program.get_styles().get_header();
    let literal = *program.get_styles().get_literal();
    let about = |name: &str| match program.find_subcommand(name).and_then(clap::Command::get_about) {
        Some(about) => about.to_string(),
        None => "Print the help of a command".to_string(),
    };
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups += &format!("{header}{title}:{header:#}\n");
        for name in names {
            groups += &format!("  {literal}{name:<11}{literal:#}  {}\n", about(name));
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    program.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        Program::command().debug_assert();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let program = Program::command();
        let mut commands: Vec<&str> = program
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .chain(["help"])
            .collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }
}
