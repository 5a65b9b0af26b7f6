//! A ledger in a PostgreSQL database, which several processes and machines may share.
//!
//! Writers take turns: a writing transaction first locks the one row of `head`, and has the ledger to itself until it ends. A commit
//! counts only when the server has answered it; the connection's settings say that it is on disk then. What got no answer is
//! [`Lost`](Failure::Lost): the lock tells later, because nobody gets it before that transaction has ended one way or the other.
//!
//! The calls block, and must not be made from within an asynchronous runtime: each store has a small one of its own.

mod failure;
mod rows;
mod schema;
mod session;
#[cfg(all(test, feature = "server-tests"))]
mod tests;

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join;
use taximeter_postgres::{DURABLE_COLUMNS, PostgresAddress, check_durable};
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use self::rows::{APPEND, Rows};
use self::schema::Found;
use self::session::{Parameter, StoreSession};
use super::{Access, Failure, Location, Store, StoreError, StoredRecord};
use crate::books::{AccountRow, ChangedAccount, Entry};
use crate::error::{Error, ErrorKind};
use crate::hash::Hash;
use crate::journal::Position;

pub(super) struct Postgres {
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
    unsent: Rows,
    /// What it has sent without waiting for the answers, in order.
    ahead: Vec<Started<()>>,
}

/// A request that was sent; its answer.
type Started<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// How long the end of a transaction that wrote nothing may take.
const ROLLBACK: Duration = Duration::from_secs(5);

/// Each statement must see what was committed while the first one waited for the lock, so every one looks at the ledger as it is
/// when that statement starts: READ COMMITTED. Stricter levels would fix the view before the lock is there, and fail.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const LOCK_HEAD: &str = "SELECT sequence, hash, alarm FROM taximeter.head FOR UPDATE";

const ALARM: &str = "SELECT alarm FROM taximeter.head";

const SET_ALARM: &str = "UPDATE taximeter.head SET alarm = $1 RETURNING sequence";

const NEWEST: &str = "
    SELECT newest.sequence, newest.hash, newest.key, newest.line, head.sequence, head.hash
    FROM taximeter.head
    LEFT JOIN LATERAL (SELECT * FROM taximeter.journal ORDER BY sequence DESC LIMIT 1) AS newest ON true";

const FROM_ON: &str =
    "SELECT sequence, hash, key, line FROM taximeter.journal WHERE sequence >= $1 ORDER BY sequence LIMIT $2";

const BY_KEY: &str = "SELECT sequence, hash, key, line FROM taximeter.journal WHERE key = ANY($1)";

const ACCOUNTS: &str = "SELECT number, name, sequence, state FROM taximeter.accounts ORDER BY number";

const CHANGED_ACCOUNTS: &str =
    "SELECT number, name, sequence, state FROM taximeter.accounts WHERE sequence > $1 ORDER BY number";

/// Whether a key is still taken only once, and whether there is a record outside of the journal's numbers.
const CHECKS: &str = "
    SELECT EXISTS (
               SELECT FROM pg_constraint
               WHERE conname = 'journal_key' AND conrelid = 'taximeter.journal'::regclass AND contype = 'u' AND convalidated
           ),
           (SELECT sequence FROM taximeter.journal WHERE sequence < 0 LIMIT 1)";

/// COMMIT alone proves nothing: where the transaction has failed it answers ROLLBACK, and where there is none it only warns; neither
/// is an error. So a question goes first. In a failed transaction the question is an error, and COMMIT is not reached; the answer
/// says whether there is a transaction that can write, and whether the settings are still those that were checked.
///
/// The commit itself has no time limit on the server: one would also end the wait for a synchronous standby, with a mere warning.
static COMMIT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT set_config('statement_timeout', '0', true), pg_current_xact_id_if_assigned() IS NOT NULL, {}; COMMIT",
        *DURABLE_COLUMNS
    )
});

