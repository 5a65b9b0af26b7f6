//! How numbers and categories look in an OpenAPI document.

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::declaration::Category;
use crate::document::{Cell, DatedEstimate, Estimate};
use crate::number::Number;
use crate::schema::Bound;

impl ToSchema for Number {}

impl PartialSchema for Number {
    fn schema() -> RefOr<Schema> {
        let exactly = "A decimal number in text, read exactly: up to 18 digits before the point and 18 after it.";
        of_type(Type::String)
            .description(Some(exactly))
            .pattern(Some(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"))
            .max_length(Some(Number::LONGEST))
            .into()
    }
}

impl ToSchema for Bound {}

impl PartialSchema for Bound {
    fn schema() -> RefOr<Schema> {
        let forms = "A decimal number in text; for a date or a timestamp, a day such as 1900-01-01 or a time such as 2024-02-29 13:05:00.";
        of_type(Type::String).description(Some(forms)).max_length(Some(Number::LONGEST)).into()
    }
}

impl ToSchema for Category {}

impl PartialSchema for Category {
    fn schema() -> RefOr<Schema> {
        let types = [of_type(Type::String), of_type(Type::Number), of_type(Type::Boolean)];
        let kinds = types.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        kinds.description(Some("A category: text, a number, or true or false. Dates and timestamps are text.")).into()
    }
}

impl ToSchema for Cell {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend([
            (Category::name().into(), Category::schema()),
            (Estimate::name().into(), Estimate::schema()),
            (DatedEstimate::name().into(), DatedEstimate::schema()),
        ]);
    }
}

impl PartialSchema for Cell {
    fn schema() -> RefOr<Schema> {
        let cells = [Category::name(), Estimate::name(), DatedEstimate::name()].map(Ref::from_schema_name);
        let cells = cells.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        cells.description(Some("A cell of an answer: the value of a group, a noisy number, or a noisy date.")).into()
    }
}

fn of_type(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(kind))
}
