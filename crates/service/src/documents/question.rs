//! Questions, what is offered for them, and what would come of one.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number as JsonNumber;
use taximeter_accounting::Cost;
use taximeter_gate::{ExpectedAverage, MeasuredPart, NoiseKind, Number, Prepared, Price, Request};
use taximeter_ledger::{AccountName, Key, Quote, Standing, Who};
use utoipa::ToSchema;

use crate::documents::cost::{OfferedAmount, text_or_number};
use crate::documents::number::Computed;
use crate::documents::problem::Problem;
use crate::documents::sight::Sight;
use crate::documents::text::NumberSchema;
use crate::documents::words::counted;

/// A question with what is offered for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"dataset": "people", "question": "SELECT COUNT(*) FROM people", "price": {"epsilon": "0.1"}}),
    json!({"dataset": "people", "question": "SELECT AVG(age) FROM people GROUP BY region", "price": {"error": {"width": "2"}}})
))]
pub struct QuestionRequest {
    /// The dataset.
    pub dataset: AccountName,
    /// The question, in SQL.
    #[schema(min_length = 1)]
    pub question: String,
    /// What is offered.
    pub price: PriceDocument,
    /// Whether counts are clamped at 0 and averages at their bounds afterwards.
    #[serde(default)]
    pub clamp: bool,
    /// The account that pays: the dataset's or one below it [default: the token's own, or the dataset's].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,
    /// Whether one's own earlier answer to the same question will do.
    #[serde(default)]
    pub reuse: bool,
}

impl QuestionRequest {
    /// The question as the gate takes it, under a key and in the name of who asks.
    pub fn for_gate(self, key: Key, by: Option<Who>, principal: Option<String>) -> Result<Request, Problem> {
        let QuestionRequest { dataset, question, price, clamp, account, reuse } = self;
        Ok(Request { dataset, question, price: price.price()?, clamp, account, by, principal, key, reuse })
    }
}

/// What is offered for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PriceDocument {
    /// A fixed ε, for discrete Laplace noise.
    Epsilon(OfferedAmount),
    /// A fixed μ, for discrete Gaussian noise; for accounts with the rules zcdp and renyi.
    Gaussian(OfferedAmount),
    /// The smallest cost for which every 95% interval is at most ± the width.
    Error {
        /// The half width, in the units of the answer.
        #[serde(deserialize_with = "text_or_number")]
        #[schema(value_type = NumberSchema)]
        width: String,
        /// Which noise.
        #[serde(default)]
        noise: NoiseName,
    },
}

/// Which noise an answer gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// The discrete Laplace distribution, paid with ε.
    #[default]
    Laplace,
    /// The discrete Gaussian distribution, paid with μ.
    Gaussian,
}

impl From<Price> for PriceDocument {
    fn from(price: Price) -> PriceDocument {
        match price {
            Price::Epsilon(epsilon) => PriceDocument::Epsilon(OfferedAmount(epsilon)),
            Price::Gaussian(mu) => PriceDocument::Gaussian(OfferedAmount(mu)),
            Price::Error { width, noise } => PriceDocument::Error {
                width: width.to_string(),
                noise: match noise {
                    NoiseKind::Laplace => NoiseName::Laplace,
                    NoiseKind::Gaussian => NoiseName::Gaussian,
                },
            },
        }
    }
}

