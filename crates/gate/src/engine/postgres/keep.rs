//! The gate's own tables: the rows that are kept of every unit.
//!
//! Which rows are kept depends on the unit's own rows alone, and among them on nothing but their contents: the smallest hashes, under
//! a secret key, of an encoding that differs wherever two rows differ in a column of the schema. Rows that are
//! equal there are interchangeable, since nothing else is copied.

use std::time::Duration;

use taximeter_postgres::SessionError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

use super::kinds;
use super::relation::Relation;
use super::session::{ANSWER, KEEP, explain, open};
use crate::engine::Table;
use crate::error::Error;
use crate::question::{commas, quoted};
use crate::register::ImportedRows;
use crate::schema::{Column, ColumnType, Schema};

/// The schema of the gate's own tables.
const SCHEMA: &str = "taximeter_gate";

/// Whose the schema is, and whether it is the user's own.
const SCHEMA_OWNER: &str = "
    SELECT pg_get_userbyid(nspowner)::text, pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = $1";

/// No limit: sorting a large table takes its time. The owner may interrupt the program, and the server notices.
const FOREVER: Duration = Duration::MAX;

/// Copies the rows that are kept into a table of the gate, which no other user may read. All of it happens or nothing. A table of that
/// name was left by a process that was killed before it stored its dataset, and is replaced.
pub(crate) fn keep_rows(
    url: &str,
    source: &Table,
    schema: &Schema,
    key: &[u8; 32],
    name: &str,
) -> Result<(Table, ImportedRows), Error> {
    let Some(unit) = schema.unit_column() else {
        return Err(Error::input("table", "only data whose unit is a column are copied"));
    };
    let mut connection = open(url, KEEP, ANSWER)?;
    let work = Work { source, schema, unit: &schema.columns[unit], key, name };
    let kept = connection.once(FOREVER, async |client| {
        // Each statement sees one state of the table, and what counts is counted by the statement that copies.
        let begin = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
        let transaction = begin.start().await?;
        let kept = work.keep(&transaction).await?;
        transaction.commit().await?;
        Ok(kept)
    });
    kept.map_err(|error| explain(connection.address(), &error))
}

/// Drops a table of the gate, if it is still there.
pub(crate) fn drop_table(url: &str, table: &Table) -> Result<(), Error> {
    if table.schema != SCHEMA {
        return Err(Error::input("table", format!("{table} is not a table of the gate, and is not dropped")));
    }
    let mut connection = open(url, KEEP, ANSWER)?;
    let dropped = connection.once(ANSWER, async |client: &mut Client| {
        match Relation::find(client, &table.schema, &table.name).await? {
            Some(found) if found.table.oid == table.oid => {
                Ok(client.batch_execute(&format!("DROP TABLE {}", table.quoted())).await?)
            }
            _ => Ok(()),
        }
    });
    dropped.map_err(|error| explain(connection.address(), &error))
}

/// What is to be kept, and where.
struct Work<'a> {
    source: &'a Table,
    schema: &'a Schema,
    unit: &'a Column,
    key: &'a [u8; 32],
    name: &'a str,
}

