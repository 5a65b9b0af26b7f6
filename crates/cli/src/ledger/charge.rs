//! `taximeter charge`: costs, paid by accounts before the mechanism runs.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use taximeter_accounting::Cost;
use taximeter_ledger::{AccountName, Charge, Error, Hash, Key, Ledger, LedgerId, Outcome, Receipt, Refusal};

use crate::ledger::receipt::{Branch, Paid, PaidJson, ReceiptJson};
use crate::ledger::request::RequestArgs;
use crate::ledger::show::{self, Lines};
use crate::ledger::{LedgerArgs, SignatureArgs};
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

#[derive(Serialize)]
struct ChargedJson {
    outcome: &'static str,
    ledger: LedgerId,
    sequence: u64,
    hash: Hash,
    key: Key,
    record: Box<RawValue>,
    accounts: Vec<PaidJson>,
}

#[derive(Serialize)]
struct RefusedJson<'a> {
    outcome: &'static str,
    refused: Vec<RefusedAccountJson<'a>>,
    asked: &'a [Cost],
    fits: Option<&'a [Cost]>,
    /// The record that closed accounts which are set to stop.
    #[serde(flatten)]
    halt: Option<ReceiptJson>,
}

#[derive(Serialize)]
struct RefusedAccountJson<'a> {
    account: &'a AccountName,
    reason: String,
}

impl ChargeCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let charge = self.charge()?;
        let ledger = self.ledger.write()?;
        // Whoever does not know what came of a charge needs its key to find out.
        let with_key = |error: Error| match error.is_unknown_outcome() {
            true => Failure::Other(format!("{error}: --key {}", charge.key())),
            false => error.into(),
        };
        let before = open_branches(&ledger, charge.accounts())?;
        match ledger.charge(charge.clone()).map_err(with_key)? {
            Outcome::Charged(fresh) => {
                let after = open_branches(&ledger, charge.accounts())?;
                let closed = before.into_iter().filter(|branch| !after.contains(branch)).collect();
                self.charged("charged", &charge, &Paid::new(&ledger, fresh.receipt(), closed)?, fresh.receipt())
            }
            Outcome::Replayed(receipt) => {
                self.charged("replayed", &charge, &Paid::new(&ledger, &receipt, Vec::new())?, &receipt)
            }
            Outcome::Refused(refusal) => print_refusal(&refusal, self.ledger.json),
        }
    }

    fn charge(&self) -> Result<Charge, Failure> {
        let key = match &self.key {
            Some(text) => Key::parse("key", text)?,
            None => Key::generate()?,
        };
        Ok(self.request.charge(key)?.by(self.signature.by()?).with_note(self.signature.note()?))
    }

    fn charged(
        &self,
        outcome: &'static str,
        charge: &Charge,
        paid: &Paid,
        receipt: &Receipt,
    ) -> Result<ExitCode, Failure> {
        if self.ledger.json {
            let ReceiptJson { ledger, sequence, hash, record } = ReceiptJson::new(receipt)?;
            let (key, accounts) = (charge.key().clone(), paid.json());
            print_json(&ChargedJson { outcome, ledger, sequence, hash, key, record, accounts })?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = Lines::default();
        match outcome {
            "replayed" => {
                lines.add("charged before", format!("{}; nothing was charged now", show::costs(charge.costs())))
            }
            _ => lines.add("charged", show::costs(charge.costs())),
        }
        lines.add("record", receipt.sequence());
        lines.add("hash", receipt.hash());
        lines.add("key", charge.key());
        print_line(&format!("{lines}\n\n{}\n\n{}", paid.table(), paid.meaning()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a refusal.
pub fn print_refusal(refusal: &Refusal, json: bool) -> Result<ExitCode, Failure> {
    let fits = refusal.fits();
    if json {
        let refused = refusal.refused().iter();
        print_json(&RefusedJson {
            outcome: "refused",
            refused: refused.map(|(account, reason)| RefusedAccountJson { account, reason: reason.text() }).collect(),
            asked: refusal.costs(),
            fits: fits.as_deref(),
            halt: refusal.halt().map(ReceiptJson::new).transpose()?,
        })?;
        return Ok(ExitCode::from(REFUSED));
    }
    let mut lines = Lines::default();
    lines.add("refused", format!("{}; nothing was charged", show::costs(refusal.costs())));
    for (account, reason) in refusal.refused() {
        lines.add("by", format!("{account}: {}", reason.text()));
    }
    if let Some(halt) = refusal.halt() {
        for after in halt.after() {
            let closed = format!(
                "{} is halted for good now, since it is set to stop (record {})",
                after.account,
                halt.sequence()
            );
            lines.add("", closed);
        }
    }
    lines.add("fits", what_fits(fits.as_deref(), refusal.is_not_open()));
    print_line(&lines.to_string())?;
    Ok(ExitCode::from(REFUSED))
}

/// What would still fit on all accounts.
pub fn what_fits(fits: Option<&[Cost]>, is_not_open: bool) -> String {
    match fits {
        Some(fits) => format!("{}, on all accounts", show::fitting(fits)),
        None if is_not_open => "nothing: an account is not open".to_string(),
        None => "nothing of this kind: the budget is spent".to_string(),
    }
}

/// The branches of the filters that would pay that are open: a charge may close one for good.
pub fn open_branches(ledger: &Ledger, accounts: &[AccountName]) -> Result<Vec<Branch>, Failure> {
    let mut open = Vec::new();
    for path in accounts.iter().flat_map(AccountName::path) {
        // An account that does not exist is an error of the charge, which says so.
        let Ok(account) = ledger.account(&AccountName::parse(path)?) else { continue };
        let Some(filter) = account.filter() else { continue };
        let rule = filter.spec().rule.name();
        let branches = [(filter.is_branch_open(), rule), (filter.is_basic_open() && rule != "basic", "basic")];
        let branches = branches.into_iter().filter(|(is_open, _)| *is_open);
        open.extend(branches.map(|(_, branch)| (account.name().clone(), branch)));
    }
    Ok(open)
}
