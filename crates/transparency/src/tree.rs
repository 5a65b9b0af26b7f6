//! The Merkle tree of RFC 9162, section 2.1: its root, and proofs that a leaf is in it and that one tree extends another.
//!
//! The hash is SHA-256, as in certificate transparency, so that existing tools and witnesses can check it. The leaves are the hashes of
//! the journal's records. A [`Frontier`] is all that is needed to append: one node for each bit of the size.

use std::ops::Range;

use base64::prelude::{BASE64_STANDARD, Engine};
use derive_more::{Debug, Display};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::ProofError;

/// A node of the tree, written in base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Display, Serialize, Deserialize)]
#[display("{}", BASE64_STANDARD.encode(_0))]
#[debug("{self}")]
#[serde(try_from = "String", into = "String")]
pub struct NodeHash([u8; 32]);

impl NodeHash {
    /// The leaf for a record, by the hash of the record.
    pub fn leaf(record: &[u8; 32]) -> NodeHash {
        hash(&[&[0], record])
    }

    /// The node above two others.
    fn above(left: &NodeHash, right: &NodeHash) -> NodeHash {
        hash(&[&[1], &left.0, &right.0])
    }

    /// Reads 44 characters of base64.
    pub fn parse(text: &str) -> Result<NodeHash, ProofError> {
        let bytes = BASE64_STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(NodeHash).ok_or_else(|| ProofError::Format(format!("{text:?} is not a hash of 32 bytes in base64")))
    }
}

impl TryFrom<String> for NodeHash {
    type Error = ProofError;
    fn try_from(text: String) -> Result<NodeHash, ProofError> {
        NodeHash::parse(&text)
    }
}

impl From<NodeHash> for String {
    fn from(node: NodeHash) -> String {
        node.to_string()
    }
}

fn hash(parts: &[&[u8]]) -> NodeHash {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    NodeHash(bytes)
}

/// A tree to append to: the roots of its complete subtrees, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    nodes: Vec<NodeHash>,
}

impl Frontier {
    /// A tree with these leaves.
    pub fn of(leaves: &[NodeHash]) -> Frontier {
        let mut frontier = Frontier::default();
        leaves.iter().for_each(|leaf| frontier.push(*leaf));
        frontier
    }

    /// A tree by the roots of complete blocks of `length` leaves, a power of two, and the leaves after them, which fill no block.
    pub fn of_blocks(blocks: &[NodeHash], length: u64, rest: &[NodeHash]) -> Frontier {
        debug_assert!(length.is_power_of_two() && (rest.len() as u64) < length);
        let (blocks, rest) = (Frontier::of(blocks), Frontier::of(rest));
        Frontier { size: blocks.size * length + rest.size, nodes: [blocks.nodes, rest.nodes].concat() }
    }

    /// How many leaves it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf.
    pub fn push(&mut self, leaf: NodeHash) {
        let mut node = leaf;
        // Each trailing 1 of the size is a complete subtree as large as the one that is completed now.
        for _ in 0..self.size.trailing_ones() {
            let left = self.nodes.pop().expect("a node for each bit of the size");
            node = NodeHash::above(&left, &node);
        }
        self.nodes.push(node);
        self.size += 1;
    }

    /// The root.
    pub fn root(&self) -> NodeHash {
        let nodes = self.nodes.iter().rev().copied();
        nodes.reduce(|right, left| NodeHash::above(&left, &right)).unwrap_or_else(|| hash(&[]))
    }

    /// The root of one of the complete subtrees.
    fn complete(&self, leaves: &Range<u64>) -> Option<NodeHash> {
        let mut start = 0;
        for (node, bit) in self.nodes.iter().zip((0..64).rev().filter(|bit| self.size >> bit & 1 == 1)) {
            let end = start + (1 << bit);
            if (start..end) == *leaves {
                return Some(*node);
            }
            start = end;
        }
        None
    }

