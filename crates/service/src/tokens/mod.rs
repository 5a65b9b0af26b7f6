//! Tokens: made, found, listed and revoked.
//!
//! A token's text is shown once. What is kept is a hash of it, in a file beside the ledger or in the ledger's own database, and in
//! memory. What this process changes counts at once. What others change, such as `taximeter token revoke` beside a server, or another
//! server on the same database, counts when it is [read again](Tokens::reload): a server does so every second, so that a token
//! which was revoked elsewhere is refused within about two seconds.

mod file;
mod grant;
mod postgres;
mod secret;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jiff::Timestamp;
use taximeter_ledger::{LedgerId, Location};

use self::file::FileStore;
use self::grant::{grant, whole_seconds};
use self::postgres::PostgresStore;
use self::secret::{Secret, TokenId};
use crate::caller::{Action, Caller};
use crate::documents::warning;
use crate::{Code, CreatedToken, NewToken, Problem, TokenDocument, TokenList, WhoAmI};

/// Where tokens are kept: a file beside the ledger, or a table in its database.
#[derive(Clone)]
pub enum TokenPlace {
    /// A file.
    File(PathBuf),
    /// The ledger's own database, as a URL.
    Postgres(String),
}

impl TokenPlace {
    /// Where the tokens of a ledger are.
    pub fn of(location: &Location) -> TokenPlace {
        match location {
            Location::File(path) => {
                // Beside the file itself, also when it is reached through a link.
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                let mut name = path.into_os_string();
                name.push(".tokens");
                TokenPlace::File(name.into())
            }
            Location::Postgres(url) => TokenPlace::Postgres(url.clone()),
        }
    }
}

impl fmt::Debug for TokenPlace {
    /// A URL is shown without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenPlace::File(path) => write!(f, "{}", path.display()),
            TokenPlace::Postgres(url) => write!(f, "{}", Location::Postgres(url.clone())),
        }
    }
}

/// The tokens of a ledger.
pub struct Tokens {
    kept: Mutex<Kept>,
    /// Those that have not ended, as far as this process knows.
    valid: RwLock<HashMap<TokenId, Valid>>,
    /// What an unknown id is compared with.
    nobody: blake3::Hash,
    clock: Clock,
}

/// The store, and how far it was read.
struct Kept {
    store: Box<dyn Store>,
    state: Option<StoreState>,
    /// The latest time that is stored, in microseconds.
    latest: i64,
}

/// A clock that does not go back when the system's does.
struct Clock {
    read: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// The latest time that was seen, in microseconds.
    latest: AtomicI64,
}

impl Clock {
    fn now(&self) -> Timestamp {
        let now = (self.read)();
        let latest = self.latest.fetch_max(now.as_microsecond(), Ordering::Relaxed).max(now.as_microsecond());
        Timestamp::from_microsecond(latest).unwrap_or(now)
    }
}

/// A token that somebody may use.
struct Valid {
    hash: blake3::Hash,
    expires: Timestamp,
    token: Arc<TokenDocument>,
}

/// The most tokens that have not ended.
const MOST: usize = 10_000;

impl Tokens {
    /// Opens the tokens of a ledger, and makes the place for them where there is none. Blocks.
    pub fn open(place: &TokenPlace, ledger: LedgerId) -> Result<Tokens, Problem> {
        Tokens::open_by(place, ledger, Timestamp::now)
    }

