//! A session that can be relied on: its settings are pinned, and its server is checked, when it is made.

use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use crate::address::PostgresAddress;
use crate::durable::{DURABLE_COLUMNS, check_durable};
use crate::error::SessionError;
use crate::tls::Connector;

/// A connection to a database.
pub struct Session {
    client: Client,
    link: Link,
    tls: Connector,
}

/// The other half of a session. Dropping it closes the connection, whatever is still waited for.
pub struct Link(JoinHandle<()>);

/// How a session starts.
#[derive(Clone, Copy, Debug)]
pub struct SessionSetup {
    /// Statements that set what the caller's statements rely on, time limits among them.
    pub settings: &'static [&'static str],
    /// Whether the session commits what must be on disk when it is acknowledged. Then the server must be a primary, with the settings
    /// for it; `synchronous_commit` is fixed, and does not change when the server reads its files again.
    pub is_durable: bool,
}

/// How long making a connection may take, from the first packet to the last check.
const CONNECT: Duration = Duration::from_secs(30);

/// The oldest PostgreSQL that has all that is used.
const OLDEST: u32 = 130_000;

/// No name means anything else because of the user's own settings.
const ALWAYS: &str = "SET search_path = pg_catalog, pg_temp;";

const FIX_COMMIT: &str = "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false);";

/// How much of the time for an answer is reserved for telling a late server to stop and waiting until it has.
pub fn time_to_cancel(most: Duration) -> Duration {
    (most / 10).min(Duration::from_secs(1))
}

impl Session {
    /// Connects, within this time and at most half a minute.
    pub async fn connect(
        address: &PostgresAddress,
        setup: SessionSetup,
        most: Duration,
    ) -> Result<Session, SessionError> {
        let most = most.min(CONNECT);
        let late =
            || SessionError::Lost(format!("PostgreSQL did not take a connection within {:.1} s", most.as_secs_f64()));
        timeout(most, Session::try_connect(address, setup)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn try_connect(address: &PostgresAddress, setup: SessionSetup) -> Result<Session, SessionError> {
        let tls = address.tls().connector()?;
        let (client, connection) = address.config().connect(tls.clone()).await.map_err(|error| tls.explain(error))?;
        let connection = tokio::spawn(async move {
            // How a connection ended is told to the caller that waits for an answer.
            let _ = connection.await;
        });
        let session = Session { client, link: Link(connection), tls };
        session.configure(setup).await?;
        Ok(session)
    }

    async fn configure(&self, setup: SessionSetup) -> Result<(), SessionError> {
        let statements = format!(
            "{ALWAYS} {} {}
             SELECT current_setting('server_version_num'), current_setting('server_encoding'), pg_is_in_recovery(), {}",
            setup.settings.concat(),
            if setup.is_durable { FIX_COMMIT } else { "" },
            *DURABLE_COLUMNS
        );
        let messages = self.client.simple_query(&statements).await.map_err(SessionError::while_connecting)?;
        let row = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = row.ok_or_else(|| SessionError::Failed("PostgreSQL does not show its settings".to_string()))?;
        check_server(row)?;
        match (setup.is_durable, row.get(2)) {
            (false, _) => Ok(()),
            (true, Some("f")) => check_durable(row, 3).map_err(SessionError::Failed),
            // It may be about to take over.
            (true, _) => Err(SessionError::Lost(
                "PostgreSQL is in recovery (pg_is_in_recovery() is true): a standby cannot be written; name the primary"
                    .to_string(),
            )),
        }
    }

    /// The client and its connection, for a caller that sends requests ahead of their answers. It must limit its waiting itself.
    pub fn into_parts(self) -> (Client, Link) {
        (self.client, self.link)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Asks something. The answer, and stopping a late server, are within this time.
    pub(crate) async fn ask<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFnOnce(&mut Client) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let cancel = self.client.cancel_token();
        let mut answer = pin!(question(&mut self.client));
        let kept = time_to_cancel(most);
        if let Ok(answer) = timeout(most - kept, &mut answer).await {
            return answer;
        }
        // Closing the connection alone would let the server go on until it has something to say.
        let stop = async {
            let _ = cancel.cancel_query(self.tls.clone()).await;
            answer.await
        };
        let _ = timeout(kept, stop).await;
        let seconds = most.as_secs_f64();
        Err(SessionError::Lost(format!("PostgreSQL did not answer within {seconds} s, and was told to stop")))
    }

    /// Closes the connection, and waits until it is closed.
    pub(crate) async fn close(mut self) {
        self.link.0.abort();
        let _ = (&mut self.link.0).await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn check_server(row: &SimpleQueryRow) -> Result<(), SessionError> {
    let version = row.get(0).unwrap_or("unknown");
    if !version.parse::<u32>().is_ok_and(|version| version >= OLDEST) {
        return Err(SessionError::Failed(format!("PostgreSQL has version {version}; at least {OLDEST} is needed")));
    }
    match row.get(1).unwrap_or("unknown") {
        "UTF8" => Ok(()),
        encoding => Err(SessionError::Failed(format!(
            "the database has server_encoding = {encoding}, and text is compared as UTF-8; use a database made with ENCODING 'UTF8' \
             TEMPLATE template0"
        ))),
    }
}
