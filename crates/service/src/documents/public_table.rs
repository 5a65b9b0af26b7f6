//! Public tables: what everyone may know, and questions join to a dataset.

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
    /// The hash of its content: another one has other columns or rows.
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
    /// Its name, which no dataset has.
    pub public_table: AccountName,
    /// What the upload returned.
    pub upload: String,
    /// How the file is written [default: found in its first line, in UTF-8].
    #[serde(default)]
    pub form: CsvForm,
    /// Whether it takes the place of the table of this name.
    #[serde(default)]
    pub replace: bool,
}

/// A public table that is gone.
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
