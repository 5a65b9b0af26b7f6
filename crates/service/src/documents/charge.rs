//! Charges: what is asked, what was paid, and what was refused.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use taximeter_accounting::Cost;
use taximeter_ledger::{
    Account, AccountName, After, Charge, Computed, Error, Hash, Key, Ledger, LedgerId, Neighbours, Note, Outcome,
    RawRecord, Receipt, ReceiptDocument, Refusal, Sight, Unit, Who,
};
use utoipa::ToSchema;

use crate::documents::account::unbounded;
use crate::documents::cost::DeclaredCost;

/// A charge, or a quote of one: a list of costs on one or more accounts, which pay together with all accounts above them.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"accounts": ["census/alice"], "costs": [{"epsilon": "0.01"}], "note": "a count of households"}),
    json!({"accounts": ["census/alice"], "costs": [{"gaussian": {"sigma": "200", "sensitivity": "1"}}], "unit": "record"})
))]
pub struct ChargeRequest {
    /// The accounts, at most 16.
    #[schema(min_items = 1, max_items = 16)]
    pub accounts: Vec<AccountName>,
    /// The costs, at most 64.
    #[schema(min_items = 1, max_items = 64)]
    pub costs: Vec<DeclaredCost>,
    /// The unit that the costs are about; it must be the accounts'.
    pub unit: Option<Unit>,
    /// The neighbouring relation that the costs are about; it must be the accounts'.
    pub neighbours: Option<Neighbours>,
    /// Who asks. A server knows it from the token, and takes no other name.
    pub by: Option<Who>,
    /// What it is for.
    pub note: Option<Note>,
}

impl ChargeRequest {
    /// The charge under a key.
    pub fn charge(&self, key: Key) -> Result<Charge, Error> {
        let costs = self.costs.iter().map(|cost| cost.0).collect();
        Ok(Charge::new(key, self.accounts.clone(), costs)?
            .with_unit(self.unit.clone())
            .with_neighbours(self.neighbours)
            .by(self.by.clone())
            .with_note(self.note.clone()))
    }
}

/// The outcome of a charge, without what the caller may not see.
#[derive(Clone, Debug)]
pub enum ChargeOutcome {
    /// It is on the ledger, now or since before.
    Charged(Charged),
    /// It was refused; nothing was charged.
    Refused(Refused),
}

impl ChargeOutcome {
    /// The outcome of a charge. `key` is the caller's name for its key.
    pub fn new(outcome: &Outcome, key: &str, ledger: &Ledger, sight: &Sight) -> Result<ChargeOutcome, Error> {
        let charged = |when, receipt| Charged::new(when, key, receipt, ledger, sight).map(ChargeOutcome::Charged);
        match outcome {
            Outcome::Charged(fresh) => charged(Committed::Now, fresh.receipt()),
            Outcome::Replayed(receipt) => charged(Committed::Before, receipt),
            Outcome::Refused(refusal) => Ok(ChargeOutcome::Refused(Refused::new(refusal, sight))),
        }
    }
}

/// Whether a charge was made now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Committed {
    /// It was committed just now.
    #[serde(rename = "charged")]
    Now,
    /// It had been committed before, under the same key; nothing was charged again.
    #[serde(rename = "replayed")]
    Before,
}

/// A charge that is on the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Charged {
    /// Whether it was made now or before.
    pub outcome: Committed,
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in the journal.
    pub sequence: u64,
    /// The hash of the record; null if the record is null, because there is nothing to check it against.
    pub hash: Option<Hash>,
    /// The idempotency key, as it was given.
    pub key: String,
    /// The record as it is in the journal; null if it is about accounts that the caller may not see.
    pub record: Option<RawRecord>,
    /// The accounts that paid, from the root down, without those that the caller may not see.
    pub accounts: Vec<Paid>,
}

/// An account that paid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Paid {
    /// The account.
    pub account: AccountName,
    /// The odometer's bound after it; null where there is none.
    pub reading: Option<Computed>,
    /// Why there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading_reason: Option<String>,
    /// The share of the budget that was left after it; null without a budget.
    pub left: Option<Computed>,
    /// What a reading means.
    pub guarantee: String,
    /// What the filter promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_guarantee: Option<String>,
    /// The unit that is protected.
    pub unit: Unit,
    /// When two datasets count as neighbours.
    pub neighbours: Neighbours,
}

