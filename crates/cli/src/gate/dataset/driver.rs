//! The driver that reads data, and `taximeter dataset move`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use taximeter_gate::DriverChoice;
use taximeter_ledger::AccountName;

use super::show;
use crate::gate::GateArgs;
use crate::output::{Failure, usage};

/// Which library reads the data.
#[derive(Args)]
#[command(next_help_heading = "The driver")]
pub struct DriverArgs {
    /// The driver of DuckDB: a name, or the path of its library or of a driver manifest [default: duckdb]; `drivers` lists those found
    #[arg(long, value_name = "NAME|FILE")]
    driver: Option<String>,
    /// The entry point of the library, if it is not the usual one
    #[arg(long, value_name = "NAME", requires = "driver")]
    entry: Option<String>,
}

impl DriverArgs {
    pub fn is_given(&self) -> bool {
        self.driver.is_some()
    }

    pub fn choice(&self) -> DriverChoice {
        match &self.driver {
            None => DriverChoice::default(),
            Some(driver) => DriverChoice { driver: driver.clone(), entry: self.entry.clone() },
        }
    }
}

/// An engine that keeps data in the gate's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Part of this program
    Sqlite,
    /// Faster on many rows; a library that is installed separately
    Duckdb,
}

/// Move the data of a dataset to another engine, as a new version
///
/// The rows and their values stay the same, and so does the account that pays. Only data that were imported into SQLite can move.
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset move people --engine duckdb")]
pub struct MoveCommand {
    /// The dataset
    name: String,
    /// The engine to move the data to
    #[arg(long, value_name = "NAME")]
    engine: EngineName,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    gate: GateArgs,
}

impl MoveCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.name)?;
        if self.engine == EngineName::Sqlite {
            return Err(usage("data move to duckdb only; register the file again with --new-version --engine sqlite"));
        }
        let moved = self.gate.backend()?.move_to_duckdb(&name, self.driver.choice())?;
        show::changed(&moved, self.gate.ledger.json)
    }
}
