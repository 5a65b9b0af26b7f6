//! What an owner declares about a dataset: whose privacy is protected, and the types, bounds and categories of its columns.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number as JsonNumber, Value as Json};
use taximeter_ledger::{Neighbours, Privacy, Unit};

use crate::error::Error;
use crate::number::Number;

/// What an owner declares about a dataset. All sensitivities follow from this alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    pub(crate) unit: PrivacyUnit,
    pub(crate) neighbours: Neighbours,
    pub(crate) columns: Vec<Column>,
}

/// Whose privacy is protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PrivacyUnit {
    /// A row.
    Row,
    /// All rows with the same value in a column, of which so many are kept.
    Column {
        /// The name of the column.
        column: String,
        /// The most rows of one unit that count.
        max_rows_per_unit: u32,
    },
}

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

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The range that values are clamped to, and the grid that they are put on before they are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    low: Number,
    high: Number,
    grid: Number,
}

/// A literal of a question, a category, or the key of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A binary floating-point number, always finite.
    Real(f64),
    /// Text.
    Text(String),
}

impl Schema {
    /// The most columns.
    pub const COLUMNS: usize = 256;
    /// The most rows of one unit that an owner may let count.
    pub const ROWS_PER_UNIT: u32 = 1_000_000;

    /// Checks a declaration as a whole.
    pub fn new(unit: PrivacyUnit, neighbours: Neighbours, columns: Vec<Column>) -> Result<Schema, Error> {
        if columns.is_empty() || columns.len() > Schema::COLUMNS {
            return Err(Error::input(format!(
                "a dataset must have between 1 and {} columns; this one has {}",
                Schema::COLUMNS,
                columns.len()
            )));
        }
        for (at, column) in columns.iter().enumerate() {
            if let Some(other) = columns[..at].iter().find(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::input(format!(
                    "the columns {:?} and {:?} have the same name, since a question may write it in any case: rename one",
                    other.name, column.name
                )));
            }
        }
        if let PrivacyUnit::Column { column, max_rows_per_unit } = &unit {
            match columns.iter().find(|other| other.name == *column) {
                None => {
                    return Err(Error::input(format!(
                        "the privacy unit is the column {column:?}, but there is no such column; they are {}",
                        names(&columns)
                    )));
                }
                // Two binary numbers that print alike may differ, 0 equals −0, and NaN nothing.
                Some(other) if other.kind == ColumnType::Real => {
                    return Err(Error::input(format!(
                        "the privacy unit is the column {column:?}, which holds real numbers, and those do not tell units apart; declare \
                         its type as text or integer, or name another column"
                    )));
                }
                Some(_) => {}
            }
            if !(1..=Schema::ROWS_PER_UNIT).contains(max_rows_per_unit) {
                return Err(Error::input(format!(
                    "max_rows_per_unit is {max_rows_per_unit}; it must be between 1 and {}",
                    Schema::ROWS_PER_UNIT
                )));
            }
        }
        Ok(Schema { unit, neighbours, columns })
    }

    /// The same schema, if it is one that could be declared: one that was written down may have been changed since.
    pub(crate) fn checked(self) -> Result<Schema, Error> {
        let column = |Column { name, kind, bounds, categories }: Column| {
            let bounds = bounds.map(|Bounds { low, high, grid }| Bounds::new(low, high, grid)).transpose()?;
            Column::new(&name, kind, bounds, categories)
        };
        let columns = self.columns.into_iter().map(column).collect::<Result<_, Error>>()?;
        Schema::new(self.unit, self.neighbours, columns)
    }

    /// Whose privacy is protected.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// When two datasets count as neighbours.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The columns, in the order of the data.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What the ledger calls the same: the unit by the name of its column.
    pub fn privacy(&self) -> Result<Privacy, Error> {
        self.unit.privacy(self.neighbours)
    }

    /// The most rows that one unit has in the data that are asked.
    pub(crate) fn rows_per_unit(&self) -> u32 {
        match self.unit {
            PrivacyUnit::Row => 1,
            PrivacyUnit::Column { max_rows_per_unit, .. } => max_rows_per_unit,
        }
    }

    /// The place of the unit's column.
    pub(crate) fn unit_column(&self) -> Option<usize> {
        match &self.unit {
            PrivacyUnit::Row => None,
            PrivacyUnit::Column { column, .. } => self.columns.iter().position(|other| other.name == *column),
        }
    }
}

