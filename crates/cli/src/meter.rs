//! `taximeter meter`: costs on standard input, a decision and a reading for each.

use std::io::{self, BufRead, Read};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use taximeter_accounting::{
    Amount, Cost, Count, Declared, Filter, FilterRule, Forfeit, Odometer, OnHalt, Reading, Verdict,
};
use taximeter_api::{BalanceDocument, Computed};

use crate::args::{BudgetArgs, FilterAndOdometerArgs, shown_parameters};
use crate::output::{Failure, REFUSED, print_json, print_line, show_cost, show_count, show_number, tell};

/// Decide and read, cost by cost, from standard input
///
/// Each line is a bare epsilon such as 0.05, or a cost in JSON: {"epsilon":"0.05"}, {"epsilon":"0.05","delta":"1e-9"},
/// {"gaussian":"0.1"}, {"gaussian":{"sigma":"10","sensitivity":"1"}}, {"discrete_gaussian":"0.1"}, {"zcdp":"0.005"},
/// {"laplace":{"scale":"10","sensitivity":"1"}}, {"randomized_response":{"truth":"0.6"}}, {"exponential":"0.1"}.
/// A line that starts with ? asks what would happen and charges nothing.
#[derive(Args)]
#[command(after_help = "Example: printf '0.05\\n? 0.9\\n0.02\\n' | taximeter meter --budget 1,1e-6")]
pub struct Meter {
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print one JSON document a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rules: FilterAndOdometerArgs,
}

/// A longer line is not a cost.
const LONGEST_LINE: u64 = 64 * 1024;

impl Meter {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut ride = self.ride()?;
        tell(&ride.heading());
        if !self.json {
            print_line(&ride.columns())?;
        }
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            let read = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::Other(format!("line {number} cannot be read: {error}")))? == 0 {
                break;
            }
            let entry =
                parse(&line).map_err(|why| Failure::Usage(format!("line {number}: {why}; earlier lines stand")))?;
            let answer = ride
                .answer(entry)
                .map_err(|why| Failure::Usage(format!("line {number}: {why}; earlier lines stand")))?;
            match (self.json, &answer) {
                (true, Answer::Round(round)) => print_json(round)?,
                (true, Answer::Quote(quote)) => print_json(quote)?,
                (false, answer) => print_line(&answer.text())?,
            }
        }
        let stopped = ride.filter.spec().on_halt == OnHalt::Stop && ride.last_halted;
        Ok(if stopped { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
    }

    /// The filter and the odometer, with nothing charged.
    fn ride(&self) -> Result<Ride, Failure> {
        let (filter, odometer) = self.rules.with_budget(self.budget.budget()?, FilterRule::Residue)?;
        let (filter, odometer) = (Filter::new(filter)?, Odometer::new(odometer)?);
        Ok(Ride { filter, odometer, round: 0, usual: None, last_halted: false })
    }
}

/// What a line says.
struct Entry {
    declared: Declared,
    only_quote: bool,
}

