//! PostgreSQL: the data stay where they are, and what is asked is computed there.
//!
//! Only plain tables and materialised views with columns of a few types are asked, and each time the table is locked and looked at
//! again first: an expression of a view, a policy or a foreign server could fail on some row, and tell that it is there.

mod find;
mod keep;
mod relation;
mod session;
#[cfg(all(test, feature = "server-tests"))]
mod tests;
mod values;

use std::path::Path;
use std::time::{Duration, Instant};

use taximeter_postgres::{Connection, SessionError, time_to_cancel};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

pub(crate) use self::find::find_table;
pub(crate) use self::keep::{drop_table, keep_rows};
use self::relation::Relation;
use self::session::{ASK, explain, open};
use super::{Engine, ExactRow, Source, Table};
use crate::error::Error;
use crate::schema::{ColumnType, Schema};
use crate::sql::Statement;

/// A connection to one table of a PostgreSQL database.
pub(crate) struct Postgres {
    connection: Connection,
    table: Table,
    /// What the columns must hold, since the last check.
    columns: Vec<(String, ColumnType)>,
    /// Another table that is joined, likewise.
    joined: Option<(Table, Vec<(String, ColumnType)>)>,
}

/// The longest limit that the server takes: 24 days.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

impl Postgres {
    /// Connects to the table at a URL, within this time.
    pub(crate) fn connect(url: &str, table: Table, most: Duration) -> Result<Postgres, Error> {
        Ok(Postgres { connection: open(url, ASK, most)?, table, columns: Vec::new(), joined: None })
    }

    /// What the columns of a table hold, if they are those of a schema.
    fn checked(&mut self, table: &Table, schema: &Schema, most: Duration) -> Result<Vec<(String, ColumnType)>, Error> {
        let found = self.connection.ask(most, async |client| Relation::find(client, &table.schema, &table.name).await);
        let found = found.map_err(|error| explain(self.connection.address(), &error))?;
        let columns = kinds(schema);
        Relation::check(found, table, &columns).map_err(Error::storage)?;
        Ok(columns)
    }

    fn run_within(
        &mut self,
        statement: &Statement,
        server: Duration,
        client: Duration,
    ) -> Result<Vec<ExactRow>, SessionError> {
        if self.columns.is_empty() {
            return Err(SessionError::Failed("the table must be checked before it is asked".to_string()));
        }
        let until = Instant::now() + server;
        self.connection.once(client, async |connected| {
            in_transaction(connected, async |transaction| {
                limit(transaction, until).await?;
                Relation::lock(transaction, &self.table, &self.columns).await?;
                if let Some((table, columns)) = &self.joined {
                    Relation::lock(transaction, table, columns).await?;
                }
                answer(transaction, statement, until).await
            })
            .await
        })
    }
}

impl Engine for Postgres {
    fn check(&mut self, schema: &Schema, most: Duration) -> Result<(), Error> {
        self.columns = self.checked(&self.table.clone(), schema, most)?;
        Ok(())
    }

    fn join(&mut self, other: &Source, _: &Path, schema: &Schema, most: Duration) -> Result<(), Error> {
        let Source::Postgres { table, .. } = other else {
            return Err(Error::storage(format!("{other:?} is no table")));
        };
        self.joined = Some((table.clone(), self.checked(table, schema, most)?));
        Ok(())
    }

    fn run(&mut self, statement: &Statement, most: Duration) -> Result<Vec<ExactRow>, String> {
        let most = most.min(LONGEST);
        // The server gives up by itself, before it is told to; a client that waits longer waits for one that hangs.
        let server = most.saturating_sub(2 * time_to_cancel(most));
        self.run_within(statement, server, most).map_err(|error| error.to_string())
    }
}

/// What the columns of a schema hold.
fn kinds(schema: &Schema) -> Vec<(String, ColumnType)> {
    schema.columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
}

/// Reads in one transaction, which is ended whatever comes of it: a lock that is left behind would keep the owner from the table.
async fn in_transaction<T>(
    client: &mut Client,
    work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    // What is looked at after a lock must not be older than the lock: READ COMMITTED.
    let begin = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(true);
    let transaction = begin.start().await?;
    let result = work(&transaction).await;
    let ended = transaction.rollback().await;
    match (result, ended) {
        (Ok(_), Err(error)) => Err(error.into()),
        (result, _) => result,
    }
}

async fn answer(
    transaction: &Transaction<'_>,
    statement: &Statement,
    until: Instant,
) -> Result<Vec<ExactRow>, SessionError> {
    let prepared = transaction.prepare(&statement.sql).await?;
    let parameters: Vec<_> = statement.parameters.iter().map(values::parameter).collect();
    let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(AsRef::as_ref).collect();
    limit(transaction, until).await?;
    let rows = transaction.query(&prepared, &parameters).await?;
    rows.iter().map(|row| exact_row(row, statement)).collect()
}

/// Lets the server give up at this time. A limit of 0 would be none.
async fn limit(transaction: &Transaction<'_>, until: Instant) -> Result<(), SessionError> {
    let left = until.saturating_duration_since(Instant::now()).as_millis().max(1);
    Ok(transaction.batch_execute(&format!("SET LOCAL statement_timeout = {left}")).await?)
}

fn exact_row(row: &Row, statement: &Statement) -> Result<ExactRow, SessionError> {
    let groups = statement.keys.len();
    let key = |(at, kind): (usize, &ColumnType)| values::key(row, at, *kind);
    let measure = |at: usize| -> Result<i64, SessionError> { Ok(row.try_get::<_, Option<i64>>(at)?.unwrap_or(0)) };
    Ok(ExactRow {
        keys: statement.keys.iter().enumerate().map(key).collect::<Result<_, _>>()?,
        measures: (groups..groups + statement.measures).map(measure).collect::<Result<_, _>>()?,
    })
}
