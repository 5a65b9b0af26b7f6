//! The public keys of an issuer (RFC 7517), and how long they are cached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::Algorithm;

/// The most keys of an issuer that are read.
const MOST: usize = 64;

/// A public key that verifies signatures of its own kind only.
#[derive(Debug, PartialEq)]
pub(super) struct IssuerKey {
    material: KeyMaterial,
    /// The only algorithm that the issuer allows for it.
    only: Option<Algorithm>,
}

#[derive(Debug, PartialEq)]
enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point of P-256, uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl IssuerKey {
    /// Whether the key can have made signatures of an algorithm.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        let fits = match self.material {
            KeyMaterial::Rsa { .. } => matches!(algorithm, Algorithm::RS256 | Algorithm::PS256),
            KeyMaterial::P256(_) => algorithm == Algorithm::ES256,
            KeyMaterial::Ed25519(_) => algorithm == Algorithm::EdDSA,
        };
        fits && self.only.is_none_or(|only| only == algorithm)
    }

    /// Whether the key made a signature. RSA keys of fewer than 2048 bits make none.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.is_for(algorithm) {
            return false;
        }
        let verified = match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => {
                let parameters = match algorithm {
                    Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, message, signature)
            }
            KeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// The keys that an issuer publishes, by their ids.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<(String, Arc<IssuerKey>)>);

/// A key as it is published. Other members are not needed.
#[derive(Deserialize)]
struct PublishedKey {
    kty: String,
    kid: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads the keys that can be used, and skips others, such as encryption keys. `None` if the document is not a set of keys.
    pub(super) fn parse(document: &Value) -> Option<KeySet> {
        let keys = document.get("keys")?.as_array()?;
        let read = |key: &Value| PublishedKey::deserialize(key).ok()?.read();
        Some(KeySet(keys.iter().filter_map(read).take(MOST).collect()))
    }

    /// The key with an id, for an algorithm.
    pub(super) fn find(&self, (kid, algorithm): (&str, Algorithm)) -> Option<Arc<IssuerKey>> {
        let found = self.0.iter().find(|(id, key)| id == kid && key.is_for(algorithm));
        found.map(|(_, key)| Arc::clone(key))
    }
}

impl PublishedKey {
    fn read(self) -> Option<(String, Arc<IssuerKey>)> {
        let signs = self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && self.key_ops.as_ref().is_none_or(|all| all.iter().any(|one| one == "verify"));
        // A key for an unsupported algorithm cannot be used.
        let only = self.alg.map(|name| Algorithm::deserialize(Value::from(name))).transpose().ok()?;
        let bytes = |text: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => KeyMaterial::Rsa { modulus: number(bytes(&self.n)?), exponent: number(bytes(&self.e)?) },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
                (x.len() == 32 && y.len() == 32).then_some(())?;
                KeyMaterial::P256([&[4], x.as_slice(), y.as_slice()].concat())
            }
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes(&self.x)?),
            _ => return None,
        };
        signs.then(|| (self.kid, Arc::new(IssuerKey { material, only })))
    }
}

/// A number without leading zeros, which some issuers write.
fn number(bytes: Vec<u8>) -> Vec<u8> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    bytes[first..].to_vec()
}

/// How often the issuer is asked, and how long its keys are kept without an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyTimes {
    /// How long keys are used after they were last read.
    pub(super) lifetime: Duration,
    /// The shortest time between two requests for keys, whatever tokens are sent.
    pub(super) pause: Duration,
}

/// What was read from the issuer last, and when.
pub(super) struct KeyCache<T> {
    times: KeyTimes,
    known: Option<(T, Instant)>,
    /// When the issuer was last asked, and whether it answered.
    asked: Option<Instant>,
    answered: bool,
}

/// What the cache knows about a key.
#[derive(Debug, PartialEq)]
pub(super) enum KeyLookup<K> {
    Known(K),
    /// The issuer does not publish it.
    Unknown,
    /// The issuer did not answer the last request, or was not asked.
    Unavailable,
}

impl<T> KeyCache<T> {
    /// An empty cache.
    pub(super) fn new(times: KeyTimes) -> KeyCache<T> {
        KeyCache { times, known: None, asked: None, answered: false }
    }

    /// What was read, if it is not too old.
    pub(super) fn current(&self, now: Instant) -> Option<&T> {
        let is_alive = |read: &Instant| now.saturating_duration_since(*read) < self.times.lifetime;
        self.known.as_ref().filter(|(_, read)| is_alive(read)).map(|(known, _)| known)
    }

    /// Looks a key up.
    pub(super) fn find<K>(&self, now: Instant, find: impl FnOnce(&T) -> Option<K>) -> KeyLookup<K> {
        let current = self.current(now);
        match current.and_then(find) {
            Some(key) => KeyLookup::Known(key),
            None if current.is_some() && self.answered => KeyLookup::Unknown,
            None => KeyLookup::Unavailable,
        }
    }

    /// Whether the issuer may be asked now; if so, the request is recorded, and the issuer counts as silent until it answers.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        let is_soon = |asked: Instant| now.saturating_duration_since(asked) < self.times.pause;
        if self.asked.is_some_and(is_soon) {
            return false;
        }
        (self.asked, self.answered) = (Some(now), false);
        true
    }

    /// Keeps what the issuer answered.
    pub(super) fn keep(&mut self, read: T, now: Instant) {
        (self.known, self.answered) = (Some((read, now)), true);
    }
}

#[cfg(test)]
mod tests;
