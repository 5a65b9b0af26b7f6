//! Receipts: what was written to the journal, with the record itself, from which a ledger can be restored.

use serde::Serialize;
use serde_json::value::RawValue;
use taximeter_ledger::{Account, AccountName, After, Hash, Ledger, LedgerId, Neighbours, Receipt};

use crate::ledger::show::{self, Lines};
use crate::output::{Computed, Failure};
use crate::table::Table;

/// Where a record is, and the record as it stands in the journal.
#[derive(Serialize)]
pub struct ReceiptJson {
    pub ledger: LedgerId,
    pub sequence: u64,
    pub hash: Hash,
    pub record: Box<RawValue>,
}

impl ReceiptJson {
    pub fn new(receipt: &Receipt) -> Result<ReceiptJson, Failure> {
        let record = RawValue::from_string(receipt.line().to_string())
            .map_err(|error| Failure::Integrity(format!("record {}: {error}; run `verify`", receipt.sequence())))?;
        Ok(ReceiptJson { ledger: receipt.ledger(), sequence: receipt.sequence(), hash: receipt.hash(), record })
    }
}

/// An account that paid.
#[derive(Serialize)]
pub struct PaidJson {
    account: String,
    reading: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading_reason: Option<&'static str>,
    left: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes: Option<&'static str>,
    guarantee: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_guarantee: Option<String>,
    unit: String,
    neighbours: Neighbours,
}

/// A branch of an account's filter, by name.
pub type Branch = (AccountName, &'static str);

/// The accounts that paid for a record, from the root down, with what they were after it.
pub struct Paid {
    accounts: Vec<(Account, After)>,
    /// What the charge closed for good.
    closed: Vec<Branch>,
}

impl Paid {
    pub fn new(ledger: &Ledger, receipt: &Receipt, closed: Vec<Branch>) -> Result<Paid, Failure> {
        let mut accounts = Vec::new();
        for after in receipt.after() {
            accounts.push((ledger.account(&after.account)?, after.clone()));
        }
        Ok(Paid { accounts, closed })
    }

    pub fn json(&self) -> Vec<PaidJson> {
        self.accounts
            .iter()
            .map(|(account, after)| PaidJson {
                account: after.account.to_string(),
                reading: after.reading.map(|reading| Computed(reading.0)),
                reading_reason: if after.reading.is_none() { show::unbounded(account) } else { None },
                left: after.left.map(|left| Computed(left.0)),
                closes: self.closed.iter().find(|(name, _)| *name == after.account).map(|(_, branch)| *branch),
                guarantee: account.odometer().reading().guarantee.to_string(),
                filter_guarantee: account.filter().map(|filter| filter.guarantee()),
                unit: account.privacy().unit.to_string(),
                neighbours: account.privacy().neighbours,
            })
            .collect()
    }

    /// A line for each account.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["account", ">left", "guarantee", ">reading"]);
        for (account, after) in &self.accounts {
            table.row([
                after.account.to_string(),
                show::share(after.left.map(|left| left.0)),
                account.filter().map_or("no budget".to_string(), |filter| filter.guarantee()),
                show::reading(after.reading.map(|reading| reading.0), false),
            ]);
        }
        table
    }

    /// What the readings mean. Accounts that read in the same way are named together.
    pub fn meaning(&self) -> Lines {
        let mut lines = Lines::default();
        for (account, branch) in &self.closed {
            lines.add("closed", show::closed_branch(account, branch));
        }
        if let Some((account, _)) = self.accounts.first() {
            lines.add("protects", account.privacy());
        }
        let guarantee = |account: &Account| account.odometer().reading().guarantee.to_string();
        let mut told: Vec<String> = Vec::new();
        for (account, _) in &self.accounts {
            let text = guarantee(account);
            if told.contains(&text) {
                continue;
            }
            let same: Vec<&str> = self
                .accounts
                .iter()
                .filter(|(other, _)| guarantee(other) == text)
                .map(|(other, _)| other.name().as_str())
                .collect();
            let whose =
                if same.len() == self.accounts.len() { String::new() } else { format!(" ({})", same.join(", ")) };
            lines.add("reading", format!("{text}{whose}"));
            told.push(text);
        }
        for (account, after) in &self.accounts {
            if let Some(why) = show::unbounded(account).filter(|_| after.reading.is_none()) {
                lines.add("", format!("{}: {why}", account.name()));
            }
        }
        lines
    }
}
