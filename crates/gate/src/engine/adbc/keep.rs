//! Which rows of every unit count, of Parquet files: they are written into a new file of the gate's own.
//!
//! Which rows are kept depends on the unit's own rows alone, and among them on nothing but their contents: the smallest hashes, under a
//! secret key, of an encoding that differs wherever two rows differ in a column of the schema. Rows that are equal there are
//! interchangeable, since nothing else is copied.
//!
//! Nothing is chosen of a unit that has no more rows than count: all of them are copied, without a hash, in one pass over the files. The
//! hashes of the others take most of the time.
//!
//! To choose rows, DuckDB has those of all units in memory that it is asked about together, and cannot do with less. So the units with
//! too many rows are divided into parts by a hash, of as many rows as there is memory for, and the files are read once for each part. What
//! DuckDB writes to disk all the same, such as rows that it sorts, goes to the private folder in which the new file is made, and which is
//! removed with everything in it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::duckdb;
use super::lake::Lake;
use super::own::NewOwn;
use super::{LakeFile, TABLE};
use crate::engine::driver_source::DriverChoice;
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::register::ImportedRows;
use crate::schema::{Column, ColumnType, Schema};

/// The memory for a registration.
pub(super) struct Room {
    /// The most that the session keeps in memory.
    pub(super) memory: &'static str,
    /// The most bytes that the rows of a part are expected to take.
    pub(super) part: u64,
}

/// Less than half of the memory: what rows take is known roughly.
pub(super) const ROOM: Room = Room { memory: duckdb::MEMORY, part: 3 << 29 };

/// What a row takes beside its columns: its hash, and its places in tables of DuckDB's own. Measured together with the next.
const ROW_BYTES: u64 = 128;

/// What a value takes beside its text.
const VALUE_BYTES: u64 = 32;

/// The units with more rows than count, in a table of the session.
const LARGE: &str = "\"units with more rows\"";

/// Writes the rows that are kept of every unit into a new file of the gate's own.
pub(super) fn keep(
    choice: &DriverChoice,
    files: &[LakeFile],
    schema: &Schema,
    key: &[u8; 32],
    target: &Path,
    room: &Room,
    until: Instant,
) -> Result<ImportedRows, Error> {
    let Some(unit) = schema.unit_column() else {
        return Err(Error::input("files", "only data whose unit is a column are copied"));
    };
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let (new, connection) = NewOwn::create(choice, target, &paths, room.memory, until)?;
    let mut lake = Lake::in_session(connection, files.to_vec(), until)?;
    let select = lake.select(schema)?;
    let names = commas(schema.columns.iter().map(|column| quoted(&column.name)));
    let unit = quoted(&schema.columns[unit].name);
    let most = schema.rows_per_unit();
    let connection = &mut lake.connection;
    let mut count = |sql: String| duckdb::number(connection, &sql, until);
    let rows = count(format!("SELECT count(*) FROM ({select})"))?;
    let without_unit = count(format!("SELECT count(*) FROM ({select}) WHERE {unit} IS NULL"))?;
    let found = format!("SELECT {unit} FROM ({select}) WHERE {unit} IS NOT NULL GROUP BY 1 HAVING count(*) > {most}");
    duckdb::execute(connection, &format!("CREATE TEMP TABLE {LARGE} AS {found}"), until)?;
    duckdb::execute(connection, &format!("CREATE TABLE {TABLE} AS {select} LIMIT 0"), until)?;
    let others = format!("({select}) ANTI JOIN {LARGE} USING ({unit}) WHERE {unit} IS NOT NULL");
    duckdb::execute(connection, &format!("INSERT INTO {TABLE} SELECT {names} FROM {others} ORDER BY {unit}"), until)?;

    let large = format!("({select}) SEMI JOIN {LARGE} USING ({unit})");
    let mut count = |sql: String| duckdb::number(connection, &sql, until);
    let (to_choose, text) = (
        count(format!("SELECT count(*) FROM {large}"))?,
        count(format!("SELECT {} FROM {large}", text_bytes(schema)))?,
    );
    let parts = if to_choose == 0 { 0 } else { number_of_parts(to_choose, schema, text, room) };
    let key: String = key.iter().map(|byte| format!("\\x{byte:02X}")).collect();
    let contents = schema.columns.iter().map(encoded).collect::<Vec<_>>().join(" || ");
    for part in 0..parts {
        let insert = format!(
            "INSERT INTO {TABLE} SELECT {names} FROM (
                 SELECT {names}, row_number() OVER (
                     PARTITION BY {unit} ORDER BY unhex(sha256('{key}'::BLOB || encode({contents})))
                 ) AS \"place of row\"
                 FROM {large} WHERE hash({unit}) % {parts} = {part}
             ) WHERE \"place of row\" <= {most} ORDER BY {unit}"
        );
        duckdb::execute(connection, &insert, until)?;
    }
    let mut count = |sql: String| duckdb::number(&mut lake.connection, &sql, until);
    let kept = count(format!("SELECT count(*) FROM {TABLE}"))?;
    files.iter().try_for_each(LakeFile::check)?;
    // Sensitivity rests on it, and the files are read several times: whatever they did in between, no unit has more rows.
    let found = format!("SELECT {unit} FROM {TABLE} GROUP BY 1 HAVING count(*) > {most}");
    if count(format!("SELECT count(*) FROM ({found})"))? > 0 {
        return Err(Error::input("files", "they changed while they were read: register them again"));
    }
    new.finish(lake.connection, schema, kept, until)?;
    Ok(ImportedRows { rows, kept, without_unit, ..ImportedRows::default() })
}

/// In how many parts the units are divided.
fn number_of_parts(rows: u64, schema: &Schema, text_bytes: u64, room: &Room) -> u64 {
    let row = ROW_BYTES + VALUE_BYTES * schema.columns.len() as u64;
    // A text is in memory twice while its row is moved.
    rows.saturating_mul(row).saturating_add(text_bytes.saturating_mul(2)).div_ceil(room.part).max(1)
}

/// The bytes of all texts.
fn text_bytes(schema: &Schema) -> String {
    let texts = schema.columns.iter().filter(|column| column.kind == ColumnType::Text);
    let bytes = texts.map(|column| format!("coalesce(sum(strlen({})), 0)", quoted(&column.name)));
    let all = bytes.chain(["0".to_string()]).collect::<Vec<_>>().join(" + ");
    format!("CAST({all} AS BIGINT)")
}

/// A column's value as text: no value's text is the beginning of another's, so that those of a row can follow each other. The text of a
/// binary number is the shortest that means it, so that different numbers have different ones.
fn encoded(column: &Column) -> String {
    let text = format!("CAST({} AS VARCHAR)", quoted(&column.name));
    format!("coalesce('v' || octet_length(encode({text})) || ':' || {text}, 'n')")
}
