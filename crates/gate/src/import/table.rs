//! Rows that a program holds in memory, such as a DataFrame, into the embedded engine.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::file::NewFile;
use super::load::Load;
use super::values::{FieldValue, LONGEST_TEXT};
use super::{BadRows, Imported, ROWS_PER_PROGRESS};
use crate::declaration::Declaration;
use crate::error::Error;
use crate::schema::{ColumnType, DAYS, MICROSECONDS};

/// A field of a row in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A missing value.
    Null,
    /// A whole number; for a boolean 0 or 1, for a date the days since 1970-01-01, for a timestamp its microseconds since then in UTC.
    Integer(i64),
    /// A binary number. NaN is a missing value.
    Real(f64),
    /// Text.
    Text(String),
}

impl Field {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Field::Text(text) => text.as_bytes(),
            _ => b"",
        }
    }

    /// What it means in a column of a type, or what is wrong with it.
    pub(super) fn value(&self, kind: ColumnType) -> Result<FieldValue, String> {
        match (self, kind) {
            (Field::Null, _) => Ok(FieldValue::Null),
            (Field::Real(value), ColumnType::Real) if value.is_nan() => Ok(FieldValue::Null),
            // SQLite keeps no sign of zero.
            (Field::Real(value), ColumnType::Real) => Ok(FieldValue::Real(value + 0.0)),
            (Field::Integer(value), ColumnType::Integer) => Ok(FieldValue::Integer(*value)),
            (Field::Integer(value @ (0 | 1)), ColumnType::Boolean) => Ok(FieldValue::Integer(*value)),
            (Field::Integer(days), ColumnType::Date) if (DAYS[0].into()..=DAYS[1].into()).contains(days) => {
                Ok(FieldValue::Integer(*days))
            }
            (Field::Integer(micros), ColumnType::Timestamp) if (MICROSECONDS[0]..=MICROSECONDS[1]).contains(micros) => {
                Ok(FieldValue::Integer(*micros))
            }
            (Field::Integer(value), ColumnType::Date | ColumnType::Timestamp) => {
                Err(format!("is {value}, which is not between the years 1 and 9999: correct it"))
            }
            (Field::Text(text), ColumnType::Text) if text.len() > LONGEST_TEXT => {
                Err(format!("is longer than {LONGEST_TEXT} bytes: shorten it"))
            }
            (Field::Text(text), ColumnType::Text) if text.contains('\0') => {
                Err("has a NUL character: remove it".to_string())
            }
            // An empty text is a missing value, as it is in a file.
            (Field::Text(text), ColumnType::Text) if text.is_empty() => Ok(FieldValue::Null),
            (Field::Text(_), ColumnType::Text) => Ok(FieldValue::Text),
            (other, kind) => Err(format!("is {other:?}, which is not {kind}: correct it")),
        }
    }
}

/// The rows, one after the other; an error ends them.
type Rows = Box<dyn Iterator<Item = Result<Vec<Field>, String>> + Send>;

/// Columns with their types, and rows that can be read once.
#[derive(Clone)]
pub struct TableRows {
    pub(crate) columns: Vec<(String, ColumnType)>,
    rows: Arc<Mutex<Option<Rows>>>,
}

impl TableRows {
    /// A table with a field for every column in every row.
    pub fn new(
        columns: Vec<(String, ColumnType)>,
        rows: impl Iterator<Item = Result<Vec<Field>, String>> + Send + 'static,
    ) -> TableRows {
        TableRows { columns, rows: Arc::new(Mutex::new(Some(Box::new(rows)))) }
    }
}

/// Imports rows into a new file `target`, which is there as a whole or not at all.
pub(crate) fn import_rows(
    table: &TableRows,
    declaration: &Declaration,
    target: &Path,
    key: &[u8; 32],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Imported, Error> {
    for (name, kind) in &table.columns {
        if let Some(declared) = declaration.declared_type(name).filter(|declared| declared != kind) {
            let why =
                format!("it is declared as {declared}, and holds {kind} values: convert it first, or declare it so");
            return Err(Error::column(name, why));
        }
    }
    let schema = declaration.schema(&table.columns)?;
    let rows = table.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
    let rows = rows.ok_or_else(|| Error::input("table", "its rows were read before; give them again"))?;
    let file = NewFile::create(target, &schema)?;
    let mut load = Load::new(&file, &schema, BadRows::Refuse)?;
    let mut hasher = blake3::Hasher::new();
    // Many fields at once: one by one, they would take longer to hash than to write.
    let mut bytes = Vec::new();
    for (name, kind) in &table.columns {
        bytes.extend_from_slice(format!("{name:?} {kind}\n").as_bytes());
    }
    for row in rows {
        let row = row.map_err(|why| Error::input("table", why))?;
        if row.len() != table.columns.len() {
            let why = format!("a row has {} fields, and there are {} columns", row.len(), table.columns.len());
            return Err(Error::input("table", why));
        }
        row.iter().for_each(|field| write_field(&mut bytes, field));
        if bytes.len() >= HASHED_AT_ONCE {
            hasher.update(&bytes);
            bytes.clear();
        }
        load.add_fields(&row)?;
        if load.rows() % ROWS_PER_PROGRESS == 0 {
            progress(load.rows(), load.rows());
        }
    }
    let mut imported = load.finish(Path::new("the table"))?;
    if let Some(unit) = schema.unit_column() {
        imported.kept = file.keep(&schema, unit, key)?;
    }
    file.finish(&schema, imported.kept)?;
    Ok(Imported { schema, rows: imported, fingerprint: hasher.update(&bytes).finalize() })
}

/// How many bytes are hashed together.
const HASHED_AT_ONCE: usize = 1 << 16;

/// Every field with its kind and length, so that no two tables have the same bytes.
fn write_field(bytes: &mut Vec<u8>, field: &Field) {
    match field {
        Field::Null => bytes.push(b'n'),
        Field::Integer(value) => {
            bytes.push(b'i');
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        Field::Real(value) => {
            bytes.push(b'r');
            bytes.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        Field::Text(text) => {
            bytes.push(b't');
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}
