//! How names and numbers look that stand in text, for the document that describes the API.

use std::borrow::Cow;

use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Text of a form.
pub(crate) fn text(description: &str, pattern: &str, longest: Option<usize>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .description(Some(description))
        .pattern(Some(pattern))
        .max_length(longest)
}

/// One of a list of names, each with what it means.
pub(crate) fn one_of<const N: usize>(names: [(&str, &str); N]) -> RefOr<Schema> {
    let described = names.map(|(name, meaning)| format!("`{name}`: {meaning}")).join("; ");
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .description(Some(described))
        .enum_values(Some(names.map(|(name, _)| name)))
        .into()
}

macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $schema:ident = $name:literal, $pattern:literal, $longest:expr, $description:literal;)+) => {$(
        $(#[doc = $doc])+
        pub struct $schema;

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                text($description, $pattern, $longest).into()
            }
        }
    )+};
}

texts! {
    /// The name of an account or a dataset.
    NameSchema = "Name", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._-]{0,63}){0,7}$", None,
        "The name of an account or a dataset: up to 8 parts, from the root down.";
    /// One part of an account's name.
    PartSchema = "NamePart", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", None, "One part of an account's name, such as alice.";
    /// The name of a privacy unit.
    UnitSchema = "Unit", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", None,
        "The name of what is protected, such as record or person.";
    /// A number of the data.
    NumberSchema = "Number", r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$", Some(64),
        "A decimal number in text, read exactly: up to 18 digits before the point and 18 after it.";
}
