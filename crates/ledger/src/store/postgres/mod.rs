//! A ledger in a PostgreSQL database, which several processes and machines may share.
//!
//! Writers take turns: a writing transaction first locks the one row of `head`, and has the ledger to itself until it ends. A commit
//! counts only when the server has answered it; the connection's settings say that it is on disk then. What got no answer is
//! [`Lost`](StoreFailure::Lost): the lock tells later, because no process gets it before that transaction has ended one way or the other.
//!
//! The calls block, and must not be made from within an asynchronous runtime: each store has a small one of its own.

mod failure;
mod read;
mod rows;
mod schema;
mod session;
mod statements;
#[cfg(all(test, feature = "server-tests"))]
mod tests;

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use taximeter_postgres::PostgresAddress;
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::Row;

use self::read::{account, broken, column, only_row, position, shown, stored_record};
use self::rows::{APPEND, RowBuffer};
use self::schema::Tables;
use self::session::{Parameter, StoreSession};
use self::statements::{
    ACCOUNTS, ALARM, BEGIN_READING, BY_KEY, CHANGED_ACCOUNTS, CHECKS, COMMIT, FROM_ON, LOCK_HEAD, NEWEST, POSITIONS,
    SET_ALARM, committed, lock,
};
use super::{Access, Location, Store, StoreError, StoreFailure, StoredRecord};
use crate::books::{AccountRow, ChangedAccount, Entry};
use crate::error::{Error, ErrorKind};
use crate::journal::Position;

pub(super) struct PostgresStore {
    runtime: Runtime,
    address: PostgresAddress,
    access: Access,
    /// When every call must have ended.
    deadline: Option<Instant>,
    /// Nothing after the connection was lost.
    session: Option<StoreSession>,
    /// A transaction that was asked for and not yet waited for.
    asked: Option<Started<Option<Position>>>,
    /// What this transaction has not yet sent.
    unsent: RowBuffer,
    /// What it has sent without waiting for the answers, in order.
    ahead: Vec<Started<()>>,
}

/// A request that was sent; its answer.
type Started<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// How long the end of a transaction that wrote nothing may take.
const ROLLBACK: Duration = Duration::from_secs(5);

