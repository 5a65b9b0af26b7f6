//! Questions, the cost offered for them, and what they would cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taximeter_accounting::Cost;
use taximeter_gate::{
    Answer, AnswerDocument, ExpectedAverage, GateOutcome, JoinableDatasets, JoinedVersion, MeasuredPart, Number,
    Origin, Prepared, Price, Request,
};
use taximeter_ledger::{AccountName, Key, Quote, Sight, Standing, Who};
use utoipa::ToSchema;

use crate::documents::charge::Refused;
use crate::documents::problem::Problem;
use crate::documents::words::counted;

/// A question with the cost offered for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"dataset": "people", "question": "SELECT COUNT(*) FROM people", "price": {"epsilon": "0.1"}}),
    json!({"dataset": "people", "question": "SELECT region, MEDIAN(age) FROM people GROUP BY region", "price": {"epsilon": "0.5"}}),
    json!({"dataset": "people", "question": "SELECT SUM(age) FROM people", "price": {"error": {"width": "2"}}}),
    json!({"dataset": "people", "question": "SELECT town, COUNT(*) AS n FROM people GROUP BY town ORDER BY n DESC LIMIT 10",
           "price": {"approximate": {"epsilon": "0.5", "delta": "1e-9"}}})
))]
pub struct QuestionRequest {
    /// The dataset.
    pub dataset: AccountName,
    /// The question, in SQL.
    #[schema(min_length = 1)]
    pub question: String,
    /// The cost offered.
    pub price: Price,
    /// How to divide the price among columns of the answer: a weight by name, 1 for the others; `intervals` for the intervals of quantiles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, Number>,
    /// Whether counts are clamped at 0 afterwards.
    #[serde(default)]
    pub clamp: bool,
    /// In how many groups a unit counts at most, for groups that are not declared: fewer groups lower the noise and the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_groups_per_unit: Option<u32>,
    /// Whether to also count the rows with values outside their declared bounds, for a tenth of the price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_clamped: bool,
    /// The account that pays: the dataset's or one below it [default: the token's own, or the dataset's].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,
    /// The account that pays for another dataset that the question joins: that dataset's or one below it [default: the token's own, or
    /// the dataset's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_account: Option<AccountName>,
    /// Whether the caller's own earlier answer to the same question may be returned.
    #[serde(default)]
    pub reuse: bool,
}

impl QuestionRequest {
    /// The request to the gate, under a key and with the name of the caller.
    pub fn for_gate(self, key: Key, by: Option<Who>, principal: Option<String>) -> Request {
        let QuestionRequest {
            dataset,
            question,
            price,
            weights,
            clamp,
            max_groups_per_unit,
            count_clamped,
            account,
            joined_account,
            reuse,
        } = self;
        Request {
            dataset,
            question,
            price,
            weights,
            clamp,
            max_groups_per_unit,
            count_clamped,
            account,
            joinable: JoinableDatasets::Any(joined_account),
            by,
            principal,
            key,
            reuse,
        }
    }
}

/// The outcome of a question, without what the caller may not see.
#[derive(Clone, Debug)]
pub enum QuestionOutcome {
    /// It was answered.
    Answered {
        /// The stored [`AnswerDocument`], byte for byte if the caller may see all accounts.
        document: String,
        /// Whether it is new or was stored before.
        origin: Origin,
    },
    /// It was refused; nothing was charged.
    Refused(Refused),
    /// It is charged, and there is no answer.
    NoAnswer {
        /// The record of the charge.
        sequence: u64,
    },
}

impl QuestionOutcome {
    /// The outcome of a question at the gate, for a sight.
    pub fn new(outcome: GateOutcome, sight: &Sight) -> Result<QuestionOutcome, Problem> {
        Ok(match outcome {
            GateOutcome::Answered(Answer { document, origin }) => {
                QuestionOutcome::Answered { document: AnswerDocument::seen(document, sight)?, origin }
            }
            GateOutcome::Refused(refusal) => QuestionOutcome::Refused(Refused::new(&refusal, sight)),
            GateOutcome::NoAnswer(receipt) => QuestionOutcome::NoAnswer { sequence: receipt.sequence() },
        })
    }
}

