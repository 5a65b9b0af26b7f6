//! Identities that an OpenID Connect issuer vouches for, in addition to this server's tokens.
//!
//! A token of the issuer is a JWT. It is read ([`jwt`]), verified with a key that the issuer publishes ([`keys`], fetched by [`http`]),
//! and its claims are turned into a role, accounts and datasets ([`rules`]). The result is the same document as that of a token, and
//! [`Caller`](crate::Caller) decides by it alone. A browser signs in by the authorization code flow ([`sign_in`]).

#[cfg(feature = "fuzzing")]
mod fuzzing;
mod http;
mod jwt;
mod keys;
mod rules;
mod sign_in;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

#[cfg(feature = "fuzzing")]
pub use self::fuzzing::admit;
use self::http::{IssuerClient, IssuerDocument, IssuerUrl};
use self::jwt::{ExpectedClaims, SignedToken, TokenFault};
use self::keys::{KeyCache, KeyLookup, KeyTimes};
use self::rules::ClaimRules;
pub use self::sign_in::{ClientSecret, SignInRequest, SignInSettings};
use crate::log::{Log, LogEvent};
use crate::{Code, Problem, TokenDocument};

/// How often the keys are refreshed, so that a key that the issuer withdrew is not used for long.
const REFRESH: Duration = Duration::from_secs(300);

/// How long keys are used if the issuer does not answer, and how often it is asked at most.
const TIMES: KeyTimes = KeyTimes { lifetime: Duration::from_secs(3600), pause: Duration::from_secs(10) };

/// An issuer whose tokens a server accepts.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The issuer's URL, exactly as its tokens write it.
    pub issuer: String,
    /// The audience that tokens for this server have.
    pub audience: String,
    /// The file that says which claims grant what.
    pub claims: PathBuf,
    /// The certificates of the authorities that vouch for the issuer, in PEM; `None` for the public ones.
    pub authorities: Option<PathBuf>,
    /// How people sign in to the dashboard; `None` if they do not.
    pub sign_in: Option<SignInSettings>,
}

/// An issuer, with its cached keys.
pub struct Issuer {
    url: IssuerUrl,
    audience: String,
    rules: ClaimRules,
    sign_in: Option<SignInSettings>,
    client: IssuerClient,
    cache: Mutex<KeyCache<Arc<IssuerDocument>>>,
    /// Held while the issuer is asked, so that many tokens cause one request.
    asking: tokio::sync::Mutex<()>,
    /// Whether the issuer answered last time, for the log.
    is_lost: Mutex<bool>,
    log: Log,
}

impl Issuer {
    /// Reads the claims file. The issuer is asked later, so that a server starts without it. Blocks.
    pub(crate) fn new(settings: &OidcSettings, log: Log) -> Result<Arc<Issuer>, Problem> {
        Issuer::with_times(settings, log, TIMES)
    }

    fn with_times(settings: &OidcSettings, log: Log, times: KeyTimes) -> Result<Arc<Issuer>, Problem> {
        let url = IssuerUrl::parse("the issuer", &settings.issuer)?;
        if settings.audience.is_empty() {
            return Err(Problem::bad_request(
                "the audience of the issuer's tokens is empty; name the one for this server",
            ));
        }
        Ok(Arc::new(Issuer {
            client: IssuerClient::new(&url, settings.authorities.as_deref())?,
            audience: settings.audience.clone(),
            rules: ClaimRules::read(&settings.claims)?,
            sign_in: settings.sign_in.clone().map(SignInSettings::check).transpose()?,
            cache: Mutex::new(KeyCache::new(times)),
            asking: tokio::sync::Mutex::default(),
            is_lost: Mutex::new(false),
            log,
            url,
        }))
    }

    /// The issuer's name, for people.
    pub fn name(&self) -> &str {
        self.rules.name()
    }

    /// Its URL, as its tokens write it.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Whether a text may be a token of an issuer: three parts separated by points.
    pub fn may_be_token(text: &str) -> bool {
        text.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// What a token of the issuer grants, if it is valid.
    pub async fn identify(self: &Arc<Issuer>, text: &str, now: Timestamp) -> Result<Arc<TokenDocument>, Problem> {
        let expected = ExpectedClaims { issuer: self.url.as_str(), audience: &self.audience, nonce: None };
        self.verify(text, &expected, now).await
    }

    async fn verify(
        self: &Arc<Issuer>,
        text: &str,
        expected: &ExpectedClaims<'_>,
        now: Timestamp,
    ) -> Result<Arc<TokenDocument>, Problem> {
        let token = SignedToken::parse(text)?;
        // Tokens of other issuers cause no request for keys.
        if !token.names_issuer(expected.issuer) {
            return Err(TokenFault::Issuer.into());
        }
        let key = token.key();
        let lookup = || self.cache().find(Instant::now(), |document| document.keys.find(key));
        let mut found = lookup();
        if !matches!(found, KeyLookup::Known(_)) {
            self.refresh().await;
            found = lookup();
        }
        let key = match found {
            KeyLookup::Known(key) => key,
            KeyLookup::Unknown => return Err(TokenFault::UnknownKey.into()),
            KeyLookup::Unavailable => return Err(self.unavailable()),
        };
        let claims = token.verify(&key)?;
        let validity = claims.check(expected, now)?;
        Ok(Arc::new(self.rules.grant(&claims, validity, self.url.as_str())?))
    }

    /// What the issuer publishes, read now if it is not known.
    async fn document(self: &Arc<Issuer>) -> Result<Arc<IssuerDocument>, Problem> {
        let current = || self.cache().current(Instant::now()).cloned();
        if let Some(document) = current() {
            return Ok(document);
        }
        self.refresh().await;
        current().ok_or_else(|| self.unavailable())
    }

    /// Reads the issuer's addresses and keys, unless that was tried a moment ago. Keeps the answer even if the caller hangs up.
    async fn refresh(self: &Arc<Issuer>) {
        let issuer = Arc::clone(self);
        let reading = tokio::spawn(async move {
            let _one = issuer.asking.lock().await;
            if !issuer.cache().ask(Instant::now()) {
                return;
            }
            let (client, url) = (issuer.client.clone(), issuer.url.clone());
            let result = tokio::task::spawn_blocking(move || client.read(&url)).await;
            let result = result.unwrap_or(Err(crate::log::IssuerTrouble::Defect));
            issuer.tell(result.as_ref().err().copied());
            if let Ok(document) = result {
                issuer.cache().keep(Arc::new(document), Instant::now());
            }
        });
        // A defect leaves the keys as they were; the panic itself is logged.
        let _ = reading.await;
    }

    /// Refreshes the keys at intervals. Never ends.
    pub async fn keep_fresh(self: Arc<Issuer>) {
        loop {
            self.refresh().await;
            tokio::time::sleep(REFRESH).await;
        }
    }

    /// The log says once that the issuer is lost, and once that it is back.
    fn tell(&self, trouble: Option<crate::log::IssuerTrouble>) {
        let mut is_lost = self.is_lost.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.is_some() != *is_lost {
            *is_lost = trouble.is_some();
            self.log.write(trouble.map_or(LogEvent::IssuerBack, |why| LogEvent::IssuerLost { why }));
        }
    }

    fn unavailable(&self) -> Problem {
        let name = self.name();
        let detail = format!(
            "{name} cannot be reached right now, so that this cannot be checked; nothing was charged, try again in a moment"
        );
        Problem::new(Code::Busy, detail)
    }

    fn cache(&self) -> MutexGuard<'_, KeyCache<Arc<IssuerDocument>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
