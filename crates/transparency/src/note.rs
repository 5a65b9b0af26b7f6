//! Signed notes: a text, an empty line, and a line for each signature, as C2SP's `signed-note` says.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::{ProofError, PublicKey};

/// The longest note that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// The most signatures that are read.
const MOST_SIGNATURES: usize = 64;

/// What a line with a signature begins with.
const DASH: &str = "\u{2014} ";

/// A text and its signatures. Whether they hold is asked of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    /// Ends with a newline.
    text: String,
    signatures: Vec<NoteSignature>,
}

/// One signature of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    name: String,
    key_id: [u8; 4],
    bytes: Vec<u8>,
}

impl SignedNote {
    pub(crate) fn new(text: String, signatures: Vec<NoteSignature>) -> SignedNote {
        SignedNote { text, signatures }
    }

    /// Reads a note.
    pub fn parse(note: &str) -> Result<SignedNote, ProofError> {
        let wrong = |why: &str| ProofError::Format(format!("this is not a signed note: {why}"));
        if note.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        // The text may have empty lines; the signatures follow the last one.
        let end = note.rfind("\n\n").ok_or_else(|| wrong("no empty line separates the text from its signatures"))?;
        let (text, signatures) = (&note[..=end], &note[end + 2..]);
        let signatures = NoteSignature::parse_lines(signatures)?;
        match signatures.is_empty() {
            true => Err(wrong("it has no signature")),
            false => Ok(SignedNote { text: text.to_string(), signatures }),
        }
    }

    /// The text, with its last newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    pub(crate) fn into_signatures(self) -> Vec<NoteSignature> {
        self.signatures
    }

    /// Adds a signature, unless it has it.
    pub(crate) fn add(&mut self, signature: NoteSignature) {
        if !self.signatures.contains(&signature) {
            self.signatures.push(signature);
        }
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| write!(f, "{signature}"))
    }
}

impl NoteSignature {
    pub(crate) fn new(key: &PublicKey, bytes: Vec<u8>) -> NoteSignature {
        NoteSignature { name: key.name().to_string(), key_id: key.id(), bytes }
    }

    /// Reads lines, each with its newline.
    pub fn parse_lines(text: &str) -> Result<Vec<NoteSignature>, ProofError> {
        let wrong = || ProofError::Format("a line of a signature is a dash, a name and base64".to_string());
        if !text.is_empty() && !text.ends_with('\n') || text.lines().count() > MOST_SIGNATURES {
            return Err(wrong());
        }
        let parse = |line: &str| {
            let (name, data) = line.strip_prefix(DASH)?.split_once(' ')?;
            let data = BASE64_STANDARD.decode(data).ok()?;
            let (key_id, bytes) = data.split_first_chunk::<4>()?;
            let is_whole = !name.is_empty() && !bytes.is_empty();
            is_whole.then(|| NoteSignature { name: name.to_string(), key_id: *key_id, bytes: bytes.to_vec() })
        };
        let lines = text.lines().map(|line| parse(line).ok_or_else(wrong)).collect::<Result<Vec<_>, _>>()?;
        // A line that ends with a carriage return too would be another way to write the same.
        let is_plain = lines.iter().map(NoteSignature::to_string).collect::<String>() == text;
        if is_plain { Ok(lines) } else { Err(wrong()) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn key_id(&self) -> [u8; 4] {
        self.key_id
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Display for NoteSignature {
    /// One line with its newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = [&self.key_id[..], &self.bytes].concat();
        writeln!(f, "{DASH}{} {}", self.name, BASE64_STANDARD.encode(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Go's package `note`, made by another implementation.
    const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\
                        — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_another_implementation_is_verified() {
        let (key, note) = (PublicKey::parse(KEY).unwrap(), SignedNote::parse(NOTE).unwrap());
        assert!(key.signed(&note));
        assert_eq!((key.to_string().as_str(), note.to_string().as_str()), (KEY, NOTE));
        let edited = SignedNote::parse(&NOTE.replace("answer", "Answer")).unwrap();
        assert!(!key.signed(&edited));
        assert_eq!(key.cosigned(&note), None);
    }

    #[test]
    fn what_is_not_a_note_is_refused() {
        for note in [
            "",
            "text\n",
            "text\n\n",
            "text\n\nno dash\n",
            "text\n\n— name\n",
            "text\n\n— name AAAA\n",
            "text\n\n— name AAAAAAA=",
            // Once read as the same note as without the carriage return, so that one signature had two texts.
            "text\n\n— name AAAAAAA=\r\n",
            &"x".repeat(LONGEST + 1),
        ] {
            assert!(SignedNote::parse(note).is_err(), "{note:.40}");
        }
        assert!(SignedNote::parse("text\n\nmore\n\n— name AAAAAAA=\n").is_ok());
    }
}
