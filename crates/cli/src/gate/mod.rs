//! Data protected by a budget: the commands of the gate.

pub mod ask;
pub mod dataset;
mod explain;
mod lines;
mod offer;
mod prompt;
pub mod render;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use taximeter_gate::Gate;
use taximeter_ledger::Signing;

use crate::backend::{Backend, Local};
use crate::config::Setting;
use crate::ledger::LedgerArgs;
use crate::output::Failure;

/// Which ledger pays, and where the gate keeps its data.
#[derive(Args)]
pub struct GateArgs {
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// The folder with the gate's data and answers [default: $TAXIMETER_DATA, or next to the ledger; for PostgreSQL taximeter.gate in
    /// the working folder]
    #[arg(long, value_name = "FOLDER", help_heading = "The ledger", conflicts_with = "server")]
    data: Option<PathBuf>,
}

impl GateArgs {
    /// The server if one is named, otherwise this machine.
    pub fn backend(&self) -> Result<Box<dyn Backend>, Failure> {
        self.ledger.backend_with(self.data.as_deref())
    }

    /// The value of a flag, and its name.
    pub fn flag(&self, setting: Setting) -> Option<(&'static str, OsString)> {
        match setting {
            Setting::Data => Some(("--data", self.data.as_ref()?.into())),
            _ => self.ledger.flag(setting),
        }
    }

    /// The ledger on this machine, with the gate's folder.
    pub fn local(&self) -> Result<Local, Failure> {
        self.ledger.local(self.data.as_deref())
    }

    /// Opens the gate on this machine, with those who sign and cosign what is written. If `create` is set, a missing ledger is created.
    pub fn open_signed_by(&self, signing: Option<Arc<Signing>>, create: bool) -> Result<Gate, Failure> {
        self.local()?.signed_by(signing).open_or_make(create)
    }
}
