//! `taximeter quote`: what would come of a charge.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::{Cost, Count};
use taximeter_ledger::{AccountName, Key, Quote, QuotedAccount, Reason};

use crate::ledger::LedgerArgs;
use crate::ledger::charge::what_fits;
use crate::ledger::request::RequestArgs;
use crate::ledger::show::{self, Lines};
use crate::output::{Computed, Failure, REFUSED, print_json, print_line, show_count};
use crate::table::Table;

/// What would come of a charge; charges nothing
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  taximeter quote census/alice --epsilon 0.1
  taximeter quote census --gaussian 0.05 --json

Exits with 0 if all accounts would take it, and with 3 if one would refuse."
)]
pub struct QuoteCommand {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    verdict: &'static str,
    asked: &'a [Cost],
    fits: Option<&'a [Cost]>,
    #[serde(flatten)]
    count: CountJson,
    accounts: Vec<AccountJson<'a>>,
}

#[derive(Serialize)]
struct AccountJson<'a> {
    account: &'a AccountName,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    count: CountJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes: Option<&'static str>,
    reading: Option<Computed>,
    left: Option<Computed>,
    reading_after: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading_reason: Option<&'static str>,
    left_after: Option<Computed>,
    guarantee: String,
}

/// How often the same could be charged; nothing without a budget, or for a list of different costs.
#[derive(Serialize)]
struct CountJson {
    count: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
}

impl From<Option<Count>> for CountJson {
    fn from(count: Option<Count>) -> CountJson {
        CountJson { count: count.map(|count| count.count), at_least: count.is_some_and(|count| count.at_least) }
    }
}

impl QuoteCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        // The limits of a charge hold for a quote of it; its key is not used.
        let quote = self.ledger.read()?.quote(&self.request.charge(Key::generate()?)?)?;
        match self.ledger.json {
            true => print_json(&document(&quote))?,
            false => print_line(&text(&quote))?,
        }
        Ok(if quote.is_admitted() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    }
}

fn document(quote: &Quote) -> Document<'_> {
    let accounts = quote.accounts().iter().map(|quoted| {
        let QuotedAccount { before, after, count, closes } = quoted;
        let admitted = after.as_ref().ok();
        AccountJson {
            account: before.name(),
            verdict: verdict(after.is_ok()),
            reason: after.as_ref().err().map(Reason::text),
            count: (*count).into(),
            closes: closes.filter(|_| quote.is_admitted()),
            reading: before.reading().map(Computed),
            left: before.left().map(Computed),
            reading_after: admitted.and_then(|after| after.reading()).map(Computed),
            reading_reason: admitted.and_then(show::unbounded),
            left_after: admitted.and_then(|after| after.left()).map(Computed),
            guarantee: before.odometer().reading().guarantee.to_string(),
        }
    });
    Document {
        verdict: verdict(quote.is_admitted()),
        asked: quote.costs(),
        fits: quote.fits(),
        count: quote.count().into(),
        accounts: accounts.collect(),
    }
}

fn verdict(is_admitted: bool) -> &'static str {
    if is_admitted { "admitted" } else { "refused" }
}

fn text(quote: &Quote) -> String {
    let mut table = Table::new(&["account", "verdict", ">fits", ">left", ">left after", ">reading", ">reading after"]);
    for QuotedAccount { before, after, count, .. } in quote.accounts() {
        let after = after.as_ref().ok();
        table.row([
            before.name().to_string(),
            verdict(after.is_some()).to_string(),
            count.map_or("–".to_string(), show_count),
            show::share(before.left()),
            after.map_or("–".to_string(), |after| show::share(after.left())),
            show::reading(before.reading(), show::is_unknown(before)),
            after.map_or("–".to_string(), |after| show::reading(after.reading(), show::is_unknown(after))),
        ]);
    }
    let mut lines = Lines::default();
    let asked = show::costs(quote.costs());
    match quote.is_admitted() {
        true => {
            lines.add("would be charged", asked);
            if let Some(count) = quote.count() {
                lines.add("fits", format!("{} on all accounts, this one included", times(count)));
            }
            for QuotedAccount { before, closes, .. } in quote.accounts() {
                if let Some(branch) = closes {
                    lines.add("closes", show::closed_branch(before.name(), branch));
                }
            }
        }
        false => {
            lines.add("would be refused", asked);
            for QuotedAccount { before, after, .. } in quote.accounts() {
                if let Err(reason) = after {
                    lines.add("by", format!("{}: {}", before.name(), reason.text()));
                }
            }
            let is_not_open = quote.accounts().iter().any(|account| matches!(account.after, Err(Reason::NotOpen(_))));
            lines.add("fits", what_fits(quote.fits(), is_not_open));
        }
    }
    format!("{lines}\n\n{table}")
}

fn times(count: Count) -> String {
    match count {
        Count { count: 1, at_least: false } => "once".to_string(),
        count => format!("{} times", show_count(count)),
    }
}