/// What would run, its noise and its cost. Charges nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The dataset.
    pub dataset: AccountName,
    /// Its version.
    pub version: u32,
    /// The other dataset that the question joins, and its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinedVersion>,
    /// The account that would pay, together with all above it.
    pub account: AccountName,
    /// The accounts that would pay, from the root down, without those that the caller may not see.
    pub pays: Vec<AccountName>,
    /// The question in its normal form.
    pub question: String,
    /// The statements that would run, in this order.
    pub statements: Vec<ExplainedStatement>,
    /// How many groups the answer would have; omitted if that depends on the data, because only groups above a threshold are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// The undeclared keys whose groups are the values named in WHERE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_groups: Vec<String>,
    /// The numbers that would be computed.
    pub parts: Vec<MeasuredPart>,
    /// How many rows its averages need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averages: Vec<ExpectedAverage>,
    /// What it would cost.
    pub cost: Cost,
    /// The costs that would be charged.
    pub charges: Vec<Cost>,
    /// Whether the accounts that the caller may see would take it.
    pub admitted: bool,
    /// The largest costs of the same kinds and proportions that would fit on those accounts; null if none.
    pub fits: Option<Vec<Cost>>,
    /// Whether one of those accounts takes no more charges.
    #[serde(default)]
    pub not_open: bool,
}

/// A statement that the gate writes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedStatement {
    /// The SQL.
    pub sql: String,
    /// Its parameters, as SQL writes them.
    pub parameters: Vec<String>,
}

/// How many rows an average needs, and what to do if there are fewer.
pub fn about_average(average: &ExpectedAverage) -> String {
    let ExpectedAverage { column, bounds: [low, high], needed_rows, expected_rows } = average;
    let needed = format!(
        "{column} needs at least {} in each group: with fewer, its interval is wider than the bounds {low} to {high}, and only its \
         noisy sum and count are worth having",
        counted(*needed_rows, "row", "rows")
    );
    match expected_rows {
        Some(rows) if average.has_too_few_rows() => {
            format!("{needed}. Its groups have at most about {}: use a higher epsilon", counted(*rows, "row", "rows"))
        }
        _ => needed,
    }
}

impl Explanation {
    /// The explanation of a question, without what the caller may not see. Only owners see how many rows there are.
    pub fn new(prepared: &Prepared, quote: Quote, sight: &Sight, is_owner: bool) -> Explanation {
        let statement = |(sql, parameters)| ExplainedStatement { sql, parameters };
        let quote = quote.seen_by(|name| sight.sees(name));
        let admitted = quote.is_admitted();
        let rows = prepared.dataset().rows.filter(|_| is_owner && prepared.joined().is_none());
        let expected_rows = rows.zip(prepared.groups()).map(|(rows, groups)| rows / groups.max(1));
        let average = |average| ExpectedAverage { expected_rows, ..average };
        Explanation {
            dataset: prepared.dataset().name.clone(),
            version: prepared.dataset().version,
            joined: prepared.joined(),
            account: prepared.account().clone(),
            pays: quote.accounts().iter().map(|account| account.before.name().clone()).collect(),
            question: prepared.canonical().to_string(),
            statements: prepared.sql().into_iter().map(statement).collect(),
            groups: prepared.groups(),
            named_groups: prepared.named_groups(),
            averages: prepared.averages().into_iter().map(average).collect(),
            parts: prepared.parts(),
            cost: prepared.cost(),
            charges: prepared.charge().costs().to_vec(),
            admitted,
            fits: quote.fits().map(<[Cost]>::to_vec),
            not_open: quote.accounts().iter().any(|account| account.before.standing() != Standing::Open),
        }
    }
}
