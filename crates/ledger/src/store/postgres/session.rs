//! A connection that may be relied on: its settings are checked when it is made.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage, SimpleQueryRow, Statement};

use super::address::PostgresAddress;
use super::failure::while_connecting;
use crate::store::{Access, Failure, StoreError};

pub(super) struct Session {
    pub(super) client: Arc<Client>,
    connection: AbortHandle,
    statements: HashMap<&'static str, Statement>,
}

/// A parameter of a statement.
pub(super) type Parameter<'a> = dyn ToSql + Sync + 'a;

/// How long making a connection may take, from the first packet to the last check.
const CONNECT: Duration = Duration::from_secs(30);

/// The oldest PostgreSQL that has all that is used.
const OLDEST: u32 = 130_000;

/// Settings that decide whether a commit is on disk, the values that are good enough, and what is wrong with others.
const DURABLE: [(&str, &[&str], &str); 4] = [
    ("synchronous_commit", &["on", "remote_apply"], "a commit would be acknowledged before it is on disk"),
    ("fsync", &["on"], "a commit would not be synced to the disk"),
    ("full_page_writes", &["on"], "a page that a crash tears in two could not be mended"),
    ("data_sync_retry", &["off"], "the server would go on after a failed sync, over what it lost"),
];

/// The values of those settings, as columns.
pub(super) static DURABLE_COLUMNS: LazyLock<String> =
    LazyLock::new(|| DURABLE.map(|(setting, ..)| format!("current_setting('{setting}')")).join(", "));

/// Nothing waits forever: not for another writer, not for a statement, and not for a client that stopped in the middle of a
/// transaction while everybody else waits for its lock. A lock is given up before the statement that asks for it.
const WRITING: &str = "
    SET lock_timeout = '15s';
    SET idle_in_transaction_session_timeout = '60s';
";

/// No name means anything else because of the user's own settings. Every statement has an index to go by; a plan that is kept must
/// not be one that was made when the tables were small, and reads all of them. None of them is worth compiling.
const ALWAYS: &str = "
    SET search_path = pg_catalog, pg_temp;
    SET statement_timeout = '60s';
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET jit = off;
";

impl Session {
    /// Connects, within so long.
    pub(super) async fn connect(
        address: &PostgresAddress,
        access: Access,
        patience: Duration,
    ) -> Result<Session, StoreError> {
        let patience = patience.min(CONNECT);
        let late = || {
            let why = format!("PostgreSQL did not take a connection within {:.1} s", patience.as_secs_f64());
            StoreError::new(Failure::Lost, why)
        };
        timeout(patience, Session::try_connect(address, access)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn try_connect(address: &PostgresAddress, access: Access) -> Result<Session, StoreError> {
        let (client, connection) = address.config().connect(NoTls).await.map_err(while_connecting)?;
        let connection = tokio::spawn(async move {
            // How a connection ended is told to whoever waits for an answer.
            let _ = connection.await;
        });
        let session =
            Session { client: Arc::new(client), connection: connection.abort_handle(), statements: HashMap::new() };
        session.configure(access).await?;
        Ok(session)
    }

    async fn configure(&self, access: Access) -> Result<(), StoreError> {
        let is_reader = matches!(access, Access::Read { .. });
        let writing = if is_reader { "" } else { WRITING };
        // Once set here, synchronous_commit no longer changes when the server reads its files again.
        let setup = format!(
            "{ALWAYS} {writing}
             SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false);
             SELECT current_setting('server_version_num'), current_setting('server_encoding'), pg_is_in_recovery(), {}",
            *DURABLE_COLUMNS
        );
        let messages = self.client.simple_query(&setup).await.map_err(while_connecting)?;
        let row = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let failed = |message: String| StoreError::new(Failure::Failed, message);
        let row = row.ok_or_else(|| failed("PostgreSQL does not show its settings".to_string()))?;
        let version = row.get(0).unwrap_or("unknown");
        if version.parse::<u32>().is_ok_and(|version| version < OLDEST) {
            return Err(failed(format!("PostgreSQL has version {version}; at least {OLDEST} is needed")));
        }
        let encoding = row.get(1).unwrap_or("unknown");
        if encoding != "UTF8" {
            return Err(failed(format!(
                "the database has server_encoding = {encoding}; make one with ENCODING 'UTF8' TEMPLATE template0"
            )));
        }
        if is_reader {
            return Ok(());
        }
        if row.get(2) != Some("f") {
            // It may be about to take over.
            let standby = "PostgreSQL is in recovery (pg_is_in_recovery() is true): a standby cannot be written; name the primary";
            return Err(StoreError::new(Failure::Lost, standby));
        }
        check_durable(row, 3).map_err(failed)
    }

    /// A statement, if it was used before.
    pub(super) fn prepared(&self, text: &'static str) -> Option<Statement> {
        self.statements.get(text).cloned()
    }

    /// A prepared statement, prepared when it is first used.
    pub(super) async fn statement(&mut self, text: &'static str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared(text) {
            return Ok(statement);
        }
        let statement = self.client.prepare(text).await?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }

    pub(super) async fn query(
        &mut self,
        text: &'static str,
        parameters: &[&Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let statement = self.statement(text).await?;
        Ok(self.client.query(&statement, parameters).await?)
    }
}

impl Drop for Session {
    /// A connection that is given up is closed, whatever it still waits for.
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Whether a commit is on disk when it is acknowledged, by [`DURABLE_COLUMNS`] from a column on.
pub(super) fn check_durable(row: &SimpleQueryRow, from: usize) -> Result<(), String> {
    for (at, (setting, accepted, why)) in DURABLE.iter().enumerate() {
        let value = row.get(from + at).unwrap_or("unknown");
        if !accepted.contains(&value) {
            let good = accepted.join(" or ");
            return Err(format!(
                "PostgreSQL has {setting} = {value}, so {why}; set {setting} = {good} in the server's configuration, or for this \
                 user, database or URL if that is where it comes from"
            ));
        }
    }
    Ok(())
}
