//! `taximeter account`: named budgets.

mod close;
mod create;
mod list;
pub mod rules;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Failure;

/// Named budgets: create, list, show, close
///
/// An account has a budget with a filter and an odometer, or an odometer alone. Accounts form trees: a charge to census/alice is paid
/// by census as well, so that all who share census together stay within its budget. A name has up to 8 parts of at most 64 letters,
/// digits, -, _ and . each. Nothing about an account can be changed later, and nothing is ever deleted.
#[derive(Args)]
pub struct AccountCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Box<create::Create>),
    List(list::List),
    Show(show::Show),
    Close(close::Close),
}

impl AccountCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.verb {
            Verb::Create(create) => create.run(),
            Verb::List(list) => list.run(),
            Verb::Show(show) => show.run(),
            Verb::Close(close) => close.run(),
        }
    }
}
