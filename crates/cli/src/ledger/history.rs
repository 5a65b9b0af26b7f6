//! `taximeter history`: what happened to an account.

use std::process::ExitCode;

use clap::Args;
use taximeter_gate::question_in_note;
use taximeter_ledger::AccountName;
use taximeter_service::RecordDocument;

use crate::ledger::LedgerArgs;
use crate::ledger::show;
use crate::output::{Failure, print, tell};
use crate::table::TextTable;

/// The records of an account, newest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter history census/alice
  taximeter history census --limit 100 --from 731

With --json, every record is printed as it is in the journal.")]
pub struct HistoryCommand {
    /// The account
    name: String,
    /// The largest number of records
    #[arg(long, value_name = "RECORDS", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// The record to start with, which must be about this account [default: the newest]
    #[arg(long, value_name = "SEQUENCE")]
    from: Option<u64>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl HistoryCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let account = AccountName::parse(&self.name)?;
        let history = self.ledger.backend()?.history(&account, self.from, self.limit as usize)?;
        let done = print(self.ledger.json, &history, || table(&account, &history.records).to_string())?;
        if let Some(next) = history.next.filter(|_| !self.ledger.json) {
            tell(&format!("there is more: taximeter history {account} --from {next}"));
        }
        Ok(done)
    }
}

/// The records of an account.
pub fn table(account: &AccountName, records: &[RecordDocument]) -> TextTable {
    let mut table = TextTable::new(&[">record", "time (UTC)", "what", "costs", ">left", ">reading", "by", "note"]);
    records.iter().for_each(|record| table.row(row(account, record)));
    table
}

fn row(account: &AccountName, record: &RecordDocument) -> [String; 8] {
    let text = |text: Option<&str>| text.map_or(String::new(), shorten);
    [
        record.sequence.to_string(),
        show::to_the_second(&record.time),
        match record.waits_for_witnesses {
            true => format!("{}, waits for witnesses", record.what),
            false => record.what.clone(),
        },
        costs(account, record),
        show::share(record.left.map(|left| left.0)),
        show::reading(record.reading, record.what == "restore"),
        text(record.by.as_ref().map(|by| by.as_str())),
        text(
            record
                .note
                .as_ref()
                .map(|note| question_in_note(note.as_str()).map_or(note.as_str(), |(_, question)| question)),
        ),
    ]
}

/// The costs and the charged accounts, or the budget of a new account.
fn costs(account: &AccountName, record: &RecordDocument) -> String {
    match record.what.as_str() {
        "open" => match (&record.budget, &record.rule) {
            (Some(budget), Some(rule)) => format!("budget {} by {rule}", show::budget(budget)),
            _ => "no budget".to_string(),
        },
        "charge" | "halt" => {
            let names: Vec<&str> = record.accounts.iter().map(AccountName::as_str).collect();
            let to = if names == [account.as_str()] { String::new() } else { format!(" to {}", names.join(", ")) };
            format!("{}{to}", show::costs(&record.costs))
        }
        _ => String::new(),
    }
}

/// Shortens a text to the width of a column; the JSON has all of it.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
