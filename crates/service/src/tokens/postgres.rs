//! Tokens in the ledger's PostgreSQL database, so that several servers on it share them.

use std::time::Duration;

use jiff::Timestamp;
use taximeter_ledger::LedgerId;
use taximeter_postgres::{Connection, PostgresAddress, SessionError, SessionSetup};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::secret::TokenId;
use super::{Store, StoreState, StoredToken};
use crate::{Code, Problem, TokenDocument};

pub(super) struct PostgresTokens {
    connection: Connection,
    ledger: String,
}

/// How long an answer may take, including connecting.
const ANSWER: Duration = Duration::from_secs(20);

const SETUP: SessionSetup = SessionSetup { settings: &[SETTINGS], is_durable: false };

/// Statements have time limits. Commits are on disk when they are acknowledged: a revoked token must not come back after a crash.
const SETTINGS: &str = "
    SET statement_timeout = '10s';
    SET lock_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');
";

/// Only one process creates the table, under a lock whose number spells "taxtoken".
///
/// The schema belongs to the ledger and exists before any token. Each row names its ledger, so that the tokens of an earlier ledger in
/// the same database are not valid. Ids are compared byte by byte, whatever the collation of the database.
const TABLE: &str = r#"
    BEGIN;
    SELECT pg_advisory_xact_lock(8386116422621422958);
    CREATE TABLE IF NOT EXISTS taximeter.tokens (
        number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        ledger   text COLLATE "C" NOT NULL,
        id       text COLLATE "C" NOT NULL,
        hash     bytea NOT NULL,
        document text NOT NULL,
        revoked  text,
        UNIQUE (ledger, id)
    );
    CREATE TABLE IF NOT EXISTS taximeter.token_clock (ledger text COLLATE "C" PRIMARY KEY, latest bigint NOT NULL);
    COMMIT;
"#;

const STATE: &str = "
    SELECT count(*), count(revoked), (SELECT latest FROM taximeter.token_clock WHERE ledger = $1)
    FROM taximeter.tokens WHERE ledger = $1";

const REMEMBER: &str = "
    INSERT INTO taximeter.token_clock VALUES ($1, $2)
    ON CONFLICT (ledger) DO UPDATE SET latest = greatest(token_clock.latest, excluded.latest)";

const ALL: &str = "SELECT hash, document, revoked FROM taximeter.tokens WHERE ledger = $1 ORDER BY number";

const INSERT: &str = "INSERT INTO taximeter.tokens (ledger, id, hash, document) VALUES ($1, $2, $3, $4)";

/// Revokes it, or leaves it as it is if it was revoked.
const REVOKE: &str = "
    UPDATE taximeter.tokens SET revoked = coalesce(revoked, $3) WHERE ledger = $1 AND id = $2
    RETURNING hash, document, revoked";

const REVOKE_ALL: &str = "UPDATE taximeter.tokens SET revoked = $2 WHERE ledger = $1 AND revoked IS NULL";

impl PostgresTokens {
    /// Opens the tokens of a ledger, and creates the table if there is none.
    pub(super) fn open(url: &str, ledger: LedgerId) -> Result<PostgresTokens, Problem> {
        let address = PostgresAddress::parse(url).map_err(taximeter_ledger::Error::from)?;
        let place = address.to_string();
        let connection = Connection::new(address, SETUP).map_err(|error| problem(&place, &error, ""))?;
        let mut store = PostgresTokens { connection, ledger: ledger.to_string() };
        store.ask(async |client, _| client.batch_execute(TABLE).await)?;
        Ok(store)
    }

    /// Runs an idempotent statement, and retries it once if an idle connection turns out to be broken.
    fn ask<T>(
        &mut self,
        question: impl AsyncFn(&Client, &str) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Problem> {
        let ledger = &self.ledger;
        let answer = self.connection.ask(ANSWER, async |client| Ok(question(client, ledger).await?));
        answer.map_err(|error| problem(self.connection.address(), &error, ""))
    }
}

fn problem(place: &impl std::fmt::Display, error: &SessionError, doubt: &str) -> Problem {
    Problem::new(Code::Storage, format!("the tokens in {place}: {error}{doubt}"))
}

impl Store for PostgresTokens {
    fn state(&mut self) -> Result<(StoreState, Option<i64>), Problem> {
        self.ask(async |client, ledger| {
            let row = client.query_one(STATE, &[&ledger]).await?;
            Ok((StoreState { tokens: row.try_get(0)?, revoked: row.try_get(1)? }, row.try_get(2)?))
        })
    }

    fn remember(&mut self, latest: i64) -> Result<(), Problem> {
        self.ask(async |client, ledger| client.execute(REMEMBER, &[&ledger, &latest]).await.map(|_| ()))
    }

    fn all(&mut self) -> Result<Vec<StoredToken>, Problem> {
        let rows = self.ask(async |client, ledger| {
            client.query(ALL, &[&ledger]).await?.iter().map(columns).collect::<Result<Vec<_>, _>>()
        })?;
        rows.into_iter().map(|(hash, document, revoked)| StoredToken::parse(&hash, &document, revoked)).collect()
    }

    fn insert(&mut self, token: &StoredToken) -> Result<(), Problem> {
        let (hash, document) = (token.hash.as_bytes().as_slice(), token.document()?);
        let parameters: [&(dyn ToSql + Sync); 4] = [&self.ledger, &token.token.id, &hash, &document];
        let inserted = self.connection.once(ANSWER, async |client| Ok(client.execute(INSERT, &parameters).await?));
        let doubt = "; the token may have been created: list the tokens to find out";
        inserted.map(|_| ()).map_err(|error| problem(self.connection.address(), &error, doubt))
    }

    fn revoke(&mut self, id: TokenId, now: Timestamp) -> Result<Option<TokenDocument>, Problem> {
        let (id, now) = (id.to_string(), now.to_string());
        let row = self.ask(async |client, ledger| {
            client.query_opt(REVOKE, &[&ledger, &id, &now]).await?.as_ref().map(columns).transpose()
        })?;
        row.map(|(hash, document, revoked)| Ok(StoredToken::parse(&hash, &document, revoked)?.token)).transpose()
    }

    fn revoke_all(&mut self, now: Timestamp) -> Result<(), Problem> {
        let now = now.to_string();
        self.ask(async |client, ledger| client.execute(REVOKE_ALL, &[&ledger, &now]).await.map(|_| ()))
    }
}

/// The hash, the document, and the time of revocation.
type Columns = (Vec<u8>, String, Option<String>);

fn columns(row: &Row) -> Result<Columns, tokio_postgres::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}
