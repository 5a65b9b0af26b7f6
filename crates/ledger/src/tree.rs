//! The Merkle tree over the hashes of the journal's records, for checkpoints and proofs.
//!
//! The store has the leaves. The roots of complete blocks of them are kept in memory, so that a proof reads two blocks at most, and not
//! the journal.

use std::ops::Range;

use taximeter_transparency::{Checkpoint, Frontier, NodeHash, consistency_path, inclusion_path};

use crate::clock::now;
use crate::error::Error;
use crate::journal::{LedgerId, Position};
use crate::store::Store;

/// The leaves of a block: 8 KiB of the store, and an eighth of a byte in memory for each record.
const BLOCK: u64 = 256;

/// The most leaves that are read at once.
const AT_ONCE: u64 = 64 * BLOCK;

/// The tree, as far as it was read.
#[derive(Default)]
pub(crate) struct JournalTree {
    /// The roots of the complete blocks.
    blocks: Vec<NodeHash>,
}

impl JournalTree {
    /// The tree of the first records.
    pub(crate) fn frontier(&mut self, store: &mut dyn Store, size: u64) -> Result<Frontier, Error> {
        self.part(store, 0..size)
    }

    /// The proof that a record is among the first `size`.
    pub(crate) fn inclusion(
        &mut self,
        store: &mut dyn Store,
        sequence: u64,
        size: u64,
    ) -> Result<Vec<NodeHash>, Error> {
        check_sizes(sequence, size)?;
        inclusion_path(sequence, size, |leaves| Ok(self.part(store, leaves)?.root()))
    }

    /// The proof that the tree of the first `size` records extends that of the first `old`.
    pub(crate) fn consistency(&mut self, store: &mut dyn Store, old: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        check_sizes(old.saturating_sub(1), size)?;
        consistency_path(old, size, |leaves| Ok(self.part(store, leaves)?.root()))
    }

    /// A subtree: within a block, or from the beginning of one.
    fn part(&mut self, store: &mut dyn Store, leaves: Range<u64>) -> Result<Frontier, Error> {
        if !leaves.start.is_multiple_of(BLOCK) {
            return Ok(Frontier::of(&read(store, leaves)?));
        }
        let (first, end) = (leaves.start / BLOCK, leaves.end / BLOCK);
        while (self.blocks.len() as u64) < end {
            let from = self.blocks.len() as u64 * BLOCK;
            let read = read(store, from..(from + AT_ONCE).min(end * BLOCK))?;
            self.blocks.extend(read.chunks(BLOCK as usize).map(|block| Frontier::of(block).root()));
        }
        let rest = read(store, end * BLOCK..leaves.end)?;
        Ok(Frontier::of_blocks(&self.blocks[first as usize..end as usize], BLOCK, &rest))
    }
}

/// Leaves of the journal, all of which must be there.
pub(crate) fn read(store: &mut dyn Store, leaves: Range<u64>) -> Result<Vec<NodeHash>, Error> {
    let Range { start, end } = leaves;
    let positions = if start < end { store.positions(start, (end - start) as usize)? } else { Vec::new() };
    let mut positions = positions.into_iter();
    let leaf = |sequence| match positions.next() {
        Some(position) if position.sequence == sequence => Ok(leaf(position)),
        _ => Err(Error::record(sequence, "it is missing from the journal")),
    };
    (start..end).map(leaf).collect()
}

/// The leaf of a record.
pub(crate) fn leaf(position: Position) -> NodeHash {
    NodeHash::leaf(position.hash.as_bytes())
}

/// The checkpoint of a journal with this newest record and this root.
pub(crate) fn checkpoint_of(ledger: LedgerId, head: Position, root: NodeHash) -> Checkpoint {
    let (origin, size) = (Checkpoint::origin_of(&ledger.to_string()), head.sequence + 1);
    Checkpoint { origin, size, root, record: *head.hash.as_bytes(), time: now() }
}

fn check_sizes(sequence: u64, size: u64) -> Result<(), Error> {
    match sequence < size {
        true => Ok(()),
        false => {
            let needs = format!("is not among the first {size}, which the proof is about");
            Err(Error::parameter("record", sequence.to_string(), needs))
        }
    }
}

/// What checkpoints say about a journal that is read from its beginning.
pub(crate) struct CheckpointClaims<'a> {
    /// Those to come, in the order of their sizes.
    checkpoints: &'a [Checkpoint],
    frontier: Frontier,
}

impl<'a> CheckpointClaims<'a> {
    pub(crate) fn new(checkpoints: &'a [Checkpoint]) -> CheckpointClaims<'a> {
        CheckpointClaims { checkpoints, frontier: Frontier::default() }
    }

    /// Takes the next record, and checks the checkpoints that end with it.
    pub(crate) fn take(&mut self, position: Position) -> Result<(), Error> {
        if self.checkpoints.is_empty() {
            return Ok(());
        }
        self.frontier.push(leaf(position));
        while let Some((checkpoint, rest)) = self.checkpoints.split_first()
            && checkpoint.size <= self.frontier.size()
        {
            if checkpoint.size != self.frontier.size()
                || checkpoint.record != *position.hash.as_bytes()
                || checkpoint.root != self.frontier.root()
            {
                let why = format!(
                    "the signed checkpoint of {} records has another history: a record up to here was changed since it was signed",
                    checkpoint.size
                );
                return Err(Error::record(position.sequence, why));
            }
            self.checkpoints = rest;
        }
        Ok(())
    }

    /// The journal has no more records.
    pub(crate) fn end(&self) -> Result<(), Error> {
        match self.checkpoints.last() {
            None => Ok(()),
            Some(checkpoint) => {
                let why = format!("it is missing; there is a signed checkpoint of {} records", checkpoint.size);
                Err(Error::record(self.frontier.size(), why))
            }
        }
    }
}
