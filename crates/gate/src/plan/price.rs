//! What an analyst offers for an answer.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use taximeter_accounting::Amount;

use crate::number::Number;

/// What an analyst offers for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Price {
    /// A fixed ε, for discrete Laplace noise.
    Epsilon(#[serde(deserialize_with = "offered")] Amount),
    /// A fixed ε, and a δ for groups of which nothing is declared: only those above a threshold are answered.
    Approximate {
        /// ε.
        #[serde(deserialize_with = "offered")]
        epsilon: Amount,
        /// δ.
        #[serde(deserialize_with = "offered")]
        delta: Amount,
    },
    /// A fixed μ, for rounded Gaussian noise: μ-GDP. Accounts with the rules `residue`, `zcdp` and `renyi` take it.
    Gaussian(#[serde(deserialize_with = "offered")] Amount),
    /// The smallest cost for which every 95% interval is at most ± the width.
    Error {
        /// The half width, in the units of the answer.
        #[serde(deserialize_with = "offered_width")]
        width: Number,
        /// Which noise.
        #[serde(default)]
        noise: NoiseKind,
    },
}

/// Which noise an answer gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// The discrete Laplace distribution, paid with ε.
    #[default]
    Laplace,
    /// The rounded Gaussian distribution, paid with μ.
    Gaussian,
}

fn offered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    Amount::parse_exact(&digits(deserializer)?).map_err(D::Error::custom)
}

fn offered_width<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
    Number::parse(&digits(deserializer)?).map_err(D::Error::custom)
}

/// The digits of a JSON number, with or without quotes.
fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Json::deserialize(deserializer)? {
        Json::String(text) => Ok(text),
        Json::Number(number) => Ok(number.as_str().to_string()),
        other => Err(D::Error::custom(format!("{other} is not a number; write for instance 0.1 or \"0.1\""))),
    }
}
