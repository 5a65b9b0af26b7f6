//! What the writer shares with the handles.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use async_channel::Sender;
use taximeter_transparency::NodeHash;

use super::command::Command;
use crate::books::Books;
use crate::commit_times::CommitClock;
use crate::connections::Connections;
use crate::cosigning::{Cosignatures, Signing};
use crate::error::{Error, ErrorKind};
use crate::journal::Position;
use crate::refusals::Refusals;
use crate::store::Store;
use crate::tree::JournalTree;

/// What the writer shares with the handles.
pub(crate) struct Shared {
    pub(crate) queue: Sender<Command>,
    pub(crate) books: RwLock<Books>,
    pub(crate) refusals: Mutex<Refusals>,
    /// Charges that were committed.
    pub(crate) charges: AtomicU64,
    /// How many of the first records the witnesses know, on this machine and, where they are required, on others.
    pub(crate) acknowledged: AtomicU64,
    /// How long commits take.
    pub(crate) commit_clock: CommitClock,
    /// For reading the journal.
    pub(crate) connections: Connections,
    /// The Merkle tree of the journal, for proofs.
    pub(crate) tree: Mutex<JournalTree>,
    /// Who signs checkpoints, if any are signed.
    pub(crate) signing: Option<Arc<Signing>>,
    /// What the witnesses on other machines cosigned; nothing if there are none.
    pub(crate) cosignatures: Option<Arc<Cosignatures>>,
    /// Why the writer stopped, if it did.
    pub(crate) cause: OnceLock<Error>,
    /// When the current transaction of the writer began, if it has one.
    pub(crate) busy_since: Mutex<Option<Instant>>,
}

impl Shared {
    /// The books, to read. No code that can panic holds them, so a poisoned lock guards a sound state.
    pub(crate) fn books(&self) -> RwLockReadGuard<'_, Books> {
        self.books.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn books_mut(&self) -> RwLockWriteGuard<'_, Books> {
        self.books.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The witnesses know all records up to this one.
    pub(crate) fn set_acknowledged(&self, newest: Position) {
        self.acknowledged.fetch_max(newest.sequence + 1, Ordering::Release);
    }

    /// Whether the witnesses know a record.
    pub(crate) fn is_acknowledged(&self, sequence: u64) -> bool {
        sequence < self.acknowledged.load(Ordering::Acquire)
    }

    pub(super) fn set_busy_since(&self, since: Option<Instant>) {
        *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// The proof that the tree of the first `size` records extends that of the first `old`.
    pub(crate) fn consistency(&self, old: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        self.with_tree(|tree, store| tree.consistency(store, old, size))
    }

    /// Does something with the tree of the journal, and a connection to read what it does not know yet.
    pub(crate) fn with_tree<T>(
        &self,
        mut read: impl FnMut(&mut JournalTree, &mut dyn Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        self.connections.look(|store| read(&mut tree, store))
    }

    /// The error for a caller who asks after the writer stopped.
    pub(crate) fn stopped(&self) -> Error {
        ErrorKind::Stopped(self.cause.get().cloned()).into()
    }
}
