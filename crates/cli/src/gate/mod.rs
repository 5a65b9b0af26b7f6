//! Data behind a budget: the commands of the gate.

pub mod ask;
pub mod dataset;
mod prompt;
mod render;

use std::path::PathBuf;

use clap::Args;
use taximeter_gate::{Catalog, Gate, folder_beside};
use taximeter_ledger::{Ledger, Location, Options, Reader};

use crate::ledger::{LedgerArgs, variable};
use crate::output::Failure;

/// Which ledger pays, and where the gate keeps its data.
#[derive(Args)]
pub struct GateArgs {
    #[command(flatten)]
    pub ledger: LedgerArgs,
    /// The folder of the gate's data and answers [default: $TAXIMETER_DATA, or beside the ledger; for PostgreSQL taximeter.gate in
    /// the working folder]
    #[arg(long, value_name = "FOLDER", help_heading = "The ledger")]
    data: Option<PathBuf>,
}

impl GateArgs {
    /// The folder of the gate.
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = self.data.clone().or_else(|| variable("TAXIMETER_DATA").map(PathBuf::from)) {
            return Ok(folder);
        }
        Ok(match self.ledger.location()? {
            Location::File(path) => folder_beside(&path),
            Location::Postgres(_) => PathBuf::from("taximeter.gate"),
        })
    }

    /// Opens the gate to ask. Where there is none, none is made: a wrong folder is a mistake.
    pub fn open(&self) -> Result<Gate, Failure> {
        let ledger = self.ledger.write()?;
        Ok(Gate::open(&self.existing_folder()?, ledger)?)
    }

    /// Opens the gate to register data, and makes the ledger where there is none, if so wished.
    pub fn open_or_make(&self, create: bool) -> Result<Gate, Failure> {
        let options = Options { create, ..self.ledger.options(false) };
        let ledger = Ledger::open(&self.ledger.location()?, options)?;
        if ledger.position().sequence == 0 {
            self.ledger.tell_about_new(&ledger)?;
        }
        Ok(Gate::open(&self.folder()?, ledger)?)
    }

    /// Opens the gate's records to look at them, beside whoever asks.
    pub fn look(&self) -> Result<(Catalog, Reader), Failure> {
        let reader = self.ledger.read()?;
        Ok((Catalog::open(&self.existing_folder()?, reader.id())?, reader))
    }

    /// The folder of the gate, if there is something in it.
    fn existing_folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder()?;
        match Catalog::exists(&folder) {
            true => Ok(folder),
            false => Err(Failure::Usage(format!(
                "there are no datasets in {} yet; `dataset add` makes one, or name another folder with --data",
                folder.display()
            ))),
        }
    }
}
