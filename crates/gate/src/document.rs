//! The document of an answer: stored before it is released, and returned byte for byte to every request with the same key.

use serde::{Deserialize, Serialize};
use serde_json::Number as Decimal;
use taximeter_accounting::Cost;
use taximeter_ledger::{AccountName, Computed, ReceiptDocument, Sight};

use crate::error::Error;
use crate::number::Number;
use crate::schema::{Bound, Value, plain};

/// An answer with its noise, cost and receipt. A caller who may not see all accounts gets it without those, and without the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerDocument {
    /// The dataset.
    pub dataset: AccountName,
    /// The version of the dataset that it was made from.
    pub version: u32,
    /// The other dataset that the question joins, and its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinedVersion>,
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
    /// Numbers that were paid for and that no column shows: those of conditions and sub-queries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_parts: Vec<MeasuredPart>,
    /// The rows: a group's value, or a number with its interval.
    pub rows: Vec<Vec<Cell>>,
    /// What was done to the noisy numbers afterwards, in words.
    pub post_processing: Vec<String>,
    /// What was paid.
    pub cost: Cost,
    /// The accounts that paid and may be seen, from the root down.
    pub accounts: Vec<PayingAccount>,
    /// The receipt.
    pub receipt: ReceiptDocument,
}

impl AnswerDocument {
    /// Reads what is stored.
    pub fn read(document: &str) -> Result<AnswerDocument, Error> {
        serde_json::from_str(document).map_err(unreadable)
    }

    /// The numbers with noise, each once: columns may share them.
    pub fn measured_parts(&self) -> Vec<&MeasuredPart> {
        let parts = self.columns.iter().flat_map(|column| &column.parts).chain(&self.other_parts);
        parts.fold(Vec::new(), |mut shown, part| {
            if !shown.contains(&part) {
                shown.push(part);
            }
            shown
        })
    }

    /// A stored answer without the accounts that may not be seen. If all may be seen, the same bytes.
    pub fn seen(document: String, sight: &Sight) -> Result<String, Error> {
        if *sight == Sight::All {
            return Ok(document);
        }
        let mut answer = AnswerDocument::read(&document)?;
        if answer.accounts.iter().all(|account| sight.sees(&account.account)) {
            return Ok(document);
        }
        answer.accounts.retain(|account| sight.sees(&account.account));
        (answer.receipt.record, answer.receipt.hash) = (None, None);
        serde_json::to_string(&answer).map_err(unreadable)
    }
}

/// Another dataset that a question joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JoinedVersion {
    /// The dataset.
    pub dataset: AccountName,
    /// The version of it.
    pub version: u32,
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::integrity(format!("a stored answer cannot be read: {error}"))
}

/// A cell of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// The value of a group.
    Group(#[serde(with = "plain")] Value),
    /// A noisy number.
    Estimate(Estimate),
    /// A noisy date or time.
    Dated(DatedEstimate),
}

impl Cell {
    /// The noisy number; nothing for a group.
    pub fn estimate(&self) -> Option<&Estimate> {
        match self {
            Cell::Group(_) | Cell::Dated(_) => None,
            Cell::Estimate(estimate) => Some(estimate),
        }
    }

    /// The nearest binary number: of days since 1970-01-01 for a date, of seconds for a time.
    pub(crate) fn nearest(&self) -> Option<f64> {
        match self {
            Cell::Group(_) => None,
            Cell::Estimate(estimate) => estimate.nearest(),
            Cell::Dated(dated) => DatedEstimate::number(&dated.value),
        }
    }
}

/// A column of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// The expression that it shows; left out for a group or a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
    /// The numbers that it is made of, and the noise on each; left out for a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MeasuredPart>,
}

/// A number that an engine computes, and the noise on it. Sensitivity, scale and half width are in the units of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MeasuredPart {
    /// What is computed.
    pub measure: String,
    /// What is paid for it.
    pub cost: Cost,
    /// The distribution of the noise.
    pub noise: String,
    /// How far one unit can move it, over all groups.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub sensitivity: Decimal,
    /// The scale, or standard deviation, of the noise.
    pub scale: Computed,
    /// How far the noise reaches in 95 of 100 answers; for a quantile, in rows.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub half_width: Decimal,
}

