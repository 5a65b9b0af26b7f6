//! `taximeter account show`: everything about one account.

use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::{Account, AccountName};

use crate::ledger::LedgerArgs;
use crate::ledger::document::AccountJson;
use crate::ledger::show::{account_lines, blocked_by};
use crate::output::{Failure, print_json, print_line};

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
        let reader = self.ledger.read()?;
        let account = reader.account(&name)?;
        let blocked_by = blocked_by(account, |name| reader.account(name).ok());
        match self.ledger.json {
            true => print_json(&AccountJson::new(account, blocked_by.map(Account::name)))?,
            false => print_line(&account_lines(account, blocked_by).to_string())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
