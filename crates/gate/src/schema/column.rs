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
        if let Some(bounds) = bounds {
            bounds.check(kind).map_err(wrong)?;
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
                        "{category} cannot be a category of a column that holds {kind}; categories are whole or decimal numbers, text, \
                         booleans, dates or timestamps, as the column's type"
                    )));
                }
                if !seen.insert(category.to_string()) {
                    return Err(wrong(format!("the category {category} is listed twice; omit one")));
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
    /// Days of the calendar, from 0001-01-01 to 9999-12-31.
    Date,
    /// Days with a time, to the microsecond, in UTC.
    Timestamp,
    /// Decimal numbers, exactly: below 10¹², with at most six decimal places.
    Decimal,
}

impl ColumnType {
    const ALL: [ColumnType; 7] = [
        ColumnType::Integer,
        ColumnType::Real,
        ColumnType::Text,
        ColumnType::Boolean,
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Decimal,
    ];

    /// The name in declarations and documents.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "integer",
            ColumnType::Real => "real",
            ColumnType::Text => "text",
            ColumnType::Boolean => "boolean",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
            ColumnType::Decimal => "decimal",
        }
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Result<ColumnType, Error> {
        ColumnType::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::schema(format!(
                "unknown type {name:?}; the types are integer, real, decimal, text, boolean, date and timestamp"
            ))
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
