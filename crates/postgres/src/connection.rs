//! A session for callers that block, made again when it was lost.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::address::PostgresAddress;
use crate::error::SessionError;
use crate::session::{Session, SessionSetup};

/// A connection to a database, with a small runtime of its own that runs during a call. The calls block, and must not be made from
/// within an asynchronous runtime.
pub struct Connection {
    /// Nothing once it is dropped.
    runtime: Option<Runtime>,
    address: PostgresAddress,
    setup: SessionSetup,
    /// Nothing before the first question, and after the connection was lost.
    session: Option<Session>,
}

impl Connection {
    /// Prepares a connection. The first question connects.
    pub fn new(address: PostgresAddress, setup: SessionSetup) -> Result<Connection, SessionError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| SessionError::Failed(format!("there is no runtime: {error}")))?;
        Ok(Connection { runtime: Some(runtime), address, setup, session: None })
    }

    /// The address of the database.
    pub fn address(&self) -> &PostgresAddress {
        &self.address
    }

    /// Asks something that may be asked twice, within this time in total: a connection that was lost meanwhile is made again.
    pub fn ask<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFn(&mut Client) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let started = Instant::now();
        let answer = self.once(most, &question);
        let left = most.saturating_sub(started.elapsed());
        match answer {
            Err(SessionError::Lost(_)) if !left.is_zero() => self.once(left, &question),
            answer => answer,
        }
    }

    /// Asks something once. Connecting, the answer, and stopping a late server are all within this time. When it returns, the server no
    /// longer works on it, unless it cannot be reached.
    pub fn once<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFnOnce(&mut Client) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let Some(runtime) = &self.runtime else {
            return Err(SessionError::Failed("the connection is closed".to_string()));
        };
        let known = self.session.take().filter(|session| !session.is_closed());
        let (session, answer) = runtime.block_on(async {
            let started = Instant::now();
            let mut session = match known {
                Some(session) => session,
                None => Session::connect(&self.address, self.setup, most).await?,
            };
            match session.ask(most.saturating_sub(started.elapsed()), question).await {
                Err(SessionError::Lost(why)) => {
                    session.close().await;
                    Err(SessionError::Lost(why))
                }
                answer => Ok((session, answer)),
            }
        })?;
        self.session = Some(session);
        answer
    }
}

impl Drop for Connection {
    /// A runtime may not be waited for on a thread of another one, where the last handle may end.
    fn drop(&mut self) {
        self.session = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
