//! Budgets that last: the commands about a ledger.

pub mod account;
pub mod charge;
pub mod document;
pub mod export;
pub mod history;
pub mod import;
pub mod manage;
pub mod quote;
pub mod receipt;
mod request;
pub mod show;
pub mod verify;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use taximeter_ledger::{Error, Ledger, Location, Note, Options, Reader, Who};

use crate::output::{Failure, tell};

/// Which ledger, and how to answer.
#[derive(Args)]
#[command(next_help_heading = "The ledger")]
pub struct LedgerArgs {
    /// A file, or a postgres:// URL; one with a password is safer in the variable, where other users cannot see it [default: $TAXIMETER_LEDGER, or taximeter.db in the working folder]
    #[arg(long, value_name = "PATH|URL")]
    ledger: Option<String>,
    /// The file that remembers how far the ledger got [default: $TAXIMETER_WITNESS, or beside the ledger; for PostgreSQL in the
    /// user's state folder]
    #[arg(long, value_name = "PATH")]
    witness: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Who asks and why, for the journal.
#[derive(Args)]
#[command(next_help_heading = "For the journal")]
pub struct SignatureArgs {
    /// Who asks, in their own words: a note, not a proof (at most 128 bytes)
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// What it is for (at most 1024 bytes)
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl LedgerArgs {
    /// Where the ledger is.
    pub fn location(&self) -> Result<Location, Failure> {
        if let Some(text) = &self.ledger {
            return Ok(Location::parse(text)?);
        }
        match variable("TAXIMETER_LEDGER").map(OsString::into_string) {
            None => Ok(Location::File("taximeter.db".into())),
            Some(Ok(text)) => Ok(Location::parse(&text)?),
            Some(Err(_)) => {
                Err(Failure::Usage("TAXIMETER_LEDGER is not UTF-8 text; give the ledger with --ledger".to_string()))
            }
        }
    }

    /// Where the witness is, if it was said.
    pub fn witness(&self) -> Option<PathBuf> {
        self.witness.clone().or_else(|| variable("TAXIMETER_WITNESS").map(PathBuf::from))
    }

    /// How a ledger is opened for writing.
    pub fn options(&self, create: bool) -> Options {
        Options { witness: self.witness(), create, ..Options::default() }
    }

    /// Opens the ledger to write to it.
    pub fn write(&self) -> Result<Ledger, Failure> {
        Ok(Ledger::open(&self.location()?, self.options(false))?)
    }

    /// Opens the ledger to read it, beside whoever writes.
    pub fn read(&self) -> Result<Reader, Failure> {
        Ok(Reader::open(&self.location()?, self.witness().as_deref())?)
    }
}

impl LedgerArgs {
    /// Tells where a new ledger and its witness are.
    pub fn tell_about_new(&self, ledger: &Ledger) -> Result<(), Failure> {
        tell(&format!("made the ledger {} with the witness {}", self.location()?, ledger.witness().display()));
        tell(match self.witness() {
            None => {
                "  The witness remembers how far the ledger got, so that an old copy put back is noticed. Beside the ledger it is put\n  \
                 back with it and notices nothing: keep it on another disk (--witness PATH, or TAXIMETER_WITNESS).\n"
            }
            Some(_) => "  Name this witness with every command (--witness, or TAXIMETER_WITNESS).\n",
        });
        Ok(())
    }
}

impl SignatureArgs {
    pub fn by(&self) -> Result<Option<Who>, Error> {
        self.by.as_deref().map(|text| Who::parse("name in --by", text)).transpose()
    }

    fn note(&self) -> Result<Option<Note>, Error> {
        self.note.as_deref().map(|text| Note::parse("note", text)).transpose()
    }
}

/// A variable of the environment; an empty one counts as none.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
