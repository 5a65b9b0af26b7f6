//! The outcome of a charge for people: a receipt with the accounts that paid, or a refusal.

use taximeter_accounting::Cost;
use taximeter_ledger::Privacy;
use taximeter_service::{ChargeRequest, Charged, Committed, Paid, Refused};

use crate::advice;
use crate::key_values::KeyValues;
use crate::ledger::show;
use crate::table::TextTable;

/// A charge that is on the ledger.
pub fn charged(charged: &Charged, request: &ChargeRequest) -> String {
    let costs: Vec<Cost> = request.costs.iter().map(|cost| cost.0).collect();
    let costs = show::costs(&costs);
    let mut lines = KeyValues::default();
    match charged.outcome {
        Committed::Before => lines.add("charged before", format!("{costs}; nothing was charged now")),
        Committed::Now => lines.add("charged", costs),
    }
    lines.add("record", charged.sequence);
    if let Some(hash) = charged.hash {
        lines.add("hash", hash);
    }
    lines.add("key", &charged.key);
    format!("{lines}\n\n{}\n\n{}", table(&charged.accounts), meaning(&charged.accounts))
}

/// A line for each account.
fn table(accounts: &[Paid]) -> TextTable {
    let mut table = TextTable::new(&["account", ">left", "guarantee", ">reading"]);
    for paid in accounts {
        table.row([
            paid.account.to_string(),
            show::share(paid.left.map(|left| left.0)),
            paid.filter_guarantee.clone().unwrap_or("no budget".to_string()),
            show::reading(paid.reading, false),
        ]);
    }
    table
}

/// The guarantees of the readings. Accounts with the same guarantee share a line.
fn meaning(accounts: &[Paid]) -> KeyValues {
    let mut lines = KeyValues::default();
    if let Some(Paid { unit, neighbours, .. }) = accounts.first() {
        lines.add("protects", Privacy { unit: unit.clone(), neighbours: *neighbours });
    }
    for (at, paid) in accounts.iter().enumerate() {
        if accounts[..at].iter().any(|told| told.guarantee == paid.guarantee) {
            continue;
        }
        let same = accounts.iter().filter(|other| other.guarantee == paid.guarantee);
        let same: Vec<&str> = same.map(|other| other.account.as_str()).collect();
        let whose = if same.len() == accounts.len() { String::new() } else { format!(" ({})", same.join(", ")) };
        lines.add("reading", format!("{}{whose}", paid.guarantee));
    }
    for paid in accounts {
        if let Some(why) = &paid.reading_reason {
            lines.add("", format!("{}: {why}", paid.account));
        }
    }
    lines
}

/// A refusal.
pub fn refused(refused: &Refused) -> KeyValues {
    let mut lines = KeyValues::default();
    lines.add("refused", format!("{}; nothing was charged", show::costs(&refused.asked)));
    for account in &refused.refused {
        match &account.account {
            Some(name) => {
                let advice = advice::of_limit(account.parameter.as_deref());
                lines.add("by", format!("{name}: {}{advice}", account.reason));
            }
            // An account above that the caller may not see; the reason says so.
            None => lines.add("by", &account.reason),
        }
    }
    for name in &refused.halted {
        let record = refused.sequence.map_or(String::new(), |sequence| format!(" (record {sequence})"));
        lines.add("", format!("{name} is halted permanently now, since it is set to stop{record}"));
    }
    let is_all_seen = refused.refused.iter().all(|account| account.account.is_some());
    lines.add("fits", what_fits(&refused.asked, refused.fits.as_deref(), refused.not_open, is_all_seen));
    lines
}

/// The largest costs that fit on all accounts, or on those that the caller may see.
pub fn what_fits(asked: &[Cost], fits: Option<&[Cost]>, is_not_open: bool, is_all_seen: bool) -> String {
    match fits {
        Some(fits) if is_all_seen => format!("{}, on all accounts", show::fitting(fits)),
        Some(fits) => format!("{}, on the accounts that you may see", show::fitting(fits)),
        None if is_not_open => "nothing: an account is not open".to_string(),
        None if is_all_seen => taximeter_service::words::nothing_fits(asked).to_string(),
        None => "not known: it depends on an account that you may not see".to_string(),
    }
}
