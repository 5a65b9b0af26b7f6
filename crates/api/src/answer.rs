//! A stored answer, as far as it may be seen.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use taximeter_ledger::{AccountName, Hash, LedgerId};
use utoipa::ToSchema;

use crate::cost::CostSchema;
use crate::journal::RawRecord;
use crate::problem::{Code, Problem};
use crate::sight::Sight;
use crate::text::NameSchema;

/// An answer. What the gate stored is given again byte for byte; where it tells of accounts that may not be seen, without those.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct AnswerDocument {
    dataset: String,
    version: u32,
    key: String,
    /// The question in one way of writing.
    question: String,
    /// What is protected.
    protects: String,
    /// How often an interval holds the truth.
    #[schema(value_type = f64)]
    confidence: Box<RawValue>,
    /// The columns, each with how its noise was made.
    #[schema(value_type = Vec<Object>)]
    columns: Box<RawValue>,
    /// The rows: a group's value, or a number with its interval.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    rows: Box<RawValue>,
    /// What was done to the noisy numbers afterwards.
    post_processing: Vec<String>,
    /// What was paid.
    #[schema(value_type = CostSchema)]
    cost: Box<RawValue>,
    /// The accounts that paid and may be seen, from the root down.
    accounts: Vec<AnswerAccount>,
    /// The receipt.
    receipt: AnswerReceipt,
}

/// An account that paid for an answer.
#[derive(Serialize, Deserialize, ToSchema)]
struct AnswerAccount {
    #[schema(value_type = NameSchema)]
    account: AccountName,
    #[schema(value_type = Option<f64>)]
    reading: Box<RawValue>,
    #[schema(value_type = Option<f64>)]
    left: Box<RawValue>,
    guarantee: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter_guarantee: Option<String>,
}

/// The receipt of an answer.
#[derive(Serialize, Deserialize, ToSchema)]
struct AnswerReceipt {
    #[schema(value_type = String)]
    ledger: LedgerId,
    sequence: u64,
    /// The hash of the record; null with the record.
    #[schema(value_type = Option<String>)]
    hash: Option<Hash>,
    /// The record as it stands in the journal; null if it is about accounts that may not be seen.
    #[schema(value_type = Option<Object>)]
    record: Option<RawRecord>,
}

impl AnswerDocument {
    /// A stored answer without the accounts that may not be seen. If all may, the same bytes.
    pub fn seen(document: String, sight: &Sight) -> Result<String, Problem> {
        let broken = |error: serde_json::Error| {
            Problem::new(Code::Integrity, format!("a stored answer cannot be read: {error}"))
        };
        if *sight == Sight::All {
            return Ok(document);
        }
        let mut answer: AnswerDocument = serde_json::from_str(&document).map_err(broken)?;
        if answer.accounts.iter().all(|account| sight.sees(&account.account)) {
            return Ok(document);
        }
        answer.accounts.retain(|account| sight.sees(&account.account));
        (answer.receipt.record, answer.receipt.hash) = (None, None);
        serde_json::to_string(&answer).map_err(broken)
    }
}
