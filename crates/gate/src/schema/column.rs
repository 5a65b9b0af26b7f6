//! Columns and their types.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Bounds, Value};
use crate::error::Error;

/// A column that may be asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    pub(crate) bounds: Option<Bounds>,
    pub(crate) categories: Option<Vec<Value>>,
}

impl Column {
    /// The longest name, in bytes; what PostgreSQL takes.
    pub const NAME: usize = 63;
    /// The most categories of a column.
    pub const CATEGORIES: usize = 10_000;

    /// Checks what is declared about a column.
    pub fn new(
        name: &str,
        kind: ColumnType,
        bounds: Option<Bounds>,
        categories: Option<Vec<Value>>,
    ) -> Result<Column, Error> {
        let wrong = |why: String| Error::column(name, why);
        if name.is_empty() || name.len() > Column::NAME || name.chars().any(char::is_control) {
            let shown: String = name.chars().take(Column::NAME).collect();
            return Err(Error::schema(format!(
                "{shown:?} cannot be the name of a column: it must have 1 to {} bytes and no control characters",
                Column::NAME
            )));
        }
        if bounds.is_some() && !matches!(kind, ColumnType::Integer | ColumnType::Real) {
            return Err(wrong(format!("it holds {kind}, which has no bounds; leave them out")));
        }
        if let (ColumnType::Integer, Some(bounds)) = (kind, bounds)
            && bounds.grid().to_integer().is_none()
        {
            return Err(wrong(format!("it holds {kind}, so its grid must be a whole number, not {}", bounds.grid())));
        }
        if let Some(categories) = &categories {
            if categories.is_empty() || categories.len() > Column::CATEGORIES {
                return Err(wrong(format!(
                    "it has {} categories; there must be between 1 and {}",
                    categories.len(),
                    Column::CATEGORIES
                )));
            }
            let mut seen = HashSet::new();
            for category in categories {
                if category.kind() != kind || kind == ColumnType::Real {
                    return Err(wrong(format!(
                        "{category} cannot be a category of a column that holds {kind}; categories are whole numbers, text or \
                         booleans, as the column's type"
                    )));
                }
                if !seen.insert(category.to_string()) {
                    return Err(wrong(format!("the category {category} is there twice; leave one out")));
                }
                category.check().map_err(|why| wrong(format!("the category {category}: {why}")))?;
            }
        }
        Ok(Column { name: name.to_string(), kind, bounds, categories })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// The bounds of its values, if they are declared.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// The categories to group by, if they are declared.
    pub fn categories(&self) -> Option<&[Value]> {
        self.categories.as_deref()
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ColumnType {
    /// Whole numbers of 64 bits.
    Integer,
    /// Binary floating-point numbers of 64 bits.
    Real,
    /// Text.
    Text,
    /// True or false.
    Boolean,
}

impl ColumnType {
    /// The name in declarations and documents.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "integer",
            ColumnType::Real => "real",
            ColumnType::Text => "text",
            ColumnType::Boolean => "boolean",
        }
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Result<ColumnType, Error> {
        let types = [ColumnType::Integer, ColumnType::Real, ColumnType::Text, ColumnType::Boolean];
        types.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::schema(format!("unknown type {name:?}; the types are integer, real, text and boolean"))
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
