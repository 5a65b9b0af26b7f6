//! `taximeter ledger`: the ledger itself.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand};
use serde::Serialize;
use taximeter_ledger::{Position, Receipts, Restore, Restored, clear_alarm, restore};
use taximeter_service::LedgerDocument;

use crate::ledger::show::{Lines, number};
use crate::ledger::{LedgerArgs, SignatureArgs};
use crate::output::{Failure, print, thousands};

/// The ledger itself: show it, restore it, clear its alarm
#[derive(Args)]
pub struct ManageCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Show(Show),
    Restore(RestoreCommand),
    ClearAlarm(ClearAlarm),
}

impl ManageCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match &self.verb {
            Verb::Show(show) => show.run(),
            Verb::Restore(restore) => restore.run(),
            Verb::ClearAlarm(clear) => clear.run(),
        }
    }
}

/// Show which ledger this is and how far it got
#[derive(Args)]
#[command(after_help = "Example: taximeter ledger show")]
struct Show {
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl Show {
    fn run(&self) -> Result<ExitCode, Failure> {
        let shown = self.ledger.office()?.ledger()?;
        print(self.ledger.json, &shown, || text(&shown))
    }
}

fn text(shown: &LedgerDocument) -> String {
    let LedgerDocument { ledger, location, records, accounts, newest, witness } = shown;
    let mut lines = Lines::default();
    lines.add("ledger", location);
    lines.add("identity", ledger);
    lines.add("accounts", thousands(*accounts as u64));
    lines.add("records", thousands(*records));
    lines.add("newest", format!("record {}, hash {}", newest.sequence, newest.hash));
    lines.add("witness", format!("{}, remembers record {}", witness.path, witness.remembers.sequence));
    lines.to_string()
}

/// Go on with a ledger that is not what its witness remembers
///
/// An old copy of a ledger that is put back has forgotten the charges made since, and would hand out their budget again: people could
/// learn more than the budget allows. So a ledger that is behind its witness, or has gone another way, or has no witness, does not open.
/// First look for the newest copy of the ledger, or for the right witness (--witness). If there is none, there are two ways to go on:
///
/// --receipts FILE: the file has the records that are missing, one JSON document a line and in any order: what `charge --json` and
/// `account create --json` printed, or lines of an export. Exactly those are put back, up to the record that the witness remembers.
/// Nothing is lost, and accounts go on as they were. If one is missing or does not fit, nothing is changed.
///
/// --accept-loss: what was charged is not known, so nothing is left: a new record says so, every account is exhausted for good, and
/// its reading is unknown. Everything in the journal stays. To go on, make new accounts, and only if you can answer for what the old
/// ones may have spent.
///
/// What the witness notices: a ledger that is put back alone, edited, or copied and continued twice. What it cannot notice: the
/// ledger and the witness put back together, as happens if both are in the same backup or on the same disk. Keep it on another disk,
/// and out of the backup of the ledger.
#[derive(Args)]
#[command(group = ArgGroup::new("how").required(true).args(["receipts", "accept_loss"]), after_help = "\
Examples:
  taximeter ledger restore --receipts receipts.jsonl
  taximeter ledger restore --accept-loss --by owner --note \"disk failed on Monday\"")]
struct RestoreCommand {
    /// Put back the missing records from receipts or an export
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "note"])]
    receipts: Option<PathBuf>,
    /// Go on without them: every account is exhausted
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

impl RestoreCommand {
    fn run(&self) -> Result<ExitCode, Failure> {
        let location = self.ledger.location()?;
        let how = match &self.receipts {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    Failure::Usage(format!("the receipts {} cannot be read: {error}", path.display()))
                })?;
                Restore::Receipts(Receipts::parse(&text)?)
            }
            None => Restore::AcceptLoss { by: self.signature.by()?, note: self.signature.note()? },
        };
        let Restored { head: newest, records, exhausted } = restore(&location, &self.ledger.options(false), how)?;
        let sequence = newest.sequence;
        print(self.ledger.json, &RestoredJson { restored: true, newest, records, exhausted }, || {
            if self.receipts.is_some() {
                let records = number(records, "record", "records");
                return format!("put back {records}: the ledger ends at record {sequence}, as its witness remembers");
            }
            let accounts = number(exhausted as u64, "account is", "accounts are");
            format!(
                "restored without what is missing, in record {sequence}: {accounts} exhausted, for good\n\
                 `account create` makes new ones, if you can answer for what the old ones may have spent"
            )
        })
    }
}

/// Let a ledger take charges again that `verify` found broken
///
/// A record or a state that is not what was written may mean that a disk is failing, or that the ledger was changed. Look at what
/// `verify` says first, keep a copy, and put a good copy of the ledger in its place if there is one: that has no alarm. Cleared, the
/// alarm is raised again by the next `verify` that finds something.
#[derive(Args)]
#[command(after_help = "Example: taximeter ledger clear-alarm")]
struct ClearAlarm {
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct ClearedJson {
    /// What the alarm was about; null if there was none.
    cleared: Option<String>,
}

impl ClearAlarm {
    fn run(&self) -> Result<ExitCode, Failure> {
        let cleared = ClearedJson { cleared: clear_alarm(&self.ledger.location()?)? };
        print(self.ledger.json, &cleared, || match &cleared.cleared {
            Some(why) => format!("cleared the alarm: {why}"),
            None => "there is no alarm".to_string(),
        })
    }
}
