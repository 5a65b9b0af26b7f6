//! `taximeter export`: the journal as lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{LedgerId, Position};

use crate::backend::Backend;
use crate::ledger::LedgerArgs;
use crate::ledger::show::number;
use crate::output::{Failure, print_json, tell, usage};
use crate::progress::Progress;

/// Write the journal as lines of JSON
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter export --output census.jsonl
  taximeter export | zstd > census.jsonl.zst

Every line is a record. Its hash is the BLAKE3 hash of the line, and the next line repeats it. The last line states the end of the \
journal, so that an incomplete file is recognised. `taximeter import` creates a ledger from an export, and \
`taximeter ledger restore --receipts` takes missing records from it. Other processes may write to the ledger meanwhile.")]
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
            return Err(usage("an export is already JSON; use --json only with --output"));
        }
        let backend = self.ledger.backend()?;
        let (ledger, newest) = match &self.output {
            Some(path) => to_file(&*backend, path)?,
            None => write(&*backend, io::stdout().lock())?,
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

/// Exports to a new file, which is removed if the export fails.
fn to_file(backend: &dyn Backend, path: &Path) -> Result<(LedgerId, Position), Failure> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            usage(format!("there is a file {} already; name another, or move it", path.display()))
        }
        _ => Failure::Other(format!("the export {} cannot be written: {error}", path.display())),
    };
    let file = File::create_new(path).map_err(cannot)?;
    let written = write(backend, &file).and_then(|written| file.sync_all().map(|()| written).map_err(cannot));
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write(backend: &dyn Backend, out: impl Write) -> Result<(LedgerId, Position), Failure> {
    let mut out = ClosableOutput { inner: BufWriter::new(out), is_closed: false };
    match backend.export(&mut out, &Progress::new("exporting").shares()) {
        Err(_) if out.is_closed => Err(Failure::ClosedPipe),
        exported => exported,
    }
}

/// Notes if the reader closes the output, which is no failure.
struct ClosableOutput<W: Write> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> ClosableOutput<W> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for ClosableOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}
