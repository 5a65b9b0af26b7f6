//! Keys of signers and of cosigning witnesses, as C2SP's `signed-note` writes them: `NAME+ID+BASE64`.

use std::fmt;
use std::ops::RangeInclusive;

use base64::prelude::{BASE64_STANDARD, Engine};
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::note::NoteSignature;
use crate::{ProofError, SignedNote};

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// Checkpoints of a ledger, for its owner.
    Sign,
    /// Checkpoints of ledgers that a witness found to extend the one before, with the time.
    Cosign,
}

impl KeyUse {
    /// The number of the algorithm, which is a part of the key's identity.
    fn number(self) -> u8 {
        match self {
            KeyUse::Sign => 0x01,
            KeyUse::Cosign => 0x04,
        }
    }

    fn of(number: u8) -> Option<KeyUse> {
        [KeyUse::Sign, KeyUse::Cosign].into_iter().find(|key_use| key_use.number() == number)
    }
}

/// A public key with its name: a ledger's origin, or the name of a witness.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key_use: KeyUse,
    bytes: [u8; 32],
}

impl PublicKey {
    /// Reads `NAME+ID+BASE64`.
    pub fn parse(text: &str) -> Result<PublicKey, ProofError> {
        let wrong = |why: &str| ProofError::Format(format!("{text:?} is not a public key, NAME+ID+BASE64: {why}"));
        let mut parts = text.trim().splitn(3, '+');
        let (name, id, data) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let (Some(id), Some(data)) = (id, data) else { return Err(wrong("it has fewer than three parts")) };
        let (key_use, bytes) = read_data(data).ok_or_else(|| wrong("its last part is not an Ed25519 key in base64"))?;
        check_name(name)?;
        let key = PublicKey { name: name.to_string(), key_use, bytes };
        match hex::encode(key.id()) == id {
            true => Ok(key),
            false => Err(wrong("its parts do not belong together; was it copied as a whole?")),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs.
    pub fn key_use(&self) -> KeyUse {
        self.key_use
    }

    /// Whether it is the same key, maybe under another name: both sign with one secret.
    pub fn is_same_key(&self, other: &PublicKey) -> bool {
        self.bytes == other.bytes
    }

    /// The first four bytes of a hash of all of it, by which a signature names its key.
    pub fn id(&self) -> [u8; 4] {
        let text = [self.name.as_bytes(), b"\n", &[self.key_use.number()], &self.bytes].concat();
        let hash = digest(&SHA256, &text);
        let mut id = [0; 4];
        id.copy_from_slice(&hash.as_ref()[..4]);
        id
    }

    /// Whether a signature of a note says that it is by this key.
    pub(crate) fn has_made(&self, signature: &NoteSignature) -> bool {
        signature.name() == self.name && signature.key_id() == self.id()
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.bytes).verify(message, signature).is_ok()
    }

    /// Whether it signed a note as its owner.
    pub fn signed(&self, note: &SignedNote) -> bool {
        let own = note.signatures().iter().filter(|signature| self.has_made(signature));
        self.key_use == KeyUse::Sign
            && own.into_iter().any(|signature| self.verifies(note.text().as_bytes(), signature.bytes()))
    }

    /// When it cosigned a note, by the witness's clock, in seconds since 1970; nothing if it did not.
    pub fn cosigned(&self, note: &SignedNote) -> Option<u64> {
        let own = note.signatures().iter().filter(|signature| self.has_made(signature));
        let times = own.filter_map(|signature| {
            let (time, signature) = signature.bytes().split_first_chunk::<8>()?;
            let time = u64::from_be_bytes(*time);
            self.verifies(&cosigned_text(note.text(), time), signature).then_some(time)
        });
        if self.key_use == KeyUse::Cosign { times.max() } else { None }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = [&[self.key_use.number()][..], &self.bytes].concat();
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id()), BASE64_STANDARD.encode(data))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What a witness signs: a note and when.
fn cosigned_text(text: &str, time: u64) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// A kind of key and its 32 bytes, in base64.
fn read_data(text: &str) -> Option<(KeyUse, [u8; 32])> {
    let data = BASE64_STANDARD.decode(text).ok()?;
    let (number, bytes) = data.split_first()?;
    Some((KeyUse::of(*number)?, bytes.try_into().ok()?))
}

/// A name stands in a line of its own, before a space, and before a plus.
fn check_name(name: &str) -> Result<(), ProofError> {
    const LONGEST: usize = 128;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    match (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(ProofError::Format(format!(
            "the name {name:?} of a key has 1 to {LONGEST} letters, digits and - _ . : / such as witness.example.org"
        ))),
    }
}

/// A key to sign with. Kept in a file that its owner alone may read; never shown.
pub struct SecretKey {
    public: PublicKey,
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl SecretKey {
    /// A new key from the operating system's random bytes.
    pub fn generate(name: &str, key_use: KeyUse) -> Result<SecretKey, ProofError> {
        check_name(name)?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| ProofError::Format(format!("no random bytes for a new key: {error}")))?;
        SecretKey::from_seed(name, key_use, seed)
    }

