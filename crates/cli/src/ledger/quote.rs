//! `taximeter quote`: the effect of a charge, without charging.

use std::process::ExitCode;

use clap::Args;
use taximeter_accounting::Count;
use taximeter_ledger::Standing;
use taximeter_service::{Computed, QuoteDocument};

use crate::advice;
use crate::key_values::KeyValues;
use crate::ledger::LedgerArgs;
use crate::ledger::receipt::what_fits;
use crate::ledger::request::RequestArgs;
use crate::ledger::show;
use crate::output::{Failure, REFUSED, print, show_count};
use crate::table::TextTable;

/// Show the effect of a charge; charges nothing
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

impl QuoteCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let request = self.request.request(None, None)?;
        let quote = self.ledger.backend()?.quote(&request)?;
        print(self.ledger.json, &quote, || text(&quote))?;
        Ok(if quote.is_admitted() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    }
}

fn text(quote: &QuoteDocument) -> String {
    let mut table =
        TextTable::new(&["account", "verdict", ">fits", ">left", ">left after", ">reading", ">reading after"]);
    let share = |left: Option<Computed>| show::share(left.map(|left| left.0));
    for account in &quote.accounts {
        let after = |text: String| if account.is_admitted() { text } else { "–".to_string() };
        let is_unknown = account.standing == Standing::Exhausted;
        table.row([
            account.account.to_string(),
            account.verdict.clone(),
            count(account.count, account.at_least).map_or("–".to_string(), show_count),
            share(account.left),
            after(share(account.left_after)),
            show::reading(account.reading, is_unknown),
            after(show::reading(account.reading_after, is_unknown)),
        ]);
    }
    format!("{}\n\n{table}", verdict(quote))
}

fn verdict(quote: &QuoteDocument) -> KeyValues {
    let mut lines = KeyValues::default();
    let asked = show::costs(&quote.asked);
    match quote.is_admitted() {
        true => {
            lines.add("would be charged", asked);
            if let Some(count) = count(quote.count, quote.at_least) {
                lines.add("fits", format!("{} on all accounts, this one included", times(count)));
            }
        }
        false => {
            lines.add("would be refused", asked);
            for account in &quote.accounts {
                if let Some(reason) = &account.reason {
                    let advice = advice::of_limit(account.parameter.as_deref());
                    lines.add("by", format!("{}: {reason}{advice}", account.account));
                }
            }
            let is_not_open = quote.accounts.iter().any(|account| account.standing != Standing::Open);
            lines.add("fits", what_fits(&quote.asked, quote.fits.as_deref(), is_not_open, true));
        }
    }
    lines
}

fn count(count: Option<u64>, at_least: bool) -> Option<Count> {
    count.map(|count| Count { count, at_least })
}

fn times(count: Count) -> String {
    match count {
        Count { count: 1, at_least: false } => "once".to_string(),
        count => format!("{} times", show_count(count)),
    }
}
