//! `taximeter export`: the journal as lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{LedgerId, Position};

use crate::ledger::LedgerArgs;
use crate::ledger::show::number;
use crate::office::Office;
use crate::output::{Failure, print_json, tell};
use crate::progress::Progress;

/// Write the journal as lines of JSON
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter export --output census.jsonl
  taximeter export | zstd > census.jsonl.zst

Every line is a record, and its hash is the BLAKE3 hash of the line; the next line names it. The last line says where the journal \
ends, so that a file that was cut off is not taken for the whole. `taximeter import` makes a ledger from it, and \
`taximeter ledger restore --receipts` takes missing records from it. Works beside a running writer.")]
pub struct ExportCommand {
    /// The file to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document {
    ledger: LedgerId,
    records: u64,
    newest: Position,
    output: String,
}

impl ExportCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.ledger.json && self.output.is_none() {
            return Err(Failure::Usage(
                "the export is JSON by itself; --json goes with --output, or leave it out".to_string(),
            ));
        }
        let office = self.ledger.office()?;
        let (ledger, newest) = match &self.output {
            Some(path) => to_file(&*office, path)?,
            None => write(&*office, io::stdout().lock())?,
        };
        let records = newest.sequence + 1;
        match &self.output {
            Some(path) if self.ledger.json => {
                print_json(&Document { ledger, records, newest, output: path.display().to_string() })?;
            }
            _ => tell(&format!("exported {}, up to hash {}", number(records, "record", "records"), newest.hash)),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An export that failed leaves no file behind.
fn to_file(office: &dyn Office, path: &Path) -> Result<(LedgerId, Position), Failure> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Usage(format!("there is a file {} already; name another, or move it away", path.display()))
        }
        _ => Failure::Other(format!("the export {} cannot be written: {error}", path.display())),
    };
    let file = File::create_new(path).map_err(cannot)?;
    let written = write(office, &file).and_then(|written| file.sync_all().map(|()| written).map_err(cannot));
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write(office: &dyn Office, out: impl Write) -> Result<(LedgerId, Position), Failure> {
    let mut out = Out { inner: BufWriter::new(out), is_closed: false };
    let progress = Progress::new("exporting");
    let exported = office.export(&mut out, &|done| progress.share(done));
    match exported {
        Err(_) if out.is_closed => Err(Failure::ClosedPipe),
        exported => exported,
    }
}

/// Remembers that the reader of the output went away, which is no failure.
struct Out<W: Write> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> Out<W> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}
