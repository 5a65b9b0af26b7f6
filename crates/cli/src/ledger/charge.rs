//! `taximeter charge`: accounts pay costs before the mechanism runs.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::Key;
use taximeter_service::{ChargeOutcome, Committed, Refused};

use crate::ledger::mechanism::MechanismCommand;
use crate::ledger::request::RequestArgs;
use crate::ledger::{LedgerArgs, SignatureArgs, receipt};
use crate::output::{Failure, REFUSED, REPLAYED, print, tell};

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
  taximeter charge census --epsilon 0.1 --key report-17 --run -- python mean.py

Run the mechanism only after \"charged\". A repeated key prints \"charged before\" and charges nothing; do not run the mechanism again, \
because its new noise would not be paid for. --run ensures this: the command runs once, only if it was charged now, with the \
receipt as JSON in the variable TAXIMETER_RECEIPT. Messages about the charge go to standard error, and the exit status is the \
command's.

Exits with 0 if it was charged now, with 6 if it was charged earlier under the same key, and with 3 if an account refused and \
nothing was charged. With --run, an exit status of 3 or 6 may also be the command's own."
)]
pub struct ChargeCommand {
    #[command(flatten)]
    request: RequestArgs,
    /// An idempotency key (at most 128 bytes): the same request with the same key is charged only once [default: a new key]
    #[arg(long, value_name = "KEY", help_heading = "For the journal")]
    key: Option<String>,
    /// Run the command after --, once, if it was charged now and not earlier
    #[arg(long, requires = "command", conflicts_with = "json")]
    run: bool,
    /// The mechanism to run, with its arguments
    #[arg(last = true, value_name = "COMMAND", requires = "run")]
    command: Vec<OsString>,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl ChargeCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let key = key(self.key.as_deref())?;
        let request = self.request.request(self.signature.by()?, self.signature.note()?)?;
        let mechanism = MechanismCommand::find(&self.command)?;
        let mut charged = match self.ledger.backend()?.charge(&request, &key)? {
            ChargeOutcome::Charged(charged) => charged,
            ChargeOutcome::Refused(refused) if self.run => {
                tell(&receipt::refused(&refused).to_string());
                return Ok(ExitCode::from(REFUSED));
            }
            ChargeOutcome::Refused(refused) => return print_refusal(&refused, self.ledger.json),
        };
        // A key that was generated here is known to no other request: a replay is this charge, sent again after a lost answer.
        if self.key.is_none() {
            charged.outcome = Committed::Now;
        }
        let text = || receipt::charged(&charged, &request);
        match (&mechanism, charged.outcome) {
            (None, _) => {
                print(self.ledger.json, &charged, text)?;
            }
            (Some(_), Committed::Before) => tell(&format!("{}\n\nthe command was not run", text())),
            (Some(mechanism), Committed::Now) => {
                tell(&text());
                return mechanism.run(&charged);
            }
        }
        Ok(match charged.outcome {
            Committed::Now => ExitCode::SUCCESS,
            Committed::Before => ExitCode::from(REPLAYED),
        })
    }
}

/// The given key, or a new one.
pub fn key(text: Option<&str>) -> Result<Key, Failure> {
    Ok(text.map_or_else(Key::generate, |text| Key::parse("key", text))?)
}

/// Prints a refusal.
pub fn print_refusal(refused: &Refused, json: bool) -> Result<ExitCode, Failure> {
    print(json, refused, || receipt::refused(refused).to_string())?;
    Ok(ExitCode::from(REFUSED))
}
