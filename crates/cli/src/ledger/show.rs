//! Accounts, what is left of them and what was charged, in words.

use taximeter_accounting::{Amount, Budget, Cost, OnHalt};
use taximeter_ledger::{Account, AccountName, Event, Standing};

use crate::args::shown_parameters;
use crate::output::{show_cost, show_number, thousands};

/// Why an account has no reading; nothing if it has one.
pub fn unbounded(account: &Account) -> Option<&'static str> {
    match account.standing() {
        Standing::Exhausted => Some("what was charged is not known: the ledger was restored without it"),
        _ => account.odometer().reading().unbounded,
    }
}

/// Whether what was charged to an account is not known.
pub fn is_unknown(account: &Account) -> bool {
    account.standing() == Standing::Exhausted
}

/// Which account on the path to the root, this one included, takes no charges; nothing if all do.
pub fn blocked_by<'a>(account: &Account, find: impl Fn(&AccountName) -> Option<&'a Account>) -> Option<&'a Account> {
    let mut name = Some(account.name().clone());
    let mut blocking = None;
    while let Some(current) = name {
        blocking = find(&current).filter(|account| account.standing() != Standing::Open).or(blocking);
        name = current.parent();
    }
    blocking
}

/// What was fixed about an account when it was opened, in lines.
pub fn fixed_lines(account: &Account) -> Lines {
    let mut lines = Lines::default();
    lines.add("account", account.name());
    lines.add("protects", account.privacy());
    match account.filter() {
        Some(filter) => {
            let spec = filter.spec();
            lines.add("budget", budget(&spec.budget));
            lines.add("filter", format!("{}: {}", spec.rule.name(), filter.guarantee()));
            lines.add("", spec.rule.citation());
            if let Some(order) = spec.order {
                lines.add("", format!("order {}", order.significant(8)));
            }
            if let Some(limit) = spec.max_cost {
                lines.add("", format!("a single cost may be at most {limit}"));
            }
            if spec.on_halt == OnHalt::Stop {
                lines.add("", "its first halt is for good");
            }
        }
        None => lines.add("budget", "none: it only reads"),
    }
    let spec = account.odometer().spec();
    lines.add("odometer", format!("{}: {}", spec.rule().name(), account.odometer().reading().guarantee));
    lines.add("", spec.rule().citation());
    for (name, value) in shown_parameters(spec) {
        lines.add("", format!("{} {value}", name.trim_start_matches("--")));
    }
    lines
}

/// Everything about an account, in lines.
pub fn account_lines(account: &Account, blocked_by: Option<&Account>) -> Lines {
    let mut lines = fixed_lines(account);
    lines.add("standing", standing(account, blocked_by));
    if let Some(spent) = account.filter().map(|filter| filter.spent()) {
        let known = if is_unknown(account) { "at least " } else { "" };
        let sum = spent.epsilon.map_or("∞".to_string(), |sum| sum.significant(8).to_string());
        lines.add("spent", format!("{known}Σε = {sum}, Σδ = {}", spent.delta));
        lines.add("left", left(account));
    }
    lines.add("reading", reading(account.reading(), is_unknown(account)));
    if let Some(why) = unbounded(account) {
        lines.add("", why);
    }
    lines.add("charges", thousands(account.charges()));
    lines.add("newest", format!("record {}", account.sequence()));
    lines
}

/// Whether an account takes charges, and if not, because of which.
pub fn standing(account: &Account, blocked_by: Option<&Account>) -> String {
    match blocked_by {
        Some(other) if account.standing() == Standing::Open => {
            format!("{} is {}", other.name(), other.standing().name())
        }
        _ => account.standing().name().to_string(),
    }
}

/// A budget, with what is set aside.
fn budget(budget: &Budget) -> String {
    match budget.mechanism_delta() {
        aside if aside.is_zero() => budget.to_string(),
        aside => format!("{budget}, of which {aside} is set aside for the mechanisms' own delta"),
    }
}

/// What is left of an account with a budget.
fn left(account: &Account) -> String {
    let share = share(account.left());
    let Some(filter) = account.filter().filter(|_| account.standing() == Standing::Open) else { return share };
    let rule = filter.spec().rule.name();
    let sum = |sum: Amount| format!("ε = {} by adding up", sum.significant(8));
    match (filter.is_branch_open(), filter.left().epsilon) {
        (true, Some(epsilon)) if rule != "basic" => format!("{share} by the rule {rule}, or {}", sum(epsilon)),
        (true, Some(epsilon)) => format!("{share}, {}", sum(epsilon)),
        (true, None) => format!("{share} by the rule {rule}"),
        (false, epsilon) => format!(
            "{share}, {}; the rule {rule} was closed by a charge that only adding up admitted",
            epsilon.map_or("nothing by adding up".to_string(), sum)
        ),
    }
}

/// A branch of a filter that is closed for good.
pub fn closed_branch(account: &AccountName, branch: &str) -> String {
    match branch {
        "basic" => format!("{account}: adding up (the basic branch of its filter), for good, as this has no finite ε"),
        rule => format!("{account}: the rule {rule}, for good, as only adding up admits this"),
    }
}

/// A share of a budget.
pub fn share(left: Option<f64>) -> String {
    left.map_or("–".to_string(), |left| format!("{:.2} %", 100.0 * left))
}

/// A reading. Where there is none, there is no bound, or what was charged is not known.
pub fn reading(value: Option<f64>, exhausted: bool) -> String {
    match value {
        Some(value) => show_number(value),
        None if exhausted => "unknown".to_string(),
        None => "∞".to_string(),
    }
}

/// A list of costs in few words.
pub fn costs(costs: &[Cost]) -> String {
    const SHOWN: usize = 3;
    match costs {
        [cost] => show_cost(cost),
        [cost, others @ ..] if others.iter().all(|other| other == cost) => {
            format!("{} × ({})", costs.len(), show_cost(cost))
        }
        _ => {
            let shown: Vec<String> = costs.iter().take(SHOWN).map(show_cost).collect();
            match costs.len().saturating_sub(SHOWN) {
                0 => shown.join(" + "),
                more => format!("{} + {more} more", shown.join(" + ")),
            }
        }
    }
}

/// Costs that fit, rounded down to what people can read.
pub fn fitting(fits: &[Cost]) -> String {
    let short: Vec<Cost> = fits.iter().map(|cost| cost.with_size(cost.size().significant(6))).collect();
    costs(&short)
}

/// What happened, in a word.
pub fn event(event: &Event) -> &'static str {
    match event {
        Event::Ledger { .. } => "ledger",
        Event::Open(_) => "open",
        Event::Charge(_) => "charge",
        Event::Halt(_) => "halt",
        Event::Close { .. } => "close",
        Event::Restore { .. } => "restore",
    }
}

/// A number of things.
pub fn number(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), if count == 1 { one } else { many })
}

/// A time of the journal to the second.
pub fn to_the_second(time: &str) -> String {
    time.chars().take("2026-01-01T00:00:00".len()).collect::<String>().replace('T', " ")
}

/// Lines of a name and what stands behind it.
#[derive(Default)]
pub struct Lines(Vec<(&'static str, String)>);

impl Lines {
    /// Adds a line; one without a name goes on with the line before.
    pub fn add(&mut self, name: &'static str, text: impl ToString) {
        self.0.push((name, text.to_string()));
    }
}

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (at, (name, text)) in self.0.iter().enumerate() {
            let end = if at + 1 == self.0.len() { "" } else { "\n" };
            write!(f, "{name:<width$}  {text}{end}")?;
        }
        Ok(())
    }
}
