//! What is declared about a column, before the data are seen.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::error::Error;
use crate::number::Number;
use crate::schema::{Bound, Bounds, Column, ColumnType, Value};

/// What is declared about a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeclaredColumn {
    /// Its name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub name: String,
    /// Its type; found in the data if it is left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<ColumnType>,
    /// The bounds that its values are clamped to.
    #[serde(default, deserialize_with = "two_bounds", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Bound>>, min_items = 2, max_items = 2))]
    pub bounds: Option<[Bound; 2]>,
    /// The grid that its values are put on; for timestamps in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Number>,
    /// The categories that may be grouped by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<Category>>,
}

/// A category as it is declared: text, a number, or true or false. A date or a timestamp is written as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Json", into = "Json")]
pub enum Category {
    /// A value of a type.
    Typed(Value),
    /// Text, to be read by the type of its column.
    Written(String),
}

impl DeclaredColumn {
    /// A column of a file, which is named by its table. Text in a file is text, whatever the column holds.
    pub(super) fn of_file(self, name: String) -> Result<DeclaredColumn, Error> {
        if !self.name.is_empty() {
            return Err(Error::column(&name, "the name of its table is its name; omit \"name\""));
        }
        let typed = |category| match category {
            Category::Written(text) => Category::Typed(Value::Text(text)),
            typed => typed,
        };
        let categories = self.categories.map(|categories| categories.into_iter().map(typed).collect());
        Ok(DeclaredColumn { name, categories, ..self })
    }

    /// Its bounds and grid in words; nothing if one of them is not declared.
    pub fn describe_bounds(&self) -> Option<String> {
        let ([low, high], grid) = (self.bounds?, self.describe_grid()?);
        Some(format!("{low} to {high} in steps of {grid}"))
    }

    /// Its grid in words.
    pub fn describe_grid(&self) -> Option<String> {
        let grid = self.grid?;
        Some(match self.kind {
            Some(ColumnType::Date) => format!("{grid} day"),
            Some(ColumnType::Timestamp) => format!("{grid} s"),
            _ => grid.to_string(),
        })
    }

    pub(super) fn column(&self, kind: ColumnType) -> Result<Column, Error> {
        let bounds = match (self.bounds, self.grid) {
            (None, None) => None,
            (None, Some(_)) => return Err(Error::schema("a grid needs bounds: declare both, or omit the grid")),
            (Some([low, high]), Some(grid)) => Some(Bounds::new(low.number(kind)?, high.number(kind)?, grid)?),
            (Some([low, high]), None) => Some(Bounds::with_default_grid(low.number(kind)?, high.number(kind)?, kind)?),
        };
        let category = |category: &Category| match (category, kind) {
            // A file has no way of its own to write these.
            (Category::Typed(Value::Text(text)), ColumnType::Date | ColumnType::Timestamp | ColumnType::Decimal) => {
                Value::parse(text, kind)
            }
            (Category::Typed(Value::Integer(value)), ColumnType::Decimal) => {
                Ok(Value::Decimal(Number::from_integer(*value)))
            }
            (Category::Typed(value), _) => Ok(value.clone()),
            (Category::Written(text), _) => Value::parse(text, kind),
        };
        let categories = self.categories.as_ref().map(|categories| categories.iter().map(category).collect());
        Column::new(&self.name, kind, bounds, categories.transpose()?)
    }
}

fn two_bounds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[Bound; 2]>, D::Error> {
    let Some(bounds) = Option::<Vec<Bound>>::deserialize(deserializer)? else { return Ok(None) };
    let two = <[Bound; 2]>::try_from(bounds).map_err(|bounds| {
        D::Error::custom(format!("bounds are two numbers, such as [0, 120], and here are {}", bounds.len()))
    })?;
    Ok(Some(two))
}

impl Category {
    /// The category without quotes.
    pub fn plain(&self) -> String {
        match self {
            Category::Written(text) => text.clone(),
            Category::Typed(value) => value.plain(),
        }
    }
}

impl TryFrom<Json> for Category {
    type Error = String;
    fn try_from(json: Json) -> Result<Category, String> {
        let wrong = format!("{json} cannot be a category; categories are numbers, text or booleans");
        let decimal = json.as_number().map(|number| Number::parse(number.as_str()));
        match (Value::from_json(json), decimal) {
            (Some(Value::Text(text)), _) => Ok(Category::Written(text)),
            (Some(Value::Real(_)), Some(Ok(number))) => Ok(Category::Typed(Value::Decimal(number))),
            (None | Some(Value::Real(_)), _) => Err(wrong),
            (Some(value), _) => Ok(Category::Typed(value)),
        }
    }
}

impl From<Category> for Json {
    fn from(category: Category) -> Json {
        match category {
            Category::Typed(value) => value.json(),
            Category::Written(text) => Json::String(text),
        }
    }
}

impl fmt::Display for Category {
    /// As a question writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Category::Typed(value) => value.fmt(f),
            Category::Written(text) => Value::Text(text.clone()).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Declaration;

    #[test]
    fn categories_are_shown_as_they_are_written_in_a_question() {
        for (category, written) in [("\"o'clock\"", "'o''clock'"), ("7", "7"), ("true", "TRUE")] {
            assert_eq!(serde_json::from_str::<Category>(category).unwrap().to_string(), written);
        }
    }

    #[test]
    fn a_column_reads_back_as_it_was_written() {
        let text = r#"{"name":"age","type":"integer","bounds":["0","120"],"grid":"10","categories":[1,true,"north"]}"#;
        let column: DeclaredColumn = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&column).unwrap(), text);
        assert_eq!(serde_json::to_string(&DeclaredColumn::default()).unwrap(), r#"{"name":""}"#);
        let text = r#"{"name":"born","bounds":["1900-01-01","2024-02-29 13:05:00.5"],"categories":["1999-12-31",0.5]}"#;
        let column: DeclaredColumn = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&column).unwrap(), text);
    }

    #[test]
    fn other_bounds_have_a_grid_of_their_own_or_the_default_one() {
        let age = "[columns.age]\ntype = \"integer\"\n";
        let mut declaration = Declaration::of_rows(&format!("{age}bounds = [0, 120]\ngrid = 10"));
        for (written, described) in [
            ("age=0..100", "0 to 100 in steps of 1"),
            ("age=0..100/20", "0 to 100 in steps of 20"),
            ("age=0..105", "0 to 105 in steps of 1"),
        ] {
            declaration.add_bounds(written).unwrap();
            declaration = Declaration::of(&declaration.with_types().unwrap());
            assert_eq!(declaration.columns()[0].describe_bounds().as_deref(), Some(described), "{written}");
        }
        // A grid without bounds waits for them.
        let mut declaration = Declaration::of_rows(&format!("{age}grid = 10"));
        declaration.add_bounds("age=0..120").unwrap();
        assert_eq!(declaration.columns()[0].describe_bounds().unwrap(), "0 to 120 in steps of 10");
    }
}
