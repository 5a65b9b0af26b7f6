//! `taximeter meter`: costs on standard input, a decision and a reading for each.

use std::io::{self, BufRead, Read};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use taximeter_accounting::{Amount, Cost, Count, Declared, Error, Filter, FilterRule, Odometer, OnHalt, Verdict};
use taximeter_service::{BalanceDocument, Computed};

use crate::advice;
use crate::args::{BudgetArgs, FilterAndOdometerArgs};
use crate::cost_examples::cost_examples;
use crate::output::{
    Failure, REFUSED, print, print_line, show_cost, show_count, show_number, show_share, show_spent, tell,
};

/// Read costs from standard input and print a decision and a reading for each
///
/// Each line is an epsilon such as 0.05, or a cost in JSON. A line that starts with ? shows what would happen and charges nothing.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct MeterCommand {
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print one JSON document per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rules: FilterAndOdometerArgs,
}

fn after_help() -> String {
    let costs = cost_examples()
        .map(|example| format!("  {}  {}", example.json(), example.title))
        .collect::<Vec<_>>()
        .join("\n");
    format!("Costs:\n{costs}\n\nExample: printf '0.05\\n? 0.9\\n0.02\\n' | taximeter meter --budget 1,1e-6")
}

/// The longest line that is read, in bytes. Any cost is much shorter.
const LONGEST_LINE: u64 = 64 * 1024;

impl MeterCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut ride = self.ride()?;
        tell(&ride.heading());
        if !self.json {
            print_line(&format!(
                "{:>6}  {:<34}  {:<8}  {:>10}  {:>12}  {:>10}",
                "round", "cost", "verdict", "rule left", "Σε", "reading"
            ))?;
        }
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            let read = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::Other(format!("line {number} cannot be read: {error}")))? == 0 {
                break;
            }
            let in_line = |why: String| Failure::Usage(format!("line {number}: {why}; earlier lines stand"));
            let refused = |error: Error| in_line(error.to_string());
            let MeterEntry { declared, only_quote } = parse(&line).map_err(in_line)?;
            ride.check(&declared.cost).map_err(refused)?;
            if only_quote {
                let quote = ride.quote(declared).map_err(refused)?;
                print(self.json, &quote, || quote.text())?;
            } else {
                let round = ride.charge(declared).map_err(refused)?;
                print(self.json, &round, || round.text())?;
            }
        }
        let stopped = ride.filter.spec().on_halt == OnHalt::Stop && ride.last_halted;
        Ok(if stopped { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
    }

    /// The filter and the odometer, with nothing charged.
    fn ride(&self) -> Result<Ride, Failure> {
        let specs = self.rules.specs(Some(self.budget.budget()?), Amount::ZERO, FilterRule::default())?;
        let (Some(filter), odometer) = specs else { unreachable!("a budget has a filter") };
        let (filter, odometer) = (Filter::new(filter)?, Odometer::new(odometer)?);
        Ok(Ride { filter, odometer, round: 0, last_halted: false })
    }
}

/// A line of the input.
struct MeterEntry {
    declared: Declared,
    only_quote: bool,
}

fn parse(line: &[u8]) -> Result<MeterEntry, String> {
    if line.len() as u64 > LONGEST_LINE {
        return Err(format!("the line is longer than {LONGEST_LINE} bytes"));
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
    Ok(MeterEntry { declared: declared.map_err(|error| error.to_string())?, only_quote })
}

/// The filter and the odometer, with what was charged so far.
struct Ride {
    filter: Filter,
    odometer: Odometer,
    round: u64,
    last_halted: bool,
}

/// The outcome of a charge.
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
    spent: BalanceDocument,
    left: BalanceDocument,
    state: Map<String, Value>,
    reading: Computed,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading_reason: Option<String>,
    guarantee: String,
    filter_guarantee: String,
}

/// The outcome that a charge would have.
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
}

impl Ride {
    /// Refuses a cost that the odometer does not take, before the filter charges it.
    fn check(&self, cost: &Cost) -> Result<(), Error> {
        match self.odometer.spec().rule().takes(cost.kind()) {
            true => Ok(()),
            false => self.odometer.clone().charge(cost),
        }
    }