impl PriceDocument {
    /// The price, if it is one.
    pub fn price(&self) -> Result<Price, Problem> {
        Ok(match self {
            PriceDocument::Epsilon(epsilon) => Price::Epsilon(epsilon.0),
            PriceDocument::Gaussian(mu) => Price::Gaussian(mu.0),
            PriceDocument::Error { width, noise } => Price::Error {
                width: Number::parse(width)
                    .map_err(|error| Problem::bad_request(format!("price.error.width: {error}")))?,
                noise: match noise {
                    NoiseName::Laplace => NoiseKind::Laplace,
                    NoiseName::Gaussian => NoiseKind::Gaussian,
                },
            },
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
    /// The account that would pay, together with all above it.
    pub account: AccountName,
    /// The accounts that would pay and may be seen, from the root down.
    pub pays: Vec<AccountName>,
    /// The question in one way of writing.
    pub question: String,
    /// The statement that would run.
    pub sql: String,
    /// Its parameters.
    pub parameters: Vec<String>,
    /// The numbers that would be computed.
    pub parts: Vec<ExplainedPartDocument>,
    /// How many rows its averages need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averages: Vec<ExpectedAverageDocument>,
    /// What it would cost.
    pub cost: Cost,
    /// Whether the accounts that may be seen would take it.
    pub admitted: bool,
    /// The largest costs of the same kinds and proportions that would fit on those; null if none.
    pub fits: Option<Vec<Cost>>,
    /// Whether one of those takes no charges any more.
    #[serde(default)]
    pub not_open: bool,
}

/// A number that would be computed, and the noise on it, in the units of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedPartDocument {
    /// What is computed.
    pub measure: String,
    /// What is paid for it.
    pub cost: Cost,
    /// The distribution of the noise.
    pub noise: String,
    /// How far one unit can move it, over all groups.
    pub sensitivity: JsonNumber,
    /// The scale, or standard deviation, of the noise.
    #[schema(value_type = Option<f64>)]
    pub scale: Computed,
    /// How far the noise reaches in 95 of 100 answers.
    pub half_width: JsonNumber,
}

/// What can be said about an average before it is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExpectedAverageDocument {
    /// Its column in the answer.
    pub column: String,
    /// The bounds of its values.
    #[schema(value_type = Vec<NumberSchema>, min_items = 2, max_items = 2)]
    pub bounds: [String; 2],
    /// With fewer rows in a group its interval is wider than the bounds, if it has one at all.
    pub needed_rows: u64,
    /// How many rows a group has on average, at most; only for those who may know the number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_rows: Option<u64>,
}

impl ExpectedAverageDocument {
    /// Whether its groups are known to have fewer rows than it needs.
    pub fn has_too_few_rows(&self) -> bool {
        self.expected_rows.is_some_and(|rows| rows < self.needed_rows)
    }
}

/// How many rows it needs, and what to do where there are fewer.
impl fmt::Display for ExpectedAverageDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpectedAverageDocument { column, bounds: [low, high], needed_rows, expected_rows } = self;
        write!(
            formatter,
            "{column} needs at least {} in each group: with fewer, its interval is wider than the bounds {low} to {high}, and only its \
             noisy sum and count are worth having",
            counted(*needed_rows, "row", "rows")
        )?;
        match expected_rows {
            Some(rows) if self.has_too_few_rows() => {
                write!(formatter, ". Its groups have about {}, or fewer: offer more", counted(*rows, "row", "rows"))
            }
            _ => Ok(()),
        }
    }
}

impl From<MeasuredPart> for ExplainedPartDocument {
    fn from(part: MeasuredPart) -> ExplainedPartDocument {
        let MeasuredPart { measure, cost, noise, sensitivity, scale, half_width } = part;
        ExplainedPartDocument { measure, cost, noise, sensitivity, scale: scale.into(), half_width }
    }
}

impl Explanation {
    /// What would come of a question, as far as it may be seen.
    pub fn new(prepared: &Prepared, quote: Quote, sight: &Sight) -> Explanation {
        let (sql, parameters) = prepared.sql();
        let quote = quote.seen_by(|name| sight.sees(name));
        let admitted = quote.is_admitted();
        let rows = prepared.dataset().rows.filter(|_| *sight == Sight::All);
        let expected_rows = rows.map(|rows| rows / prepared.groups().max(1));
        let average = |ExpectedAverage { column, low, high, needed_rows }| {
            let bounds = [low.to_string(), high.to_string()];
            ExpectedAverageDocument { column, bounds, needed_rows, expected_rows }
        };
        Explanation {
            dataset: prepared.dataset().name.clone(),
            version: prepared.dataset().version,
            account: prepared.account().clone(),
            pays: quote.accounts().iter().map(|account| account.before.name().clone()).collect(),
            question: prepared.canonical().to_string(),
            sql,
            parameters,
            averages: prepared.averages().into_iter().map(average).collect(),
            parts: prepared.parts().into_iter().map(ExplainedPartDocument::from).collect(),
            cost: prepared.cost(),
            admitted,
            fits: quote.fits().map(<[Cost]>::to_vec),
            not_open: quote.accounts().iter().any(|account| account.before.standing() != Standing::Open),
        }
    }
}
