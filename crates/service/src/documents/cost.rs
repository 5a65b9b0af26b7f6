//! Costs in requests and documents.

use std::ops::Bound;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use taximeter_accounting::{Amount, Cost, CostForm, CostKind, Declared, Number};
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::documents::text::text;

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
        one_of_kinds(|number| text(&number.help(), AMOUNT, None).build(), false, "A cost: its kind, and its parameter.")
    }
}

/// An object with one of the kinds in it, each as its table says; δ goes with ε alone.
fn one_of_kinds(number: fn(&Number) -> Object, with_all_forms: bool, description: &str) -> RefOr<Schema> {
    let object = |form: &CostForm| {
        let numbers = form.numbers.iter();
        closed(numbers.fold(ObjectBuilder::new(), |object, field| {
            object.property(field.name, number(field)).required(field.name)
        }))
    };
    let kinds = CostKind::ALL.into_iter().fold(OneOfBuilder::new(), |kinds, kind| {
        let direct = kind.direct_form();
        let forms = kind.forms().iter().take(if with_all_forms { usize::MAX } else { 1 });
        let ways: Vec<Schema> = forms
            .map(|form| match direct.is_some_and(|direct| direct.name == form.name) {
                true => number(form.numbers[0]).into(),
                false => object(form).build().into(),
            })
            .collect();
        let value: Schema = match <[Schema; 1]>::try_from(ways) {
            Ok([only]) => only,
            Err(ways) => ways.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item).build().into(),
        };
        let entry =
            ObjectBuilder::new().property(kind.name(), value).required(kind.name()).description(Some(kind.sentence()));
        let beside = direct.into_iter().flat_map(|form| form.numbers.iter().skip(1));
        kinds.item(closed(beside.fold(entry, |entry, optional| entry.property(optional.name, number(optional)))))
    });
    kinds.description(Some(description)).into()
}

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
        let description = "A cost as it is declared. Amounts are decimal numbers, best in text: they are read from their digits, \
                           exactly, and rounded up where they are too long.";
        one_of_kinds(|number| in_range(declared(&number.help()), number).build(), true, description)
    }
}

/// An object with nothing else in it.
pub(crate) fn closed(builder: ObjectBuilder) -> ObjectBuilder {
    builder
        .schema_type(SchemaType::Type(Type::Object))
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// An amount as it is declared, with or without quotes.
fn declared(description: &str) -> ObjectBuilder {
    text(description, AMOUNT, None).schema_type(SchemaType::Array(vec![Type::String, Type::Number])).minimum(Some(0))
}

/// The range of a number from its table, and its example. A range binds where the number stands without quotes.
pub(crate) fn in_range(object: ObjectBuilder, number: &Number) -> ObjectBuilder {
    let (least, most) = number.range;
    let object = match least {
        Bound::Unbounded => object.minimum(Some(0)),
        Bound::Included(least) => object.minimum(Some(least.approximate())),
        Bound::Excluded(least) => object.exclusive_minimum(Some(least.approximate())),
    };
    let object = match most {
        Bound::Unbounded => object,
        Bound::Included(most) => object.maximum(Some(most.approximate())),
        Bound::Excluded(most) => object.exclusive_maximum(Some(most.approximate())),
    };
    object.multiple_of(number.whole.then_some(1)).examples([number.example])
}

/// An amount that is offered, as text or as a number: it is read from its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OfferedAmount(pub Amount);

impl<'de> Deserialize<'de> for OfferedAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Amount::parse_exact(&text_or_number(deserializer)?).map(OfferedAmount).map_err(Error::custom)
    }
}

impl ToSchema for OfferedAmount {}

impl PartialSchema for OfferedAmount {
    fn schema() -> RefOr<Schema> {
        declared("An amount, best in text: it is read from its digits, exactly.").examples(["0.1"]).into()
    }
}

/// The text of a number, with or without quotes.
pub(crate) fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Json::deserialize(deserializer)? {
        Json::String(text) => Ok(text),
        Json::Number(number) => Ok(number.as_str().to_string()),
        other => Err(Error::custom(format!("{other} is no number; write for instance 0.1 or \"0.1\""))),
    }
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
pub(crate) const AMOUNT: &str = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$";
