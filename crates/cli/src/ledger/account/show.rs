//! `taximeter account show`: everything about one account.

use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::AccountName;

use crate::ledger::LedgerArgs;
use crate::ledger::show::account_lines;
use crate::output::{Failure, print};

/// Show everything about an account
#[derive(Args)]
#[command(after_help = "Example: taximeter account show census/alice")]
pub struct Show {
    /// The account
    name: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl Show {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.name)?;
        let account = self.ledger.office()?.account(&name)?;
        print(self.ledger.json, &account, || account_lines(&account).to_string())
    }
}
