//! `taximeter ledger`: the ledger itself.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand};
use serde::Serialize;
use taximeter_ledger::{Position, Receipts, Restore, Restored, clear_alarm, restore};
use taximeter_service::LedgerDocument;

use crate::key_values::KeyValues;
use crate::ledger::show::number;
use crate::ledger::{LedgerArgs, SignatureArgs};
use crate::output::{Failure, print, thousands, usage};

/// The ledger itself: show it, restore it, clear its alarm
#[derive(Subcommand)]
pub enum ManageCommand {
    /// Show which ledger this is and its newest record
    #[command(after_help = "Example: taximeter ledger show")]
    Show(LedgerArgs),
    Restore(RestoreArgs),
    /// Let a ledger take charges again after `verify` found it damaged
    ///
    /// A record or a state that differs from what was written may mean that a disk is failing, or that the ledger was changed. First
    /// look at the report of `verify`, keep a copy, and replace the ledger by an undamaged copy if there is one: that has no alarm. The
    /// next `verify` that finds damage raises the alarm again.
    #[command(after_help = "Example: taximeter ledger clear-alarm")]
    ClearAlarm(LedgerArgs),
}

impl ManageCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            ManageCommand::Show(ledger) => {
                let shown = ledger.backend()?.ledger()?;
                print(ledger.json, &shown, || text(&shown))
            }
            ManageCommand::Restore(args) => args.run(),
            ManageCommand::ClearAlarm(ledger) => {
                let cleared = ClearedJson { cleared: clear_alarm(&ledger.location()?)? };
                print(ledger.json, &cleared, || match &cleared.cleared {
                    Some(why) => format!("cleared the alarm: {why}"),
                    None => "there is no alarm".to_string(),
                })
            }
        }
    }
}

fn text(shown: &LedgerDocument) -> String {
    let LedgerDocument { ledger, location, records, accounts, newest, witness } = shown;
    let mut lines = KeyValues::default();
    lines.add("ledger", location);
    lines.add("identity", ledger);
    lines.add("accounts", thousands(*accounts as u64));
    lines.add("records", thousands(*records));
    lines.add("newest", format!("record {}, hash {}", newest.sequence, newest.hash));
    lines.add("witness", format!("{}, remembers record {}", witness.path, witness.remembers.sequence));
    lines.to_string()
}

/// Continue a ledger that differs from what its witness remembers
///
/// An old copy of a ledger lacks the later charges and would spend their budget again: people could learn more than the budget allows.
/// Therefore a ledger does not open if it is older than its witness, has other records than its witness remembers, or has no witness.
/// First look for the newest copy of the ledger, or for the right witness (--witness). If there is none, there are two ways to continue:
///
/// --receipts FILE: the file has the missing records, one JSON document per line and in any order: the output of `charge --json` and
/// `account create --json`, or lines of an export. Exactly these records are restored, up to the record that the witness remembers.
/// Nothing is lost, and the accounts continue as they were. If a record is missing or does not fit, nothing is changed.
///
/// --accept-loss: the missing charges are unknown, so nothing may be left: a new record says so, every account is exhausted permanently,
/// and its reading is unknown. The journal keeps all its records. To continue, create new accounts, and only if you can account for
/// what the old ones may have spent.
///
/// The witness detects a ledger that was restored alone, edited, or copied and continued twice. It cannot detect that the ledger and
/// the witness were restored together, as happens if both are in the same backup or on the same disk. Keep the witness on another disk,
/// and out of the backup of the ledger.
#[derive(Args)]
#[command(group = ArgGroup::new("how").required(true).args(["receipts", "accept_loss"]), after_help = "\
Examples:
  taximeter ledger restore --receipts receipts.jsonl
  taximeter ledger restore --accept-loss --by owner --note \"disk failed on Monday\"")]
pub struct RestoreArgs {
    /// Restore the missing records from receipts or an export
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "note"])]
    receipts: Option<PathBuf>,
    /// Continue without the missing records: every account is exhausted
    #[arg(long)]
    accept_loss: bool,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct RestoredJson {
    restored: bool,
    newest: Position,
    records: u64,
    exhausted: usize,
}

impl RestoreArgs {
    fn run(&self) -> Result<ExitCode, Failure> {
        let location = self.ledger.location()?;
        let how = match &self.receipts {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| usage(format!("the receipts {} cannot be read: {error}", path.display())))?;
                Restore::Receipts(Receipts::parse(&text)?)
            }
            None => Restore::AcceptLoss { by: self.signature.by()?, note: self.signature.note()? },
        };
        let Restored { head: newest, records, exhausted } = restore(&location, &self.ledger.options(false)?, how)?;
        let sequence = newest.sequence;
        print(self.ledger.json, &RestoredJson { restored: true, newest, records, exhausted }, || {
            if self.receipts.is_some() {
                let records = number(records, "record", "records");
                return format!(
                    "restored {records}: the ledger ends at record {sequence}, the newest that its witness remembers"
                );
            }
            let accounts = number(exhausted as u64, "account is", "accounts are");
            format!(
                "restored without the missing records, in record {sequence}: {accounts} exhausted permanently\n\
                 `account create` makes new ones, if you can account for what the old ones may have spent"
            )
        })
    }
}

#[derive(Serialize)]
struct ClearedJson {
    /// The reason for the alarm; null if there was none.
    cleared: Option<String>,
}
