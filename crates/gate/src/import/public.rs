//! CSV files of public tables: small ones, read as a whole.

use std::path::Path;

use csv::ByteRecord;
use taximeter_ledger::AccountName;

use super::rows::Rows;
use super::values::{Shown, real};
use super::{CsvForm, infer};
use crate::declaration::Declaration;
use crate::error::Error;
use crate::number::Number;
use crate::public::PublicTable;
use crate::schema::{ColumnType, Value};

impl PublicTable {
    /// Reads a public table from a CSV file with a header. Types are inferred as those of a dataset are, but that numbers with a
    /// fraction are decimal ones: those are the same in every engine.
    pub fn from_csv(name: AccountName, path: &Path, form: &CsvForm) -> Result<PublicTable, Error> {
        let mut rows = Rows::open(path, form)?;
        let names = rows.header()?;
        let records = records(path, &mut rows)?;
        let mut columns = infer::types(&names, &Declaration::default(), &records);
        for (_, kind) in &mut columns {
            if *kind == ColumnType::Real {
                *kind = ColumnType::Decimal;
            }
        }
        let fields = |(line, record): &(u64, ByteRecord)| {
            if record.len() != columns.len() {
                let why = format!("line {line}: it has {} fields, and the header {}", record.len(), columns.len());
                return Err(Error::file(path, why));
            }
            let field = |(field, (name, kind)): (&[u8], &(String, ColumnType))| {
                value(field, *kind).map_err(|why| Error::file(path, format!("line {line}, column {name:?}: {why}")))
            };
            record.iter().zip(&columns).map(field).collect()
        };
        let values = records.iter().map(fields).collect::<Result<_, Error>>()?;
        PublicTable::new(name, &columns, values)
    }
}

/// All rows with their lines, within the limits of a public table.
fn records(path: &Path, rows: &mut Rows) -> Result<Vec<(u64, ByteRecord)>, Error> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    let mut row = ByteRecord::new();
    while rows.next(&mut row)? {
        bytes += row.as_slice().len();
        if records.len() == PublicTable::ROWS || bytes > PublicTable::BYTES {
            let why = format!(
                "a public table has at most {} rows and {} bytes of text; leave out what no question needs",
                PublicTable::ROWS,
                PublicTable::BYTES
            );
            return Err(Error::file(path, why));
        }
        records.push((rows.line(&row), row.clone()));
    }
    Ok(records)
}

/// The nearest number with six digits behind the point.
fn to_millionths(number: Number) -> Number {
    let half = Number::power_of_ten(-7).and_then(|tenth| tenth.times(5)).unwrap_or(Number::ZERO);
    number.plus(half).floor_to(Number::MILLIONTH)
}

fn value(field: &[u8], kind: ColumnType) -> Result<Option<Value>, String> {
    let is_not_a_number = kind == ColumnType::Decimal && real(field).is_some_and(f64::is_nan);
    if field.is_empty() || is_not_a_number {
        return Ok(None);
    }
    let text = str::from_utf8(field).map_err(|_| format!("{} is not UTF-8", Shown(field)))?;
    let value = match kind {
        // Coordinates have more digits than tell anything: as many are kept as every engine has.
        ColumnType::Decimal => Number::parse(text).map(|number| Value::Decimal(to_millionths(number))),
        ColumnType::Boolean => Value::parse(&text.to_ascii_lowercase(), kind),
        _ => Value::parse(text, kind),
    };
    let value = value.map_err(|error| error.to_string())?;
    value.check().map(|()| Some(value)).map_err(|why| format!("{}: {why}", Shown(field)))
}