/// A noisy number.
// Answers are stored with the fields in this order, and read back byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(no_recursion))]
pub struct Estimate {
    /// The number of rows of which an average is made. It is paid for, and so always there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Box<Estimate>>,
    /// Where the truth is, in 95 of 100 answers; null where that is not known.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<f64>>, min_items = 2, max_items = 2))]
    pub interval: Option<[Decimal; 2]>,
    /// The sum of which an average is made, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<Box<Estimate>>,
    /// The number; null where there are too few rows to say, or too much noise.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub value: Option<Decimal>,
}

impl Estimate {
    /// The nearest binary number.
    pub fn nearest(&self) -> Option<f64> {
        self.value.as_ref()?.as_f64()
    }
}

/// A noisy date or time, such as the greatest date of the rows, as text: 2024-02-29 or 2024-02-29 13:05:00.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DatedEstimate {
    /// Where the truth is, in at least 95 of 100 answers; null where none was paid for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, min_items = 2, max_items = 2))]
    pub interval: Option<[String; 2]>,
    /// The date or the time.
    pub value: String,
}

impl DatedEstimate {
    /// A date or a time as a number: of days since 1970-01-01 for dates, of seconds for times.
    pub fn number(text: &str) -> Option<f64> {
        match Bound::parse(text).ok()? {
            Bound::Date(days) => Some(f64::from(days)),
            Bound::Timestamp(microseconds) => Some(microseconds as f64 / 1e6),
            Bound::Number(_) => None,
        }
    }
}

/// What can be said about an average before it is paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExpectedAverage {
    /// Its column in the answer.
    pub column: String,
    /// The bounds of its values.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Number>, min_items = 2, max_items = 2))]
    pub bounds: [Number; 2],
    /// With fewer rows in a group its interval is wider than the bounds, if it has one at all.
    pub needed_rows: u64,
    /// How many rows a group has on average, at most; only for those who may know the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_rows: Option<u64>,
}

impl ExpectedAverage {
    /// Whether its groups are known to have fewer rows than it needs.
    pub fn has_too_few_rows(&self) -> bool {
        self.expected_rows.is_some_and(|rows| rows < self.needed_rows)
    }
}

/// An account that paid, after the charge.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PayingAccount {
    /// The account.
    pub account: AccountName,
    /// The odometer's bound; null where there is none.
    pub reading: Option<Computed>,
    /// The share of the budget that is left; null without a budget.
    pub left: Option<Computed>,
    /// What the reading guarantees.
    pub guarantee: String,
    /// What the filter guarantees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_guarantee: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an earlier version of this program stored.
    const STORED: &str = include_str!("../tests/data/answer.json");

    #[test]
    fn a_stored_answer_is_written_again_byte_for_byte() {
        let answer = AnswerDocument::read(STORED).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), STORED);
        assert_eq!(answer.rows[1][1], Cell::Group(Value::Boolean(false)));
        let average = answer.rows[3][3].estimate().unwrap();
        assert_eq!((average.value.as_ref(), average.interval.as_ref()), (None, None));
        assert_eq!(average.count.as_ref().unwrap().value, Some(4.into()));
    }

    #[test]
    fn a_caller_who_may_not_see_an_account_gets_neither_it_nor_the_record() {
        let own = |name: &str| Sight::Own { accounts: vec![AccountName::parse(name).unwrap()], above: false };
        for sight in [Sight::All, own("people")] {
            assert_eq!(AnswerDocument::seen(STORED.to_string(), &sight).unwrap(), STORED);
        }
        let seen = AnswerDocument::seen(STORED.to_string(), &own("people/alice")).unwrap();
        let (whole, seen) = (AnswerDocument::read(STORED).unwrap(), AnswerDocument::read(&seen).unwrap());
        assert_eq!((seen.rows, seen.accounts.len()), (whole.rows, 0));
        assert!(seen.receipt.hash.is_none() && seen.receipt.record.is_none());
    }

    #[test]
    fn what_is_not_an_answer_is_an_error_of_integrity() {
        assert!(AnswerDocument::read("{}").unwrap_err().is_integrity());
        let cell = |text: &str| serde_json::from_str::<Cell>(text);
        assert_eq!(cell("-7").unwrap(), Cell::Group(Value::Integer(-7)));
        assert_eq!(cell("\"north\"").unwrap(), Cell::Group(Value::Text("north".to_string())));
        assert!(cell("[1]").is_err() && cell("null").is_err());
    }
}
