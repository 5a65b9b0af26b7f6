//! Questions, what is offered for them, and what would come of one.

use serde::{Deserialize, Serialize};
use serde_json::Number as JsonNumber;
use taximeter_accounting::Cost;
use taximeter_gate::{ExplainedPart, NoiseKind, Number, Prepared, Price};
use taximeter_ledger::{AccountName, Quote, Standing};
use utoipa::ToSchema;

use crate::cost::{AmountDocument, CostSchema};
use crate::number::Computed;
use crate::problem::Problem;
use crate::sight::Sight;
use crate::text::{NameSchema, NumberSchema};

/// A question with what is offered for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"dataset": "people", "question": "SELECT COUNT(*) FROM people", "price": {"epsilon": "0.1"}}),
    json!({"dataset": "people", "question": "SELECT AVG(age) FROM people GROUP BY region", "price": {"error": {"width": "2"}}})
))]
pub struct QuestionRequest {
    /// The dataset.
    #[schema(value_type = NameSchema)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameSchema>)]
    pub account: Option<AccountName>,
    /// Whether one's own earlier answer to the same question will do.
    #[serde(default)]
    pub reuse: bool,
}

/// What is offered for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PriceDocument {
    /// So much ε, for discrete Laplace noise.
    Epsilon(AmountDocument),
    /// So much μ, for discrete Gaussian noise; for accounts with the rules zcdp and renyi.
    Gaussian(AmountDocument),
    /// The least of either for which every 95% interval is at most so wide to each side.
    Error {
        /// The half width, in the units of the answer.
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
            Price::Epsilon(epsilon) => PriceDocument::Epsilon(AmountDocument(epsilon)),
            Price::Gaussian(mu) => PriceDocument::Gaussian(AmountDocument(mu)),
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
    #[schema(value_type = NameSchema)]
    pub dataset: AccountName,
    /// Its version.
    pub version: u32,
    /// The account that would pay, together with all above it.
    #[schema(value_type = NameSchema)]
    pub account: AccountName,
    /// The accounts that would pay and may be seen, from the root down.
    #[schema(value_type = Vec<NameSchema>)]
    pub pays: Vec<AccountName>,
    /// The question in one way of writing.
    pub question: String,
    /// The statement that would run.
    pub sql: String,
    /// Its parameters.
    pub parameters: Vec<String>,
    /// The numbers that would be computed.
    pub parts: Vec<ExplainedPartDocument>,
    /// What it would cost.
    #[schema(value_type = CostSchema)]
    pub cost: Cost,
    /// Whether the accounts that may be seen would take it.
    pub admitted: bool,
    /// The largest costs of the same kinds and proportions that would fit on those; null if none.
    #[schema(value_type = Option<Vec<CostSchema>>)]
    pub fits: Option<Vec<Cost>>,
    /// Whether one of those takes no charges any more.
    #[serde(default)]
    pub not_open: bool,
    /// Branches of filters that the charge would close for good.
    pub closes: Vec<ClosesDocument>,
}

/// A branch of a filter that a charge would close.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClosesDocument {
    /// The account.
    #[schema(value_type = NameSchema)]
    pub account: AccountName,
    /// The branch.
    pub branch: String,
}

/// A number that would be computed, and the noise on it, in the units of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedPartDocument {
    /// What is computed.
    pub measure: String,
    /// What is paid for it.
    #[schema(value_type = CostSchema)]
    pub cost: Cost,
    /// The distribution of the noise.
    pub noise: String,
    /// How far one unit can move it, over all groups.
    #[schema(value_type = f64)]
    pub sensitivity: JsonNumber,
    /// The scale, or standard deviation, of the noise.
    #[schema(value_type = Option<f64>)]
    pub scale: Computed,
    /// How far the noise reaches in 95 of 100 answers.
    #[schema(value_type = f64)]
    pub half_width: JsonNumber,
}

impl From<ExplainedPart> for ExplainedPartDocument {
    fn from(part: ExplainedPart) -> ExplainedPartDocument {
        let ExplainedPart { measure, cost, noise, sensitivity, scale, half_width } = part;
        let [sensitivity, half_width] = [sensitivity, half_width].map(JsonNumber::from_string_unchecked);
        let (noise, scale) = (noise.to_string(), Computed(scale));
        ExplainedPartDocument { measure, cost, noise, sensitivity, scale, half_width }
    }
}

impl Explanation {
    /// What would come of a question, as far as it may be seen.
    pub fn new(prepared: &Prepared, quote: Quote, sight: &Sight) -> Explanation {
        let (sql, parameters) = prepared.statement();
        let quote = quote.seen_by(|name| sight.sees(name));
        let admitted = quote.is_admitted();
        let closes = quote.accounts().iter().filter(|_| admitted).filter_map(|account| {
            let branch = account.closes?.to_string();
            Some(ClosesDocument { account: account.before.name().clone(), branch })
        });
        Explanation {
            dataset: prepared.dataset().name.clone(),
            version: prepared.dataset().version,
            account: prepared.account().clone(),
            pays: quote.accounts().iter().map(|account| account.before.name().clone()).collect(),
            question: prepared.canonical().to_string(),
            sql,
            parameters,
            parts: prepared.parts().into_iter().map(ExplainedPartDocument::from).collect(),
            cost: prepared.cost(),
            admitted,
            fits: quote.fits().map(<[Cost]>::to_vec),
            not_open: quote.accounts().iter().any(|account| account.before.standing() != Standing::Open),
            closes: closes.collect(),
        }
    }
}
