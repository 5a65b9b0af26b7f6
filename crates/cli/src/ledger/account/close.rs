//! `taximeter account close`: no more charges.

use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::AccountName;
use taximeter_service::CloseRequest;

use crate::ledger::{LedgerArgs, SignatureArgs};
use crate::output::{Failure, print};

/// Close an account for good: it takes no more charges, nor does any account below it
#[derive(Args)]
#[command(after_help = "Example: taximeter account close census/alice --by owner --note \"the project ended\"")]
pub struct Close {
    /// The account
    name: String,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl Close {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.name)?;
        let request = CloseRequest { by: self.signature.by()?, note: self.signature.note()? };
        let closed = self.ledger.office()?.close_account(&name, &request)?;
        print(self.ledger.json, &closed, || {
            format!("closed {name} for good, in record {}; its history stays", closed.sequence)
        })
    }
}
