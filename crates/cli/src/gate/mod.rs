//! Data behind a budget: the commands of the gate.

pub mod ask;
pub mod dataset;
mod explain;
mod lines;
mod prompt;
pub mod render;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_gate::Gate;

use crate::ledger::LedgerArgs;
use crate::office::Office;
use crate::output::{Failure, print_json, print_line};

/// Which ledger pays, and where the gate keeps its data.
#[derive(Args)]
pub struct GateArgs {
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// The folder of the gate's data and answers [default: $TAXIMETER_DATA, or beside the ledger; for PostgreSQL taximeter.gate in
    /// the working folder]
    #[arg(long, value_name = "FOLDER", help_heading = "The ledger", conflicts_with = "server")]
    data: Option<PathBuf>,
}

impl GateArgs {
    /// Where the command is carried out: by a server if one is named, otherwise here.
    pub fn office(&self) -> Result<Box<dyn Office>, Failure> {
        self.ledger.office_with(self.data.as_deref())
    }

    /// Prints a document: as JSON if that is wanted, otherwise as text for people.
    pub fn print(&self, document: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode, Failure> {
        match self.ledger.json {
            true => print_json(document)?,
            false => print_line(&text())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Opens the gate on this machine, and makes the ledger where there is none, if so wished.
    pub fn open_or_make(&self, create: bool) -> Result<Gate, Failure> {
        self.ledger.local(self.data.as_deref())?.open_or_make(create)
    }
}
