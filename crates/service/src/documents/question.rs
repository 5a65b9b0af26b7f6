//! Questions, what is offered for them, and what would come of one.

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

/// A question with what is offered for it.
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
    /// What is offered.
    pub price: Price,
    /// How much of the price columns of the answer get, by their names: 1 for those that are not named; `intervals` for the intervals of
    /// quantiles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, Number>,
    /// Whether counts are clamped at 0 afterwards.
    #[serde(default)]
    pub clamp: bool,
    /// In how many groups a unit counts at most, for groups of which nothing is declared: fewer lower the noise and the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_groups_per_unit: Option<u32>,
    /// Whether rows with values outside of their declared bounds are counted as well, for a tenth of the price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_clamped: bool,
    /// The account that pays: the dataset's or one below it [default: the token's own, or the dataset's].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,
    /// The account that pays for another dataset that the question joins: that dataset's or one below it [default: the token's own, or
    /// the dataset's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_account: Option<AccountName>,
    /// Whether one's own earlier answer to the same question will do.
    #[serde(default)]
    pub reuse: bool,
}

impl QuestionRequest {
    /// The question as the gate takes it, under a key and in the name of who asks.
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

/// The outcome of a question, as far as it may be seen.
#[derive(Clone, Debug)]
pub enum QuestionOutcome {
    /// It was answered.
    Answered {
        /// The stored [`AnswerDocument`], byte for byte if all accounts may be seen.
        document: String,
        /// Where it is from.
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
    /// The outcome of a question at the gate, for what may be seen.
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
    /// The accounts that would pay and may be seen, from the root down.
    pub pays: Vec<AccountName>,
    /// The question in one way of writing.
    pub question: String,
    /// The statements that would run, in this order.
    pub statements: Vec<ExplainedStatement>,
    /// How many groups the answer would have; left out if that depends on the data: those above a threshold are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// The keys whose groups are the values that WHERE names, since nothing is declared about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_groups: Vec<String>,
    /// The numbers that would be computed.
    pub parts: Vec<MeasuredPart>,
    /// How many rows its averages need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averages: Vec<ExpectedAverage>,
    /// What it would cost.
    pub cost: Cost,
    /// What would be charged for it, one by one.
    pub charges: Vec<Cost>,
    /// Whether the accounts that may be seen would take it.
    pub admitted: bool,
    /// The largest costs of the same kinds and proportions that would fit on those; null if none.
    pub fits: Option<Vec<Cost>>,
    /// Whether one of those takes no charges any more.
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

/// How many rows an average needs, and what to do where there are fewer.
pub fn about_average(average: &ExpectedAverage) -> String {
    let ExpectedAverage { column, bounds: [low, high], needed_rows, expected_rows } = average;
    let needed = format!(
        "{column} needs at least {} in each group: with fewer, its interval is wider than the bounds {low} to {high}, and only its \
         noisy sum and count are worth having",
        counted(*needed_rows, "row", "rows")
    );
    match expected_rows {
        Some(rows) if average.has_too_few_rows() => {
            format!("{needed}. Its groups have about {}, or fewer: offer more", counted(*rows, "row", "rows"))
        }
        _ => needed,
    }
}

impl Explanation {
    /// What would come of a question, as far as it may be seen.
    pub fn new(prepared: &Prepared, quote: Quote, sight: &Sight) -> Explanation {
        let statement = |(sql, parameters)| ExplainedStatement { sql, parameters };
        let quote = quote.seen_by(|name| sight.sees(name));
        let admitted = quote.is_admitted();
        let rows = prepared.dataset().rows.filter(|_| *sight == Sight::All && prepared.joined().is_none());
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
