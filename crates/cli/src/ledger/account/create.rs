//! `taximeter account create`: a budget by a name.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use taximeter_accounting::FilterRule;
use taximeter_ledger::{AccountName, Neighbours, Unit};
use taximeter_service::{FilterRequest, NewAccount, OdometerRequest};

use crate::ledger::LedgerArgs;
use crate::ledger::account::rules::AccountRulesArgs;
use crate::ledger::show::fixed_lines;
use crate::output::{Failure, print, warn};

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

impl Create {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let account = self.account()?;
        let opened = self.ledger.office()?.open_account(&account)?;
        warn(&opened.warnings);
        print(self.ledger.json, &opened, || {
            format!("opened, in record {}\n\n{}", opened.sequence, fixed_lines(&opened.account))
        })
    }

    /// What was asked for, checked before a ledger is touched. What is protected may depend on the account above.
    fn account(&self) -> Result<NewAccount, Failure> {
        let name = AccountName::parse(&self.name)?;
        let (filter, odometer) = self.rules.specs(FilterRule::default())?;
        Ok(NewAccount {
            account: name,
            unit: self.unit.as_deref().map(Unit::parse).transpose()?,
            neighbours: self.neighbours.as_deref().map(Neighbours::from_name).transpose()?,
            filter: filter.as_ref().map(FilterRequest::from),
            odometer: Some(OdometerRequest::from(&odometer)),
        })
    }
}
