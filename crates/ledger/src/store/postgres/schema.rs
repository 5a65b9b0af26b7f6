//! The tables, in a schema of their own.

use tokio_postgres::Client;

use crate::error::ErrorKind;
use crate::journal::FORMAT;
use crate::store::{StoreError, StoreFailure};

/// The version of the tables.
const VERSION: i32 = FORMAT as i32;

/// Keys and names are compared byte by byte: an index in the order of a language is silently wrong when the system's idea of that
/// language is updated, and a key could then be used twice.
///
/// The one row of `head` is there before the first record, so that there is something to lock.
const TABLES: &str = r#"
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'taximeter') THEN
            CREATE SCHEMA taximeter;
        END IF;
    END $$;
    CREATE TABLE taximeter.meta (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        version  integer NOT NULL
    );
    CREATE TABLE taximeter.head (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        sequence bigint,
        hash     bytea,
        alarm    text
    );
    CREATE TABLE taximeter.journal (
        sequence bigint PRIMARY KEY,
        hash     bytea NOT NULL,
        key      text COLLATE "C" CONSTRAINT journal_key UNIQUE,
        line     text NOT NULL
    );
    CREATE TABLE taximeter.accounts (
        number   integer PRIMARY KEY,
        name     text COLLATE "C" NOT NULL UNIQUE,
        sequence bigint NOT NULL,
        state    bytea NOT NULL
    );
    CREATE INDEX accounts_sequence ON taximeter.accounts (sequence);
    INSERT INTO taximeter.head (sequence, hash) VALUES (NULL, NULL);
"#;

/// The constraint that a key is used once.
pub(super) const UNIQUE_KEY: &str = "journal_key";

/// Only one process makes the tables. The number is "taximete".
const LOCK: &str = "BEGIN; SELECT pg_advisory_xact_lock(8386116375342838885)";

/// From the catalogue itself: `to_regclass` answers from a cache that may not know what was made while this process waited.
const EXISTS: &str = "
    SELECT EXISTS (
        SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = 'taximeter' AND relname = 'meta'
    )";

/// What is in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    Missing,
    /// Tables without a record.
    Empty,
    Ledger,
}

/// Looks for a ledger.
pub(super) async fn find(client: &Client) -> Result<Tables, StoreError> {
    if !client.query_typed_one(EXISTS, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(Tables::Missing);
    }
    let state = "SELECT version, EXISTS (SELECT FROM taximeter.head WHERE sequence IS NOT NULL) FROM taximeter.meta";
    let row = client.query_typed_one(state, &[]).await?;
    match (row.try_get(0)?, row.try_get(1)?) {
        (VERSION, true) => Ok(Tables::Ledger),
        (VERSION, false) => Ok(Tables::Empty),
        (other, _) => Err(StoreError::new(
            StoreFailure::OtherFormat(other),
            ErrorKind::OtherFormat { found: other.into() }.to_string(),
        )),
    }
}

/// Makes the tables, unless another process does so at the same time.
pub(super) async fn create(client: &Client) -> Result<(), StoreError> {
    client.batch_execute(LOCK).await?;
    if find(client).await? == Tables::Missing {
        client.batch_execute(TABLES).await?;
        client.batch_execute(&format!("INSERT INTO taximeter.meta (version) VALUES ({VERSION})")).await?;
    }
    Ok(client.batch_execute("COMMIT").await?)
}
