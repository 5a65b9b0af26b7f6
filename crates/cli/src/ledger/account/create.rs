//! `taximeter account create`: a budget by a name.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use serde::Serialize;
use serde_json::value::RawValue;
use taximeter_accounting::FilterRule;
use taximeter_ledger::{AccountName, AccountSpec, Hash, Ledger, LedgerId, Neighbours, Options, Privacy, Unit};

use crate::ledger::LedgerArgs;
use crate::ledger::account::rules::AccountRulesArgs;
use crate::ledger::document::AccountJson;
use crate::ledger::receipt::ReceiptJson;
use crate::ledger::show::fixed_lines;
use crate::output::{Failure, print_json, print_line};

/// Make an account, and the ledger if there is none
#[derive(Args)]
#[command(
    group = ArgGroup::new("budget or none").required(true).args(["budget", "no_budget"]),
    allow_negative_numbers = true,
    after_help = "\
Examples:
  taximeter account create census --budget 1,1e-6
  taximeter account create census/alice --budget 0.5,1e-6
  taximeter account create wards --budget 2,1e-6 --mechanism-delta 1e-7 --unit patient
  taximeter account create telemetry --no-budget --at-delta 1e-6

Keep the witness on another disk than the ledger, with --witness or TAXIMETER_WITNESS: see `taximeter ledger restore --help`."
)]
pub struct Create {
    /// The name, such as census or census/alice; the account above it must exist
    name: String,
    #[command(flatten)]
    rules: AccountRulesArgs,
    /// The unit that is protected, for instance person [default: record, or that of the account above]
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// When two datasets count as neighbours [default: add-remove, or that of the account above]
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"])]
    neighbours: Option<String>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    outcome: &'static str,
    ledger: LedgerId,
    sequence: u64,
    hash: Hash,
    record: Box<RawValue>,
    ledger_created: bool,
    witness: String,
    account: AccountJson<'a>,
}

impl Create {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut spec = self.spec()?;
        let name = spec.name.clone();
        let ledger = self.open(&name)?;
        let is_new = ledger.position().sequence == 0;
        if is_new {
            self.ledger.tell_about_new(&ledger)?;
        }
        spec.privacy = self.privacy(&ledger, &name)?;
        let receipt = ledger.open_account(spec)?;
        let account = ledger.account(&name)?;
        if self.ledger.json {
            let ReceiptJson { ledger: id, sequence, hash, record } = ReceiptJson::new(&receipt)?;
            let witness = ledger.witness().display().to_string();
            let account = AccountJson::new(&account, None);
            let (outcome, ledger_created) = ("opened", is_new);
            print_json(&Document { outcome, ledger: id, sequence, hash, record, ledger_created, witness, account })?;
        } else {
            print_line(&format!("opened, in record {}\n\n{}", receipt.sequence(), fixed_lines(&account)))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What was asked for, checked before a ledger is touched. What is protected may depend on the account above.
    fn spec(&self) -> Result<AccountSpec, Failure> {
        let name = AccountName::parse(&self.name)?;
        let (filter, odometer) = self.rules.specs(FilterRule::Residue)?;
        let unit = self.unit.as_deref().map(Unit::parse).transpose()?;
        let privacy = Privacy { unit: unit.unwrap_or(Privacy::default().unit), ..Privacy::default() };
        Ok(AccountSpec { name, privacy, filter, odometer })
    }

    /// A ledger is made for the root of a tree only: below another account there must be one.
    fn open(&self, name: &AccountName) -> Result<Ledger, Failure> {
        let (location, parent) = (self.ledger.location()?, name.parent());
        let options = Options { create: parent.is_none(), ..self.ledger.options(false) };
        Ledger::open(&location, options).map_err(|error| match parent {
            Some(parent) if error.is_input() => {
                Failure::Usage(format!("account {name} stands below {parent}, which does not exist: {error}"))
            }
            _ => error.into(),
        })
    }

    /// What was given, or what the account above protects.
    fn privacy(&self, ledger: &Ledger, name: &AccountName) -> Result<Privacy, Failure> {
        let above = name.parent().and_then(|parent| ledger.account(&parent).ok());
        let above = above.map_or(Privacy::default(), |account| account.privacy().clone());
        Ok(Privacy {
            unit: self.unit.as_deref().map_or(Ok(above.unit), Unit::parse)?,
            neighbours: self.neighbours.as_deref().map_or(Ok(above.neighbours), Neighbours::from_name)?,
        })
    }
}