impl Postgres {
    pub(super) fn open(url: &str, access: Access) -> Result<Postgres, Error> {
        let address = PostgresAddress::parse(url)?;
        let cannot = |why: String| Error::storage(format!("the ledger {address} cannot be opened: {why}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| cannot(format!("no runtime: {error}")))?;
        let opened = runtime.block_on(async {
            let session = StoreSession::connect(&address, access, access.patience()).await?;
            match (schema::find(&session.client).await?, access) {
                (Found::Nothing, Access::Write { create: true, .. }) => schema::create(&session.client).await?,
                (Found::Ledger, _) | (Found::Empty, Access::Write { create: true, .. }) => {}
                _ => return Ok(None),
            }
            Ok(Some(session))
        });
        let failed = |error: StoreError| match error.kind {
            Failure::OtherFormat(_) => error.into(),
            _ => cannot(error.message),
        };
        match opened.map_err(failed)? {
            Some(session) => {
                let (session, asked, unsent, ahead) = (Some(session), None, Rows::default(), Vec::new());
                Ok(Postgres { runtime, address, access, deadline: None, session, asked, unsent, ahead })
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
        (self.unsent, self.ahead) = (Rows::default(), Vec::new());
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
            return Err(StoreError::new(Failure::Lost, "the connection to PostgreSQL was lost"));
        };
        let late = || {
            let why = format!("PostgreSQL did not answer within {:.1} s", patience.as_secs_f64());
            StoreError::new(Failure::Lost, why)
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
            Failure::Lost => self.session = None,
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

impl Store for Postgres {
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
                    place(newest),
                    place(head)
                ))),
            }
        })
    }

    fn records(&mut self, from: u64, most: usize) -> Result<Vec<StoredRecord>, StoreError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.query(FROM_ON, &[&from, &most], |rows| rows.iter().map(stored_record).collect())
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
                (false, _) => Err(broken("the table taximeter.journal does not keep keys apart any more".to_string())),
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
                    Found::Nothing => {
                        Err(StoreError::new(Failure::Failed, format!("there is no ledger at {}", self.address)))
                    }
                    Found::Empty | Found::Ledger => Ok(session),
                }
            });
            match connected {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Err(error) if error.kind == Failure::Lost && Instant::now() + pause < until => {
                    thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(1));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Starts a transaction that has the ledger to itself.
async fn lock(client: &Client, lock_head: &Statement) -> Result<Option<Position>, StoreError> {
    let (begun, locked) = join(client.batch_execute(BEGIN), client.query(lock_head, &[])).await;
    begun?;
    let rows = locked?;
    let head = only_row(&rows)?;
    match column::<Option<String>>(head, 2)? {
        Some(why) => Err(StoreError::new(Failure::Alarm, why)),
        None => position(head, 0),
    }
}

/// Whether the answer to [`COMMIT`] says that the transaction is on disk.
fn committed(answer: &[SimpleQueryMessage]) -> Result<(), StoreError> {
    let fatal = |why: String| StoreError::new(Failure::Fatal, why);
    let [
        SimpleQueryMessage::RowDescription(_),
        SimpleQueryMessage::Row(row),
        SimpleQueryMessage::CommandComplete(_),
        SimpleQueryMessage::CommandComplete(_),
    ] = answer
    else {
        return Err(fatal("PostgreSQL answered a commit with something else".to_string()));
    };
    if row.get(1) != Some("t") {
        return Err(fatal(
            "PostgreSQL had no transaction to commit; does something between here and the server end transactions?"
                .to_string(),
        ));
    }
    check_durable(row, 2).map_err(|why| fatal(format!("the settings of the server changed while it was in use: {why}")))
}

fn only_row(rows: &[Row]) -> Result<&Row, StoreError> {
    match rows {
        [row] => Ok(row),
        _ => Err(broken(format!("the table taximeter.head has {} rows instead of one", rows.len()))),
    }
}

fn stored_record(row: &Row) -> Result<StoredRecord, StoreError> {
    Ok(StoredRecord {
        sequence: unsigned(column(row, 0)?)?,
        hash: hash(column(row, 1)?),
        key: column(row, 2)?,
        line: column(row, 3)?,
    })
}

fn account(row: &Row) -> Result<AccountRow, StoreError> {
    let number: i32 = column(row, 0)?;
    Ok(AccountRow {
        number: u32::try_from(number).map_err(|_| broken(format!("there is an account with number {number}")))?,
        name: column(row, 1)?,
        sequence: unsigned(column(row, 2)?)?,
        state: column(row, 3)?,
    })
}

/// A number and a hash, from a column on; nothing if there is no record.
fn position(row: &Row, from: usize) -> Result<Option<Position>, StoreError> {
    match (column::<Option<i64>>(row, from)?, column::<Option<&[u8]>>(row, from + 1)?) {
        (None, None) => Ok(None),
        (Some(sequence), Some(bytes)) => Ok(Some(Position { sequence: unsigned(sequence)?, hash: hash(bytes) })),
        _ => Err(broken("the table taximeter.head has half a row".to_string())),
    }
}

fn place(position: Option<Position>) -> String {
    position.map_or("missing".to_string(), |position| format!("record {}, hash {}", position.sequence, position.hash))
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|error| broken(format!("column {at} of a row in PostgreSQL: {error}")))
}

fn unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| broken(format!("there is a record with number {number}")))
}

fn hash(bytes: &[u8]) -> Hash {
    // A hash of another length is a damaged one: it equals no hash.
    Hash::from_bytes(bytes).unwrap_or(Hash::NONE)
}

fn broken(what: String) -> StoreError {
    StoreError::new(Failure::Broken, what)
}
