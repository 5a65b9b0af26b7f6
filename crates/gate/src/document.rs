//! The document of an answer: stored before it is released, and returned byte for byte to every request with the same key.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number as Decimal, Value as Json};
use taximeter_accounting::Cost;
use taximeter_ledger::{AccountName, Computed, Hash, LedgerId};

use crate::number::Number;

/// An answer, with all that stands behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerDocument {
    /// The dataset.
    pub dataset: AccountName,
    /// The version of the dataset that it was made from.
    pub version: u32,
    /// The key, as the caller knows it.
    pub key: String,
    /// The question in one way of writing.
    pub question: String,
    /// What is protected.
    pub protects: String,
    /// How often an interval holds the truth.
    pub confidence: Computed,
    /// The columns, each with how its noise was made.
    pub columns: Vec<AnswerColumn>,
    /// The rows: the value of a group, or an [`Estimate`].
    pub rows: Vec<Vec<Json>>,
    /// What was done to the noisy numbers afterwards, in words.
    pub post_processing: Vec<String>,
    /// What was paid.
    pub cost: Cost,
    /// The accounts that paid, from the root down.
    pub accounts: Vec<PayingAccount>,
    /// The receipt.
    pub receipt: AnswerReceipt,
}

/// A column of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// What is counted or summed; nothing for a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
    /// The numbers that it is made of; nothing for a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MeasuredPart>,
}

/// A number that an engine computes, and the noise on it. Sensitivity, scale and half width are in the units of the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredPart {
    /// What is computed.
    pub measure: String,
    /// What is paid for it.
    pub cost: Cost,
    /// The distribution of the noise.
    pub noise: String,
    /// How far one unit can move it, over all groups.
    pub sensitivity: Decimal,
    /// The scale, or standard deviation, of the noise.
    pub scale: Computed,
    /// How far the noise reaches in 95 of 100 answers; in 97.5 for each part of an average.
    pub half_width: Decimal,
}

/// A noisy number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number; nothing for an average of rows of which there may be none.
    pub value: Option<Decimal>,
    /// Where the truth is, in 95 of 100 answers.
    pub interval: Option<[Decimal; 2]>,
    /// The sum of which an average is made. It is paid for, and so always there; the three intervals hold together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<Box<Estimate>>,
    /// The number of rows of which an average is made, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Box<Estimate>>,
}

/// What can be said about an average before it is paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedAverage {
    /// Its column in the answer.
    pub column: String,
    /// The lower bound of its values.
    pub low: Number,
    /// The upper bound of its values.
    pub high: Number,
    /// With fewer rows in a group its interval is wider than the bounds, if it has one at all.
    pub needed_rows: u64,
}

/// An account that paid, after the charge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PayingAccount {
    /// The account.
    pub account: AccountName,
    /// The reading of its odometer; nothing if there is no bound.
    pub reading: Option<Computed>,
    /// The share of its budget that is left; nothing without a budget.
    pub left: Option<Computed>,
    /// What the reading guarantees.
    pub guarantee: String,
    /// What the filter guarantees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_guarantee: Option<String>,
}

/// The receipt of an answer. A caller who may not see all accounts of the record gets neither its hash nor the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerReceipt {
    /// The ledger.
    pub ledger: LedgerId,
    /// The place of the record in its journal.
    pub sequence: u64,
    /// The hash of the record.
    pub hash: Option<Hash>,
    /// The record as it stands in the journal.
    pub record: Option<Box<RawValue>>,
}