impl PrivacyUnit {
    pub(crate) fn privacy(&self, neighbours: Neighbours) -> Result<Privacy, Error> {
        // The ledger's own word, so that a dataset can stand below an account that was opened without a word about its unit.
        const ROW: &str = "record";
        let unit = match self {
            PrivacyUnit::Row => Unit::parse(ROW),
            PrivacyUnit::Column { column, .. } if column.eq_ignore_ascii_case(ROW) => {
                return Err(Error::input(format!(
                    "the privacy unit is the column {column:?}, which is what the ledger calls a row: rename the column"
                )));
            }
            PrivacyUnit::Column { column, .. } => Unit::parse(&column.to_ascii_lowercase()),
        };
        Ok(Privacy { unit: unit?, neighbours })
    }
}

/// The names of columns, for messages.
pub(crate) fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
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
        let wrong = |why: String| Error::input(format!("the column {name:?}: {why}"));
        if name.is_empty() || name.len() > Column::NAME || name.chars().any(char::is_control) {
            let shown: String = name.chars().take(Column::NAME).collect();
            return Err(Error::input(format!(
                "{shown:?} cannot be the name of a column: it must have 1 to {} bytes and no control characters",
                Column::NAME
            )));
        }
        if bounds.is_some() && !matches!(kind, ColumnType::Integer | ColumnType::Real) {
            return Err(wrong(format!("it holds {kind}, which has no bounds; leave them out")));
        }
        if let (ColumnType::Integer, Some(bounds)) = (kind, bounds)
            && bounds.grid.to_integer().is_none()
        {
            return Err(wrong(format!("it holds {kind}, so its grid must be a whole number, not {}", bounds.grid)));
        }
        if let Some(categories) = &categories {
            if categories.is_empty() || categories.len() > Column::CATEGORIES {
                return Err(wrong(format!(
                    "it has {} categories; there must be between 1 and {}",
                    categories.len(),
                    Column::CATEGORIES
                )));
            }
            let mut seen = std::collections::HashSet::new();
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

impl Bounds {
    /// No value on the grid is further from 0 than so many steps, so that no sum overflows.
    pub const STEPS: i64 = 1 << 30;

    /// The bounds of a column, both on the grid.
    pub fn new(low: Number, high: Number, grid: Number) -> Result<Bounds, Error> {
        if low >= high {
            return Err(Error::input(format!(
                "the bounds {low} and {high}: the lower one must be below the upper one"
            )));
        }
        if !grid.is_positive() {
            return Err(Error::input(format!("the grid {grid} must be above 0")));
        }
        for bound in [low, high] {
            match bound.steps(grid) {
                None => {
                    return Err(Error::input(format!(
                        "the bound {bound} is not on the grid of {grid}: make it a multiple of {grid}, or the grid finer"
                    )));
                }
                Some(steps) if !(-Bounds::STEPS..=Bounds::STEPS).contains(&steps) => {
                    return Err(Error::input(format!(
                        "the bound {bound} is {steps} steps of {grid} away from 0, more than 2^30: choose a coarser grid"
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(Bounds { low, high, grid })
    }

    /// Bounds with the grid that a column has unless it is declared: 1 for whole numbers; for others a power of ten of which about a
    /// million steps reach the bounds, or a finer one that the bounds are on.
    pub fn with_default_grid(low: Number, high: Number, kind: ColumnType) -> Result<Bounds, Error> {
        if kind == ColumnType::Integer {
            return Bounds::new(low, high, Number::ONE);
        }
        let reach = low.abs().max(high.abs());
        let coarse = (-18..18).rev().find(|exponent| {
            Number::power_of_ten(*exponent)
                .and_then(|step| step.times(1_000_000))
                .is_some_and(|million| million <= reach)
        });
        let coarse = coarse.unwrap_or(-18);
        let fitting = (coarse - 3..=coarse).rev().filter_map(Number::power_of_ten);
        fitting.map(|grid| Bounds::new(low, high, grid)).find(Result::is_ok).unwrap_or_else(|| {
            Bounds::new(low, high, Number::ONE)?;
            Err(Error::input(format!(
                "the bounds {low} and {high} need a grid: declare one of which they are multiples"
            )))
        })
    }

    /// The lower bound.
    pub fn low(&self) -> Number {
        self.low
    }

    /// The upper bound.
    pub fn high(&self) -> Number {
        self.high
    }

    /// The step of the grid.
    pub fn grid(&self) -> Number {
        self.grid
    }

    /// The bounds in steps of the grid.
    pub(crate) fn steps(&self) -> (i64, i64) {
        let steps = |bound: Number| bound.steps(self.grid).expect("both bounds are on the grid");
        (steps(self.low), steps(self.high))
    }

    /// The point of the grid in the middle, in steps.
    pub(crate) fn centre(&self) -> i64 {
        let (low, high) = self.steps();
        low + (high - low) / 2
    }
}

impl Value {
    /// The longest text of a literal or a category, in bytes.
    pub const TEXT: usize = 1000;

    /// The type of column that it can be compared with.
    pub fn kind(&self) -> ColumnType {
        match self {
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Integer(_) => ColumnType::Integer,
            Value::Real(_) => ColumnType::Real,
            Value::Text(_) => ColumnType::Text,
        }
    }

    /// The same as JSON.
    pub fn json(&self) -> Json {
        match self {
            Value::Boolean(value) => Json::Bool(*value),
            Value::Integer(value) => Json::Number((*value).into()),
            Value::Real(value) => JsonNumber::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Text(text) => Json::String(text.clone()),
        }
    }

    /// Whether every engine can hold it.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Value::Text(text) if text.len() > Value::TEXT => Err(format!("text is longer than {} bytes", Value::TEXT)),
            Value::Text(text) if text.contains('\0') => {
                Err("text has a NUL character, which no engine holds".to_string())
            }
            Value::Real(value) if !value.is_finite() => Err("a number must be finite".to_string()),
            _ => Ok(()),
        }
    }
}

impl Value {
    /// Reads a value of a column's type from text.
    pub(crate) fn parse(text: &str, kind: ColumnType) -> Result<Value, Error> {
        let wrong = || {
            Error::input(format!(
                "{text:?} is not a value of a column that holds {kind}; correct it, or declare another type for the column"
            ))
        };
        match kind {
            ColumnType::Text => Ok(Value::Text(text.to_string())),
            ColumnType::Integer => text.parse().map(Value::Integer).map_err(|_| wrong()),
            ColumnType::Real => {
                text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Real).ok_or_else(wrong)
            }
            ColumnType::Boolean => match text {
                "true" => Ok(Value::Boolean(true)),
                "false" => Ok(Value::Boolean(false)),
                _ => Err(wrong()),
            },
        }
    }
}

impl ColumnType {
    /// The type of a name.
    pub fn from_name(name: &str) -> Result<ColumnType, Error> {
        let types = [ColumnType::Integer, ColumnType::Real, ColumnType::Text, ColumnType::Boolean];
        types.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| {
            Error::input(format!("there is no type {name:?}; the types are integer, real, text and boolean"))
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Integer => "integer",
            ColumnType::Real => "real",
            ColumnType::Text => "text",
            ColumnType::Boolean => "boolean",
        })
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} in steps of {}", self.low, self.high, self.grid)
    }
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrivacyUnit::Row => f.write_str("a row"),
            PrivacyUnit::Column { column, max_rows_per_unit: 1 } => write!(f, "a {column}, of which one row counts"),
            PrivacyUnit::Column { column, max_rows_per_unit } => {
                write!(f, "a {column}, of which at most {max_rows_per_unit} rows count")
            }
        }
    }
}

impl fmt::Display for Value {
    /// As a question writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(true) => f.write_str("TRUE"),
            Value::Boolean(false) => f.write_str("FALSE"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}

#[cfg(test)]
mod tests;
