//! Who may see what: all accounts, or one's own, with or without what stands above them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::charge::Receipt;
use crate::hash::Hash;
use crate::journal::{Event, LedgerId};
use crate::name::AccountName;

/// Which accounts a caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// All of them: owners, auditors, and a person at the machine.
    All,
    /// An analyst's own, and those below them.
    Own {
        /// The accounts.
        accounts: Vec<AccountName>,
        /// Whether the owner lets the analyst see what the accounts above have left.
        above: bool,
    },
}

impl Sight {
    /// Whether an account is one's own, or below one's own: its history may be seen, and it may be charged.
    pub fn owns(&self, name: &AccountName) -> bool {
        match self {
            Sight::All => true,
            Sight::Own { accounts, .. } => accounts.iter().any(|own| is_at_or_below(name, own)),
        }
    }

    /// Whether what an account has left may be seen.
    pub fn sees(&self, name: &AccountName) -> bool {
        match self {
            Sight::All => true,
            Sight::Own { accounts, above } => {
                self.owns(name) || (*above && accounts.iter().any(|own| is_at_or_below(own, name)))
            }
        }
    }
}

/// A journal record, in the bytes that its hash is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawRecord(Box<RawValue>);

impl RawRecord {
    /// The bytes, as text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// A receipt, as far as it may be seen: enough to restore a ledger from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptDocument {
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record; null with the record, without which there is nothing to check it against.
    pub hash: Option<Hash>,
    /// The record as it stands in the journal; null if it is about accounts that may not be seen.
    pub record: Option<RawRecord>,
}

impl ReceiptDocument {
    /// A receipt, as far as it may be seen. The record says what each account in it reads and has left, so all of them must be seen.
    pub fn new(receipt: &Receipt, sight: &Sight) -> ReceiptDocument {
        let sees_changed = receipt.after().iter().all(|after| sight.sees(&after.account));
        let record = (sees_changed && sees_named(receipt, sight)).then(|| receipt.raw_record());
        let hash = record.is_some().then(|| receipt.hash());
        ReceiptDocument { ledger: receipt.ledger(), sequence: receipt.sequence(), hash, record }
    }
}

impl Receipt {
    /// The record as it stands in the journal.
    pub fn raw_record(&self) -> RawRecord {
        let line = RawValue::from_string(self.line().to_string());
        RawRecord(line.expect("a receipt's line was read as JSON before"))
    }
}

/// Whether all accounts that a record names may be seen. A charge that was refused changes those that it closed, and names others.
fn sees_named(receipt: &Receipt, sight: &Sight) -> bool {
    if *sight == Sight::All {
        return true;
    }
    match receipt.record().map(|record| record.event) {
        Ok(Event::Charge(charge) | Event::Halt(charge)) => charge.accounts().iter().all(|name| sight.sees(name)),
        // The secret in the first record opens the digests in all of them.
        Ok(Event::Ledger { .. }) | Err(_) => false,
        Ok(_) => true,
    }
}

fn is_at_or_below(name: &AccountName, above: &AccountName) -> bool {
    name.path().any(|part| part == above.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analyst_sees_its_own_accounts_and_those_above_only_if_it_may() {
        let name = |text: &str| AccountName::parse(text).unwrap();
        let own = |above| Sight::Own { accounts: vec![name("census/alice")], above };
        for (account, owns, sees, sees_with_above) in [
            ("census/alice", true, true, true),
            ("census/alice/thesis", true, true, true),
            ("census", false, false, true),
            ("census/bob", false, false, false),
            ("census/alice2", false, false, false),
            ("other", false, false, false),
        ] {
            let account = name(account);
            assert_eq!((own(false).owns(&account), own(true).owns(&account)), (owns, owns), "{account}");
            assert_eq!((own(false).sees(&account), own(true).sees(&account)), (sees, sees_with_above), "{account}");
            assert!(Sight::All.owns(&account) && Sight::All.sees(&account));
        }
    }
}