impl PostgresStore {
    pub(super) fn open(url: &str, access: Access) -> Result<PostgresStore, Error> {
        let address = PostgresAddress::parse(url)?;
        let cannot = |why: String| Error::storage(format!("the ledger {address} cannot be opened: {why}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| cannot(format!("no runtime: {error}")))?;
        let opened = runtime.block_on(async {
            let session = StoreSession::connect(&address, access, access.patience()).await?;
            match (schema::find(&session.client).await?, access) {
                (Tables::Missing, Access::Write { create: true, .. }) => schema::create(&session.client).await?,
                (Tables::Ledger, _) | (Tables::Empty, Access::Write { create: true, .. }) => {}
                _ => return Ok(None),
            }
            Ok(Some(session))
        });
        let failed = |error: StoreError| match error.kind {
            StoreFailure::OtherFormat(_) => error.into(),
            _ => cannot(error.message),
        };
        match opened.map_err(failed)? {
            Some(session) => {
                let (session, asked, unsent, ahead) = (Some(session), None, RowBuffer::default(), Vec::new());
                Ok(PostgresStore { runtime, address, access, deadline: None, session, asked, unsent, ahead })
            }
            None => Err(ErrorKind::NoLedger(Location::Postgres(url.to_string())).into()),
        }
    }

    /// Asks the server, after sending what is not yet sent. An error ends the transaction.
    fn ask<T>(
        &mut self,
        question: impl AsyncFnOnce(&mut StoreSession) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let unsent = std::mem::take(&mut self.unsent);
        self.exchange(async |session| {
            unsent.send(session, async |_| Ok(())).await?;
            question(session).await
        })
    }

    /// Sends a request, and leaves the answer for later. One that cannot be sent is an error.
    fn start<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<Started<T>, StoreError> {
        let mut request: Started<T> = Box::pin(request);
        let at_once = self.runtime.block_on(async {
            // From here on it is in front of whatever is asked later.
            let at_once = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
            // The connection has its turn, and sends it.
            yield_now().await;
            at_once
        });
        match at_once {
            Poll::Ready(answer) => answer.map(|answer| Box::pin(ready(Ok(answer))) as Started<T>),
            Poll::Pending => Ok(request),
        }
    }

    /// Leaves what a transaction had to write that is over now.
    fn forget(&mut self) {
        (self.unsent, self.ahead) = (RowBuffer::default(), Vec::new());
    }

    fn send_if_many(&mut self) -> Result<(), StoreError> {
        match self.unsent.are_many() {
            true => self.ask(async |_| Ok(())),
            false => Ok(()),
        }
    }

    fn exchange<T>(
        &mut self,
        exchange: impl AsyncFnOnce(&mut StoreSession) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let patience = self.patience();
        let Some(session) = &mut self.session else {
            return Err(StoreError::new(StoreFailure::Lost, "the connection to PostgreSQL was lost"));
        };
        let late = || {
            let why = format!("PostgreSQL did not answer within {:.1} s", patience.as_secs_f64());
            StoreError::new(StoreFailure::Lost, why)
        };
        let ahead = std::mem::take(&mut self.ahead);
        let answers = async {
            let result = exchange(session).await;
            // They were answered before. Where one failed, the server refused all that came after it.
            for sent in ahead {
                sent.await?;
            }
            result
        };
        let result = self.runtime.block_on(async { timeout(patience, answers).await.unwrap_or_else(|_| Err(late())) });
        result.map_err(|error| self.fail(error))
    }

    /// How long an answer may take now.
    fn patience(&self) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(self.access.patience(), |left| left.min(self.access.patience()))
    }

    /// The first error of a transaction ends it.
    fn fail(&mut self, error: StoreError) -> StoreError {
        match error.kind {
            StoreFailure::Lost => self.session = None,
            _ => self.rollback(),
        }
        error
    }

    fn query<T>(
        &mut self,
        question: &'static str,
        parameters: &[&Parameter<'_>],
        read: impl FnOnce(&[Row]) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.ask(async |session| read(&session.query(question, parameters).await?))
    }
}

impl Store for PostgresStore {
    fn ask_to_begin(&mut self) {
        // What is wrong with the connection, or with a statement that was not used on it before, is told by what begins.
        let Some(session) = &self.session else { return };
        let Some(lock_head) = session.prepared(LOCK_HEAD) else { return };
        let client = Arc::clone(&session.client);
        self.asked = self.start(async move { lock(&client, &lock_head).await }).ok();
    }

    fn begin(&mut self) -> Result<Option<Position>, StoreError> {
        self.forget();
        match self.asked.take() {
            Some(asked) => self.exchange(async |_| asked.await),
            None => self.exchange(async |session| {
                let lock_head = session.statement(LOCK_HEAD).await?;
                lock(&session.client, &lock_head).await
            }),
        }
    }

    fn begin_reading(&mut self) -> Result<(), StoreError> {
        self.forget();
        self.exchange(async |session| Ok(session.client.batch_execute(BEGIN_READING).await?))
    }

    fn head(&mut self) -> Result<Option<StoredRecord>, StoreError> {
        self.query(NEWEST, &[], |rows| {
            let row = only_row(rows)?;
            let (newest, head) = (position(row, 0)?, position(row, 4)?);
            match newest == head {
                true => newest.map(|_| stored_record(row)).transpose(),
                false => Err(broken(format!(
                    "the newest record of the journal is {}, but the table taximeter.head says {}",
                    shown(newest),
                    shown(head)
                ))),
            }
        })
    }

    fn records(&mut self, from: u64, most: usize) -> Result<Vec<StoredRecord>, StoreError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.query(FROM_ON, &[&from, &most], |rows| rows.iter().map(stored_record).collect())
    }

    fn positions(&mut self, from: u64, most: usize) -> Result<Vec<Position>, StoreError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let read = |rows: &[Row]| rows.iter().filter_map(|row| position(row, 0).transpose()).collect();
        self.query(POSITIONS, &[&from, &most], read)
    }

