//! Which rows count of a unit that has too many.
//!
//! Those with the smallest keyed hashes of their contents. The hash knows nothing of other rows, nor of the row's place in the file,
//! so what is kept of a unit does not change when others come and go or the file is sorted. Rows with the same hash have the same
//! contents: whichever stays, the same is kept. What is left in the file's pages by the others has no influence on an answer: the
//! statements of the gate sum and count integers, which come out the same in any order.

use std::hash::{BuildHasher, RandomState};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::file::cannot_write;
use crate::engine::Embedded;
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::schema::Schema;

/// How many rows there are of every unit, at most: units share counters, so that memory is bounded.
pub(super) struct Crowd {
    counters: Vec<u32>,
    /// Counters that are still to be raised. The processor waits for many of them at once.
    pending: Vec<u32>,
    hasher: RandomState,
}

/// The units that may have too many rows. The rows of all others are kept without being looked at.
struct Crowded {
    /// One bit for each counter.
    suspected: Vec<u64>,
    /// How many rows they have.
    rows: u64,
    hasher: RandomState,
}

/// In tests so few that units share them.
const COUNTERS: usize = if cfg!(test) { 3 } else { 1 << 23 };
const PENDING: usize = if cfg!(test) { 5 } else { 1 << 10 };

impl Crowd {
    pub(super) fn new() -> Crowd {
        Crowd { counters: vec![0; COUNTERS], pending: Vec::with_capacity(PENDING), hasher: RandomState::new() }
    }

    /// Counts a row of a unit.
    pub(super) fn count(&mut self, unit: ValueRef<'_>) {
        self.pending.push(counter(&self.hasher, unit) as u32);
        if self.pending.len() == PENDING {
            self.raise();
        }
    }

    fn raise(&mut self) {
        for counter in self.pending.drain(..) {
            let count = &mut self.counters[counter as usize];
            *count = count.saturating_add(1);
        }
    }

    /// The units that may have more rows than this.
    fn crowded(mut self, most: u32) -> Crowded {
        self.raise();
        let (mut suspected, mut rows) = (vec![0; COUNTERS.div_ceil(64)], 0);
        for (at, count) in self.counters.iter().enumerate().filter(|(_, count)| **count > most) {
            suspected[at / 64] |= 1u64 << (at % 64);
            rows += u64::from(*count);
        }
        Crowded { suspected, rows, hasher: self.hasher }
    }
}

/// The place of a unit's counter.
fn counter(hasher: &RandomState, unit: ValueRef<'_>) -> usize {
    let hash = match unit {
        ValueRef::Integer(value) => hasher.hash_one(value),
        ValueRef::Text(text) | ValueRef::Blob(text) => hasher.hash_one(text),
        ValueRef::Null | ValueRef::Real(_) => unreachable!("no unit is null or real"),
    };
    (hash % COUNTERS as u64) as usize
}

/// A row of a unit that may have too many.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Suspect {
    unit: u128,
    contents: u128,
    row: i64,
}

/// So many suspects are held in memory at once, about. In tests so few that there are several parts.
const SUSPECTS: u64 = if cfg!(test) { 10 } else { 4 << 20 };

/// Deletes the rows of every unit that are too many, and says how many those were.
pub(super) fn keep(
    connection: &Connection,
    schema: &Schema,
    unit: usize,
    crowd: Crowd,
    key: &[u8; 32],
) -> Result<u64, Error> {
    let (most, row) = (schema.rows_per_unit(), row_name(schema)?);
    let crowded = crowd.crowded(most);
    let parts = crowded.rows.div_ceil(SUSPECTS) as usize;
    let delete = || {
        declare(connection, crowded, parts)?;
        let mut surplus = 0;
        for part in 0..parts {
            let mut found = find(connection, schema, unit, row, part, key)?;
            found.sort_unstable();
            let rows =
                found.chunk_by(|one, other| one.unit == other.unit).flat_map(|unit| unit.iter().skip(most as usize));
            let mut rows: Vec<i64> = rows.map(|suspect| suspect.row).collect();
            // In the order of the file.
            rows.sort_unstable();
            let mut delete = connection.prepare(&format!("DELETE FROM {} WHERE {row} = ?1", Embedded::TABLE))?;
            for row in rows {
                surplus += delete.execute([row])? as u64;
            }
        }
        Ok(surplus)
    };
    delete().map_err(|error| cannot_write(&error))
}

