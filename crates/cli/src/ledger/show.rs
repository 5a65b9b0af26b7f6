//! Accounts for people: their rules, what is spent and what is left.

use taximeter_accounting::{Amount, Cost, OnHalt};
use taximeter_ledger::Standing;

pub use taximeter_service::words::counted as number;
use taximeter_service::{AccountDocument, BudgetDocument, Computed, FilterDocument};

pub use taximeter_service::words::show_costs as costs;

use crate::advice;
use crate::key_values::KeyValues;
use crate::output::{show_number, show_share, show_spent, thousands};

/// Whether the charges of an account are unknown.
pub fn is_unknown(account: &AccountDocument) -> bool {
    account.standing == Standing::Exhausted
}

/// What was fixed when an account was opened.
pub fn fixed_lines(account: &AccountDocument) -> KeyValues {
    let mut lines = KeyValues::default();
    lines.add("account", &account.account);
    lines.add("protects", account.privacy());
    match &account.filter {
        Some(filter) => {
            lines.add("budget", budget_with_parts(&filter.budget));
            lines.add("filter", format!("{}: {}", filter.rule, filter.guarantee));
            lines.add("", &filter.citation);
            for (name, value) in &filter.parameters {
                lines.add("", format!("{name} {value}"));
            }
            if let Some(limit) = filter.max_cost {
                lines.add("", format!("a single cost may be at most {limit}"));
            }
            if filter.on_halt == OnHalt::Stop {
                lines.add("", "its first halt is permanent");
            }
        }
        None => lines.add("budget", "none: it only reads"),
    }
    lines.add("odometer", format!("{}: {}", account.odometer.rule, account.odometer.guarantee));
    lines.add("", &account.odometer.citation);
    for (name, value) in &account.odometer.parameters {
        lines.add("", format!("{name} {value}"));
    }
    lines
}

/// Everything about an account.
pub fn account_lines(account: &AccountDocument) -> KeyValues {
    let mut lines = fixed_lines(account);
    lines.add("standing", standing(account));
    if let Some(filter) = &account.filter {
        let known = if is_unknown(account) { "at least " } else { "" };
        let sum = show_spent(filter.spent.epsilon);
        lines.add("spent", format!("{known}Σε = {sum}, Σδ = {}", filter.spent.delta));
        lines.add("left", left(account.standing, filter));
    }
    lines.add("reading", reading(account.reading, is_unknown(account)));
    if let Some(why) = &account.reading_reason {
        let spent = account.filter.as_ref().map_or(Amount::ZERO, |filter| filter.spent.delta);
        lines.add("", advice::unbounded(why, account.odometer.mechanism_delta, spent));
    }
    lines.add("charges", thousands(account.charges));
    lines.add("newest", format!("record {}", account.newest_record));
    lines
}

/// Whether an account takes charges, or the account above that does not.
pub fn standing(account: &AccountDocument) -> String {
    match (&account.blocked_by, account.blocked_standing) {
        (Some(other), Some(standing)) if account.standing == Standing::Open => {
            format!("{other} is {}", standing.name())
        }
        _ => account.standing.name().to_string(),
    }
}

/// A budget.
pub fn budget(budget: &BudgetDocument) -> String {
    format!("({}, {})", budget.epsilon, budget.delta)
}

/// A budget, with what is set aside.
fn budget_with_parts(parts: &BudgetDocument) -> String {
    match parts.mechanism_delta {
        aside if aside.is_zero() => budget(parts),
        aside => format!("{}, of which {aside} is set aside for the mechanisms' own delta", budget(parts)),
    }
}

/// What is left of an account with a budget.
fn left(standing: Standing, filter: &FilterDocument) -> String {
    let share = share(Some(filter.left.share.0));
    if standing != Standing::Open {
        return share;
    }
    match filter.left.epsilon {
        Some(epsilon) => format!("{share}; at least ε = {} by adding up", epsilon.significant(8)),
        None => share,
    }
}

/// A share of a budget.
pub fn share(left: Option<f64>) -> String {
    left.map_or("–".to_string(), show_share)
}

/// A reading. It is missing if there is no bound, or if the charges are unknown.
pub fn reading(value: Option<Computed>, exhausted: bool) -> String {
    match value {
        Some(Computed(value)) => show_number(value),
        None if exhausted => "unknown".to_string(),
        None => "∞".to_string(),
    }
}

/// Costs that fit, rounded down to six significant digits.
pub fn fitting(fits: &[Cost]) -> String {
    let short: Vec<Cost> = fits.iter().map(|cost| cost.with_size(cost.size().significant(6))).collect();
    costs(&short)
}

/// A time of the journal without fractions of a second.
pub fn to_the_second(time: &str) -> String {
    time.chars().take("2026-01-01T00:00:00".len()).collect::<String>().replace('T', " ")
}
