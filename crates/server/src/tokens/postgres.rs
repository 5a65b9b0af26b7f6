//! Tokens in the ledger's PostgreSQL database, so that several servers on it share them.

use std::error::Error as _;
use std::time::Duration;

use jiff::Timestamp;
use taximeter_api::{Code, Problem, TokenDocument};
use taximeter_ledger::{LedgerId, PostgresAddress};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls, Row};

use super::secret::TokenId;
use super::{Store, StoreState, StoredToken};

pub(super) struct PostgresStore {
    /// Its own, which runs only while somebody waits for an answer. Nothing once it is dropped.
    runtime: Option<Runtime>,
    address: PostgresAddress,
    ledger: String,
    /// Nothing after the connection was lost.
    session: Option<Session>,
}

/// How long an answer may take, making the connection included.
const ANSWER: Duration = Duration::from_secs(20);

/// No name means anything else because of the user's own settings, and nothing waits forever. A commit is on disk when it is
/// acknowledged: a token that was revoked must not come back after a crash.
const SETTINGS: &str = "
    SET search_path = pg_catalog, pg_temp;
    SET statement_timeout = '10s';
    SET lock_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');
";

/// Only one process makes the table. The number is "taxtoken".
///
/// The schema is the ledger's, and there before any token. A row says of which ledger it is, so that those of a ledger that was there
/// before let nobody in. Ids are compared byte by byte, whatever the language of the database.
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

impl PostgresStore {
    /// Opens the tokens of a ledger, and makes the table where there is none.
    pub(super) fn open(url: &str, ledger: LedgerId) -> Result<PostgresStore, Problem> {
        let address = PostgresAddress::parse(url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            Problem::new(Code::Storage, format!("the tokens in {address} cannot be used: no runtime: {error}"))
        })?;
        let mut store = PostgresStore { runtime: Some(runtime), address, ledger: ledger.to_string(), session: None };
        store.ask(Repeat::Safe, async |client, _| client.batch_execute(TABLE).await)?;
        Ok(store)
    }

    /// Asks the server. A connection is cut while nobody uses it, and that is found out only now; so what may be asked twice is
    /// tried again on a new one.
    fn ask<T>(
        &mut self,
        repeat: Repeat,
        question: impl AsyncFn(&Client, &str) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Problem> {
        let Some(runtime) = &self.runtime else {
            return Err(Problem::new(Code::Storage, "the tokens are closed"));
        };
        let was_idle = self.session.is_some();
        let (address, ledger, session) = (&self.address, &self.ledger, &mut self.session);
        let answer = runtime.block_on(async {
            let once = async |session: &mut Option<Session>| {
                let result = timeout(ANSWER, async {
                    let connected = match session.take() {
                        Some(connected) => connected,
                        None => Session::connect(address).await?,
                    };
                    let answer = question(&connected.client, ledger).await?;
                    *session = Some(connected);
                    Ok(answer)
                });
                result.await.unwrap_or_else(|_| Err(Trouble::Late))
            };
            match once(session).await {
                Err(Trouble::Lost(_)) if was_idle && repeat == Repeat::Safe => once(session).await,
                answer => answer,
            }
        });
        answer.map_err(|trouble| {
            let doubt = match repeat {
                Repeat::Safe => "",
                Repeat::Unsafe => "; whether it was made is not known: list the tokens",
            };
            Problem::new(Code::Storage, format!("the tokens in {}: {}{doubt}", self.address, trouble.words()))
        })
    }
}

/// Whether a question may be asked twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Safe,
    Unsafe,
}

impl Drop for PostgresStore {
    /// A runtime may not be waited for on a thread of another one, where the last handle may end.
    fn drop(&mut self) {
        self.session = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Store for PostgresStore {
    fn state(&mut self) -> Result<(StoreState, Option<i64>), Problem> {
        self.ask(Repeat::Safe, async |client, ledger| {
            let row = client.query_one(STATE, &[&ledger]).await?;
            Ok((StoreState { tokens: row.try_get(0)?, revoked: row.try_get(1)? }, row.try_get(2)?))
        })
    }

    fn remember(&mut self, latest: i64) -> Result<(), Problem> {
        self.ask(Repeat::Safe, async |client, ledger| client.execute(REMEMBER, &[&ledger, &latest]).await.map(|_| ()))
    }

    fn all(&mut self) -> Result<Vec<StoredToken>, Problem> {
        let rows = self.ask(Repeat::Safe, async |client, ledger| {
            client.query(ALL, &[&ledger]).await?.iter().map(columns).collect::<Result<Vec<_>, _>>()
        })?;
        rows.into_iter().map(|(hash, document, revoked)| StoredToken::parse(&hash, &document, revoked)).collect()
    }

    fn insert(&mut self, token: &StoredToken) -> Result<(), Problem> {
        let (hash, document) = (token.hash.as_bytes().as_slice(), token.document()?);
        self.ask(Repeat::Unsafe, async |client, ledger| {
            client.execute(INSERT, &[&ledger, &token.token.id, &hash, &document]).await.map(|_| ())
        })
    }

    fn revoke(&mut self, id: TokenId, now: Timestamp) -> Result<Option<TokenDocument>, Problem> {
        let (id, now) = (id.to_string(), now.to_string());
        let row = self.ask(Repeat::Safe, async |client, ledger| {
            client.query_opt(REVOKE, &[&ledger, &id, &now]).await?.as_ref().map(columns).transpose()
        })?;
        row.map(|(hash, document, revoked)| Ok(StoredToken::parse(&hash, &document, revoked)?.token)).transpose()
    }
}

/// The hash, the document, and when it was revoked.
type Columns = (Vec<u8>, String, Option<String>);

fn columns(row: &Row) -> Result<Columns, tokio_postgres::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

/// A connection.
struct Session {
    client: Client,
    connection: AbortHandle,
}

impl Session {
    async fn connect(address: &PostgresAddress) -> Result<Session, Trouble> {
        let (client, connection) = address.config().connect(NoTls).await?;
        let connection = tokio::spawn(async move {
            // How a connection ended is told to whoever waits for an answer.
            let _ = connection.await;
        });
        let session = Session { client, connection: connection.abort_handle() };
        session.client.batch_execute(SETTINGS).await?;
        Ok(session)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Why there is no answer.
enum Trouble {
    /// PostgreSQL refused.
    Refused(tokio_postgres::Error),
    /// The connection broke.
    Lost(tokio_postgres::Error),
    Late,
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Trouble {
        // 57P01 and the like: the server ends the connection, for instance because it shuts down.
        match error.code() {
            Some(code) if !code.code().starts_with("57P") && !code.code().starts_with("08") => Trouble::Refused(error),
            _ => Trouble::Lost(error),
        }
    }
}

impl Trouble {
    fn words(&self) -> String {
        match self {
            Trouble::Late => format!("PostgreSQL did not answer within {} s", ANSWER.as_secs()),
            Trouble::Refused(error) | Trouble::Lost(error) => match error.as_db_error() {
                Some(answer) => format!("PostgreSQL: {} [{}]", answer.message(), answer.code().code()),
                None => {
                    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                    format!("PostgreSQL: {error}{cause}")
                }
            },
        }
    }
}