    pub(crate) fn from_seed(name: &str, key_use: KeyUse, seed: [u8; 32]) -> Result<SecretKey, ProofError> {
        let unusable = || ProofError::Format("the secret key cannot be used".to_string());
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| unusable())?;
        let bytes = pair.public_key().as_ref().try_into().map_err(|_| unusable())?;
        Ok(SecretKey { public: PublicKey { name: name.to_string(), key_use, bytes }, seed, pair })
    }

    /// Reads what [`to_text`](SecretKey::to_text) wrote. An error shows nothing of it.
    pub fn parse(text: &str) -> Result<SecretKey, ProofError> {
        let wrong =
            || ProofError::Format("this is not a secret key, PRIVATE+KEY+NAME+ID+BASE64, in one line".to_string());
        let rest = text.trim().strip_prefix("PRIVATE+KEY+").ok_or_else(wrong)?;
        let mut parts = rest.splitn(3, '+');
        let (name, id) = (parts.next().ok_or_else(wrong)?, parts.next().ok_or_else(wrong)?);
        let (key_use, seed) = parts.next().and_then(read_data).ok_or_else(wrong)?;
        check_name(name)?;
        let key = SecretKey::from_seed(name, key_use, seed)?;
        if hex::encode(key.public.id()) == id { Ok(key) } else { Err(wrong()) }
    }

    /// The key in one line, for its file.
    pub fn to_text(&self) -> String {
        let PublicKey { name, key_use, .. } = &self.public;
        let data = [&[key_use.number()][..], &self.seed].concat();
        format!("PRIVATE+KEY+{name}+{}+{}\n", hex::encode(self.public.id()), BASE64_STANDARD.encode(data))
    }

    /// The public key, for those who check.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a text, as its owner.
    pub(crate) fn sign(&self, text: &str) -> NoteSignature {
        NoteSignature::new(&self.public, self.pair.sign(text.as_bytes()).as_ref().to_vec())
    }

    /// Cosigns a text, at a time in seconds since 1970.
    pub(crate) fn cosign(&self, text: &str, time: u64) -> NoteSignature {
        let signature = self.pair.sign(&cosigned_text(text, time));
        NoteSignature::new(&self.public, [&time.to_be_bytes()[..], signature.as_ref()].concat())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret key of {}", self.public)
    }
}

/// A signer's public key, and the records up to which its checkpoints count: keys are rotated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// The key.
    pub key: PublicKey,
    /// The newest record of a checkpoint that it may sign.
    pub records: RangeInclusive<u64>,
}

impl TrustedKey {
    /// Reads a key, or a key with the records that it is valid for: `KEY@100..2000`, `KEY@..2000`, `KEY@100..`.
    pub fn parse(text: &str) -> Result<TrustedKey, ProofError> {
        let Some((key, records)) = text.split_once('@') else {
            return Ok(TrustedKey { key: PublicKey::parse(text)?, records: 0..=u64::MAX });
        };
        let wrong =
            || ProofError::Format(format!("{records:?} is not a range of records, such as 100..2000, ..2000 or 100.."));
        let (from, until) = records.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str, open: u64| if text.is_empty() { Ok(open) } else { text.parse().map_err(|_| wrong()) };
        let records = number(from, 0)?..=number(until, u64::MAX)?;
        if records.is_empty() { Err(wrong()) } else { Ok(TrustedKey { key: PublicKey::parse(key)?, records }) }
    }
}
