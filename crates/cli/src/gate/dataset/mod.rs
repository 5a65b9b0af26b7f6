//! `taximeter dataset`: data that may be asked about.

mod add;
mod declaration;
mod driver;
mod dummy;
mod public;
mod registered;
mod remote;
mod show;
mod suggest;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::gate::GateArgs;
use crate::output::Failure;

pub use show::column_table;

/// Data protected by a budget: add, list, show, check, refresh, move, suggest-bounds, dummy, log, public
///
/// A dataset is a table with a declaration: the unit whose privacy is protected, the bounds of its numbers, and the categories for
/// GROUP BY. Its account, of the same name, pays for every question about it.
#[derive(Subcommand)]
pub enum DatasetCommand {
    Add(Box<add::AddCommand>),
    Public(Box<public::PublicCommand>),
    /// List the datasets and the public tables
    #[command(after_help = "Example: taximeter dataset list")]
    List(GateArgs),
    /// Show a dataset, its columns and its account, or a public table
    #[command(after_help = "Example: taximeter dataset show people")]
    Show(DatasetArgs),
    /// Check that the data are where they were and match the declaration; reads no rows
    #[command(after_help = "Example: taximeter dataset check people")]
    Check(DatasetArgs),
    /// Choose the rows of each unit again from a PostgreSQL table, or read Parquet files again, as a new version
    #[command(after_help = "Example: taximeter dataset refresh orders")]
    Refresh(DatasetArgs),
    Move(driver::MoveCommand),
    /// Suggest bounds for a column from a noisy histogram over powers of two, paid from the dataset's account
    #[command(after_help = "Example: taximeter dataset suggest-bounds people --column income --epsilon 0.05")]
    SuggestBounds(suggest::SuggestArgs),
    Dummy(dummy::DummyCommand),
    /// Show why charged questions have no answer: only for the owner, since the reason may depend on the data
    #[command(after_help = "Example: taximeter dataset log --limit 5")]
    Log(LogArgs),
}

#[derive(Args)]
pub struct DatasetArgs {
    /// The dataset
    name: String,
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Args)]
pub struct LogArgs {
    /// The largest number of entries, newest first
    #[arg(long, default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    gate: GateArgs,
}

impl DatasetCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            DatasetCommand::Add(add) => add.run(),
            DatasetCommand::Public(public) => public.run(),
            DatasetCommand::List(gate) => show::list(gate),
            DatasetCommand::Show(args) => show::show(args),
            DatasetCommand::Check(args) => show::check(args),
            DatasetCommand::Refresh(args) => show::refresh(args),
            DatasetCommand::Move(command) => command.run(),
            DatasetCommand::SuggestBounds(args) => suggest::run(args),
            DatasetCommand::Dummy(command) => command.run(),
            DatasetCommand::Log(args) => show::log(args),
        }
    }
}
