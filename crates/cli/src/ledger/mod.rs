//! Budgets that last: the commands about a ledger.

pub mod account;
pub mod account_rules;
pub mod backup;
pub mod charge;
pub mod checkpoint;
pub mod export;
pub mod history;
pub mod import;
pub mod manage;
mod mechanism;
pub mod proof;
pub mod quote;
pub mod receipt;
mod request;
pub mod show;
pub mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use taximeter_ledger::{Error, Location, Note, Options, Who};

use crate::backend::{Backend, Local, Remote};
use crate::config::{FoundSetting, Setting};
use crate::output::{Failure, usage};
use crate::signing::SigningArgs;

/// Which ledger, and how to answer.
#[derive(Args)]
#[command(next_help_heading = "The ledger")]
pub struct LedgerArgs {
    /// A file, or a postgres:// URL; put a URL with a password in the variable, where other users cannot see it [default:
    /// $TAXIMETER_LEDGER, or taximeter.db in the working folder]
    #[arg(long, value_name = "PATH|URL")]
    ledger: Option<String>,
    /// A server to use instead, with a token in TAXIMETER_TOKEN: https://…, or http://… for a server on this machine [default:
    /// $TAXIMETER_SERVER, unless --ledger is given]
    #[arg(long, value_name = "URL", conflicts_with_all = ["ledger", "witness"])]
    server: Option<String>,
    /// The file that remembers the ledger's newest record [default: $TAXIMETER_WITNESS, or next to the ledger; for PostgreSQL in the
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
    /// Who asks: a note, not a proof (at most 128 bytes)
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// What it is for (at most 1024 bytes)
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl LedgerArgs {
    /// The server if one is named, otherwise this machine.
    pub fn backend(&self) -> Result<Box<dyn Backend>, Failure> {
        self.backend_with(None)
    }

    /// As `backend`, with the value of --data.
    pub fn backend_with(&self, data: Option<&Path>) -> Result<Box<dyn Backend>, Failure> {
        let Some(url) = self.server()? else { return Ok(Box::new(self.local(data)?)) };
        for (flag, is_given) in [("--witness", self.witness.is_some()), ("--data", data.is_some())] {
            if is_given {
                return Err(usage(format!(
                    "{flag} is for a ledger on this machine, but the command goes to the server {url}; omit {flag}, or name the ledger \
                     with --ledger"
                )));
            }
        }
        Ok(Box::new(Remote::connect(&url)?))
    }

    /// The ledger on this machine.
    pub fn local(&self, data: Option<&Path>) -> Result<Local, Failure> {
        let data = match data {
            Some(folder) => Some(folder.to_path_buf()),
            None => Setting::Data.path()?,
        };
        let local = Local::new(self.location()?, self.witness()?, data);
        Ok(local.signed_by(SigningArgs::default().signing()?))
    }

    /// The server, if there is one. A ledger overrides a server that is named further away: flags, then the environment, then the file.
    pub fn server(&self) -> Result<Option<String>, Failure> {
        match (&self.server, &self.ledger) {
            (Some(url), _) => return Ok(Some(url.clone())),
            (None, Some(_)) => return Ok(None),
            (None, None) => {}
        }
        let in_environment = [Setting::Server, Setting::Ledger].map(Setting::in_environment);
        let found = match in_environment {
            [Some(server), _] => Some(server),
            [None, Some(_)] => None,
            [None, None] => Setting::Server.in_file()?,
        };
        found.map(FoundSetting::text).transpose()
    }

    /// The value of a flag, and its name.
    pub fn flag(&self, setting: Setting) -> Option<(&'static str, OsString)> {
        match setting {
            Setting::Ledger => Some(("--ledger", self.ledger.as_ref()?.into())),
            Setting::Server => Some(("--server", self.server.as_ref()?.into())),
            Setting::Witness => Some(("--witness", self.witness.as_ref()?.into())),
            _ => None,
        }
    }

    /// Where the ledger on this machine is.
    pub fn location(&self) -> Result<Location, Failure> {
        if let Some(url) = self.server()? {
            return Err(usage(format!(
                "this command runs only on the ledger's machine, not through the server {url}: run it there, or name a ledger on this \
                 machine with --ledger"
            )));
        }
        let text = match &self.ledger {
            Some(text) => Some(text.clone()),
            None => Setting::Ledger.text()?,
        };
        Ok(text.map_or_else(|| Ok(Location::File("taximeter.db".into())), |text| Location::parse(&text))?)
    }

    /// Where the witness is, if it was given.
    pub fn witness(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.witness {
            Some(path) => Ok(Some(path.clone())),
            None => Setting::Witness.path(),
        }
    }

    /// The options to open a ledger for writing.
    pub fn options(&self, create: bool) -> Result<Options, Failure> {
        Ok(Options { witness: self.witness()?, create, ..Options::default() })
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
