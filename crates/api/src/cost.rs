//! Costs in requests and documents.

use serde::{Deserialize, Deserializer, Serialize};
use taximeter_accounting::{Amount, Cost, Declared};
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::text::text;

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

/// How a cost looks in a document: `{"epsilon":"0.1"}`, `{"epsilon":"0.1","delta":"1e-9"}`, `{"gaussian":"0.05"}` and so on.
pub struct CostSchema;

impl ToSchema for CostSchema {
    fn name() -> std::borrow::Cow<'static, str> {
        "Cost".into()
    }
}

impl PartialSchema for CostSchema {
    fn schema() -> RefOr<Schema> {
        let amount = |description: &str| text(description, AMOUNT, None).build();
        let delta = amount("the mechanism's own δ; 0 if left out");
        one_of_kinds(|_| amount("the parameter").into(), &delta, "A cost: its kind, and its parameter.")
    }
}

/// An object with one of the kinds in it; δ goes with ε alone.
fn one_of_kinds(parameter: impl Fn(&str) -> Schema, delta: &Object, description: &str) -> RefOr<Schema> {
    let kinds = KINDS.iter().fold(OneOfBuilder::new(), |kinds, (name, description)| {
        let kind =
            ObjectBuilder::new().property(*name, parameter(name)).required(*name).description(Some(*description));
        kinds.item(closed(if *name == "epsilon" { kind.property("delta", delta.clone()) } else { kind }))
    });
    kinds.description(Some(description)).into()
}

/// The kinds of costs by name.
const KINDS: [(&str, &str); 7] = [
    ("epsilon", "(ε, δ)-differential privacy"),
    ("gaussian", "continuous Gaussian noise, μ-GDP"),
    ("discrete_gaussian", "discrete Gaussian noise, by its μ"),
    ("zcdp", "ρ-zCDP"),
    ("laplace", "Laplace noise, by its ε"),
    ("randomized_response", "randomized response, by its ε"),
    ("exponential", "the exponential mechanism, by its η"),
];

/// How a cost may be declared: as it looks in a document, or by what the mechanism does, such as
/// `{"gaussian":{"sigma":"20","sensitivity":"1"}}`.
pub struct DeclaredCostSchema;

impl ToSchema for DeclaredCostSchema {
    fn name() -> std::borrow::Cow<'static, str> {
        "DeclaredCost".into()
    }
}

impl PartialSchema for DeclaredCostSchema {
    fn schema() -> RefOr<Schema> {
        let delta = declared("the mechanism's own δ, below 1; 0 if left out");
        let description = "A cost as it is declared. Amounts are decimal numbers, best in text: they are read from their digits, \
                           exactly, and rounded up where they are too long.";
        one_of_kinds(parameter, &delta, description)
    }
}

/// The parameter of a kind of cost, or what the mechanism does.
fn parameter(kind: &str) -> Schema {
    let itself = declared("the parameter itself");
    let described = match kind {
        "gaussian" | "discrete_gaussian" => noise("sigma", "the standard deviation of the noise"),
        "laplace" => noise("scale", "the scale of the noise"),
        "randomized_response" => ObjectBuilder::new()
            .property("truth", declared("the probability of the truth, from a half and below 1"))
            .required("truth"),
        _ => return itself.into(),
    };
    OneOfBuilder::new().item(itself).item(closed(described)).build().into()
}

fn noise(name: &str, description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .property(name, declared(description))
        .required(name)
        .property("sensitivity", declared("how far one unit can move the value"))
        .required("sensitivity")
}

/// An object with nothing else in it.
fn closed(builder: ObjectBuilder) -> ObjectBuilder {
    builder
        .schema_type(SchemaType::Type(Type::Object))
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// An amount as it is declared, with or without quotes.
fn declared(description: &str) -> Object {
    text(description, AMOUNT, None)
        .schema_type(SchemaType::Array(vec![Type::String, Type::Number]))
        .minimum(Some(0))
        .examples(["0.1"])
        .build()
}

/// An amount, as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AmountDocument(pub Amount);

impl ToSchema for AmountDocument {
    fn name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }
}

impl PartialSchema for AmountDocument {
    fn schema() -> RefOr<Schema> {
        text("A decimal number in text, read exactly: at most 30 places.", AMOUNT, None).examples(["0.1"]).into()
    }
}

/// An amount in text.
const AMOUNT: &str = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$";
