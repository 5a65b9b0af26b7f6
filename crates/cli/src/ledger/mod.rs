//! Budgets that last: the commands about a ledger.

pub mod account;
pub mod charge;
pub mod export;
pub mod history;
pub mod import;
pub mod manage;
mod mechanism;
pub mod quote;
pub mod receipt;
mod request;
pub mod show;
pub mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use taximeter_ledger::{Error, Location, Note, Options, Who};

use crate::office::{Client, Local, Office};
use crate::output::Failure;

/// Which ledger, and how to answer.
#[derive(Args)]
#[command(next_help_heading = "The ledger")]
pub struct LedgerArgs {
    /// A file, or a postgres:// URL; one with a password is safer in the variable, where other users cannot see it [default: $TAXIMETER_LEDGER, or taximeter.db in the working folder]
    #[arg(long, value_name = "PATH|URL")]
    ledger: Option<String>,
    /// A server to ask instead, with a token in TAXIMETER_TOKEN: https://… or, on this machine alone, http://… [default:
    /// $TAXIMETER_SERVER, unless --ledger is given]
    #[arg(long, value_name = "URL", conflicts_with_all = ["ledger", "witness"])]
    server: Option<String>,
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
    /// Where the command is carried out: by a server if one is named, otherwise here.
    pub fn office(&self) -> Result<Box<dyn Office>, Failure> {
        self.office_with(None)
    }

    /// The same, with the folder of the gate, if it was said.
    pub fn office_with(&self, data: Option<&Path>) -> Result<Box<dyn Office>, Failure> {
        let Some(url) = self.server()? else { return Ok(Box::new(self.local(data)?)) };
        for (flag, is_given) in [("--witness", self.witness.is_some()), ("--data", data.is_some())] {
            if is_given {
                return Err(Failure::Usage(format!(
                    "{flag} is about a ledger on this machine, but the server {url} is asked; leave {flag} out, or name the ledger with \
                     --ledger"
                )));
            }
        }
        Ok(Box::new(Client::connect(&url)?))
    }

    /// The ledger on this machine.
    pub fn local(&self, data: Option<&Path>) -> Result<Local, Failure> {
        Ok(Local::new(self.location()?, self.witness(), data.map(Path::to_path_buf)))
    }

    /// The server, if one is to be asked: a ledger that is named goes before the environment.
    fn server(&self) -> Result<Option<String>, Failure> {
        match (&self.server, &self.ledger) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, Some(_)) => Ok(None),
            (None, None) => text_of("TAXIMETER_SERVER", "--server"),
        }
    }

    /// Where the ledger on this machine is.
    pub fn location(&self) -> Result<Location, Failure> {
        if let Some(url) = self.server()? {
            return Err(Failure::Usage(format!(
                "this is done at the machine of the ledger, not through the server {url}: do it there, or name a ledger of this machine \
                 with --ledger"
            )));
        }
        if let Some(text) = &self.ledger {
            return Ok(Location::parse(text)?);
        }
        match text_of("TAXIMETER_LEDGER", "--ledger")? {
            None => Ok(Location::File("taximeter.db".into())),
            Some(text) => Ok(Location::parse(&text)?),
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
}

impl SignatureArgs {
    pub fn by(&self) -> Result<Option<Who>, Error> {
        self.by.as_deref().map(|text| Who::parse("name in --by", text)).transpose()
    }

    pub fn note(&self) -> Result<Option<Note>, Error> {
        self.note.as_deref().map(|text| Note::parse("note", text)).transpose()
    }
}

/// A variable of the environment that is text; `flag` can be given in its place.
fn text_of(name: &str, flag: &str) -> Result<Option<String>, Failure> {
    let not_text = |_| Failure::Usage(format!("{name} is not UTF-8 text; give it with {flag}"));
    variable(name).map(|value| value.into_string().map_err(not_text)).transpose()
}

/// A variable of the environment; an empty one counts as none.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
