//! A connection whose settings are known, with a small runtime of its own.

use std::error::Error as _;
use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};

use taximeter_ledger::PostgresAddress;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::error::Error;

/// A way to a database. The calls block, and must not be made from within an asynchronous runtime.
pub(super) struct Connection {
    runtime: Runtime,
    address: PostgresAddress,
    purpose: Purpose,
    /// Nothing after the connection was lost.
    session: Option<Session>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Looking at the catalog, and asking questions.
    Ask,
    /// Making and dropping the gate's own tables.
    Keep,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection cannot be used any more, or there never was one.
    Lost(String),
    /// The server said no, or what it said cannot be used.
    Failed(String),
}

/// How long making a connection may take, from the first packet to the last check.
const CONNECT: Duration = Duration::from_secs(30);

/// How long an answer about names and types may take. The server gives up earlier; this is for one that is gone without a word.
pub(super) const ANSWER: Duration = Duration::from_secs(90);

/// How much of the time for an answer is kept for asking a server to stop, and for waiting until it has.
pub(super) fn time_to_cancel(most: Duration) -> Duration {
    (most / 10).min(Duration::from_secs(1))
}

/// The oldest PostgreSQL that has all that is used.
const OLDEST: u32 = 130_000;

/// No name and no operator means anything else because of the user's own settings: `row_security = off` makes a policy that would
/// hide rows an error. Plans are made for the literals of a question. Nothing waits forever for a lock, or holds one for a client
/// that is gone.
const SETTINGS: &str = "
    SET search_path = pg_catalog, pg_temp;
    SET row_security = off;
    SET transform_null_equals = off;
    SET standard_conforming_strings = on;
    SET plan_cache_mode = force_custom_plan;
    SET lock_timeout = '30s';
    SET idle_in_transaction_session_timeout = '60s';
";

const ASKING: &str = "
    SET default_transaction_read_only = on;
    SET statement_timeout = '60s';
";

/// Sorting a large table takes its time.
const KEEPING: &str = "
    SET default_transaction_read_only = off;
    SET statement_timeout = 0;
";

/// Makes the server notice that its client is gone while it computes. Older versions and some systems do not have this.
const NOTICE_INTERRUPTION: &str = "SET client_connection_check_interval = '2s'";

impl Connection {
    pub(super) fn open(url: &str, purpose: Purpose, most: Duration) -> Result<Connection, Error> {
        let address = PostgresAddress::parse(url)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::storage(format!("there is no runtime to reach {address} with: {error}")))?;
        let mut connection = Connection { runtime, address, purpose, session: None };
        connection.once(most, async |_| Ok(())).map_err(|failure| connection.explain(&failure))?;
        Ok(connection)
    }

    /// Asks something that may be asked twice, at most so long in all: a connection that was lost meanwhile is made again.
    pub(super) fn ask<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFn(&mut Client) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let mut answer = self.once(most, &question);
        let left = most.saturating_sub(started.elapsed());
        if matches!(answer, Err(Failure::Lost(_))) && !left.is_zero() {
            answer = self.once(left, &question);
        }
        answer.map_err(|failure| self.explain(&failure))
    }

    /// Asks something once. Connecting, the answer, and stopping a server that is late take at most so long together. When it returns,
    /// the server is not at work on it any more, unless it cannot be reached.
    pub(super) fn once<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFnOnce(&mut Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let known = self.session.take().filter(|session| !session.client.is_closed());
        let (session, answer) = self.runtime.block_on(async {
            let started = Instant::now();
            let mut session = match known {
                Some(session) => session,
                None => Session::connect(&self.address, self.purpose, most.min(CONNECT)).await?,
            };
            match session.ask(most.saturating_sub(started.elapsed()), question).await {
                Err(Failure::Lost(why)) => {
                    session.close().await;
                    Err(Failure::Lost(why))
                }
                answer => Ok((session, answer)),
            }
        })?;
        self.session = Some(session);
        answer
    }

    /// A failure, with the place where it happened.
    pub(super) fn explain(&self, failure: &Failure) -> Error {
        let advice = match failure {
            Failure::Lost(_) => {
                "; does the server run, and are the user, password, host, port and database of the URL right?"
            }
            Failure::Failed(_) => "",
        };
        Error::storage(format!("the data at {}: {failure}{advice}", self.address))
    }
}

struct Session {
    client: Client,
    connection: JoinHandle<()>,
}

impl Session {
    async fn connect(address: &PostgresAddress, purpose: Purpose, most: Duration) -> Result<Session, Failure> {
        let late = || Failure::Lost(format!("PostgreSQL did not take a connection within {} s", most.as_secs_f64()));
        timeout(most, Session::try_connect(address, purpose)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn try_connect(address: &PostgresAddress, purpose: Purpose) -> Result<Session, Failure> {
        let (client, connection) = address.config().connect(NoTls).await?;
        let connection = tokio::spawn(async move {
            // How a connection ended is told to whoever waits for an answer.
            let _ = connection.await;
        });
        let session = Session { client, connection };
        session.configure(purpose).await?;
        Ok(session)
    }

    async fn configure(&self, purpose: Purpose) -> Result<(), Failure> {
        let own = if purpose == Purpose::Ask { ASKING } else { KEEPING };
        let question = "SELECT current_setting('server_version_num'), current_setting('server_encoding')";
        let messages = self.client.simple_query(&format!("{SETTINGS} {own} {question}")).await?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let shown = |at: usize| row.and_then(|row| row.get(at)).unwrap_or("unknown");
        let (version, encoding) = (shown(0), shown(1));
        if !version.parse::<u32>().is_ok_and(|version| version >= OLDEST) {
            return Err(Failure::Failed(format!("PostgreSQL has version {version}; at least {OLDEST} is needed")));
        }
        if encoding != "UTF8" {
            return Err(Failure::Failed(format!(
                "the database has server_encoding = {encoding}, and text is compared as UTF-8; copy the table into a database made \
                 with ENCODING 'UTF8' TEMPLATE template0"
            )));
        }
        if purpose == Purpose::Keep {
            let noticed = self.client.batch_execute(NOTICE_INTERRUPTION).await;
            return noticed.or_else(|error| if error.as_db_error().is_some() { Ok(()) } else { Err(error.into()) });
        }
        Ok(())
    }

    async fn ask<T>(
        &mut self,
        most: Duration,
        question: impl AsyncFnOnce(&mut Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let cancel = self.client.cancel_token();
        let mut answer = pin!(question(&mut self.client));
        let kept = time_to_cancel(most);
        if let Ok(answer) = timeout(most - kept, &mut answer).await {
            return answer;
        }
        // Closing the connection alone would let the server go on until it has something to say.
        let stop = async {
            let _ = cancel.cancel_query(NoTls).await;
            answer.await
        };
        let _ = timeout(kept, stop).await;
        Err(Failure::Lost(format!("PostgreSQL did not answer within {} s, and was told to stop", most.as_secs_f64())))
    }

    /// Closes the connection, and waits until it is closed.
    async fn close(self) {
        self.connection.abort();
        let _ = self.connection.await;
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Lost(why) | Failure::Failed(why) => f.write_str(why),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        let Some(answer) = error.as_db_error() else {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            return Failure::Lost(format!("PostgreSQL: {error}{cause}"));
        };
        let detail = answer.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let why = format!("PostgreSQL: {}{detail} [{}]", answer.message(), answer.code().code());
        match answer.parsed_severity() {
            Some(Severity::Fatal | Severity::Panic) => Failure::Lost(why),
            _ => Failure::Failed(why),
        }
    }
}
