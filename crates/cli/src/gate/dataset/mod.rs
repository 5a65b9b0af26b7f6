//! `taximeter dataset`: data that may be asked about.

mod add;
mod declaration;
mod registered;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Failure;

pub use show::column_table;

/// Data behind a budget: add, list, show, check, refresh, log
///
/// A dataset is a table with a declaration: whose privacy is protected, the bounds of its numbers, and the categories that may be
/// grouped by. Its account, of the same name, pays for every question about it.
#[derive(Args)]
pub struct DatasetCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Add(Box<add::Add>),
    List(show::List),
    Show(show::Show),
    Check(show::Check),
    Refresh(show::Refresh),
    Log(show::Log),
}

impl DatasetCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.verb {
            Verb::Add(add) => add.run(),
            Verb::List(list) => list.run(),
            Verb::Show(show) => show.run(),
            Verb::Check(check) => check.run(),
            Verb::Refresh(refresh) => refresh.run(),
            Verb::Log(log) => log.run(),
        }
    }
}
