//! `taximeter import`: a ledger from an export.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{ImportedJournal, LedgerId, Location, Position, import};

use crate::key_values::KeyValues;
use crate::ledger::LedgerArgs;
use crate::ledger::show::number;
use crate::output::{Failure, print, tell, usage};
use crate::progress::{CountingReader, Progress};

/// Create a ledger from an export
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter import census.jsonl --ledger copy.db
  zstd -d < census.jsonl.zst | taximeter import - --ledger postgres://taximeter@db.example/budgets

Every record is recomputed during the import; if one differs, nothing is imported. The copy is the same ledger, not a new one: do \
not continue to use the exported one, or its budgets are spent twice.")]
pub struct ImportCommand {
    /// The export, or - for standard input
    #[arg(value_name = "FILE|-")]
    input: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document {
    ledger: LedgerId,
    records: u64,
    accounts: usize,
    newest: Position,
    witness: String,
}

impl Document {
    fn text(&self) -> String {
        let mut lines = KeyValues::default();
        lines.add("ledger", self.ledger);
        lines.add("newest", format!("record {}, hash {}", self.newest.sequence, self.newest.hash));
        lines.add("witness", &self.witness);
        let [records, accounts] =
            [number(self.records, "record", "records"), number(self.accounts as u64, "account", "accounts")];
        format!("imported {records}, {accounts}\n\n{lines}")
    }
}

impl ImportCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let location = self.ledger.location()?;
        let imported = if self.input == "-" {
            self.import(&location, io::stdin().lock(), None)?
        } else {
            let cannot = |error: io::Error| usage(format!("the export {:?} cannot be read: {error}", self.input));
            let file = File::open(&self.input).map_err(cannot)?;
            let bytes = file.metadata().map_err(cannot)?.len();
            self.import(&location, file, Some(bytes))?
        };
        let ImportedJournal { ledger, head: newest, accounts, witness } = imported;
        let (records, witness) = (newest.sequence + 1, witness.display().to_string());
        let imported = Document { ledger, records, accounts, newest, witness };
        let done = print(self.ledger.json, &imported, || imported.text())?;
        if !self.ledger.json {
            tell(
                "This is the same ledger, not a new one: do not use the exported one any more, or its budgets are spent twice.",
            );
        }
        Ok(done)
    }

    /// Imports and shows the progress: as a share of the bytes if their number is known.
    fn import(&self, location: &Location, input: impl Read, bytes: Option<u64>) -> Result<ImportedJournal, Failure> {
        let read = Cell::new(0);
        let mut input = BufReader::new(CountingReader::new(input, |bytes| read.set(bytes)));
        let progress = Progress::new("importing");
        let mut tell = |records: u64| match bytes {
            Some(bytes) => progress.share(read.get() as f64 / bytes.max(1) as f64),
            None => progress.count(records),
        };
        Ok(import(location, &self.ledger.options(true)?, &mut input, &mut tell)?)
    }
}
