//! Warnings for owners about something that was done nevertheless.

use taximeter_accounting::Budget;
use taximeter_ledger::{AccountName, Ledger};

use crate::documents::token::NewToken;

/// Warns about a new account whose budget is above that of the nearest account above it: it can never be spent in full.
pub fn about_budget(ledger: &Ledger, name: &AccountName) -> Vec<String> {
    let budget_of = |name: &AccountName| -> Option<Budget> {
        ledger.account(name).ok()?.filter().map(|filter| filter.spec().budget)
    };
    let above = std::iter::successors(name.parent(), AccountName::parent)
        .find_map(|above| budget_of(&above).map(|budget| (above, budget)));
    match (budget_of(name), above) {
        (Some(own), Some((above, budget))) if own.epsilon() > budget.epsilon() || own.delta() > budget.delta() => {
            vec![format!("the budget of {name}, {own}, is above that of {above}, {budget}, which pays as well")]
        }
        _ => Vec::new(),
    }
}

/// Warns about accounts and datasets of a token that do not exist. A dataset has an account of the same name.
pub fn about_token(new: &NewToken, has_account: impl Fn(&AccountName) -> bool) -> Vec<String> {
    let missing = |what: &str, names: &[AccountName]| -> Vec<String> {
        let names = names.iter().filter(|name| !has_account(name));
        names.map(|name| format!("there is no {what} {name} yet; the token covers it once it exists")).collect()
    };
    [missing("account", &new.accounts), missing("dataset", &new.datasets)].concat()
}
