//! A session with the statements that were prepared on it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use taximeter_postgres::{Link, PostgresAddress, SessionSetup};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::store::{Access, StoreError};

pub(super) struct StoreSession {
    pub(super) client: Arc<Client>,
    statements: HashMap<&'static str, Statement>,
    /// Closes the connection when the session is dropped, whatever it still waits for.
    _link: Link,
}

/// A parameter of a statement.
pub(super) type Parameter<'a> = dyn ToSql + Sync + 'a;

/// Every statement has an index to go by; a plan that is kept must not be one that was made when the tables were small, and reads all of
/// them. None of them is worth compiling.
const ALWAYS: &str = "
    SET statement_timeout = '60s';
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET jit = off;
";

/// Nothing waits forever: not for another writer, not for a statement, and not for a client that stopped in the middle of a
/// transaction while all others wait for its lock. A lock is given up before the statement that asks for it.
const WRITING: &str = "
    SET lock_timeout = '15s';
    SET idle_in_transaction_session_timeout = '60s';
";

const READER: SessionSetup = SessionSetup { settings: &[ALWAYS], is_durable: false };
const WRITER: SessionSetup = SessionSetup { settings: &[ALWAYS, WRITING], is_durable: true };

impl StoreSession {
    /// Connects, within this time.
    pub(super) async fn connect(
        address: &PostgresAddress,
        access: Access,
        patience: Duration,
    ) -> Result<StoreSession, StoreError> {
        let setup = if matches!(access, Access::Read { .. }) { READER } else { WRITER };
        let (client, link) = taximeter_postgres::Session::connect(address, setup, patience).await?.into_parts();
        Ok(StoreSession { client: Arc::new(client), statements: HashMap::new(), _link: link })
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
