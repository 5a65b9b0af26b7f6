//! The statements, and what the answers to those that begin and end a transaction must be.

use std::sync::LazyLock;

use futures_util::future::join;
use taximeter_postgres::{DURABLE_COLUMNS, check_durable};
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use super::read::{column, only_row, position};
use crate::journal::Position;
use crate::store::{StoreError, StoreFailure};

/// Each statement must see what was committed while the first one waited for the lock, so every one looks at the ledger as it is
/// when that statement starts: READ COMMITTED. Stricter levels would fix the view before the lock is there, and fail.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

pub(super) const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(super) const LOCK_HEAD: &str = "SELECT sequence, hash, alarm FROM taximeter.head FOR UPDATE";

pub(super) const ALARM: &str = "SELECT alarm FROM taximeter.head";

pub(super) const SET_ALARM: &str = "UPDATE taximeter.head SET alarm = $1 RETURNING sequence";

pub(super) const NEWEST: &str = "
    SELECT newest.sequence, newest.hash, newest.key, newest.line, head.sequence, head.hash
    FROM taximeter.head
    LEFT JOIN LATERAL (SELECT * FROM taximeter.journal ORDER BY sequence DESC LIMIT 1) AS newest ON true";

pub(super) const FROM_ON: &str =
    "SELECT sequence, hash, key, line FROM taximeter.journal WHERE sequence >= $1 ORDER BY sequence LIMIT $2";

pub(super) const POSITIONS: &str =
    "SELECT sequence, hash FROM taximeter.journal WHERE sequence >= $1 ORDER BY sequence LIMIT $2";

pub(super) const BY_KEY: &str = "SELECT sequence, hash, key, line FROM taximeter.journal WHERE key = ANY($1)";

pub(super) const ACCOUNTS: &str = "SELECT number, name, sequence, state FROM taximeter.accounts ORDER BY number";

pub(super) const CHANGED_ACCOUNTS: &str =
    "SELECT number, name, sequence, state FROM taximeter.accounts WHERE sequence > $1 ORDER BY number";

/// Whether a key is still taken only once, and whether there is a record outside of the journal's numbers.
pub(super) const CHECKS: &str = "
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
pub(super) static COMMIT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT set_config('statement_timeout', '0', true), pg_current_xact_id_if_assigned() IS NOT NULL, {}; COMMIT",
        *DURABLE_COLUMNS
    )
});

/// Starts a transaction that has the ledger to itself.
pub(super) async fn lock(client: &Client, lock_head: &Statement) -> Result<Option<Position>, StoreError> {
    let (begun, locked) = join(client.batch_execute(BEGIN), client.query(lock_head, &[])).await;
    begun?;
    let rows = locked?;
    let head = only_row(&rows)?;
    match column::<Option<String>>(head, 2)? {
        Some(why) => Err(StoreError::new(StoreFailure::Alarm, why)),
        None => position(head, 0),
    }
}

/// Whether the answer to [`COMMIT`] says that the transaction is on disk.
pub(super) fn committed(answer: &[SimpleQueryMessage]) -> Result<(), StoreError> {
    let fatal = |why: String| StoreError::new(StoreFailure::Fatal, why);
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
