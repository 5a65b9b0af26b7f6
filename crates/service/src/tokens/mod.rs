//! Tokens: created, found, listed and revoked.
//!
//! A token's text is shown once. Its hash is stored in a file next to the ledger or in the ledger's own database, and cached in memory.
//! Changes by this process take effect at once. Changes by other processes, such as `taximeter token revoke` while a server runs, or
//! another server on the same database, take effect at the next [reload](Tokens::reload): a server reloads every second, so a token that
//! was revoked elsewhere is refused within about two seconds.

mod file;
mod grant;
mod postgres;
mod secret;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;
use taximeter_ledger::{LedgerId, Location};

use self::file::FileStore;
pub(crate) use self::grant::{check_principal, check_role, names};
use self::grant::{grant, whole_seconds};
use self::postgres::PostgresTokens;
use self::secret::{Secret, TokenId};
use crate::caller::{Action, Caller};
use crate::documents::warning;
use crate::{Code, CreatedToken, NewToken, Problem, TokenDocument, TokenList, WhoAmI};

/// Where tokens are stored: a file next to the ledger, or a table in its database.
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
                // Next to the file itself, also if the path is a link.
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
    storage: Mutex<Storage>,
    /// The tokens that have not ended, by the last read.
    valid: RwLock<HashMap<TokenId, ValidToken>>,
    /// A hash that belongs to no token; a secret with an unknown id is compared with it.
    unknown: blake3::Hash,
    clock: Clock,
}

/// The store, and its state when it was last read.
struct Storage {
    store: Box<dyn Store>,
    state: Option<StoreState>,
    /// The latest time that is stored, in microseconds.
    latest: i64,
}

/// A clock that never goes back, even if the system's does.
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

/// A token that has not ended.
struct ValidToken {
    hash: blake3::Hash,
    expires: Timestamp,
    token: Arc<TokenDocument>,
}

/// The most tokens that have not ended.
const MOST: usize = 10_000;

impl Tokens {
    /// Opens the tokens of a ledger, and creates their store if there is none. Blocks.
    pub fn open(place: &TokenPlace, ledger: LedgerId) -> Result<Tokens, Problem> {
        Tokens::open_by(place, ledger, Timestamp::now)
    }