impl Work<'_> {
    async fn keep(&self, transaction: &Transaction<'_>) -> Result<(Table, ImportedRows), SessionError> {
        make_schema(transaction).await?;
        let source = Relation::lock(transaction, self.source, &kinds(self.schema)).await?;
        let target = format!("{}.{}", quoted(SCHEMA), quoted(self.name));
        transaction.batch_execute(&self.create(&source, &target)).await?;
        let most = i64::from(self.schema.rows_per_unit());
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&self.key.as_slice(), Type::BYTEA), (&most, Type::INT8)];
        let counted = transaction.query_typed_one(&self.copy(&target), &parameters).await?;
        let kept = transaction.query_typed_one(&format!("SELECT count(*) FROM {target}"), &[]).await?;
        transaction.batch_execute(&format!("ANALYZE {target}")).await?;
        let Some(made) = Relation::find(transaction, SCHEMA, self.name).await? else {
            return Err(SessionError::Failed(format!("the table {target} is gone as soon as it was made")));
        };
        let number = |row: &Row, at: usize| Ok::<_, SessionError>(row.try_get::<_, i64>(at)?.unsigned_abs());
        let (rows, without_unit) = (number(&counted, 0)?, number(&counted, 1)?);
        Ok((made.table, ImportedRows { rows, kept: number(&kept, 0)?, without_unit, ..ImportedRows::default() }))
    }

    /// Makes the table, with the types of the source. Default privileges might let others read it.
    fn create(&self, source: &Relation, target: &str) -> String {
        let column = |column: &Column| {
            let stored = match column.kind {
                ColumnType::Text => "text COLLATE \"C\"",
                _ => source.stored_type(&column.name).expect("the columns were just checked").name(),
            };
            format!("{} {stored}", quoted(&column.name))
        };
        let columns = commas(self.schema.columns.iter().map(column));
        format!(
            "DROP TABLE IF EXISTS {target}; CREATE TABLE {target} ({columns}); REVOKE ALL ON TABLE {target} FROM PUBLIC"
        )
    }

    /// Copies what is kept, and counts all rows and those without a unit, as one statement that sees one state of the table.
    fn copy(&self, target: &str) -> String {
        let columns = || self.schema.columns.iter().enumerate();
        let names = commas(columns().map(|(_, column)| quoted(&column.name)));
        let inner = commas(columns().map(|(at, column)| format!("{} AS c{at}", quoted(&column.name))));
        let outer = commas(columns().map(|(at, _)| format!("c{at}")));
        let contents = columns().map(|(_, column)| encoded(column)).collect::<Vec<_>>().join(" || ");
        let source = self.source.quoted();
        let unit = quoted(&self.unit.name);
        let same = match self.unit.kind {
            ColumnType::Text => format!("{unit}::text COLLATE \"C\""),
            _ => unit.clone(),
        };
        format!(
            "WITH copied AS (
                 INSERT INTO {target} ({names})
                 SELECT {outer}
                 FROM (
                     SELECT {inner}, row_number() OVER (PARTITION BY {same} ORDER BY sha256($1::bytea || {contents})) AS place
                     FROM ONLY {source}
                     WHERE {unit} IS NOT NULL
                 ) AS numbered
                 WHERE place <= $2::int8
             )
             SELECT count(*), count(*) - count({unit}) FROM ONLY {source}"
        )
    }
}

/// A column's value as bytes: no value's bytes are the beginning of another's, so that those of a row can follow each other.
pub(super) fn encoded(column: &Column) -> String {
    let name = quoted(&column.name);
    let bytes = match column.kind {
        ColumnType::Integer => format!("int8send({name}::int8)"),
        // The bits, so that neither rounding nor the settings of the output matter.
        ColumnType::Real => format!("float8send({name}::float8)"),
        ColumnType::Boolean => format!("boolsend({name})"),
        ColumnType::Date => format!("date_send({name})"),
        // The session is in UTC: a time without a zone is cast to one with it and stays the same.
        ColumnType::Timestamp => format!("timestamptz_send({name}::timestamptz)"),
        // Starts with the number of its digits.
        ColumnType::Decimal => format!("numeric_send({name})"),
        ColumnType::Text => {
            format!("int8send(octet_length({name}::text)::int8) || convert_to({name}::text, 'UTF8')")
        }
    };
    format!("coalesce('\\x01'::bytea || {bytes}, '\\x00'::bytea)")
}

/// Makes the schema of the gate's tables, or checks that it is the user's own.
async fn make_schema(transaction: &Transaction<'_>) -> Result<(), SessionError> {
    match transaction.query_typed_opt(SCHEMA_OWNER, &[(&SCHEMA, Type::TEXT)]).await? {
        None => {
            let make = format!("CREATE SCHEMA {SCHEMA}; REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC");
            Ok(transaction.batch_execute(&make).await?)
        }
        Some(row) if row.try_get(1)? => Ok(()),
        Some(row) => Err(SessionError::Failed(format!(
            "the schema {SCHEMA} belongs to {}, who could change what is kept there; connect as that user, or drop the schema",
            row.try_get::<_, String>(0)?
        ))),
    }
}
