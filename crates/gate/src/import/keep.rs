//! Which rows count of a unit that has too many, and the order of the rows.
//!
//! Those with the smallest keyed hashes of their contents. The hash knows nothing of other rows, nor of the row's place in the file,
//! so what is kept of a unit does not change when others come and go or the file is sorted. Rows with the same hash have the same
//! contents: whichever stays, the same is kept.
//!
//! The rows of a unit are written one behind the other, in the order of the units. So a count of different units meets each of
//! them once in a row, and need not look through all others for each row.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Statement};

use crate::engine::{Embedded, encode};
use crate::question::commas;
use crate::schema::Schema;

/// Makes a table for the rows as they are read; it is gone with the connection.
pub(super) fn make_table(connection: &Connection, schema: &Schema) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("PRAGMA temp.journal_mode = OFF; CREATE TEMP TABLE read ({})", columns(schema)))
}

/// The statement that adds a row to it.
pub(super) fn insert<'a>(connection: &'a Connection, schema: &Schema) -> rusqlite::Result<Statement<'a>> {
    connection.prepare(&format!("INSERT INTO read VALUES ({})", commas(vec!["?"; schema.columns.len()])))
}

/// Writes the rows that count, and says how many those are.
pub(super) fn keep(connection: &Connection, schema: &Schema, unit: usize, key: &[u8; 32]) -> rusqlite::Result<u64> {
    let (key, most) = (*key, schema.rows_per_unit());
    let contents = move |context: &Context<'_>| {
        let mut bytes = Vec::new();
        (0..context.len()).for_each(|at| encode(context.get_raw(at), &mut bytes));
        Ok(blake3::keyed_hash(&key, &bytes).as_bytes().to_vec())
    };
    connection.create_scalar_function("contents", -1, FunctionFlags::SQLITE_DETERMINISTIC, contents)?;
    let (table, columns) = (Embedded::TABLE, columns(schema));
    let place = format!("row_number() OVER (PARTITION BY c{unit} ORDER BY contents({columns}))");
    let keep = format!(
        "INSERT INTO {table} SELECT {columns} FROM (SELECT {columns}, {place} AS place FROM read) WHERE place <= ?1"
    );
    connection.execute(&keep, [most]).map(|kept| kept as u64)
}

/// The columns as they are read: by their places, since any name may be that of a column.
fn columns(schema: &Schema) -> String {
    commas((0..schema.columns.len()).map(|at| format!("c{at}")))
}

/// What an import keeps of a table, for tests that look at it from outside.
#[cfg(test)]
pub(crate) fn kept(schema: &Schema, table: &[Vec<rusqlite::types::Value>]) -> Vec<Vec<rusqlite::types::Value>> {
    let Some(unit) = schema.unit_column() else { return table.to_vec() };
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&Embedded::definition(schema)).unwrap();
    make_table(&connection, schema).unwrap();
    let mut insert = insert(&connection, schema).unwrap();
    for row in table.iter().filter(|row| row[unit] != rusqlite::types::Value::Null) {
        insert.execute(rusqlite::params_from_iter(row)).unwrap();
    }
    keep(&connection, schema, unit, &[7; 32]).unwrap();
    let mut select = connection.prepare(&format!("SELECT * FROM {}", Embedded::TABLE)).unwrap();
    let row = |row: &rusqlite::Row<'_>| (0..schema.columns.len()).map(|at| row.get(at)).collect();
    select.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}
