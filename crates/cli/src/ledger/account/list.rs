//! `taximeter account list`: all accounts, as trees.

use std::collections::HashSet;
use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::AccountName;
use taximeter_service::AccountDocument;

use crate::ledger::LedgerArgs;
use crate::ledger::show;
use crate::output::{Failure, print, thousands};
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
        print(self.ledger.json, &list, || text(&list.accounts))
    }
}

fn text(accounts: &[AccountDocument]) -> String {
    if accounts.is_empty() {
        return "there are no accounts; `account create` makes one".to_string();
    }
    let mut table = Table::new(&["account", "budget", "rule", ">left", ">reading", ">charges", "standing"]);
    let listed: HashSet<&str> = accounts.iter().map(|account| account.account.as_str()).collect();
    accounts.iter().for_each(|account| table.row(row(account, &listed)));
    table.to_string()
}

fn row(account: &AccountDocument, listed: &HashSet<&str>) -> [String; 7] {
    let filter = account.filter.as_ref();
    [
        place(&account.account, listed),
        filter.map_or("–".to_string(), |filter| show::budget(&filter.budget)),
        filter.map_or(&account.odometer.rule, |filter| &filter.rule).clone(),
        show::share(account.left()),
        show::reading(account.reading, show::is_unknown(account)),
        thousands(account.charges),
        show::standing(account),
    ]
}

/// The name below those above it that are listed too: an analyst may not see them.
fn place(name: &AccountName, listed: &HashSet<&str>) -> String {
    let above: Vec<&str> = name.path().filter(|above| *above != name.as_str() && listed.contains(above)).collect();
    let own = above.last().map_or(name.as_str(), |above| &name.as_str()[above.len() + 1..]);
    format!("{}{own}", "  ".repeat(above.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_below_those_above_it_that_are_listed() {
        let listed = HashSet::from(["census", "census/alice/thesis", "census/alice/thesis/one", "town/bob"]);
        for (name, shown) in [
            ("census", "census"),
            ("census/alice/thesis", "  alice/thesis"),
            ("census/alice/thesis/one", "    one"),
            ("town/bob", "town/bob"),
        ] {
            assert_eq!(place(&AccountName::parse(name).unwrap(), &listed), shown);
        }
    }
}
