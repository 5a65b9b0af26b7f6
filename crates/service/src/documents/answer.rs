//! A stored answer, as far as it may be seen.

use serde::{Deserialize, Serialize};
use serde_json::{Number as JsonNumber, Value as Json};
use taximeter_accounting::Cost;
use taximeter_ledger::AccountName;
use utoipa::ToSchema;

use crate::documents::journal::ReceiptDocument;
use crate::documents::problem::{Code, Problem};
use crate::documents::question::ExplainedPartDocument;
use crate::documents::sight::Sight;

/// An answer. What the gate stored is given again byte for byte; where it tells of accounts that may not be seen, without those.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnswerDocument {
    /// The dataset that was asked about.
    pub dataset: AccountName,
    /// Its version.
    pub version: u32,
    /// The key that it was asked with.
    pub key: String,
    /// The question in one way of writing.
    pub question: String,
    /// What is protected.
    pub protects: String,
    /// How often an interval holds the truth.
    pub confidence: JsonNumber,
    /// The columns, each with how its noise was made.
    pub columns: Vec<AnswerColumn>,
    /// The rows: a group's value, or a number with its interval.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    pub rows: Vec<Vec<Json>>,
    /// What was done to the noisy numbers afterwards.
    pub post_processing: Vec<String>,
    /// What was paid.
    pub cost: Cost,
    /// The accounts that paid and may be seen, from the root down.
    pub accounts: Vec<AnswerAccount>,
    /// The receipt.
    pub receipt: ReceiptDocument,
}

/// A column of an answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// What is computed; left out for a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
    /// The numbers that it is made of, and the noise on each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ExplainedPartDocument>,
}

/// An account that paid for an answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnswerAccount {
    /// The account.
    pub account: AccountName,
    /// The odometer's bound after it; null where there is none.
    pub reading: Option<JsonNumber>,
    /// The share of the budget that was left after it; null without a budget.
    pub left: Option<JsonNumber>,
    /// What a reading means.
    pub guarantee: String,
    /// What the filter promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_guarantee: Option<String>,
}

impl AnswerDocument {
    /// Reads what the gate stored.
    pub fn read(document: &str) -> Result<AnswerDocument, Problem> {
        serde_json::from_str(document).map_err(broken)
    }

    /// A stored answer without the accounts that may not be seen. If all may, the same bytes.
    pub fn seen(document: String, sight: &Sight) -> Result<String, Problem> {
        if *sight == Sight::All {
            return Ok(document);
        }
        let mut answer = AnswerDocument::read(&document)?;
        if answer.accounts.iter().all(|account| sight.sees(&account.account)) {
            return Ok(document);
        }
        answer.accounts.retain(|account| sight.sees(&account.account));
        (answer.receipt.record, answer.receipt.hash) = (None, None);
        serde_json::to_string(&answer).map_err(broken)
    }
}

fn broken(error: serde_json::Error) -> Problem {
    Problem::new(Code::Integrity, format!("a stored answer cannot be read: {error}"))
}