    /// The same, by another clock. Blocks.
    pub fn open_by(
        place: &TokenPlace,
        ledger: LedgerId,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Tokens, Problem> {
        let store: Box<dyn Store> = match place {
            TokenPlace::File(path) => Box::new(FileStore::open(path, ledger)?),
            TokenPlace::Postgres(url) => Box::new(PostgresStore::open(url, ledger)?),
        };
        let kept = Mutex::new(Kept { store, state: None, latest: i64::MIN });
        let clock = Clock { read: Box::new(clock), latest: AtomicI64::new(i64::MIN) };
        let tokens = Tokens { kept, valid: RwLock::default(), nobody: Secret::generate()?.hash(), clock };
        tokens.reload()?;
        Ok(tokens)
    }

    /// The token of a secret, if it is valid now.
    ///
    /// The id is public; only what is compared by hash is secret. That takes the same time wherever the first difference is, and an
    /// unknown id is compared with something too.
    pub fn find(&self, secret: &str) -> Option<Arc<TokenDocument>> {
        let secret = Secret::parse(secret)?;
        let hash = secret.hash();
        let valid = self.valid.read().unwrap_or_else(PoisonError::into_inner);
        let known = valid.get(&secret.id());
        let is_it = hash == known.map_or(self.nobody, |known| known.hash);
        let known = known.filter(|known| is_it && self.now() < known.expires)?;
        Some(Arc::clone(&known.token))
    }

    /// Whether a token that was found before is valid still, by its public id.
    pub fn is_valid(&self, id: &str) -> bool {
        let valid = self.valid.read().unwrap_or_else(PoisonError::into_inner);
        TokenId::parse(id).and_then(|id| valid.get(&id)).is_some_and(|known| self.now() < known.expires)
    }

    /// Makes a token; its secret is in what is returned, and nowhere else. Blocks.
    pub fn create(&self, new: &NewToken) -> Result<CreatedToken, Problem> {
        let (secret, now) = (Secret::generate()?, self.now());
        let token = grant(new, secret.id(), now)?;
        let stored = StoredToken { hash: secret.hash(), token };
        let known = stored.valid()?;
        let mut kept = self.kept();
        self.read_again(&mut kept)?;
        let mut valid = self.valid.write().unwrap_or_else(PoisonError::into_inner);
        valid.retain(|_, known| now < known.expires);
        let count = valid.len();
        drop(valid);
        if count >= MOST {
            return Err(Problem::bad_request(format!(
                "there are {count} tokens that have not ended, and no more are kept; revoke those that nobody uses"
            )));
        }
        kept.store.insert(&stored)?;
        if let Some(known) = known {
            self.valid.write().unwrap_or_else(PoisonError::into_inner).insert(secret.id(), known);
        }
        Ok(CreatedToken { secret: secret.reveal(), token: stored.token, warnings: Vec::new() })
    }

    /// All tokens, those that ended included, oldest first. Blocks.
    pub fn list(&self) -> Result<Vec<TokenDocument>, Problem> {
        Ok(self.kept().store.all()?.into_iter().map(|stored| stored.token).collect())
    }

    /// Ends a token now. One that was revoked before stays as it was. Blocks.
    pub fn revoke(&self, id: &str) -> Result<TokenDocument, Problem> {
        // What is not an id is not repeated: it may be the token itself.
        let id = TokenId::parse(id).ok_or_else(|| no_token("a token's id has 16 digits; this is none"))?;
        let revoked = self.kept().store.revoke(id, whole_seconds(self.now()))?;
        let revoked = revoked.ok_or_else(|| no_token(format!("token {id} not found")))?;
        self.valid.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        Ok(revoked)
    }

    /// Takes over what others changed. Blocks.
    pub fn reload(&self) -> Result<(), Problem> {
        self.read_again(&mut self.kept())
    }

    fn read_again(&self, kept: &mut Kept) -> Result<(), Problem> {
        let (state, latest) = kept.store.state()?;
        if let Some(latest) = latest {
            self.clock.latest.fetch_max(latest, Ordering::Relaxed);
            kept.latest = latest;
        }
        if kept.state != Some(state) {
            let mut valid = HashMap::new();
            for stored in kept.store.all()? {
                if let Some(known) = stored.valid()? {
                    valid.insert(stored.id()?, known);
                }
            }
            *self.valid.write().unwrap_or_else(PoisonError::into_inner) = valid;
            kept.state = Some(state);
        }
        self.end_expired(kept)
    }

    /// Forgets the tokens whose time is over, for good: the time is stored, so that a clock that is set back revives none of them.
    fn end_expired(&self, kept: &mut Kept) -> Result<(), Problem> {
        let now = self.now();
        let valid = self.valid.read().unwrap_or_else(PoisonError::into_inner);
        let last_end = valid.values().map(|known| known.expires).filter(|expires| *expires <= now).max();
        drop(valid);
        let Some(last_end) = last_end else { return Ok(()) };
        if kept.latest < last_end.as_microsecond() {
            kept.latest = now.as_microsecond();
            kept.store.remember(kept.latest)?;
        }
        self.valid.write().unwrap_or_else(PoisonError::into_inner).retain(|_, known| now < known.expires);
        Ok(())
    }

    /// The time by which tokens end. It does not go back.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What somebody who panicked left behind is as good as before: a store ends its transactions.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// The holder of the token.
    pub fn who_am_i(&self) -> WhoAmI {
        WhoAmI { token: TokenDocument::clone(self.token()), ledger: self.ledger().id().to_string() }
    }

    /// All tokens, those that ended included. Their secrets are not known.
    pub async fn list_tokens(&self) -> Result<TokenList, Problem> {
        self.require(Action::ChangeTokens)?;
        Ok(TokenList { tokens: self.blocking(|caller| caller.service.tokens.list()).await? })
    }

    /// Makes a token. Its secret is shown this once.
    pub async fn create_token(&self, new: NewToken) -> Result<CreatedToken, Problem> {
        self.require(Action::ChangeTokens)?;
        let created = move |caller: &Caller| {
            let warnings = warning::about_token(&new, |name| caller.ledger().account(name).is_ok());
            Ok(CreatedToken { warnings, ..caller.service.tokens.create(&new)? })
        };
        self.blocking(created).await
    }

    /// Ends a token now.
    pub async fn revoke_token(&self, id: String) -> Result<TokenDocument, Problem> {
        self.require(Action::ChangeTokens)?;
        self.blocking(move |caller| caller.service.tokens.revoke(&id)).await
    }
}

/// A token as it is stored: a hash in the place of its secret.
struct StoredToken {
    hash: blake3::Hash,
    token: TokenDocument,
}

impl StoredToken {
    /// Reads what is stored.
    fn parse(hash: &[u8], document: &str, revoked: Option<String>) -> Result<StoredToken, Problem> {
        let damaged = |why: String| Problem::new(Code::Integrity, format!("a stored token cannot be read: {why}"));
        let hash = blake3::Hash::from_slice(hash).map_err(|error| damaged(error.to_string()))?;
        let token: TokenDocument = serde_json::from_str(document).map_err(|error| damaged(error.to_string()))?;
        Ok(StoredToken { hash, token: TokenDocument { revoked, ..token } })
    }

