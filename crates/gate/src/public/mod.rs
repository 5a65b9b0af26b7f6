//! Public tables: codes and names, calendars, regions. Everyone may know them, so they have neither a unit nor a budget.
//!
//! What follows from a public table is known before any data are touched: the values of a column are its categories, and the least and
//! the greatest of them its bounds.

mod derive;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use taximeter_ledger::{AccountName, Neighbours};

use self::derive::{bounds, steps_of};
use crate::error::Error;
use crate::schema::{Column, ColumnType, PrivacyUnit, Schema, Value};

/// A table that everyone may know, which questions join to a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicTable {
    name: AccountName,
    columns: Vec<Column>,
    rows: Vec<Vec<Option<Value>>>,
    hash: String,
}

/// What is stored of a table: fields as text, and null where there is none.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    columns: Vec<(String, ColumnType)>,
    rows: Vec<Vec<Option<String>>>,
}

impl PublicTable {
    /// The most rows.
    pub const ROWS: usize = 10_000;
    /// The most columns.
    pub const COLUMNS: usize = 64;
    /// The most text, in bytes.
    pub const BYTES: usize = 1 << 20;

    /// A table of columns with their types, and of rows with as many fields.
    pub fn new(
        name: AccountName,
        columns: &[(String, ColumnType)],
        rows: Vec<Vec<Option<Value>>>,
    ) -> Result<PublicTable, Error> {
        let wrong = |why: String| Error::value("public table", &name, why);
        if rows.is_empty() || rows.len() > PublicTable::ROWS {
            let needs = format!("it has {} rows; there must be between 1 and {}", rows.len(), PublicTable::ROWS);
            return Err(wrong(needs));
        }
        if columns.is_empty() || columns.len() > PublicTable::COLUMNS {
            let needs =
                format!("it has {} columns; there must be between 1 and {}", columns.len(), PublicTable::COLUMNS);
            return Err(wrong(needs));
        }
        let bytes: usize = rows.iter().flatten().flatten().map(|value| value.plain().len()).sum();
        if bytes > PublicTable::BYTES {
            return Err(wrong(format!("it has {bytes} bytes of text, more than {}", PublicTable::BYTES)));
        }
        let known = columns.iter().enumerate().map(|(at, (name, kind))| known_column(name, *kind, at, &rows));
        let columns = known.collect::<Result<Vec<_>, Error>>()?;
        // Names are checked as those of datasets are.
        let Schema { columns, .. } = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns)?;
        let mut table = PublicTable { name, columns, rows, hash: String::new() };
        table.hash = blake3::hash(table.content().as_bytes()).to_hex().to_string();
        Ok(table)
    }

    /// Its name.
    pub fn name(&self) -> &AccountName {
        &self.name
    }

    /// Its columns, with the bounds and categories that follow from its rows.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows it has.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The hash of its content: another one has other columns or rows.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn rows(&self) -> &[Vec<Option<Value>>] {
        &self.rows
    }

    /// Whether no two rows have the same value in a column, null aside.
    pub(crate) fn is_unique(&self, column: usize) -> bool {
        let mut seen = HashSet::new();
        self.rows.iter().filter_map(|row| row[column].as_ref()).all(|value| seen.insert(value.to_string()))
    }

    /// Whether a column can be a key: it exists, and no two rows have the same value in it.
    pub fn is_key(&self, column: &str) -> bool {
        self.columns.iter().position(|other| other.name == column).is_some_and(|at| self.is_unique(at))
    }

    /// The columns that no two rows share a value in, for messages.
    pub(crate) fn unique_columns(&self) -> Vec<&str> {
        (0..self.columns.len()).filter(|at| self.is_unique(*at)).map(|at| self.columns[at].name()).collect()
    }

    /// The value of a column with bounds in steps of its grid.
    pub(crate) fn steps(&self, row: usize, column: usize) -> Option<i64> {
        let value = self.rows[row][column].as_ref()?;
        Some(steps_of(value, &self.columns[column].bounds?))
    }

    /// As it is stored.
    pub(crate) fn content(&self) -> String {
        let field = |value: &Option<Value>| value.as_ref().map(Value::plain);
        let columns = self.columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(field).collect()).collect();
        serde_json::to_string(&Content { columns, rows }).expect("texts and names are JSON")
    }

    /// Reads what was stored.
    pub(crate) fn read(name: AccountName, content: &str) -> Result<PublicTable, Error> {
        let damaged = |why: String| Error::integrity(format!("the gate's record of the public table {name}: {why}"));
        let Content { columns, rows } = serde_json::from_str(content).map_err(|error| damaged(error.to_string()))?;
        let field = |(text, (_, kind)): (Option<String>, &(String, ColumnType))| {
            text.map(|text| Value::parse(&text, *kind)).transpose()
        };
        let row = |row: Vec<Option<String>>| match row.len() == columns.len() {
            true => row.into_iter().zip(&columns).map(field).collect(),
            false => Err(damaged("a row has another number of fields than the header".to_string())),
        };
        let rows = rows.into_iter().map(row).collect::<Result<_, Error>>()?;
        PublicTable::new(name.clone(), &columns, rows).map_err(|error| damaged(error.to_string()))
    }
}

/// A column with everything that its values say about it.
fn known_column(name: &str, kind: ColumnType, at: usize, rows: &[Vec<Option<Value>>]) -> Result<Column, Error> {
    let mut values: Vec<Value> = rows.iter().filter_map(|row| row[at].clone()).collect();
    values.sort_by(Value::compare);
    values.dedup();
    if values.is_empty() {
        return Err(Error::column(name, "it has no value in any row: omit it"));
    }
    Column::new(name, kind, bounds(&values, kind), Some(values))
}
