//! What an owner declares about a dataset: whose privacy is protected, and the types, bounds and categories of its columns.

mod bound;
mod bounds;
mod calendar;
mod column;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use serde::{Deserialize, Serialize};
use taximeter_ledger::{Neighbours, Privacy, Unit};

pub use self::bound::Bound;
pub use self::bounds::Bounds;
pub(crate) use self::calendar::{
    DAYS, MICROSECONDS, MICROSECONDS_PER_SECOND, SECONDS_PER_DAY, parse_date, parse_timestamp,
};
pub use self::column::{Column, ColumnType};
pub use self::value::Value;
pub(crate) use self::value::plain;
use crate::error::Error;

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
    /// All rows with the same value in a column, of which at most a given number are kept.
    Column {
        /// The name of the column.
        column: String,
        /// The most rows of one unit that count.
        max_rows_per_unit: u32,
    },
}

impl Schema {
    /// The most columns.
    pub const COLUMNS: usize = 256;
    /// The most rows of one unit that an owner may let count.
    pub const ROWS_PER_UNIT: u32 = 1_000_000;

    /// Checks a declaration as a whole.
    pub fn new(unit: PrivacyUnit, neighbours: Neighbours, columns: Vec<Column>) -> Result<Schema, Error> {
        if columns.is_empty() || columns.len() > Schema::COLUMNS {
            return Err(Error::schema(format!(
                "a dataset must have between 1 and {} columns; this one has {}",
                Schema::COLUMNS,
                columns.len()
            )));
        }
        for (at, column) in columns.iter().enumerate() {
            if let Some(other) = columns[..at].iter().find(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::schema(format!(
                    "the columns {:?} and {:?} have the same name, since a question may write it in any case: rename one",
                    other.name, column.name
                )));
            }
        }
        if let PrivacyUnit::Column { column, max_rows_per_unit } = &unit {
            match columns.iter().find(|other| other.name == *column) {
                None => {
                    return Err(Error::schema(format!(
                        "the privacy unit is the column {column:?}, which does not exist; the columns are {}",
                        names(&columns)
                    )));
                }
                // Two binary numbers that print alike may differ, 0 equals −0, and NaN nothing; a decimal one is a measurement, too.
                Some(other) if matches!(other.kind, ColumnType::Real | ColumnType::Decimal) => {
                    return Err(Error::schema(format!(
                        "the privacy unit is the column {column:?}, which holds {} numbers, which do not identify units; declare \
                         its type as text or integer, or name another column",
                        other.kind
                    )));
                }
                Some(_) => {}
            }
            if !(1..=Schema::ROWS_PER_UNIT).contains(max_rows_per_unit) {
                return Err(Error::schema(format!(
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
            let bounds = bounds.map(|bounds| Bounds::new(bounds.low(), bounds.high(), bounds.grid())).transpose()?;
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
                return Err(Error::schema(format!(
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