    fn find_keys(&mut self, keys: &[&str]) -> Result<Vec<StoredRecord>, StoreError> {
        let mut found: Vec<StoredRecord> = self.unsent.find_keys(keys).collect();
        // What is not yet sent was just looked through, and need not go first.
        self.exchange(async |session| {
            for row in session.query(BY_KEY, &[&keys]).await? {
                found.push(stored_record(&row)?);
            }
            Ok(found)
        })
    }

    fn accounts(&mut self, after: Option<u64>) -> Result<Vec<AccountRow>, StoreError> {
        let read = |rows: &[Row]| rows.iter().map(account).collect();
        match after.map(|after| i64::try_from(after).unwrap_or(i64::MAX)) {
            None => self.query(ACCOUNTS, &[], read),
            Some(after) => self.query(CHANGED_ACCOUNTS, &[&after], read),
        }
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.unsent.append(entries);
        self.send_if_many()
    }

    fn send_ahead(&mut self) -> Result<(), StoreError> {
        // Without a connection, or a statement that was used on it before, they go with what is sent next.
        let Some(session) = &self.session else { return Ok(()) };
        let Some(append) = session.prepared(APPEND) else { return Ok(()) };
        let (client, records) = (Arc::clone(&session.client), self.unsent.take_records());
        match self.start(async move { records.append_with(&client, &append).await }) {
            Ok(sent) => self.ahead.push(sent),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    fn put(&mut self, accounts: &[ChangedAccount<'_>]) -> Result<(), StoreError> {
        self.unsent.put(accounts);
        self.send_if_many()
    }

    fn alarm(&mut self) -> Result<Option<String>, StoreError> {
        self.query(ALARM, &[], |rows| column(only_row(rows)?, 0))
    }

    fn set_alarm(&mut self, why: Option<&str>) -> Result<(), StoreError> {
        self.query(SET_ALARM, &[&why], |rows| only_row(rows).map(drop))
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.query(CHECKS, &[], |rows| {
            let row = only_row(rows)?;
            match (column::<bool>(row, 0)?, column::<Option<i64>>(row, 1)?) {
                (true, None) => Ok(()),
                (true, Some(sequence)) => Err(broken(format!("record {sequence}: no record has such a number"))),
                (false, _) => Err(broken("the table taximeter.journal no longer keeps keys unique".to_string())),
            }
        })
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let unsent = std::mem::take(&mut self.unsent);
        self.exchange(async |session| {
            let answer = unsent.send(session, async |client| client.simple_query(&COMMIT).await).await?;
            committed(&answer)
        })
    }

    fn rollback(&mut self) {
        self.forget();
        let Some(session) = &self.session else { return };
        let rollback = session.client.batch_execute("ROLLBACK");
        let ended = self.runtime.block_on(async { timeout(ROLLBACK, rollback).await });
        // A connection in doubt is not used again; the server ends its transaction with it.
        if !matches!(ended, Ok(Ok(()))) {
            self.session = None;
        }
    }

    fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    fn reconnect(&mut self) -> Result<(), StoreError> {
        self.forget();
        (self.session, self.asked) = (None, None);
        let until = Instant::now() + self.patience();
        let mut pause = Duration::from_millis(50);
        loop {
            let connected = self.runtime.block_on(async {
                let left = until.saturating_duration_since(Instant::now());
                let session = StoreSession::connect(&self.address, self.access, left).await?;
                match schema::find(&session.client).await? {
                    Tables::Missing => {
                        Err(StoreError::new(StoreFailure::Failed, format!("there is no ledger at {}", self.address)))
                    }
                    Tables::Empty | Tables::Ledger => Ok(session),
                }
            });
            match connected {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Err(error) if error.kind == StoreFailure::Lost && Instant::now() + pause < until => {
                    thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(1));
                }
                Err(error) => return Err(error),
            }
        }
    }
}
