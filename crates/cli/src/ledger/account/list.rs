//! `taximeter account list`: all accounts, as trees.

use std::collections::HashMap;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{Account, AccountName, LedgerId};

use crate::ledger::LedgerArgs;
use crate::ledger::document::AccountJson;
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

#[derive(Serialize)]
struct Document<'a> {
    ledger: LedgerId,
    accounts: Vec<AccountJson<'a>>,
}

impl List {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let reader = self.ledger.read()?;
        let mut accounts: Vec<&Account> = reader.accounts().iter().collect();
        // Part by part, so that what is below an account follows it.
        accounts.sort_by(|one, other| parts(one.name()).cmp(parts(other.name())));
        let by_name: HashMap<&AccountName, &Account> =
            accounts.iter().map(|account| (account.name(), *account)).collect();
        let blocked_by = |account: &Account| show::blocked_by(account, |name| by_name.get(name).copied());
        if self.ledger.json {
            let accounts = accounts.iter();
            let accounts = accounts.map(|account| AccountJson::new(account, blocked_by(account).map(Account::name)));
            print_json(&Document { ledger: reader.id(), accounts: accounts.collect() })?;
        } else if accounts.is_empty() {
            print_line("there are no accounts; `account create` makes one")?;
        } else {
            let mut table = Table::new(&["account", "budget", "rule", ">left", ">reading", ">charges", "standing"]);
            accounts.iter().for_each(|account| table.row(row(account, blocked_by(account))));
            print_line(&table.to_string())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn parts(name: &AccountName) -> std::str::Split<'_, char> {
    name.as_str().split('/')
}

fn row(account: &Account, blocked_by: Option<&Account>) -> [String; 7] {
    let depth = parts(account.name()).count() - 1;
    let last = parts(account.name()).next_back().unwrap_or_default();
    let spec = account.filter().map(|filter| filter.spec());
    [
        format!("{}{last}", "  ".repeat(depth)),
        spec.map_or("–".to_string(), |spec| spec.budget.to_string()),
        spec.map_or(account.odometer().spec().rule().name(), |spec| spec.rule.name()).to_string(),
        show::share(account.left()),
        show::reading(account.reading(), show::is_unknown(account)),
        thousands(account.charges()),
        show::standing(account, blocked_by),
    ]
}