fn parse(line: &[u8]) -> Result<Entry, String> {
    if line.len() as u64 > LONGEST_LINE {
        return Err(format!("the line is longer than {LONGEST_LINE} bytes, and so not a cost"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8 text".to_string())?.trim();
    let (text, only_quote) = match text.strip_prefix('?') {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    if text.is_empty() {
        return Err("the line is empty; write a cost such as 0.05".to_string());
    }
    let declared = if text.starts_with('{') { Cost::from_json(text) } else { Cost::parse_epsilon(text) };
    Ok(Entry { declared: declared.map_err(|error| error.to_string())?, only_quote })
}

/// A filter and an odometer under way.
struct Ride {
    filter: Filter,
    odometer: Odometer,
    round: u64,
    /// The last cost that was admitted: what a forfeit is counted in.
    usual: Option<Cost>,
    last_halted: bool,
}

enum Answer {
    Round(Box<Round>),
    Quote(Box<Quote>),
}

/// What is said about a charge.
#[derive(Serialize)]
struct Round {
    round: u64,
    cost: Cost,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rounded_up: bool,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<Option<Cost>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forfeits: Option<ForfeitJson>,
    spent: BalanceDocument,
    left: BalanceDocument,
    state: Map<String, Value>,
    reading: Computed,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading_reason: Option<&'static str>,
    guarantee: String,
    filter_guarantee: String,
}

/// What is said about a cost that is only asked about.
#[derive(Serialize)]
struct Quote {
    quote: Cost,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rounded_up: bool,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    count: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    fits: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forfeits: Option<ForfeitJson>,
}

/// How many of the usual costs would have fitted, and how many still do in each branch.
#[derive(Serialize)]
struct ForfeitJson {
    usual: Cost,
    without: u64,
    rule_after: u64,
    basic_after: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(skip)]
    counts: Forfeit,
}

impl Ride {
    fn answer(&mut self, entry: Entry) -> Result<Answer, String> {
        let Declared { cost, rounded } = entry.declared;
        if !self.odometer.spec().rule().takes(cost.kind()) {
            // Asked of a copy, so that neither meter moves.
            self.odometer.clone().charge(&cost).map_err(|error| error.to_string())?;
        }
        let answer = match entry.only_quote {
            true => self.quote(cost, rounded).map(|quote| Answer::Quote(Box::new(quote))),
            false => self.charge(cost, rounded).map(|round| Answer::Round(Box::new(round))),
        };
        answer.map_err(|error| error.to_string())
    }

    fn charge(&mut self, cost: Cost, rounded_up: bool) -> Result<Round, taximeter_accounting::Error> {
        let forfeits = self.forfeits(&cost)?;
        let verdict = self.filter.charge(&cost)?;
        self.round += 1;
        let mut round = Round {
            round: self.round,
            cost,
            rounded_up,
            verdict: "continue",
            reason: None,
            fits: None,
            closes: None,
            forfeits: None,
            spent: self.filter.spent().into(),
            left: self.filter.left().into(),
            state: state(&self.filter),
            reading: Computed(0.0),
            reading_reason: None,
            guarantee: String::new(),
            filter_guarantee: self.filter.guarantee(),
        };
        self.last_halted = matches!(verdict, Verdict::Halt(_));
        match verdict {
            Verdict::Continue(_) => {
                self.odometer.charge(&cost)?;
                round.closes = self.closes(&verdict);
                round.forfeits = forfeits;
                if !cost.is_free() {
                    self.usual = Some(cost);
                }
            }
            Verdict::Halt(refusal) => {
                round.verdict = "halt";
                round.reason = Some(refusal.reason());
                round.fits = Some(self.filter.largest(&cost, 1)?);
            }
        }
        let Reading { value, unbounded, guarantee } = self.odometer.reading();
        (round.reading, round.reading_reason, round.guarantee) = (Computed(value), unbounded, guarantee.to_string());
        Ok(round)
    }

    fn quote(&self, cost: Cost, rounded_up: bool) -> Result<Quote, taximeter_accounting::Error> {
        let verdict = self.filter.decide(&cost)?;
        let Count { count, at_least } = self.filter.count(&cost)?;
        let (name, reason) = match &verdict {
            Verdict::Continue(_) => ("continue", None),
            Verdict::Halt(refusal) => ("halt", Some(refusal.reason())),
        };
        Ok(Quote {
            quote: cost,
            rounded_up,
            verdict: name,
            reason,
            count,
            at_least,
            fits: self.filter.largest(&cost, 1)?,
            closes: self.closes(&verdict),
            forfeits: self.forfeits(&cost)?,
        })
    }

    /// The branch that an admission closes, by name.
    fn closes(&self, verdict: &Verdict) -> Option<&'static str> {
        match verdict {
            Verdict::Continue(admission) if admission.closes_branch => Some(self.filter.spec().rule.name()),
            Verdict::Continue(admission) if admission.closes_basic => Some("basic"),
            _ => None,
        }
    }

    /// What a cost would forfeit, counted in the last cost that was admitted.
    fn forfeits(&self, cost: &Cost) -> Result<Option<ForfeitJson>, taximeter_accounting::Error> {
        let usual = self.usual.unwrap_or(*cost);
        let counts = self.filter.forfeit(cost, &usual)?;
        Ok(counts.map(|counts| ForfeitJson {
            usual,
            without: counts.without.count,
            rule_after: counts.branch.count,
            basic_after: counts.basic.count,
            at_least: counts.without.at_least || counts.branch.at_least || counts.basic.at_least,
            counts,
        }))
    }

    /// What is fixed for the ride, with every default.
    fn heading(&self) -> String {
        let (filter, odometer) = (self.filter.spec(), self.odometer.spec());
        let mut text = format!(
            "filter {} on a budget of {}: {}\n  {}",
            filter.rule.name(),
            filter.budget,
            self.filter.guarantee(),
            filter.rule.citation()
        );
        let mut parameters = Vec::new();
        let mut add =
            |name: &str, value: Option<String>| parameters.extend(value.map(|value| format!("{name} {value}")));
        let show = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        add("--order", show(filter.order));
        add("--max-cost", show(filter.max_cost));
        let aside = filter.budget.mechanism_delta();
        add("--mechanism-delta", Some(aside.to_string()).filter(|_| !aside.is_zero()));
        add("--at-delta", Some(odometer.at_delta.to_string()));
        parameters.extend(shown_parameters(odometer).into_iter().map(|(name, value)| format!("{name} {value}")));
        text += &format!(
            "\nodometer {}: {}\n  {}",
            odometer.rule().name(),
            self.odometer.guarantee(),
            odometer.rule().citation()
        );
        text + &format!("\nparameters: {}", parameters.join(", "))
    }

    fn columns(&self) -> String {
        format!(
            "{:>6}  {:<34}  {:<8}  {:>10}  {:>12}  {:>10}",
            "round", "cost", "verdict", "rule left", "Σε", "reading"
        )
    }
}

impl Answer {
    fn text(&self) -> String {
        match self {
            Answer::Round(round) => round.text(),
            Answer::Quote(quote) => quote.text(),
        }
    }
}

impl Round {
    fn text(&self) -> String {
        let mark = if self.rounded_up { " (rounded up)" } else { "" };
        let cost = format!("{}{mark}", show_cost(&self.cost));
        let sum = self.spent.epsilon.map_or("∞".to_string(), shorten);
        let mut text = format!(
            "{:>6}  {cost:<34}  {:<8}  {:>8.2} %  {sum:>12}  {:>10}",
            self.round,
            self.verdict,
            100.0 * self.left.share.0,
            show_number(self.reading.0)
        );
        if let Some(reason) = &self.reason {
            let fits = self.fits.flatten().map_or("nothing of this kind fits".to_string(), |fits| {
                format!("the largest that fits: {}", fits.with_size(fits.size().significant(6)))
            });
            text += &format!("\n        {reason}; {fits}");
        }
        text += &closing(self.closes, &self.forfeits);
        if let Some(reason) = self.reading_reason {
            text += &format!("\n        {reason}");
        }
        text
    }
}

impl Quote {
    fn text(&self) -> String {
        let fit = if self.count == 1 { "such cost fits" } else { "such costs fit" };
        let count = show_count(Count { count: self.count, at_least: self.at_least });
        let outcome = match (&self.reason, self.fits) {
            (None, _) => format!("would continue; {count} {fit}"),
            (Some(reason), Some(fits)) => {
                format!("would halt: {reason}; {fits} would fit", fits = fits.with_size(fits.size().significant(6)))
            }
            (Some(reason), None) => format!("would halt: {reason}; nothing of this kind fits"),
        };
        format!("     ?  {}  {outcome}{}", show_cost(&self.quote), closing(self.closes, &self.forfeits))
    }
}

/// What a charge closes, in words.
fn closing(closes: Option<&str>, forfeits: &Option<ForfeitJson>) -> String {
    match (closes, forfeits) {
        (Some(branch), Some(forfeits)) => {
            let Forfeit { without, branch: rule, basic } = forfeits.counts;
            format!(
                "\n        closes the {branch} branch for good: of costs like {} there would be {} without it, and are {} with it",
                show_cost(&forfeits.usual),
                show_count(without),
                show_count(if rule.count > basic.count { rule } else { basic })
            )
        }
        _ => String::new(),
    }
}

/// The rule's own numbers, and which branches are open.
fn state(filter: &Filter) -> Map<String, Value> {
    let number = |value: f64| serde_json::to_value(Computed(value)).unwrap_or(Value::Null);
    let mut state: Map<String, Value> =
        filter.state().into_iter().map(|(name, value)| (name.to_string(), number(value))).collect();
    if filter.spec().rule != FilterRule::Basic {
        state.insert("open".to_string(), Value::Bool(filter.is_branch_open()));
    }
    if filter.spec().rule != FilterRule::Advanced {
        state.insert("basic_open".to_string(), Value::Bool(filter.is_basic_open()));
    }
    if filter.is_closed() {
        state.insert("closed".to_string(), Value::Bool(true));
    }
    state
}

/// An exact amount for a column: at most eight significant digits, the rest is in the JSON.
fn shorten(amount: Amount) -> String {
    amount.significant(8).to_string()
}
