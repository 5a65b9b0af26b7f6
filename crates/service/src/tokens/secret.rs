//! The text of a token: a public id and 256 secret random bits.

use std::fmt;

use crate::Problem;
use crate::random::random;

/// The prefix of every token, so that secret scanners recognize it.
const PREFIX: &str = "txm_";

/// The id of a token: 64 random bits, as 16 hexadecimal digits. It is not secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenId([u8; 8]);

impl TokenId {
    /// Reads an id, in lower case only.
    pub(super) fn parse(text: &str) -> Option<TokenId> {
        bytes(text).map(TokenId)
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A token itself. It has no `Debug`, so that it cannot end up in a message.
pub(super) struct Secret {
    id: TokenId,
    bits: [u8; 32],
}

impl Secret {
    /// A new token, from the operating system's random numbers.
    pub(super) fn generate() -> Result<Secret, Problem> {
        Ok(Secret { id: TokenId(random()?), bits: random()? })
    }

    /// Reads the text of a token: `txm_`, 16 digits, `_`, 64 digits.
    pub(super) fn parse(text: &str) -> Option<Secret> {
        let (id, bits) = text.strip_prefix(PREFIX)?.split_once('_')?;
        Some(Secret { id: TokenId::parse(id)?, bits: bytes(bits)? })
    }

    pub(super) fn id(&self) -> TokenId {
        self.id
    }

    /// The text, to be shown once.
    pub(super) fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, hex::encode(self.bits))
    }

    /// The hash that is stored instead. It includes the id, so that the hash of one token cannot be used for another. All 256 bits are
    /// random, so they cannot be guessed and a slow hash would add nothing.
    pub(super) fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_derive_key("taximeter 2026-11-16 token secret");
        hasher.update(&self.id.0).update(&self.bits);
        hasher.finalize()
    }
}

/// Decodes exactly `LENGTH` bytes from hexadecimal digits in lower case.
fn bytes<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    text.bytes().all(|digit| !digit.is_ascii_uppercase()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_only_in_the_form_that_it_is_written_in() {
        let text = format!("txm_{}_{}", "0123456789abcdef", "a5".repeat(32));
        assert_eq!(Secret::parse(&text).unwrap().reveal(), text);
        for (bad, why) in [
            (String::new(), "empty"),
            (text.to_uppercase(), "upper case"),
            (text.replace("a5", "A5"), "upper case bits"),
            (text.replace("txm", "tym"), "another prefix"),
            (text[4..].to_string(), "no prefix"),
            (text[..text.len() - 1].to_string(), "a digit short"),
            (text[..text.len() - 2].to_string(), "a byte short"),
            (format!("{text}0"), "a digit long"),
            (format!("{text}00"), "a byte long"),
            (format!("{text} "), "a space"),
            (text.replace("abcdef", "abcdeg"), "not hexadecimal"),
            (text.replacen("_0", "__", 1), "two underscores"),
            (text.replace("a5a5", "ä5ä"), "not ASCII"),
            (text.replace('_', ""), "no underscores"),
        ] {
            assert!(Secret::parse(&bad).is_none(), "{why}");
        }
    }

    #[test]
    fn no_two_tokens_are_the_same_and_their_hashes_depend_on_id_and_bits() {
        let (one, other) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        assert!(one.id() != other.id() && one.bits != other.bits);
        let mixed = Secret { id: other.id, bits: one.bits };
        assert_ne!(mixed.hash(), one.hash());
        assert_ne!(Secret { id: one.id, bits: other.bits }.hash(), one.hash());
        assert_eq!(Secret::parse(&one.reveal()).unwrap().hash(), one.hash());
    }
}
