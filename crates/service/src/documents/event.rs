//! The messages of event streams.

use serde::{Deserialize, Serialize};
use taximeter_ledger::{Account, AccountName, Computed, RefusedCharge, Sight, Standing};
use utoipa::ToSchema;

/// The changes since the event before: accounts as they are now, and refused charges, without what the caller may not see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventDocument {
    /// When, in UTC.
    pub time: String,
    /// Accounts that changed, as they are now.
    pub accounts: Vec<AccountEvent>,
    /// Charges that were refused, oldest first; at most the newest hundred.
    pub refused: Vec<RefusedCharge>,
}

/// An account that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountEvent {
    /// The account.
    pub account: AccountName,
    /// Whether it takes charges.
    pub standing: Standing,
    /// How many charges it paid in all.
    pub charges: u64,
    /// The odometer's bound; null where there is none.
    pub reading: Option<Computed>,
    /// The share of the budget that is left; null without a budget.
    pub left: Option<Computed>,
    /// The newest journal record about it.
    pub newest_record: u64,
}

impl From<&Account> for AccountEvent {
    fn from(account: &Account) -> AccountEvent {
        AccountEvent {
            account: account.name().clone(),
            standing: account.standing(),
            charges: account.charges(),
            reading: account.reading().map(Computed),
            left: account.left().map(Computed),
            newest_record: account.sequence(),
        }
    }
}

impl EventDocument {
    /// The event without what `sight` hides; `None` if nothing is left.
    pub fn seen(&self, sight: &Sight) -> Option<EventDocument> {
        let accounts: Vec<AccountEvent> =
            self.accounts.iter().filter(|event| sight.sees(&event.account)).cloned().collect();
        let refused: Vec<RefusedCharge> =
            self.refused.iter().filter(|event| sight.owns(&event.account)).cloned().collect();
        let is_empty = accounts.is_empty() && refused.is_empty();
        (!is_empty).then(|| EventDocument { time: self.time.clone(), accounts, refused })
    }
}
