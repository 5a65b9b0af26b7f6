//! Hashes, and the digest of all account states.

use derive_more::{Debug, Display};
use serde::{Deserialize, Serialize};

/// A BLAKE3 hash, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Display, Serialize, Deserialize)]
#[display("{}", blake3::Hash::from_bytes(*_0))]
#[debug("{self}")]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// What stands where there is no record before.
    pub const NONE: Hash = Hash([0; 32]);

    /// The hash of bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(*blake3::hash(bytes).as_bytes())
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hash> {
        // Upper case would be a second way to write the same record.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_plain.then(|| blake3::Hash::from_hex(text).ok()).flatten().map(|hash| Hash(*hash.as_bytes()))
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Hash> {
        bytes.try_into().ok().map(Hash)
    }

    /// Its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> String {
        hash.to_string()
    }
}

impl From<[u8; 32]> for Hash {
    fn from(bytes: [u8; 32]) -> Hash {
        Hash(bytes)
    }
}

impl TryFrom<String> for Hash {
    type Error = String;
    fn try_from(text: String) -> Result<Hash, String> {
        Hash::parse(&text).ok_or_else(|| format!("{text:?} is not a hash of 64 hexadecimal digits"))
    }
}

/// The digest of all account states: a binary tree of hashes over the accounts in the order in which they were opened.
///
/// A changed state costs one hash for each level. A node without a right neighbour goes up as it is; the number of accounts is
/// hashed in at the top, so that no two lists of states share a digest.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateTree {
    /// The leaves, then what is above them.
    levels: Vec<Vec<Hash>>,
}

/// A key sets the tree's nodes apart from its top and from the hashes of states.
const NODE: [u8; 32] = *b"taximeter ledger: state tree nod";

impl StateTree {
    /// How many accounts there are.
    pub(crate) fn len(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }

    /// The leaf of an account.
    pub(crate) fn leaf(&self, at: usize) -> Hash {
        self.levels[0][at]
    }

    /// Sets the leaf of an account, or adds one at the end.
    pub(crate) fn set(&mut self, at: usize, leaf: Hash) {
        assert!(at <= self.len(), "accounts are added one after the other");
        let (mut at, mut node) = (at, leaf);
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let nodes = &mut self.levels[level];
            if at == nodes.len() {
                nodes.push(node)
            } else {
                nodes[at] = node
            }
            if nodes.len() == 1 {
                return;
            }
            let left = at & !1;
            node = match nodes.get(left + 1) {
                Some(right) => pair(NODE, &nodes[left], right),
                None => nodes[left],
            };
            at /= 2;
        }
    }

    /// Forgets the accounts from a number on.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        let leaves: Vec<Hash> = self.levels[0][..len].to_vec();
        self.levels.clear();
        leaves.into_iter().enumerate().for_each(|(at, leaf)| self.set(at, leaf));
    }

    /// The digest of all states after a record, under the ledger's secret. No two records share one.
    pub(crate) fn digest(&self, secret: &Hash, record: u64) -> Hash {
        let root = self.levels.last().map_or(Hash::NONE, |top| top[0]);
        let mut counts = [0; 32];
        counts[..8].copy_from_slice(&(self.len() as u64).to_le_bytes());
        counts[8..16].copy_from_slice(&record.to_le_bytes());
        pair(secret.0, &root, &Hash(counts))
    }
}

/// The hash of two hashes: 64 bytes, a single block.
fn pair(key: [u8; 32], left: &Hash, right: &Hash) -> Hash {
    let mut both = [0; 64];
    both[..32].copy_from_slice(&left.0);
    both[32..].copy_from_slice(&right.0);
    Hash(*blake3::keyed_hash(&key, &both).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(at: usize, version: u32) -> Hash {
        Hash::of(format!("{at} {version}").as_bytes())
    }

    fn digest(tree: &StateTree) -> Hash {
        tree.digest(&Hash::of(b"secret"), 7)
    }

    #[test]
    fn the_digest_depends_on_the_leaves_alone() {
        let mut seen = std::collections::HashSet::new();
        for count in 0..40 {
            let mut fresh = StateTree::default();
            (0..count).for_each(|at| fresh.set(at, leaf(at, 0)));
            assert!(seen.insert(digest(&fresh)), "{count} accounts");

            // Grown larger, changed, and changed back.
            let mut other = StateTree::default();
            (0..count + 7).for_each(|at| other.set(at, leaf(at, 1)));
            other.truncate(count);
            (0..count).rev().for_each(|at| other.set(at, leaf(at, 0)));
            assert_eq!(digest(&fresh), digest(&other), "{count} accounts");
            for at in 0..count {
                other.set(at, leaf(at, 2));
                assert_ne!(digest(&fresh), digest(&other), "account {at} of {count}");
                other.set(at, leaf(at, 0));
            }
        }
    }

    #[test]
    fn the_digest_depends_on_the_secret_and_the_record() {
        let mut tree = StateTree::default();
        tree.set(0, leaf(0, 0));
        let other = Hash::of(b"another secret");
        assert_ne!(digest(&tree), tree.digest(&other, 7));
        assert_ne!(digest(&tree), tree.digest(&Hash::of(b"secret"), 8));
    }

    #[test]
    fn hashes_are_read_as_they_are_written() {
        let hash = Hash::of(b"taximeter");
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(Hash::parse(&hash.to_string().to_uppercase()), None);
        assert_eq!(Hash::parse("12"), None);
    }
}
