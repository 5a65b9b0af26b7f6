//! Public tables: data that everyone may know, which questions join to a dataset.

use serde::{Deserialize, Serialize};
use taximeter_gate::{Column, ColumnType, CsvForm, PublicTable};
use taximeter_ledger::AccountName;
use utoipa::ToSchema;

/// A public table and its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublicTableDocument {
    /// Its name.
    pub public_table: AccountName,
    /// How many rows it has.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<PublicColumnDocument>,
    /// The hash of its content: tables with other columns or rows have another hash.
    pub hash: String,
}

/// A column of a public table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublicColumnDocument {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// How many different values it has.
    pub values: u64,
    /// Whether no two rows share a value, so that a question may join on it.
    pub unique: bool,
}

/// All public tables, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct PublicTableList(pub Vec<PublicTableDocument>);

/// A public table to register, from a CSV file that was uploaded before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"public_table": "airlines", "upload": "0123456789abcdef0123456789abcdef"})))]
pub struct NewPublicTable {
    /// Its name; no dataset may have it.
    pub public_table: AccountName,
    /// What the upload returned.
    pub upload: String,
    /// The format of the file [default: detected from its first line, in UTF-8].
    #[serde(default)]
    pub form: CsvForm,
    /// Whether it replaces the table of this name.
    #[serde(default)]
    pub replace: bool,
}

/// A public table that was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RemovedPublicTable {
    /// Its name.
    pub removed: AccountName,
}

impl From<&PublicTable> for PublicTableDocument {
    fn from(table: &PublicTable) -> PublicTableDocument {
        let column = |column: &Column| PublicColumnDocument {
            name: column.name().to_string(),
            kind: column.kind(),
            values: column.categories().map_or(0, <[_]>::len) as u64,
            unique: table.is_key(column.name()),
        };
        PublicTableDocument {
            public_table: table.name().clone(),
            rows: table.row_count() as u64,
            columns: table.columns().iter().map(column).collect(),
            hash: table.hash().to_string(),
        }
    }
}
