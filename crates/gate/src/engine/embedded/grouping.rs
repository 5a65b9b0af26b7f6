//! Groups of rows, made in one pass: every row is added to the numbers of its group when it is read.

use std::collections::{HashMap, HashSet};

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Error, Row, Rows, ffi};

use super::{ExactRow, key};
use crate::schema::{ColumnType, Value};
use crate::sql::{Grouping, SqlAggregate};

/// Reads all rows, and returns the groups. The columns of a row are its keys and then what is counted or summed.
pub(super) fn group(rows: &mut Rows<'_>, keys: &[ColumnType], grouping: &Grouping) -> rusqlite::Result<Vec<ExactRow>> {
    let declared = grouping.values.iter().map(|values| values.as_deref().map(encoded).transpose());
    let mut groups = Groups {
        keys,
        aggregates: &grouping.aggregates,
        declared: declared.collect::<Result<_, _>>()?,
        places: HashMap::new(),
        found: Vec::new(),
        numbers: Vec::new(),
        seen: Seen::default(),
        bytes: Vec::new(),
    };
    while let Some(row) = rows.next()? {
        groups.add(row)?;
    }
    let Groups { found, numbers, .. } = groups;
    let numbers = numbers.chunks(grouping.aggregates.len());
    Ok(found.into_iter().zip(numbers).map(|(keys, measures)| ExactRow { keys, measures: measures.to_vec() }).collect())
}

/// The groups of the rows that are read so far.
struct Groups<'a> {
    keys: &'a [ColumnType],
    aggregates: &'a [SqlAggregate],
    /// The values of a key that make a group; nothing where all do.
    declared: Vec<Option<HashSet<Box<[u8]>>>>,
    /// The place of a group, by its keys.
    places: HashMap<Box<[u8]>, usize>,
    /// The keys of every group.
    found: Vec<Vec<Value>>,
    /// The measures of every group, one behind the other.
    numbers: Vec<i64>,
    seen: Seen,
    /// The keys of the row that is read.
    bytes: Vec<u8>,
}

impl Groups<'_> {
    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let Some(place) = self.place(row)? else { return Ok(()) };
        for (at, aggregate) in self.aggregates.iter().enumerate() {
            let index = place * self.aggregates.len() + at;
            let more = match (aggregate, row.get_ref(self.keys.len() + at)?) {
                (_, ValueRef::Null) => continue,
                (SqlAggregate::Count, _) => 1,
                (SqlAggregate::CountDistinct, value) => i64::from(self.seen.is_new(index, value)),
                (SqlAggregate::Sum, value) => value.as_i64()?,
            };
            let number = &mut self.numbers[index];
            *number = number.checked_add(more).ok_or_else(too_large)?;
        }
        Ok(())
    }

    /// The place of a row's group; nothing if it belongs to none.
    fn place(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<usize>> {
        self.bytes.clear();
        for at in 0..self.keys.len() {
            match row.get_ref(at)? {
                ValueRef::Null => return Ok(None),
                value => encode(value, &mut self.bytes),
            }
        }
        if let Some(place) = self.places.get(self.bytes.as_slice()) {
            return Ok(Some(*place));
        }
        let mut bytes = Vec::new();
        for (at, declared) in self.declared.iter().enumerate() {
            bytes.clear();
            encode(row.get_ref(at)?, &mut bytes);
            if declared.as_ref().is_some_and(|declared| !declared.contains(bytes.as_slice())) {
                return Ok(None);
            }
        }
        let keys = self.keys.iter().enumerate().map(|(at, kind)| key(row, at, *kind));
        let place = self.found.len();
        self.found.push(keys.collect::<Result<_, _>>()?);
        self.numbers.resize(self.numbers.len() + self.aggregates.len(), 0);
        self.places.insert(self.bytes.as_slice().into(), place);
        Ok(Some(place))
    }
}

/// The values that were met, for measures that count different ones.
#[derive(Default)]
struct Seen {
    numbers: HashSet<(usize, u64)>,
    texts: HashMap<usize, HashSet<Box<[u8]>>>,
}

impl Seen {
    /// Whether a value comes for the first time to this number. The values of one number have one type.
    fn is_new(&mut self, index: usize, value: ValueRef<'_>) -> bool {
        match value {
            ValueRef::Null => false,
            ValueRef::Integer(value) => self.numbers.insert((index, value.cast_unsigned())),
            ValueRef::Real(value) => self.numbers.insert((index, bits(value))),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                let texts = self.texts.entry(index).or_default();
                !texts.contains(text) && texts.insert(text.into())
            }
        }
    }
}

/// Values as they are encoded in rows.
fn encoded(values: &[Value]) -> rusqlite::Result<HashSet<Box<[u8]>>> {
    let bytes = |value: &Value| {
        let mut bytes = Vec::new();
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => encode(value, &mut bytes),
            other => unreachable!("values are borrowed, not {other:?}"),
        }
        Ok(bytes.into_boxed_slice())
    };
    values.iter().map(bytes).collect()
}

/// The bits of a number, of which equal ones have the same: zero has no sign.
fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// What SQLite says of a sum that is beyond 64 bits.
fn too_large() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some("integer overflow".to_string()))
}

/// Appends a field so that no other fields have the same bytes: with its type, and text with its length.
pub(crate) fn encode(field: ValueRef<'_>, bytes: &mut Vec<u8>) {
    match field {
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(value) => {
            bytes.push(1);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        ValueRef::Real(value) => {
            bytes.push(2);
            bytes.extend_from_slice(&bits(value).to_le_bytes());
        }
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            bytes.push(3);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text);
        }
    }
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
