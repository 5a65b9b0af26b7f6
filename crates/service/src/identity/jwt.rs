//! JSON Web Tokens of an issuer: read, verified with one of its keys, and checked.
//!
//! A [`SignedToken`] is only text in the right form; nothing in it is known to be true. Its signature makes it [`Claims`], and their
//! check says from when to when they hold. The algorithms are a closed list of signatures with public keys: neither `none` nor a
//! shared secret can be expressed, and a key only verifies what is made for its kind.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::keys::IssuerKey;
use crate::{Code, Problem};

/// The most bytes of a token. Longer ones are not parsed.
pub(super) const LONGEST: usize = 16 * 1024;

/// The most bytes of the id of a key.
const LONGEST_KID: usize = 256;

/// How far the clocks of the issuer and of this server may differ.
pub(super) const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// A signature with a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Algorithm {
    RS256,
    PS256,
    ES256,
    EdDSA,
}

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenFault {
    TooLong,
    NotAToken,
    Algorithm,
    Kind,
    Critical,
    NoKey,
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    NoExpiry,
    Expired,
    NotYet,
    Issued,
    Nonce,
}

impl TokenFault {
    fn text(self) -> &'static str {
        match self {
            TokenFault::TooLong => "it is longer than 16 KiB",
            TokenFault::NotAToken => "it is neither a token of this server nor a signed JWT",
            TokenFault::Algorithm => "it is not signed with RS256, PS256, ES256 or EdDSA",
            TokenFault::Kind => "it is a JWT, but neither an access token nor an id token",
            TokenFault::Critical => "it has a critical header that is not supported",
            TokenFault::NoKey => "it does not name the key that signed it",
            TokenFault::UnknownKey => "the issuer does not publish the key that it names",
            TokenFault::Signature => "its signature is invalid",
            TokenFault::Issuer => "its issuer is not the one that this server accepts",
            TokenFault::Audience => "its audience is not this server",
            TokenFault::NoExpiry => "it has no expiry",
            TokenFault::Expired => "it has expired",
            TokenFault::NotYet => "it is not valid yet",
            TokenFault::Issued => "its time of issue is missing or in the future",
            TokenFault::Nonce => "it does not belong to this sign-in",
        }
    }
}

impl From<TokenFault> for Problem {
    fn from(fault: TokenFault) -> Problem {
        let detail = format!("the token cannot be used: {}; get a new one from the issuer", fault.text());
        Problem::new(Code::Unauthorized, detail)
    }
}

/// A token in the right form, with a signature that is not verified yet.
pub(super) struct SignedToken<'a> {
    /// The part that is signed.
    message: &'a str,
    signature: Vec<u8>,
    algorithm: Algorithm,
    kid: String,
    claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'a> SignedToken<'a> {
    /// Reads a token.
    pub(super) fn parse(text: &'a str) -> Result<SignedToken<'a>, TokenFault> {
        if text.len() > LONGEST {
            return Err(TokenFault::TooLong);
        }
        let (message, signature) = text.rsplit_once('.').ok_or(TokenFault::NotAToken)?;
        let (header, claims) = message.split_once('.').ok_or(TokenFault::NotAToken)?;
        let [header, claims, signature] = [header, claims, signature].map(|part| BASE64_URL_SAFE_NO_PAD.decode(part));
        let (Ok(header), Ok(claims), Ok(signature)) = (header, claims, signature) else {
            return Err(TokenFault::NotAToken);
        };
        let header: TokenHeader = serde_json::from_slice(&header).map_err(|_| TokenFault::NotAToken)?;
        let claims = serde_json::from_slice(&claims).map_err(|_| TokenFault::NotAToken)?;
        let algorithm = Algorithm::deserialize(Value::from(header.alg)).map_err(|_| TokenFault::Algorithm)?;
        if !header.typ.as_deref().is_none_or(is_accepted_kind) {
            return Err(TokenFault::Kind);
        }
        if header.crit.is_some() {
            return Err(TokenFault::Critical);
        }
        let kid = header.kid.filter(|kid| kid.len() <= LONGEST_KID).ok_or(TokenFault::NoKey)?;
        Ok(SignedToken { message, signature, algorithm, kid, claims })
    }

    /// The key that signed it, as the token says, and how.
    pub(super) fn key(&self) -> (&str, Algorithm) {
        (&self.kid, self.algorithm)
    }

    /// Whether it claims to come from an issuer. The signature is not verified yet, so this may only be used to reject it early.
    pub(super) fn names_issuer(&self, issuer: &str) -> bool {
        self.claims.get("iss").is_some_and(|name| name == issuer)
    }

    /// Its claims, if the key verifies its signature.
    pub(super) fn verify(self, key: &IssuerKey) -> Result<Claims, TokenFault> {
        match key.verifies(self.algorithm, self.message.as_bytes(), &self.signature) {
            true => Ok(Claims(self.claims)),
            false => Err(TokenFault::Signature),
        }
    }
}

/// Tokens of other kinds, such as those that end sessions, can have the same issuer and the same audience.
fn is_accepted_kind(kind: &str) -> bool {
    ["jwt", "at+jwt", "application/at+jwt"].iter().any(|accepted| kind.eq_ignore_ascii_case(accepted))
}

/// What a verified token says.
#[derive(Debug)]
pub(super) struct Claims(Map<String, Value>);

/// What the claims must say.
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    /// The nonce of a sign-in, which an id token repeats.
    pub(super) nonce: Option<&'a str>,
}