    /// Like [`Tokens::open`], with a given clock. Blocks.
    pub fn open_by(
        place: &TokenPlace,
        ledger: LedgerId,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Tokens, Problem> {
        let store: Box<dyn Store> = match place {
            TokenPlace::File(path) => Box::new(FileStore::open(path, ledger)?),
            TokenPlace::Postgres(url) => Box::new(PostgresTokens::open(url, ledger)?),
        };
        let storage = Mutex::new(Storage { store, state: None, latest: i64::MIN });
        let clock = Clock { read: Box::new(clock), latest: AtomicI64::new(i64::MIN) };
        let tokens = Tokens { storage, valid: RwLock::default(), unknown: Secret::generate()?.hash(), clock };
        tokens.reload()?;
        Ok(tokens)
    }

    /// The token of a secret, if it is valid now.
    ///
    /// The id is public; the rest is compared by hash, in constant time. An unknown id is compared with a hash too.
    pub fn find(&self, secret: &str) -> Option<Arc<TokenDocument>> {
        let secret = Secret::parse(secret)?;
        let hash = secret.hash();
        let valid = self.valid();
        let known = valid.get(&secret.id());
        let is_equal = hash == known.map_or(self.unknown, |known| known.hash);
        let known = known.filter(|known| is_equal && self.now() < known.expires)?;
        Some(Arc::clone(&known.token))
    }

    /// Whether a token that was found before is still valid. One of an issuer is valid until it ends: it cannot be revoked here.
    pub fn is_valid(&self, token: &TokenDocument) -> bool {
        let expires = match &token.issuer {
            Some(_) => token.expires.parse().ok(),
            None => TokenId::parse(&token.id).and_then(|id| self.valid().get(&id).map(|known| known.expires)),
        };
        expires.is_some_and(|expires| self.now() < expires)
    }

    /// Creates a token. Only the returned value has its secret. Blocks.
    pub fn create(&self, new: &NewToken) -> Result<CreatedToken, Problem> {
        let (secret, now) = (Secret::generate()?, self.now());
        let token = grant(new, secret.id(), now)?;
        let stored = StoredToken { hash: secret.hash(), token };
        let known = stored.valid()?;
        let mut storage = self.storage();
        self.read_again(&mut storage)?;
        let count = self.valid_ids(now).len();
        if count >= MOST {
            return Err(Problem::bad_request(format!(
                "there are {count} valid tokens, and the limit is {MOST}; revoke unused ones"
            )));
        }
        storage.store.insert(&stored)?;
        if let Some(known) = known {
            self.valid_mut().insert(secret.id(), known);
        }
        Ok(CreatedToken { secret: secret.reveal(), token: stored.token, warnings: Vec::new() })
    }

    /// All tokens, including ended ones, oldest first. Blocks.
    pub fn list(&self) -> Result<Vec<TokenDocument>, Problem> {
        Ok(self.storage().store.all()?.into_iter().map(|stored| stored.token).collect())
    }

    /// Ends a token now. One that was revoked before stays as it was. Blocks.
    pub fn revoke(&self, id: &str) -> Result<TokenDocument, Problem> {
        // An invalid id is not repeated in the message: it may be the secret itself.
        let id = TokenId::parse(id).ok_or_else(|| no_token("this is not a token's id, which has 16 digits"))?;
        let revoked = self.storage().store.revoke(id, whole_seconds(self.now()))?;
        let revoked = revoked.ok_or_else(|| no_token(format!("token {id} not found")))?;
        self.valid_mut().remove(&id);
        Ok(revoked)
    }

    /// Ends all tokens that have not ended, at once, and returns how many they were. Blocks.
    pub fn revoke_all(&self) -> Result<usize, Problem> {
        let (valid, now) = (self.count_valid(), self.now());
        self.storage().store.revoke_all(whole_seconds(now))?;
        self.valid_mut().clear();
        Ok(valid)
    }

    /// How many tokens have not ended, by the last read.
    pub fn count_valid(&self) -> usize {
        self.valid_ids(self.now()).len()
    }

    fn valid_ids(&self, now: Timestamp) -> Vec<TokenId> {
        self.valid().iter().filter(|(_, known)| now < known.expires).map(|(id, _)| *id).collect()
    }

    /// Reads what others changed. Blocks.
    pub fn reload(&self) -> Result<(), Problem> {
        self.read_again(&mut self.storage())
    }

    fn read_again(&self, storage: &mut Storage) -> Result<(), Problem> {
        let (state, latest) = storage.store.state()?;
        if let Some(latest) = latest {
            self.clock.latest.fetch_max(latest, Ordering::Relaxed);
            storage.latest = latest;
        }
        if storage.state != Some(state) {
            let mut valid = HashMap::new();
            for stored in storage.store.all()? {
                if let Some(known) = stored.valid()? {
                    valid.insert(stored.id()?, known);
                }
            }
            *self.valid_mut() = valid;
            storage.state = Some(state);
        }
        self.end_expired(storage)
    }

    /// Drops expired tokens for good: the time is stored, so that setting the clock back revives none of them.
    fn end_expired(&self, storage: &mut Storage) -> Result<(), Problem> {
        let now = self.now();
        let expired = self.valid().values().map(|known| known.expires).filter(|expires| *expires <= now).max();
        let Some(expired) = expired else { return Ok(()) };
        if storage.latest < expired.as_microsecond() {
            storage.latest = now.as_microsecond();
            storage.store.remember(storage.latest)?;
        }
        self.valid_mut().retain(|_, known| now < known.expires);
        Ok(())
    }

    /// The time at which tokens expire is measured by this clock. It never goes back.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A panic while the lock is held does no harm: a store ends its transactions.
    fn storage(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn valid(&self) -> RwLockReadGuard<'_, HashMap<TokenId, ValidToken>> {
        self.valid.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn valid_mut(&self) -> RwLockWriteGuard<'_, HashMap<TokenId, ValidToken>> {
        self.valid.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// The holder of the token.
    pub fn who_am_i(&self) -> WhoAmI {
        WhoAmI { token: TokenDocument::clone(self.token()), ledger: self.ledger().id().to_string() }
    }

    /// All tokens, including ended ones, without their secrets.
    pub async fn list_tokens(&self) -> Result<TokenList, Problem> {
        self.require(Action::ChangeTokens)?;
        Ok(TokenList { tokens: self.blocking(|caller| caller.service.tokens.list()).await? })
    }

    /// Creates a token. Its secret is shown only once.
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

/// A token as it is stored: with a hash instead of its secret.
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

    /// The stored document; the time of its revocation is a column of its own.
    fn document(&self) -> Result<String, Problem> {
        serde_json::to_string(&self.token)
            .map_err(|error| Problem::new(Code::Storage, format!("the token cannot be written: {error}")))
    }

    fn id(&self) -> Result<TokenId, Problem> {
        TokenId::parse(&self.token.id)
            .ok_or_else(|| Problem::new(Code::Integrity, format!("a stored token has the id {:?}", self.token.id)))
    }

    /// The token, unless it was revoked.
    fn valid(&self) -> Result<Option<ValidToken>, Problem> {
        let expires: Timestamp = self.token.expires.parse().map_err(|error| {
            Problem::new(Code::Integrity, format!("the stored token {} has a bad expiry: {error}", self.token.id))
        })?;
        Ok(self.token.revoked.is_none().then(|| ValidToken {
            hash: self.hash,
            expires,
            token: Arc::new(self.token.clone()),
        }))
    }
}

/// The number of tokens, and of revoked ones. Tokens are never deleted nor revoked twice, so equal numbers mean equal tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StoreState {
    tokens: i64,
    revoked: i64,
}

/// A store of tokens. When a method returns, its changes are on disk.
trait Store: Send {
    /// The state, and the latest time that was stored, in microseconds.
    fn state(&mut self) -> Result<(StoreState, Option<i64>), Problem>;

    /// Stores a time, unless a later one is stored.
    fn remember(&mut self, latest: i64) -> Result<(), Problem>;

    /// All tokens, oldest first.
    fn all(&mut self) -> Result<Vec<StoredToken>, Problem>;

    /// Adds a token.
    fn insert(&mut self, token: &StoredToken) -> Result<(), Problem>;

    /// Revokes a token, unless it is revoked, and returns it; `None` if it is not found.
    fn revoke(&mut self, id: TokenId, now: Timestamp) -> Result<Option<TokenDocument>, Problem>;

    /// Revokes all tokens that are not revoked, or none of them.
    fn revoke_all(&mut self, now: Timestamp) -> Result<(), Problem>;
}

/// The error for a token that is not found.
fn no_token(detail: impl Into<String>) -> Problem {
    Problem { parameter: Some("token".to_string()), ..Problem::new(Code::NotFound, detail) }
}