    fn charge(&mut self, Declared { cost, rounded: rounded_up }: Declared) -> Result<Round, Error> {
        let verdict = self.filter.charge(&cost)?;
        self.round += 1;
        self.last_halted = matches!(verdict, Verdict::Halt(_));
        let (verdict, reason, fits) = match verdict {
            Verdict::Continue => {
                self.odometer.charge(&cost)?;
                ("continue", None, None)
            }
            Verdict::Halt(refusal) => ("halt", Some(advice::refusal(&refusal)), Some(self.filter.largest(&cost, 1)?)),
        };
        let reading = self.odometer.reading();
        let (set_aside, spent) = (self.odometer.spec().mechanism_delta, self.filter.spent());
        Ok(Round {
            round: self.round,
            cost,
            rounded_up,
            verdict,
            reason,
            fits,
            spent: spent.into(),
            left: self.filter.left().into(),
            state: state(&self.filter),
            reading: Computed(reading.printed()),
            reading_reason: reading.unbounded.map(|why| advice::unbounded(why, set_aside, spent.delta)),
            guarantee: reading.guarantee.to_string(),
            filter_guarantee: self.filter.guarantee(),
        })
    }

    fn quote(&self, Declared { cost, rounded: rounded_up }: Declared) -> Result<Quote, Error> {
        let (verdict, reason) = match self.filter.decide(&cost)? {
            Verdict::Continue => ("continue", None),
            Verdict::Halt(refusal) => ("halt", Some(advice::refusal(&refusal))),
        };
        let Count { count, at_least } = self.filter.count(&cost)?;
        let fits = self.filter.largest(&cost, 1)?;
        Ok(Quote { quote: cost, rounded_up, verdict, reason, count, at_least, fits })
    }

    /// The rules and their parameters, including defaults.
    fn heading(&self) -> String {
        let (filter, odometer) = (self.filter.spec(), self.odometer.spec());
        let aside = filter.budget.mechanism_delta();
        let own = [
            ("max-cost", filter.max_cost),
            ("mechanism-delta", Some(aside).filter(|aside| !aside.is_zero())),
            ("at-delta", Some(odometer.at_delta)),
        ];
        let own = own.into_iter().filter_map(|(name, amount)| Some((name, amount?.to_string())));
        let parameters = own.chain(filter.parameters.named()).chain(odometer.parameters.named());
        let parameters: Vec<String> = parameters.map(|(name, value)| format!("--{name} {value}")).collect();
        format!(
            "filter {} on a budget of {}: {}\n  {}\nodometer {}: {}\n  {}\nparameters: {}",
            filter.rule().name(),
            filter.budget,
            self.filter.guarantee(),
            filter.rule().citation(),
            odometer.rule().name(),
            self.odometer.guarantee(),
            odometer.rule().citation(),
            parameters.join(", ")
        )
    }
}

impl Round {
    fn text(&self) -> String {
        let mark = if self.rounded_up { " (rounded up)" } else { "" };
        let cost = format!("{}{mark}", show_cost(&self.cost));
        let sum = show_spent(self.spent.epsilon);
        let mut text = format!(
            "{:>6}  {cost:<34}  {:<8}  {:>10}  {sum:>12}  {:>10}",
            self.round,
            self.verdict,
            show_share(self.left.share.0),
            show_number(self.reading.0)
        );
        if let Some(reason) = &self.reason {
            let fits = self.fits.flatten().map_or("nothing of this kind fits".to_string(), |fits| {
                format!("the largest that fits: {}", fits.with_size(fits.size().significant(6)))
            });
            text += &format!("\n        {reason}; {fits}");
        }
        if let Some(reason) = &self.reading_reason {
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
        format!("     ?  {}  {outcome}", show_cost(&self.quote))
    }
}

/// The rule's own numbers.
fn state(filter: &Filter) -> Map<String, Value> {
    let number = |value: f64| serde_json::to_value(Computed(value)).unwrap_or(Value::Null);
    let mut state: Map<String, Value> =
        filter.state().into_iter().map(|(name, value)| (name.to_string(), number(value))).collect();
    if filter.is_closed() {
        state.insert("closed".to_string(), Value::Bool(true));
    }
    state
}
