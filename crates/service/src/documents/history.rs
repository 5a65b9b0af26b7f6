//! The history of an account.

use serde::{Deserialize, Serialize};
use taximeter_accounting::{Budget, Cost};
use taximeter_ledger::{
    AccountName, Computed, Error, Event, Hash, History, Note, RawRecord, Receipt, ReceiptDocument, Sight, Who,
};
use utoipa::ToSchema;

use crate::documents::account::BudgetDocument;

/// A page of an account's history, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryDocument {
    /// The account.
    pub account: AccountName,
    /// The records.
    pub records: Vec<RecordDocument>,
    /// The record that the next page starts with; null at the end.
    pub next: Option<u64>,
}

/// What happened to an account, in one record.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordDocument {
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record; null if the record is null.
    pub hash: Option<Hash>,
    /// Whether the record, and whether it stands, waits for witnesses that cannot be told of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_witnesses: bool,
    /// What happened: open, charge, halt, close, restore.
    pub what: String,
    /// When, in UTC.
    pub time: String,
    /// The accounts that a charge named, without those that the caller may not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<AccountName>,
    /// What was charged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
    /// The budget that the account was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetDocument>,
    /// The rule that it was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Who>,
    /// What for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The account's reading afterwards; null where there is no bound.
    pub reading: Option<Computed>,
    /// What the account had left afterwards; null without a budget.
    pub left: Option<Computed>,
    /// The record as it is in the journal; null if it is about accounts that the caller may not see, or waits for witnesses.
    pub record: Option<RawRecord>,
}

impl HistoryDocument {
    /// A page of the history of an account, without what `sight` hides.
    pub fn new(account: &AccountName, history: &History, sight: &Sight) -> Result<HistoryDocument, Error> {
        let record = |receipt| RecordDocument::new(account, receipt, sight);
        let records = history.records.iter().map(record).collect::<Result<_, Error>>()?;
        Ok(HistoryDocument { account: account.clone(), records, next: history.next })
    }

    /// Withholds what would be receipts of the records from this one on: the witnesses do not know them yet.
    pub(crate) fn withhold_from(&mut self, sequence: u64) {
        for record in self.records.iter_mut().filter(|record| record.sequence >= sequence) {
            (record.hash, record.record, record.waits_for_witnesses) = (None, None, true);
        }
    }
}

impl RecordDocument {
    fn new(account: &AccountName, receipt: &Receipt, sight: &Sight) -> Result<RecordDocument, Error> {
        let record = receipt.record()?;
        let ReceiptDocument { sequence, hash, record: raw, .. } = ReceiptDocument::new(receipt, sight);
        let after = receipt.after().iter().find(|after| after.account == *account);
        let mut document = RecordDocument {
            sequence,
            hash,
            waits_for_witnesses: false,
            what: what(&record.event).to_string(),
            time: record.time.to_string(),
            accounts: Vec::new(),
            costs: Vec::new(),
            budget: None,
            rule: None,
            by: None,
            note: None,
            reading: after.and_then(|after| after.reading),
            left: after.and_then(|after| after.left),
            record: raw,
        };
        match record.event {
            Event::Charge(charge) | Event::Halt(charge) => {
                document.accounts = charge.accounts().iter().filter(|name| sight.sees(name)).cloned().collect();
                document.costs = charge.costs().to_vec();
                document.by = charge.who().cloned();
                // The note may be about the accounts that are hidden.
                let sees_all = charge.accounts().iter().all(|name| sight.sees(name));
                document.note = charge.note().filter(|_| sees_all).cloned();
            }
            Event::Open(spec) => {
                let filter = spec.filter.as_ref();
                document.budget = filter.map(|filter| BudgetDocument::from(&filter.budget));
                document.rule = filter.map(|filter| filter.rule().name().to_string());
            }
            Event::Close { by, note, .. } | Event::Restore { by, note, .. } => {
                (document.by, document.note) = (by, note);
            }
            Event::Ledger { .. } => {}
        }
        Ok(document)
    }

    /// The budget that the account was opened with, if it is valid.
    pub fn budget(&self) -> Option<Budget> {
        self.budget.as_ref()?.budget().ok()
    }
}

/// The name of an event.
fn what(event: &Event) -> &'static str {
    match event {
        Event::Ledger { .. } => "ledger",
        Event::Open(_) => "open",
        Event::Charge(_) => "charge",
        Event::Halt(_) => "halt",
        Event::Close { .. } => "close",
        Event::Restore { .. } => "restore",
    }
}