/// The time range in which claims are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) issued: Timestamp,
    pub(super) expires: Timestamp,
}

impl Claims {
    /// Checks them, and returns when they were issued and when they expire.
    pub(super) fn check(&self, expected: &ExpectedClaims<'_>, now: Timestamp) -> Result<Validity, TokenFault> {
        if self.text("iss") != Some(expected.issuer) {
            return Err(TokenFault::Issuer);
        }
        if !self.is_for(expected.audience) {
            return Err(TokenFault::Audience);
        }
        let expires = self.time("exp").ok_or(TokenFault::NoExpiry)?;
        if now >= expires.saturating_add(LEEWAY).unwrap_or(expires) {
            return Err(TokenFault::Expired);
        }
        let latest = now.saturating_add(LEEWAY).unwrap_or(now);
        if self.0.contains_key("nbf") && self.time("nbf").is_none_or(|begins| begins > latest) {
            return Err(TokenFault::NotYet);
        }
        let issued = self.time("iat").filter(|issued| *issued <= latest).ok_or(TokenFault::Issued)?;
        if let Some(nonce) = expected.nonce {
            self.check_sign_in(nonce, expected.audience)?;
        }
        Ok(Validity { issued, expires })
    }

    /// The checks of an id token alone: the nonce of the sign-in, and the client that it was made for, if it has several audiences.
    fn check_sign_in(&self, nonce: &str, client: &str) -> Result<(), TokenFault> {
        if self.text("nonce") != Some(nonce) {
            return Err(TokenFault::Nonce);
        }
        let is_for_several = self.0.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
        match self.0.get("azp") {
            Some(party) if party != client => Err(TokenFault::Audience),
            None if is_for_several => Err(TokenFault::Audience),
            _ => Ok(()),
        }
    }

    fn is_for(&self, audience: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(all)) => all.iter().any(|one| one == audience),
            _ => false,
        }
    }

    /// A claim whose value is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Whether a claim, by its path, equals a value or is a list that contains it.
    pub(super) fn has(&self, path: &[String], value: &str) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        let found = rest.iter().try_fold(self.0.get(first), |at, name| Some(at?.get(name)));
        match found.flatten() {
            Some(Value::String(one)) => one == value,
            Some(Value::Array(all)) => all.iter().any(|one| one == value),
            _ => false,
        }
    }

    /// A time in seconds since 1970, rounded down; the standard allows fractions.
    fn time(&self, name: &str) -> Option<Timestamp> {
        let seconds = self.0.get(name)?.as_f64()?.floor();
        let is_whole = (0.0..=1e11).contains(&seconds);
        is_whole.then_some(seconds as i64).and_then(|seconds| Timestamp::from_second(seconds).ok())
    }
}

#[cfg(test)]
mod tests;