    /// The document that is stored; when it was revoked stands beside it.
    fn document(&self) -> Result<String, Problem> {
        serde_json::to_string(&self.token)
            .map_err(|error| Problem::new(Code::Storage, format!("the token cannot be written: {error}")))
    }

    fn id(&self) -> Result<TokenId, Problem> {
        TokenId::parse(&self.token.id)
            .ok_or_else(|| Problem::new(Code::Integrity, format!("a stored token has the id {:?}", self.token.id)))
    }

    /// The token as it may be used until it expires, unless it was revoked.
    fn valid(&self) -> Result<Option<Valid>, Problem> {
        let expires: Timestamp = self.token.expires.parse().map_err(|error| {
            Problem::new(Code::Integrity, format!("the stored token {} ends at no time: {error}", self.token.id))
        })?;
        Ok(self.token.revoked.is_none().then(|| Valid {
            hash: self.hash,
            expires,
            token: Arc::new(self.token.clone()),
        }))
    }
}

/// How many tokens there are, and how many of them are revoked. Nothing is ever deleted and nothing is revoked twice, so the same
/// numbers mean the same tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StoreState {
    tokens: i64,
    revoked: i64,
}

/// A place to keep tokens. What it returns is on disk.
trait Store: Send {
    /// Whether anything changed, and the latest time that was remembered, in microseconds.
    fn state(&mut self) -> Result<(StoreState, Option<i64>), Problem>;

    /// Remembers a time, unless a later one is remembered.
    fn remember(&mut self, latest: i64) -> Result<(), Problem>;

    /// All tokens, oldest first.
    fn all(&mut self) -> Result<Vec<StoredToken>, Problem>;

    /// Adds a token.
    fn insert(&mut self, token: &StoredToken) -> Result<(), Problem>;

    /// Revokes a token, unless it is revoked, and returns it; nothing if there is no such token.
    fn revoke(&mut self, id: TokenId, now: Timestamp) -> Result<Option<TokenDocument>, Problem>;
}

/// A token that does not exist.
fn no_token(detail: impl Into<String>) -> Problem {
    Problem { parameter: Some("token".to_string()), ..Problem::new(Code::NotFound, detail) }
}