    /// The proof that this tree with more leaves extends it.
    pub fn extension(&self, added: &[NodeHash]) -> Vec<NodeHash> {
        let size = self.size + added.len() as u64;
        let node = |leaves: Range<u64>| match leaves.start.checked_sub(self.size) {
            None => self.complete(&leaves).ok_or(()),
            Some(start) => Ok(Frontier::of(&added[start as usize..(leaves.end - self.size) as usize]).root()),
        };
        consistency_path(self.size, size, node).expect("all nodes of the proof are in the frontier or new")
    }
}

/// The largest power of two that is smaller than a number above 1.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// The proof that a leaf is in a tree of a size, from the leaf up: RFC 9162, section 2.1.3.1. `node` is the root of a range of leaves.
pub fn inclusion_path<E>(
    index: u64,
    size: u64,
    mut node: impl FnMut(Range<u64>) -> Result<NodeHash, E>,
) -> Result<Vec<NodeHash>, E> {
    let (mut start, mut end, mut path) = (0, size, Vec::new());
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(node(middle..end)?);
            end = middle;
        } else {
            path.push(node(start..middle)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that a tree extends an older one: RFC 9162, section 2.1.4.1. Empty if the older one is empty or the same.
pub fn consistency_path<E>(
    old: u64,
    size: u64,
    mut node: impl FnMut(Range<u64>) -> Result<NodeHash, E>,
) -> Result<Vec<NodeHash>, E> {
    let (mut start, mut end, mut path) = (0, size, Vec::new());
    if old == 0 {
        return Ok(path);
    }
    while old != end {
        let middle = start + split(end - start);
        if old <= middle {
            path.push(node(middle..end)?);
            end = middle;
        } else {
            path.push(node(start..middle)?);
            start = middle;
        }
    }
    // The verifier knows the root of the older tree, but not this part of it.
    if start > 0 {
        path.push(node(start..end)?);
    }
    path.reverse();
    Ok(path)
}

/// Checks that a leaf is in a tree: RFC 9162, section 2.1.3.2.
pub fn check_inclusion(
    leaf: NodeHash,
    index: u64,
    size: u64,
    path: &[NodeHash],
    root: NodeHash,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::Proof(format!("record {index} is not among the first {size}")));
    }
    let (mut at, mut last, mut node) = (index, size - 1, leaf);
    for part in path {
        if last == 0 {
            return Err(ProofError::Proof("the proof of inclusion is too long".to_string()));
        }
        if at & 1 == 1 || at == last {
            node = NodeHash::above(part, &node);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            node = NodeHash::above(&node, part);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    match last == 0 && node == root {
        true => Ok(()),
        false => Err(ProofError::Proof(format!("record {index} is not in the tree of {size} records with this root"))),
    }
}

/// Checks that a tree extends an older one: RFC 9162, section 2.1.4.2.
pub fn check_consistency(
    (old, old_root): (u64, NodeHash),
    (size, root): (u64, NodeHash),
    path: &[NodeHash],
) -> Result<(), ProofError> {
    let wrong = || ProofError::Fork { old, size };
    if old > size {
        return Err(wrong());
    }
    if old == 0 || old == size {
        let is_same = old == 0 || old_root == root;
        return if path.is_empty() && is_same { Ok(()) } else { Err(wrong()) };
    }
    let (mut at, mut last) = (old - 1, size - 1);
    let steps = at.trailing_ones();
    (at, last) = (at >> steps, last >> steps);
    // A complete older tree is itself the first node of the proof.
    let (first, rest) = match old.is_power_of_two() {
        true => (old_root, path),
        false => path.split_first().map(|(first, rest)| (*first, rest)).ok_or_else(wrong)?,
    };
    let (mut before, mut after) = (first, first);
    for part in rest {
        if last == 0 {
            return Err(wrong());
        }
        if at & 1 == 1 || at == last {
            before = NodeHash::above(part, &before);
            after = NodeHash::above(part, &after);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            after = NodeHash::above(&after, part);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    match last == 0 && before == old_root && after == root {
        true => Ok(()),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
