//! Quotes: the effect that a charge would have.

use serde::{Deserialize, Serialize};
use taximeter_accounting::{Cost, Count};
use taximeter_ledger::{AccountName, Computed, Quote, QuotedAccount, Reason, Sight, Standing};
use utoipa::ToSchema;

use crate::documents::account::unbounded;

/// The effect that a charge would have on the accounts that the caller may see. Charges nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuoteDocument {
    /// `admitted` or `refused`.
    pub verdict: String,
    /// The costs of the quote.
    pub asked: Vec<Cost>,
    /// The largest costs of the same kinds and proportions that would fit; null if none.
    pub fits: Option<Vec<Cost>>,
    /// How often the same could be charged; null without a budget, or for a list of different costs.
    pub count: Option<u64>,
    /// Whether that count is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Account by account, from the root down.
    pub accounts: Vec<QuotedAccountDocument>,
}

/// The effect that a charge would have on one account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuotedAccountDocument {
    /// The account.
    pub account: AccountName,
    /// `admitted` or `refused`.
    pub verdict: String,
    /// Why it would refuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The parameter of the account that sets the limit, if it is not the budget itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// Its standing.
    pub standing: Standing,
    /// How often the same could be charged.
    pub count: Option<u64>,
    /// Whether that count is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The odometer's bound now.
    pub reading: Option<Computed>,
    /// The share of the budget that is left now.
    pub left: Option<Computed>,
    /// The bound afterwards.
    pub reading_after: Option<Computed>,
    /// Why there would be no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading_reason: Option<String>,
    /// The share afterwards.
    pub left_after: Option<Computed>,
    /// What a reading means.
    pub guarantee: String,
}

impl QuoteDocument {
    /// A quote, without what the caller may not see.
    pub fn new(quote: Quote, sight: &Sight) -> QuoteDocument {
        let quote = quote.seen_by(|name| sight.sees(name));
        let document = |quoted: &QuotedAccount| {
            let QuotedAccount { before, after, count } = quoted;
            let admitted = after.as_ref().ok();
            QuotedAccountDocument {
                account: before.name().clone(),
                verdict: verdict(after.is_ok()),
                reason: after.as_ref().err().map(Reason::text),
                parameter: after.as_ref().err().and_then(Reason::parameter).map(str::to_string),
                standing: before.standing(),
                count: count.map(|count| count.count),
                at_least: is_at_least(*count),
                reading: before.reading().map(Computed),
                left: before.left().map(Computed),
                reading_after: admitted.and_then(|after| after.reading()).map(Computed),
                reading_reason: admitted.and_then(unbounded).map(str::to_string),
                left_after: admitted.and_then(|after| after.left()).map(Computed),
                guarantee: before.odometer().guarantee().to_string(),
            }
        };
        QuoteDocument {
            verdict: verdict(quote.is_admitted()),
            asked: quote.costs().to_vec(),
            fits: quote.fits().map(<[Cost]>::to_vec),
            count: quote.count().map(|count| count.count),
            at_least: is_at_least(quote.count()),
            accounts: quote.accounts().iter().map(document).collect(),
        }
    }

    /// Whether all accounts that the caller may see would take it.
    pub fn is_admitted(&self) -> bool {
        self.verdict == "admitted"
    }
}

impl QuotedAccountDocument {
    /// Whether it would take it.
    pub fn is_admitted(&self) -> bool {
        self.verdict == "admitted"
    }
}

fn verdict(is_admitted: bool) -> String {
    if is_admitted { "admitted" } else { "refused" }.to_string()
}

fn is_at_least(count: Option<Count>) -> bool {
    count.is_some_and(|count| count.at_least)
}
