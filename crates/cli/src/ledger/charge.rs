//! `taximeter charge`: costs, paid by accounts before the mechanism runs.

use std::process::ExitCode;

use clap::Args;
use taximeter_api::Refused;
use taximeter_ledger::Key;

use crate::ledger::request::RequestArgs;
use crate::ledger::{LedgerArgs, SignatureArgs, receipt};
use crate::office::ChargeOutcome;
use crate::output::{Failure, REFUSED, print_json, print_line};

/// Charge costs to accounts, before the mechanism runs
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  taximeter charge census --epsilon 0.1
  taximeter charge census/alice --gaussian-sigma 20 --by alice --note \"mean income\"
  taximeter charge census/alice census/bob --epsilon 0.1 --key report-17
  taximeter charge census --cost '{\"epsilon\":\"0.1\"}' --cost '{\"zcdp\":\"0.001\"}'
  taximeter charge census --epsilon 0.1 --json >> receipts.jsonl

Run the mechanism only after \"charged\". A repeated key says \"charged before\", charges nothing, and is no leave to run it again: \
new noise for an old charge would cost what nobody paid.

Exits with 0 if it was charged, now or before, and with 3 if an account refused; then nothing was charged."
)]
pub struct ChargeCommand {
    #[command(flatten)]
    request: RequestArgs,
    /// A key of your own (at most 128 bytes): the same request with the same key is charged once, ever [default: a new one]
    #[arg(long, value_name = "KEY", help_heading = "For the journal")]
    key: Option<String>,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl ChargeCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let key = match &self.key {
            Some(text) => Key::parse("key", text)?,
            None => Key::generate()?,
        };
        let request = self.request.request(self.signature.by()?, self.signature.note()?)?;
        let charged = match self.ledger.office()?.charge(&request, &key)? {
            ChargeOutcome::Charged(charged) => charged,
            ChargeOutcome::Refused(refused) => return print_refusal(&refused, self.ledger.json),
        };
        match self.ledger.json {
            true => print_json(&charged)?,
            false => print_line(&receipt::charged(&charged, &request))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a refusal.
pub fn print_refusal(refused: &Refused, json: bool) -> Result<ExitCode, Failure> {
    match json {
        true => print_json(refused)?,
        false => print_line(&receipt::refused(refused).to_string())?,
    }
    Ok(ExitCode::from(REFUSED))
}
