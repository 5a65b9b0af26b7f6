//! `taximeter report`: what the public may know about an account and the answers that it paid for.
//!
//! A report is made from the journal and the declarations alone. Nothing in it depends on the data: no number of rows, and no answer.

mod contents;
mod page;
mod registry;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::AccountName;

use crate::gate::GateArgs;
use crate::output::{Failure, print_json, tell, usage};
use contents::PublicReport;

/// Publish how an account protects people: a page for everyone, or an entry for the deployments registry
///
/// The report names the unit that is protected, the budget, its theorem, what is spent, which kinds of questions were answered, who may
/// ask, and whether the journal is whole. It contains no answers, no number of rows, and no names of people.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter report census --out report.html
  taximeter report census --curator \"Statistics Office\" --intended-use \"Regional planning\" --json > entry.json

The JSON document has the fields of the Differential Privacy Deployments Registry (OpenDP). What only people know is given by flags;
fields that are not known are left out, and listed on standard error. The whole journal is recomputed first: if it is not
whole, there is no report, and the exit code is 4.")]
pub struct ReportCommand {
    /// The account; accounts below it are part of the report
    account: String,
    /// The page to write, which must not exist
    #[arg(long, value_name = "FILE", required_unless_present = "json", conflicts_with = "json")]
    out: Option<PathBuf>,
    #[command(flatten)]
    told: ToldArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// What the ledger does not know.
#[derive(Args)]
#[command(next_help_heading = "What the ledger does not know")]
pub struct ToldArgs {
    /// What is published, in a few words [default: the account's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The organisation that holds the data (may be repeated)
    #[arg(long, value_name = "NAME")]
    curator: Vec<String>,
    /// What the answers are for
    #[arg(long, value_name = "TEXT")]
    intended_use: Option<String>,
    /// Where the people live
    #[arg(long, value_name = "TEXT")]
    region: Option<String>,
    /// The sector, such as Government or Healthcare
    #[arg(long, value_name = "TEXT")]
    sector: Option<String>,
}

impl ReportCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.account)?;
        let report = PublicReport::gather(&*self.gate.backend()?, &name)?;
        match &self.out {
            None => {
                print_json(&registry::entry(&report, &self.told))?;
                let missing = registry::missing(&self.told);
                if !missing.is_empty() {
                    tell(&format!("The registry also asks for: {}.", missing.join(", ")));
                }
            }
            Some(path) => {
                let cannot = |error: io::Error| match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        usage(format!("there is a file {} already; name another, or move it", path.display()))
                    }
                    _ => Failure::Other(format!("the report {} cannot be written: {error}", path.display())),
                };
                let mut file = File::create_new(path).map_err(cannot)?;
                file.write_all(page::render(&report, &self.told).as_bytes()).map_err(cannot)?;
                tell(&format!("wrote {}", path.display()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
