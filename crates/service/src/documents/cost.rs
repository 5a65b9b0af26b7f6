//! Costs in requests.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use taximeter_accounting::{Cost, Declared};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A cost as it is declared: read from its text, and rounded up where it has more digits than an amount keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DeclaredCost(pub Cost);

impl<'de> Deserialize<'de> for DeclaredCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(DeclaredCost(Declared::deserialize(deserializer)?.cost))
    }
}

impl From<DeclaredCost> for Cost {
    fn from(declared: DeclaredCost) -> Cost {
        declared.0
    }
}

impl ToSchema for DeclaredCost {
    fn name() -> Cow<'static, str> {
        Declared::name()
    }
}

impl PartialSchema for DeclaredCost {
    fn schema() -> RefOr<Schema> {
        Declared::schema()
    }
}
