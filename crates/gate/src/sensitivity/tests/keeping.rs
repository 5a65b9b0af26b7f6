//! Which rows of a unit are kept: as it must be, and in ways that are wrong.

use std::collections::HashMap;

use rusqlite::types::Value as Cell;

use super::{GROUP, Row};
use crate::schema::Schema;

const KEY: [u8; 32] = [7; 32];

/// The rows of every unit that may count, those with the smallest keyed hashes of their contents; rows without a unit are
/// left out.
pub(super) fn by_contents(schema: &Schema, table: &[Row]) -> Vec<Row> {
    let Some(unit) = schema.unit_column() else { return table.to_vec() };
    let units = table.iter().filter(|row| row[unit] != Cell::Null);
    smallest(schema, units.map(|row| (format!("{:?}", row[unit]), hash(&format!("{row:?}")), row)))
}

/// By a hash of the row's number, which changes when a person before it leaves.
pub(super) fn by_row_number(schema: &Schema, table: &[Row]) -> Vec<Row> {
    let Some(unit) = schema.unit_column() else { return table.to_vec() };
    let units = table.iter().enumerate().filter(|(_, row)| row[unit] != Cell::Null);
    smallest(schema, units.map(|(at, row)| (format!("{:?}", row[unit]), hash(&at.to_string()), row)))
}

/// The rows of a unit that may count, in each group anew.
pub(super) fn in_every_group(schema: &Schema, table: &[Row]) -> Vec<Row> {
    let Some(unit) = schema.unit_column() else { return table.to_vec() };
    let units = table.iter().filter(|row| row[unit] != Cell::Null);
    smallest(schema, units.map(|row| (format!("{:?} {:?}", row[unit], row[GROUP]), hash(&format!("{row:?}")), row)))
}

/// All rows.
pub(super) fn all(_: &Schema, table: &[Row]) -> Vec<Row> {
    table.to_vec()
}

/// Rows without a unit are kept, all of them: each belongs to a person who is not known.
pub(super) fn without_unit_too(schema: &Schema, table: &[Row]) -> Vec<Row> {
    let mut kept = by_contents(schema, table);
    let unit = schema.unit_column();
    kept.extend(table.iter().filter(|row| unit.is_some_and(|unit| row[unit] == Cell::Null)).cloned());
    kept
}

fn hash(contents: &str) -> [u8; 32] {
    *blake3::keyed_hash(&KEY, contents.as_bytes()).as_bytes()
}

/// The rows with the smallest hashes under each name, as many as may count.
fn smallest<'a>(schema: &Schema, rows: impl Iterator<Item = (String, [u8; 32], &'a Row)>) -> Vec<Row> {
    let mut units: HashMap<String, Vec<([u8; 32], &Row)>> = HashMap::new();
    for (name, hash, row) in rows {
        units.entry(name).or_default().push((hash, row));
    }
    let mut kept = Vec::new();
    for mut rows in units.into_values() {
        rows.sort_by_key(|(hash, _)| *hash);
        kept.extend(rows.into_iter().take(schema.rows_per_unit() as usize).map(|(_, row)| row.clone()));
    }
    kept
}
