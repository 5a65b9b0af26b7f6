//! `taximeter account`: named budgets.

use std::collections::HashSet;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand};
use taximeter_accounting::FilterRule;
use taximeter_ledger::{AccountName, Neighbours, Unit};
use taximeter_service::{AccountDocument, CloseRequest, FilterRequest, NewAccount, OdometerRequest};

use crate::ledger::account_rules::AccountRulesArgs;
use crate::ledger::show::{self, account_lines, fixed_lines};
use crate::ledger::{LedgerArgs, SignatureArgs};
use crate::output::{Failure, print, thousands, warn};
use crate::table::TextTable;

/// Named budgets: create, list, show, close
///
/// An account has a budget with a filter and an odometer, or only an odometer. Accounts form trees: census also pays for a charge to
/// census/alice, so that all accounts below census together stay within its budget. A name has up to 8 parts of at most 64 letters,
/// digits, -, _ and . each. An account cannot be changed or deleted.
#[derive(Subcommand)]
pub enum AccountCommand {
    Create(Box<CreateArgs>),
    /// List all accounts with what is left
    #[command(after_help = "Example: taximeter account list --json")]
    List(LedgerArgs),
    /// Show everything about an account
    #[command(after_help = "Example: taximeter account show census/alice")]
    Show(ShowArgs),
    Close(CloseArgs),
}

/// Create an account, and the ledger if it does not exist
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
pub struct CreateArgs {
    /// The name, such as census or census/alice; the account above it must exist
    name: String,
    #[command(flatten)]
    rules: AccountRulesArgs,
    /// The unit that is protected, for instance person [default: record, or the unit of the account above]
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// When two datasets are neighbours [default: add-remove, or the relation of the account above]
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"])]
    neighbours: Option<String>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Args)]
pub struct ShowArgs {
    /// The account
    name: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Close an account permanently: it takes no more charges, nor does any account below it
#[derive(Args)]
#[command(after_help = "Example: taximeter account close census/alice --by owner --note \"the project ended\"")]
pub struct CloseArgs {
    /// The account
    name: String,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl AccountCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            AccountCommand::Create(args) => create(args),
            AccountCommand::List(ledger) => {
                let list = ledger.backend()?.accounts()?;
                print(ledger.json, &list, || table(&list.accounts))
            }
            AccountCommand::Show(ShowArgs { name, ledger }) => {
                let account = ledger.backend()?.account(&AccountName::parse(name)?)?;
                print(ledger.json, &account, || account_lines(&account).to_string())
            }
            AccountCommand::Close(args) => close(args),
        }
    }
}

fn create(args: &CreateArgs) -> Result<ExitCode, Failure> {
    // Wrong arguments are reported before a ledger is opened or created.
    let (filter, odometer) = args.rules.specs(FilterRule::default())?;
    let account = NewAccount {
        account: AccountName::parse(&args.name)?,
        unit: args.unit.as_deref().map(Unit::parse).transpose()?,
        neighbours: args.neighbours.as_deref().map(Neighbours::from_name).transpose()?,
        filter: filter.as_ref().map(FilterRequest::from),
        odometer: Some(OdometerRequest::from(&odometer)),
    };
    let opened = args.ledger.backend()?.open_account(&account)?;
    warn(&opened.warnings);
    print(args.ledger.json, &opened, || {
        format!("opened, in record {}\n\n{}", opened.sequence, fixed_lines(&opened.account))
    })
}

fn close(args: &CloseArgs) -> Result<ExitCode, Failure> {
    let name = AccountName::parse(&args.name)?;
    let request = CloseRequest { by: args.signature.by()?, note: args.signature.note()? };
    let closed = args.ledger.backend()?.close_account(&name, &request)?;
    print(args.ledger.json, &closed, || {
        format!("closed {name} permanently, in record {}; its history stays", closed.sequence)
    })
}

fn table(accounts: &[AccountDocument]) -> String {
    if accounts.is_empty() {
        return "there are no accounts; `account create` makes one".to_string();
    }
    let mut table = TextTable::new(&["account", "budget", "rule", ">left", ">reading", ">charges", "standing"]);
    let listed: HashSet<&str> = accounts.iter().map(|account| account.account.as_str()).collect();
    for account in accounts {
        let filter = account.filter.as_ref();
        table.row([
            indented(&account.account, &listed),
            filter.map_or("–".to_string(), |filter| show::budget(&filter.budget)),
            filter.map_or(&account.odometer.rule, |filter| &filter.rule).clone(),
            show::share(account.left()),
            show::reading(account.reading, show::is_unknown(account)),
            thousands(account.charges),
            show::standing(account),
        ]);
    }
    table.to_string()
}

/// The name, indented below the listed accounts above it. An analyst does not see all of those.
fn indented(name: &AccountName, listed: &HashSet<&str>) -> String {
    let above: Vec<&str> = name.path().filter(|above| *above != name.as_str() && listed.contains(above)).collect();
    let own = above.last().map_or(name.as_str(), |above| &name.as_str()[above.len() + 1..]);
    format!("{}{own}", "  ".repeat(above.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_indented_below_the_listed_accounts_above_it() {
        let listed = HashSet::from(["census", "census/alice/thesis", "census/alice/thesis/one", "town/bob"]);
        for (name, shown) in [
            ("census", "census"),
            ("census/alice/thesis", "  alice/thesis"),
            ("census/alice/thesis/one", "    one"),
            ("town/bob", "town/bob"),
        ] {
            assert_eq!(indented(&AccountName::parse(name).unwrap(), &listed), shown);
        }
    }
}
