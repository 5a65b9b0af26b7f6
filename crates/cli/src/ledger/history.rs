//! `taximeter history`: what happened to an account.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use taximeter_ledger::{AccountName, After, Event, Hash, Receipt, Record};

use crate::ledger::LedgerArgs;
use crate::ledger::receipt::ReceiptJson;
use crate::ledger::show;
use crate::output::{Failure, print_json, print_line, tell};
use crate::table::Table;

/// What happened to an account, newest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter history census/alice
  taximeter history census --limit 100 --from 731

In JSON every record stands as it does in the journal.")]
pub struct HistoryCommand {
    /// The account
    name: String,
    /// The most records
    #[arg(long, value_name = "RECORDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// The record to start with: one about this account, as the part before names it [default: the newest]
    #[arg(long, value_name = "SEQUENCE")]
    from: Option<u64>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document {
    account: AccountName,
    records: Vec<RecordJson>,
    /// Where the next part starts.
    next: Option<u64>,
}

#[derive(Serialize)]
struct RecordJson {
    sequence: u64,
    hash: Hash,
    what: &'static str,
    record: Box<RawValue>,
}

impl HistoryCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let account = AccountName::parse(&self.name)?;
        let mut reader = self.ledger.read()?;
        let history = reader.history(&account, self.from, self.limit as usize)?;
        if self.ledger.json {
            let records = history.records.iter().map(record_json).collect::<Result<_, Failure>>()?;
            print_json(&Document { account, records, next: history.next })?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(&[">record", "time (UTC)", "what", "costs", ">left", ">reading", "by", "note"]);
        for receipt in &history.records {
            table.row(row(&account, receipt, &receipt.record()?));
        }
        print_line(&table.to_string())?;
        if let Some(next) = history.next {
            tell(&format!("there is more: taximeter history {account} --from {next}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn record_json(receipt: &Receipt) -> Result<RecordJson, Failure> {
    let what = show::event(&receipt.record()?.event);
    let ReceiptJson { sequence, hash, record, .. } = ReceiptJson::new(receipt)?;
    Ok(RecordJson { sequence, hash, what, record })
}

fn row(account: &AccountName, receipt: &Receipt, record: &Record) -> [String; 8] {
    let after: Option<&After> = receipt.after().iter().find(|after| after.account == *account);
    let is_unknown = matches!(record.event, Event::Restore { .. });
    let text = |text: Option<&str>| text.map_or(String::new(), shorten);
    let (costs, by, note) = match &record.event {
        Event::Charge(charge) | Event::Halt(charge) => {
            let names: Vec<&str> = charge.accounts().iter().map(AccountName::as_str).collect();
            let to = if names == [account.as_str()] { String::new() } else { format!(" to {}", names.join(", ")) };
            let costs = format!("{}{to}", show::costs(charge.costs()));
            (costs, charge.who().map(|by| by.as_str()), charge.note().map(|note| note.as_str()))
        }
        Event::Open(spec) => {
            let budget =
                spec.filter.as_ref().map(|filter| format!("budget {} by {}", filter.budget, filter.rule.name()));
            (budget.unwrap_or("no budget".to_string()), None, None)
        }
        Event::Close { by, note, .. } | Event::Restore { by, note, .. } => {
            (String::new(), by.as_ref().map(|by| by.as_str()), note.as_ref().map(|note| note.as_str()))
        }
        Event::Ledger { .. } => (String::new(), None, None),
    };
    [
        record.sequence.to_string(),
        show::to_the_second(&record.time.to_string()),
        show::event(&record.event).to_string(),
        costs,
        after.map_or(String::new(), |after| show::share(after.left.map(|left| left.0))),
        after.map_or(String::new(), |after| show::reading(after.reading.map(|reading| reading.0), is_unknown)),
        text(by),
        text(note.map(without_hash)),
    ]
}

/// A note without the hash that the gate puts before a question, so that the question can be seen.
fn without_hash(note: &str) -> &str {
    let question = note.strip_prefix("question ").and_then(|rest| rest.split_once(": "));
    question.filter(|(hash, _)| Hash::parse(hash).is_some()).map_or(note, |(_, question)| question)
}

/// What fits in a column; the whole is in the JSON.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
