//! How names and numbers of the ledger look in an OpenAPI document.

use std::borrow::Cow;

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::name::ShortText;
use crate::{AccountName, Computed, Hash, LedgerId, RawRecord, Unit};

taximeter_accounting::schemas! {
    AccountName = "Name", text(
        "The name of an account or a dataset: up to 8 parts, from the root down.",
        "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._-]{0,63}){0,7}$",
    );
    Unit = "Unit", text("The name of what is protected, such as record or person.", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$");
    Hash = "Hash", text("A BLAKE3 hash, in hexadecimal.", "^[0-9a-f]{64}$");
    LedgerId = "LedgerId", text("The identity of a ledger, in hexadecimal.", "^[0-9a-f]{32}$");
    RawRecord = "RawRecord",
        of_type(Type::Object).description(Some("A journal record, in exactly the bytes that its hash covers."));
    Computed = "Computed", of_type(Type::Number)
        .description(Some("A computed number."))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)));
}

impl<const LONGEST: usize> ToSchema for ShortText<LONGEST> {
    fn name() -> Cow<'static, str> {
        format!("ShortText{LONGEST}").into()
    }
}

impl<const LONGEST: usize> PartialSchema for ShortText<LONGEST> {
    fn schema() -> RefOr<Schema> {
        let one_line = "Text in one line, without control characters.";
        of_type(Type::String).description(Some(one_line)).min_length(Some(1)).max_length(Some(LONGEST)).into()
    }
}

fn of_type(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(kind))
}

fn text(description: &str, pattern: &str) -> ObjectBuilder {
    of_type(Type::String).description(Some(description)).pattern(Some(pattern))
}
