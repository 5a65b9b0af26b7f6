//! What accounts, keys and people are called, and the limits on it.

use std::sync::Arc;

use derive_more::{Debug, Display};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The name of an account: its path from the root of its tree, such as `census/alice`.
///
/// Up to [`DEPTH`](AccountName::DEPTH) parts separated by `/`; a part has up to 64 ASCII letters, digits, `-`, `_` and `.`, and
/// starts with a letter or a digit. Only ASCII, so that no two names look alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Display, Serialize, Deserialize)]
#[debug("{_0:?}")]
#[serde(try_from = "String")]
pub struct AccountName(Arc<str>);

impl AccountName {
    /// The most parts of a name.
    pub const DEPTH: usize = 8;

    /// Reads a name.
    pub fn parse(text: &str) -> Result<AccountName, Error> {
        let depth = text.split('/').count();
        if depth > AccountName::DEPTH {
            let needs = format!("it has {depth} parts; a tree is at most {} deep", AccountName::DEPTH);
            return Err(Error::parameter("account name", excerpt(text), needs));
        }
        for part in text.split('/') {
            check_part("account name", part, text)?;
        }
        Ok(AccountName(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The account above it; nothing for the root of a tree.
    pub fn parent(&self) -> Option<AccountName> {
        self.0.rsplit_once('/').map(|(parent, _)| AccountName(parent.into()))
    }

    /// The names from the root down to this one: the accounts that pay for a charge on it.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(at, _)| at).chain([self.0.len()]);
        ends.map(|end| &self.0[..end])
    }
}

impl std::borrow::Borrow<str> for AccountName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccountName {
    type Error = Error;
    fn try_from(text: String) -> Result<AccountName, Error> {
        AccountName::parse(&text)
    }
}

/// A part of an account's name, or the name of a privacy unit.
pub(crate) fn check_part(what: &'static str, part: &str, whole: &str) -> Result<(), Error> {
    const LONGEST: usize = 64;
    let why = match part.as_bytes() {
        [] => "a part of it is empty".to_string(),
        bytes if bytes.len() > LONGEST => format!("a part has at most {LONGEST} characters"),
        [first, ..] if first.is_ascii() && !first.is_ascii_alphanumeric() => {
            "a part starts with a letter or a digit".to_string()
        }
        _ => match part.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_.".contains(*c))) {
            Some(other) => format!("{other:?} cannot stand in it; use the letters a to z, digits, -, _ and ."),
            None => return Ok(()),
        },
    };
    Err(Error::parameter(what, excerpt(whole), why))
}

/// A short text that is kept with a charge: a key, who asked, or a note. It has no control characters, so that it shows on one line.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Display, Serialize, Deserialize)]
#[debug("{_0:?}")]
#[serde(try_from = "String")]
pub struct ShortText<const LONGEST: usize>(Arc<str>);

/// The most bytes of a key.
const KEY_LENGTH: usize = 128;

/// An idempotency key: at most 128 bytes.
pub type Key = ShortText<KEY_LENGTH>;

/// Who asked, in the asker's own words: at most 128 bytes. Not proof of who it was.
pub type Who = ShortText<128>;

/// A note: at most 1024 bytes.
pub type Note = ShortText<1024>;

impl<const LONGEST: usize> ShortText<LONGEST> {
    /// Reads a text; `what` names it in an error.
    pub fn parse(what: &'static str, text: &str) -> Result<ShortText<LONGEST>, Error> {
        if text.is_empty() {
            return Err(Error::parameter(what, "", "is empty; omit it or write something"));
        }
        if text.len() > LONGEST {
            let needs = format!("it has {} bytes; at most {LONGEST} are kept", text.len());
            return Err(Error::parameter(what, excerpt(text), needs));
        }
        // Most texts are printable ASCII, which has neither.
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !is_plain && let Some(control) = text.chars().find(|c| c.is_control() || misleads(*c)) {
            let needs = format!("it has the control character {control:?}; write it in one line of plain text");
            return Err(Error::parameter(what, excerpt(text), needs));
        }
        Ok(ShortText(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character is invisible or turns the order of a line around, so that what is shown is not what was written.
fn misleads(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl Key {
    /// A new key that no one else has: the time and 80 random bits. It tells nothing about other keys. Keys that are made later sort
    /// later, so that a store finds their place at the end.
    pub fn generate() -> Result<Key, Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random[..10])
            .map_err(|error| Error::storage(format!("no random bytes for a key: {error}")))?;
        let (milliseconds, random) = (jiff::Timestamp::now().as_millisecond(), u128::from_le_bytes(random));
        Ok(ShortText(format!("{milliseconds:012x}-{random:020x}").into()))
    }

    /// A key that belongs to one principal: its name, a colon, and the key that it chose. A principal has no colon in its
    /// name, so that the first one in the key tells whose it is.
    pub fn belonging_to(principal: &str, key: &str) -> Result<Key, Error> {
        if principal.is_empty() || principal.contains(':') {
            let needs = "it cannot have keys of its own: its name must have a character and no colon";
            return Err(Error::parameter("principal", excerpt(principal), needs));
        }
        let own = Key::parse("key", key)?;
        let left = KEY_LENGTH.saturating_sub(principal.len() + 1);
        if own.as_str().len() > left {
            let (length, principal) = (key.len(), excerpt(principal));
            let needs = format!(
                "it has {length} bytes; a key of {principal} may have at most {left}, because the name is stored with it"
            );
            return Err(Error::parameter("key", excerpt(key), needs));
        }
        Key::parse("key", &format!("{principal}:{key}"))
    }
}

impl<const LONGEST: usize> TryFrom<String> for ShortText<LONGEST> {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        ShortText::parse("text", &text)
    }
}

/// Shows at most the first characters of a text, so that a message stays readable.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(SHOWN).collect();
    match chars.count() {
        0 => format!("{head:?}"),
        more => format!("{head:?} and {more} more characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[&str], &str>) {
        match (AccountName::parse(text), expected) {
            (Ok(name), Ok(path)) => assert_eq!(name.path().collect::<Vec<_>>(), path, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text:?}: {error}"),
            (got, expected) => panic!("{text:?}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn names_are_paths_of_plain_parts() {
        check("census", Ok(&["census"]));
        check("census/alice/2026-q1.v_2", Ok(&["census", "census/alice", "census/alice/2026-q1.v_2"]));
        check(
            "1/2/3/4/5/6/7/8",
            Ok(&["1", "1/2", "1/2/3", "1/2/3/4", "1/2/3/4/5", "1/2/3/4/5/6", "1/2/3/4/5/6/7", "1/2/3/4/5/6/7/8"]),
        );
        check("1/2/3/4/5/6/7/8/9", Err("9 parts"));
        check("", Err("is empty"));
        check("/census", Err("is empty"));
        check("census/", Err("is empty"));
        check("census//alice", Err("is empty"));
        check("../census", Err("starts with a letter or a digit"));
        check("-census", Err("starts with"));
        check("cen sus", Err("' ' cannot stand in it"));
        check("cen\u{0441}us", Err("cannot stand in it"));
        check(&"x".repeat(65), Err("at most 64"));
        check(&"x".repeat(64), Ok(&["x".repeat(64).as_str()]));
        check("a\nb", Err("'\\n'"));
    }

    #[test]
    fn short_texts_have_their_limits() {
        assert!(Key::parse("key", &"k".repeat(128)).is_ok());
        for (text, part) in [
            ("", "is empty"),
            ("a\tb", "control character"),
            ("pays\u{202e}eno", "control character"),
            (&"k".repeat(129), "at most 128"),
        ] {
            assert!(Key::parse("key", text).unwrap_err().to_string().contains(part), "{text:?}");
        }
        assert_eq!(Note::parse("note", "für Ägypten").unwrap().as_str(), "für Ägypten");
    }

    #[test]
    fn the_keys_of_two_principals_are_never_the_same() {
        let check = |principal: &str, key: &str, expected: Result<&str, &str>| match (
            Key::belonging_to(principal, key),
            expected,
        ) {
            (Ok(got), Ok(expected)) => assert_eq!(got.as_str(), expected),
            (Err(error), Err(part)) => {
                assert!(error.is_input() && error.to_string().contains(part), "{principal:?}, {key:?}: {error}")
            }
            (got, expected) => panic!("{principal:?}, {key:?}: got {got:?}, expected {expected:?}"),
        };
        check("alice", "k", Ok("alice:k"));
        check("alice", "bob:k", Ok("alice:bob:k"));
        check("alice:bob", "k", Err("no colon"));
        check("", "k", Err("must have a character"));
        check("alice", "", Err("is empty"));
        check("alice", "a\tb", Err("control character"));
        check("a\tb", "k", Err("control character"));
        // What is left beside the name.
        let (fits, longer) = ("k".repeat(122), "k".repeat(123));
        check("alice", &fits, Ok(&format!("alice:{fits}")));
        check("alice", &longer, Err("may have at most 122"));
        check(&"p".repeat(128), "k", Err("may have at most 0"));
    }

    #[test]
    fn keys_that_are_made_differ_and_have_only_the_time_in_common() {
        let keys: Vec<_> = (0..1000).map(|_| Key::generate().unwrap().as_str().to_string()).collect();
        // Whatever stands behind the time is another in each, and in no order: a count would show how many others were made.
        let behind_time = |key: &String| key.split_once('-').unwrap().1.to_string();
        let parts: Vec<Vec<String>> =
            keys.iter().map(|key| behind_time(key).split('-').map(String::from).collect()).collect();
        for part in 0..parts[0].len() {
            let values: std::collections::HashSet<_> = parts.iter().map(|parts| &parts[part]).collect();
            assert_eq!(values.len(), 1000);
            assert!(!parts.iter().map(|parts| u128::from_str_radix(&parts[part], 16).unwrap()).is_sorted());
        }
    }
}
