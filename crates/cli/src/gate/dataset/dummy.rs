//! `taximeter dataset dummy`: made-up rows, to write programs with before the data are asked.

use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

use clap::Args;
use taximeter_gate::{DummyAnswer, dummy_csv};
use taximeter_ledger::AccountName;

use crate::gate::GateArgs;
use crate::output::{Failure, usage};

/// Write made-up rows as CSV: they follow from the declaration alone and say nothing about the data
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset dummy people --rows 1000 > dummy.csv")]
pub struct DummyCommand {
    /// The dataset
    name: String,
    /// How many rows; fewer if the unit has few values
    #[arg(long, default_value_t = DummyAnswer::ROWS,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(DummyAnswer::MOST_ROWS)))]
    rows: u32,
    #[command(flatten)]
    gate: GateArgs,
}

impl DummyCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.gate.ledger.json {
            return Err(usage("made-up rows are written as CSV; omit --json"));
        }
        let dataset = self.gate.backend()?.dataset(&AccountName::parse(&self.name)?)?;
        let mut out = BufWriter::new(stdout().lock());
        for line in dummy_csv(&dataset.schema.declaration()?, self.rows)? {
            out.write_all(line.as_bytes())?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