/// Gives SQLite a function `suspected(unit, part)`: whether the unit may have too many rows, and belongs to this part of all units.
fn declare(connection: &Connection, crowded: Crowded, parts: usize) -> rusqlite::Result<()> {
    let suspected = move |context: &Context<'_>| {
        let counter = counter(&crowded.hasher, context.get_raw(0));
        let suspected = crowded.suspected[counter / 64] >> (counter % 64) & 1 == 1;
        Ok(suspected && (counter % parts) as i64 == context.get::<i64>(1)?)
    };
    connection.create_scalar_function("suspected", 2, FunctionFlags::SQLITE_UTF8, suspected)
}

/// The suspects of a part of all units.
fn find(
    connection: &Connection,
    schema: &Schema,
    unit: usize,
    row: &str,
    part: usize,
    key: &[u8; 32],
) -> rusqlite::Result<Vec<Suspect>> {
    let columns = commas(schema.columns.iter().map(|column| quoted(&column.name)));
    let unit_name = quoted(&schema.columns[unit].name);
    let sql = format!("SELECT {columns}, {row} FROM {} WHERE suspected({unit_name}, ?1)", Embedded::TABLE);
    let mut rows = connection.prepare(&sql)?;
    let mut bytes = Vec::new();
    let mut hash = |row: &Row<'_>, columns: std::ops::Range<usize>| {
        bytes.clear();
        for at in columns {
            encode(row.get_ref(at)?, &mut bytes);
        }
        // Half of the hash is as good: no two in the world are the same.
        let hash = blake3::keyed_hash(key, &bytes);
        let half = hash.as_bytes().first_chunk().expect("32 bytes are more than 16");
        Ok::<_, rusqlite::Error>(u128::from_le_bytes(*half))
    };
    let end = schema.columns.len();
    let suspect = |row: &Row<'_>| {
        Ok(Suspect { unit: hash(row, unit..unit + 1)?, contents: hash(row, 0..end)?, row: row.get(end)? })
    };
    rows.query_map([part as i64], suspect)?.collect()
}

/// A name of SQLite's for the number of a row that no column has.
pub(super) fn row_name(schema: &Schema) -> Result<&'static str, Error> {
    let taken = |name: &&str| schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(|name| !taken(name)).ok_or_else(|| {
        Error::input(
            "the columns rowid, _rowid_ and oid take all names that SQLite has for the number of a row: rename one",
        )
    })
}

/// Appends a field so that no other fields have the same bytes: with its type, and text with its length.
fn encode(field: ValueRef<'_>, bytes: &mut Vec<u8>) {
    match field {
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(value) => {
            bytes.push(1);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        ValueRef::Real(value) => {
            bytes.push(2);
            bytes.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            bytes.push(3);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text);
        }
    }
}

/// What an import keeps of a table, for tests that look at it from outside.
#[cfg(test)]
pub(crate) fn kept(schema: &Schema, table: &[Vec<rusqlite::types::Value>]) -> Vec<Vec<rusqlite::types::Value>> {
    let Some(unit) = schema.unit_column() else { return table.to_vec() };
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&Embedded::definition(schema)).unwrap();
    let places = commas(vec!["?"; schema.columns.len()]);
    let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", Embedded::TABLE)).unwrap();
    let mut crowd = Crowd::new();
    for row in table.iter().filter(|row| row[unit] != rusqlite::types::Value::Null) {
        crowd.count(ValueRef::from(&row[unit]));
        insert.execute(rusqlite::params_from_iter(row)).unwrap();
    }
    keep(&connection, schema, unit, crowd, &[7; 32]).unwrap();
    let mut select = connection.prepare(&format!("SELECT * FROM {}", Embedded::TABLE)).unwrap();
    let row = |row: &Row<'_>| (0..schema.columns.len()).map(|at| row.get(at)).collect();
    select.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_fields_are_encoded_differently() {
        use ValueRef::{Integer, Null, Real, Text};
        let rows = [
            vec![],
            vec![Null],
            vec![Null, Null],
            vec![Integer(0)],
            vec![Integer(1)],
            vec![Real(0.0)],
            vec![Real(1.0)],
            vec![Text(b"")],
            vec![Text(b""), Null],
            vec![Text(b"a"), Text(b"bc")],
            vec![Text(b"ab"), Text(b"c")],
            vec![Text(b"abc"), Text(b"")],
            vec![Text(&[0])],
            vec![Text(&[1, 0, 0, 0, 0, 0, 0, 0])],
        ];
        let encoded = |row: &Vec<ValueRef<'_>>| {
            let mut bytes = Vec::new();
            row.iter().for_each(|field| encode(*field, &mut bytes));
            bytes
        };
        let encoded: std::collections::BTreeSet<_> = rows.iter().map(encoded).collect();
        assert_eq!(encoded.len(), rows.len());
    }
}