impl Paid {
    fn new(after: &After, account: &Account) -> Paid {
        let reason = if after.reading.is_none() { unbounded(account) } else { None };
        Paid {
            account: after.account.clone(),
            reading: after.reading,
            reading_reason: reason.map(str::to_string),
            left: after.left,
            guarantee: account.odometer().guarantee().to_string(),
            filter_guarantee: account.filter().map(|filter| filter.guarantee()),
            unit: account.privacy().unit.clone(),
            neighbours: account.privacy().neighbours,
        }
    }
}

impl Charged {
    /// A receipt with the accounts that paid.
    pub fn new(
        outcome: Committed,
        key: &str,
        receipt: &Receipt,
        ledger: &Ledger,
        sight: &Sight,
    ) -> Result<Charged, Error> {
        let seen = receipt.after().iter().filter(|after| sight.sees(&after.account));
        let paid = |after: &After| ledger.look(&after.account, |account| Paid::new(after, account));
        let accounts = seen.map(paid).collect::<Result<_, Error>>()?;
        let ReceiptDocument { ledger, sequence, hash, record } = ReceiptDocument::new(receipt, sight);
        Ok(Charged { outcome, ledger, sequence, hash, key: key.to_string(), record, accounts })
    }
}

/// A charge that was refused; nothing was charged.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// `refused`.
    pub outcome: String,
    /// The accounts that refused, from the root down.
    pub refused: Vec<RefusedAccount>,
    /// What was asked.
    pub asked: Vec<Cost>,
    /// The largest costs of the same kinds and proportions that would fit on the accounts that the caller may see; null if none.
    pub fits: Option<Vec<Cost>>,
    /// Whether an account that the caller may see takes no more charges.
    #[serde(default)]
    pub not_open: bool,
    /// The ledger, if a record closed accounts that are set to stop. This and the following fields are the receipt of that record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The place of that record in the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// The record as it is in the journal; omitted if it is about accounts that the caller may not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<RawRecord>,
    /// The accounts that it closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted: Vec<AccountName>,
}

/// An account that refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RefusedAccount {
    /// The account; null for an account above that the caller may not see.
    pub account: Option<AccountName>,
    /// Why.
    pub reason: String,
    /// The parameter of the account that sets the limit, if it is not the budget itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

impl Refused {
    /// A refusal for a sight: of hidden accounts it says only that one of them refused.
    pub fn new(refusal: &Refusal, sight: &Sight) -> Refused {
        let (seen, hidden): (Vec<_>, Vec<_>) = refusal.refused().iter().partition(|(name, _)| sight.sees(name));
        let above =
            RefusedAccount { account: None, reason: "an account above does not take it".to_string(), parameter: None };
        let hidden = hidden.first().map(|_| above);
        let seen = seen.into_iter().map(|(name, reason)| RefusedAccount {
            account: Some(name.clone()),
            reason: reason.text(),
            parameter: reason.parameter().map(str::to_string),
        });
        let after = refusal.halt().into_iter().flat_map(|halt| halt.after());
        let halted: Vec<AccountName> =
            after.map(|after| after.account.clone()).filter(|name| sight.sees(name)).collect();
        let halt = refusal.halt().filter(|_| !halted.is_empty()).map(|halt| ReceiptDocument::new(halt, sight));
        Refused {
            outcome: "refused".to_string(),
            refused: hidden.into_iter().chain(seen).collect(),
            asked: refusal.costs().to_vec(),
            fits: refusal.fits_on(|name| sight.sees(name)),
            not_open: refusal.is_not_open_on(|name| sight.sees(name)),
            ledger: halt.as_ref().map(|halt| halt.ledger),
            sequence: halt.as_ref().map(|halt| halt.sequence),
            hash: halt.as_ref().and_then(|halt| halt.hash),
            record: halt.and_then(|halt| halt.record),
            halted,
        }
    }
}
