//! How amounts, costs and rules look in an OpenAPI document. Costs and rules are described from their tables.

use std::ops::Bound;

use utoipa::openapi::Schema;
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type};

use crate::{
    Amount, Cost, CostForm, CostKind, Declared, FilterParameters, FilterRule, Number, OdometerParameters, OdometerRule,
    OnHalt,
};

/// An amount in text.
const AMOUNT: &str = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$";

/// A whole number in text.
const WHOLE: &str = r"^\s*\+?[0-9]+\s*$";

/// Implements the schema traits of `utoipa` for types by name; shared with the crates that stand on this one.
#[doc(hidden)]
#[macro_export]
macro_rules! schemas {
    ($($type:ty = $name:literal, $schema:expr;)+) => {$(
        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
        }

        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema.into()
            }
        }
    )+};
}

schemas! {
    Amount = "Amount",
        text("A decimal number in text, read exactly: at most 30 places.", AMOUNT).examples(["0.1"]);
    Cost = "Cost",
        one_of_kinds(|number| text(&number.help(), AMOUNT).build(), false, "A cost: its kind, and its parameter.");
    Declared = "DeclaredCost", one_of_kinds(
        |number| in_range(declared(&number.help()), number).build(),
        true,
        "A cost as it is declared. Amounts are decimal numbers, best in text: they are read from their digits, exactly, and rounded \
         up where they are too long.",
    );
    FilterRule = "FilterRule", one_of(FilterRule::ALL.map(|rule| (rule.name(), rule.short())));
    OdometerRule = "OdometerRule", one_of(OdometerRule::ALL.map(|rule| (rule.name(), rule.short())));
    FilterParameters = "FilterParameters", parameters(FilterRule::ALL.map(|rule| (rule.name(), rule.parameters())));
    OdometerParameters = "OdometerParameters",
        parameters(OdometerRule::ALL.map(|rule| (rule.name(), rule.parameters())));
    OnHalt = "OnHalt", one_of([
        ("refuse", "nothing changes, and a smaller cost may still pass"),
        ("stop", "the account takes no more charges"),
    ]);
}

fn text(description: &str, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .description(Some(description))
        .pattern(Some(pattern))
}

/// An amount as it is declared, with or without quotes.
fn declared(description: &str) -> ObjectBuilder {
    text(description, AMOUNT).schema_type(SchemaType::Array(vec![Type::String, Type::Number])).minimum(Some(0))
}

/// An object with no other properties.
fn closed(builder: ObjectBuilder) -> ObjectBuilder {
    builder
        .schema_type(SchemaType::Type(Type::Object))
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// One of a list of names, each with what it means.
fn one_of<const N: usize>(names: [(&str, &str); N]) -> ObjectBuilder {
    let described = names.map(|(name, meaning)| format!("`{name}`: {meaning}")).join("; ");
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .description(Some(described))
        .enum_values(Some(names.map(|(name, _)| name)))
}

/// An object with one of the kinds in it, each as its table says; δ goes with ε alone.
fn one_of_kinds(number: fn(&Number) -> Object, with_all_forms: bool, description: &str) -> OneOfBuilder {
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
    kinds.description(Some(description))
}

/// The range of a number from its table, and its example. A range binds where the number stands without quotes.
fn in_range(object: ObjectBuilder, number: &Number) -> ObjectBuilder {
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

/// An object with the parameters of all rules; which rule has which is in its description.
fn parameters<const N: usize>(rules: [(&str, &'static [Number]); N]) -> Object {
    let names = |numbers: &[Number]| numbers.iter().map(|number| number.name).collect::<Vec<_>>().join(", ");
    let with_parameters = rules.iter().filter(|(_, numbers)| !numbers.is_empty());
    let described = with_parameters.map(|(rule, numbers)| format!("`{rule}`: {}", names(numbers))).collect::<Vec<_>>();
    let object = ObjectBuilder::new().description(Some(format!("The rule's own parameters. {}", described.join("; "))));
    let numbers = rules.iter().flat_map(|(_, numbers)| numbers.iter());
    let property = |object: ObjectBuilder, number: &Number| {
        let pattern = if number.whole { WHOLE } else { AMOUNT };
        object.property(number.name, in_range(text(&number.help(), pattern), number))
    };
    closed(numbers.fold(object, property)).build()
}
