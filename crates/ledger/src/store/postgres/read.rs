//! Reading rows of the tables. What no row of a ledger can have is damage.

use tokio_postgres::Row;

use crate::books::AccountRow;
use crate::hash::Hash;
use crate::journal::Position;
use crate::store::{StoreError, StoreFailure, StoredRecord};

pub(super) fn only_row(rows: &[Row]) -> Result<&Row, StoreError> {
    match rows {
        [row] => Ok(row),
        _ => Err(broken(format!("the table taximeter.head has {} rows instead of one", rows.len()))),
    }
}

pub(super) fn stored_record(row: &Row) -> Result<StoredRecord, StoreError> {
    Ok(StoredRecord {
        sequence: unsigned(column(row, 0)?)?,
        hash: hash(column(row, 1)?),
        key: column(row, 2)?,
        line: column(row, 3)?,
    })
}

pub(super) fn account(row: &Row) -> Result<AccountRow, StoreError> {
    let number: i32 = column(row, 0)?;
    Ok(AccountRow {
        number: u32::try_from(number).map_err(|_| broken(format!("there is an account with number {number}")))?,
        name: column(row, 1)?,
        sequence: unsigned(column(row, 2)?)?,
        state: column(row, 3)?,
    })
}

/// A number and a hash, from a column on; nothing if there is no record.
pub(super) fn position(row: &Row, from: usize) -> Result<Option<Position>, StoreError> {
    match (column::<Option<i64>>(row, from)?, column::<Option<&[u8]>>(row, from + 1)?) {
        (None, None) => Ok(None),
        (Some(sequence), Some(bytes)) => Ok(Some(Position { sequence: unsigned(sequence)?, hash: hash(bytes) })),
        _ => Err(broken("the table taximeter.head has half a row".to_string())),
    }
}

pub(super) fn shown(position: Option<Position>) -> String {
    position.map_or("missing".to_string(), |position| format!("record {}, hash {}", position.sequence, position.hash))
}

pub(super) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|error| broken(format!("column {at} of a row in PostgreSQL: {error}")))
}

fn unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| broken(format!("there is a record with number {number}")))
}

fn hash(bytes: &[u8]) -> Hash {
    // A hash of another length is a damaged one: it equals no hash.
    Hash::from_bytes(bytes).unwrap_or(Hash::NONE)
}

pub(super) fn broken(what: String) -> StoreError {
    StoreError::new(StoreFailure::Broken, what)
}
