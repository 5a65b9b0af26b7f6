//! What is declared about a column, before the data are seen.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::error::Error;
use crate::number::Number;
use crate::schema::{Bounds, Column, ColumnType, Value};

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
    #[serde(default, deserialize_with = "two_numbers", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Number>>, min_items = 2, max_items = 2))]
    pub bounds: Option<[Number; 2]>,
    /// The grid that its values are put on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Number>,
    /// The categories that may be grouped by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<Category>>,
}

/// A category as it is declared: text, a whole number, or true or false.
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
            return Err(Error::column(&name, "the name of its table is its name; leave \"name\" out"));
        }
        let typed = |category| match category {
            Category::Written(text) => Category::Typed(Value::Text(text)),
            typed => typed,
        };
        let categories = self.categories.map(|categories| categories.into_iter().map(typed).collect());
        Ok(DeclaredColumn { name, categories, ..self })
    }

    pub(super) fn column(&self, kind: ColumnType) -> Result<Column, Error> {
        let bounds = match (self.bounds, self.grid) {
            (None, None) => None,
            (None, Some(_)) => return Err(Error::schema("a grid needs bounds: declare both, or leave the grid out")),
            (Some([low, high]), Some(grid)) => Some(Bounds::new(low, high, grid)?),
            (Some([low, high]), None) => Some(Bounds::with_default_grid(low, high, kind)?),
        };
        let category = |category: &Category| match category {
            Category::Typed(value) => Ok(value.clone()),
            Category::Written(text) => Value::parse(text, kind),
        };
        let categories = self.categories.as_ref().map(|categories| categories.iter().map(category).collect());
        Column::new(&self.name, kind, bounds, categories.transpose()?)
    }
}

fn two_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[Number; 2]>, D::Error> {
    let Some(numbers) = Option::<Vec<Number>>::deserialize(deserializer)? else { return Ok(None) };
    let two = <[Number; 2]>::try_from(numbers).map_err(|numbers| {
        D::Error::custom(format!("bounds are two numbers, such as [0, 120], and here are {}", numbers.len()))
    })?;
    Ok(Some(two))
}

impl Category {
    /// The category without quotes.
    pub fn plain(&self) -> String {
        match self {
            Category::Written(text) | Category::Typed(Value::Text(text)) => text.clone(),
            Category::Typed(value) => value.json().to_string(),
        }
    }
}

impl TryFrom<Json> for Category {
    type Error = String;
    fn try_from(json: Json) -> Result<Category, String> {
        let wrong = format!("{json} cannot be a category; categories are whole numbers, text or booleans");
        match Value::from_json(json) {
            Some(Value::Text(text)) => Ok(Category::Written(text)),
            None | Some(Value::Real(_)) => Err(wrong),
            Some(value) => Ok(Category::Typed(value)),
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
    }
}
