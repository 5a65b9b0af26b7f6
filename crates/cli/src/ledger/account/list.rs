//! `taximeter account list`: all accounts, as trees.

use std::process::ExitCode;

use clap::Args;
use taximeter_api::AccountDocument;

use crate::ledger::LedgerArgs;
use crate::ledger::show;
use crate::output::{Failure, print_json, print_line, thousands};
use crate::table::Table;

/// List all accounts with what is left
#[derive(Args)]
#[command(after_help = "Example: taximeter account list --json")]
pub struct List {
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl List {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let list = self.ledger.office()?.accounts()?;
        if self.ledger.json {
            print_json(&list)?;
        } else if list.accounts.is_empty() {
            print_line("there are no accounts; `account create` makes one")?;
        } else {
            let mut table = Table::new(&["account", "budget", "rule", ">left", ">reading", ">charges", "standing"]);
            list.accounts.iter().for_each(|account| table.row(row(account)));
            print_line(&table.to_string())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(account: &AccountDocument) -> [String; 7] {
    let parts: Vec<&str> = account.account.as_str().split('/').collect();
    let (last, above) = parts.split_last().unwrap_or((&"", &[]));
    let filter = account.filter.as_ref();
    [
        format!("{}{last}", "  ".repeat(above.len())),
        filter.map_or("–".to_string(), |filter| show::budget(&filter.budget)),
        filter.map_or(&account.odometer.rule, |filter| &filter.rule).clone(),
        show::share(account.left()),
        show::reading(account.reading, show::is_unknown(account)),
        thousands(account.charges),
        show::standing(account),
    ]
}
