//! What others wrote meanwhile, lost connections, and commits that got no answer.

use std::time::Instant;

use super::step::{WriterStep, is_omitted};
use super::{InDoubt, Reply, Undone, Writer};
use crate::error::{Error, ErrorKind};
use crate::journal::Position;
use crate::store::StoreFailure;
use crate::witness::{Testimony, Witness};

impl Writer {
    /// Finds out what came of a commit that got no answer. Every other writer waits now, so what the journal says is the last word.
    /// Returns the replies for those who still wait for it.
    pub(super) fn resolve_doubt(&mut self, started: Instant) -> Result<Option<Vec<Reply>>, Undone> {
        let Some(position) = self.in_doubt.as_ref().map(|doubt| doubt.changes.head()) else { return Ok(None) };
        let is_there = self.store.record(position.sequence)?.is_some_and(|record| record.hash == position.hash);
        let Some(InDoubt { changes, replies }) = self.in_doubt.take() else { return Ok(None) };
        if !is_there || is_omitted(WriterStep::ResolveDoubt) {
            changes.undo(&mut self.tree);
            return Ok(None);
        }
        // Callers who are gone were told that the outcome is not known.
        let is_awaited = replies.is_some();
        let replies = self.remember(changes, started, replies.unwrap_or_default())?;
        Ok(is_awaited.then_some(replies))
    }

    /// A repeated key and a receipt acknowledge also what other processes committed, so the witnesses of this one must know it, too: the
    /// other process may have ended between the commit and its witness.
    pub(super) fn acknowledge_known(&mut self) -> Result<(), Undone> {
        if is_omitted(WriterStep::CoverKnown) {
            return Ok(());
        }
        let known = self.shared.books().testimony();
        self.witness.advance(known).map_err(Undone::Stop)?;
        self.cover_known(known.position)?;
        self.shared.set_acknowledged(known.position);
        Ok(())
    }

    /// Takes over what other processes wrote since.
    pub(super) fn refresh(&mut self, head: Option<Position>) -> Result<(), Undone> {
        let known = self.shared.books().head();
        let head = head.ok_or_else(|| broken("the journal of the ledger is gone"))?;
        if head == known {
            return Ok(());
        }
        if head.sequence <= known.sequence {
            return Err(broken(&format!(
                "an old copy was restored: the ledger ends at record {}, but this process knew record {}",
                head.sequence, known.sequence
            )));
        }
        let record = self.store.head()?.ok_or_else(|| broken("the journal of the ledger is gone"))?;
        let record = record.parse().map_err(|why| broken(&format!("record {}: {why}", record.sequence)))?;
        if self.store.record(known.sequence)?.is_none_or(|record| record.hash != known.hash) {
            return Err(broken(&format!("record {} is no longer the one that this process knew", known.sequence)));
        }
        let rows = self.store.accounts(Some(known.sequence))?;
        let mut books = self.shared.books_mut();
        books.refresh(&mut self.tree, &rows, &record).map_err(Undone::Stop)?;
        books.set_head(head);
        Ok(())
    }

    /// Makes the connection again, and checks that the ledger was not set back meanwhile. A database that does not come back in time
    /// may do so later; one that has become another must not be written to.
    pub(super) fn reconnect(&mut self, cause: &Error) -> Result<(), Undone> {
        let stop = |error: &dyn std::fmt::Display| Undone::Stop(Error::storage(format!("{cause}, and then: {error}")));
        if let Err(error) = self.store.reconnect() {
            return Err(match error.kind {
                StoreFailure::Lost => Undone::Lost(Error::storage(format!("{cause}, and then: {}", error.message))),
                _ => stop(&error.message),
            });
        }
        let known = self.shared.books().testimony();
        let remembered = Witness::read(self.witness.path()).map_err(Undone::Stop)?;
        let remembered = remembered.map(|remembered| remembered.testimony);
        let remembered = remembered.filter(|testimony| testimony.ledger == known.ledger);
        for Testimony { position, .. } in remembered.into_iter().chain([known]) {
            let record = match self.store.record(position.sequence) {
                // Cut once more: the next attempt has no connection, and comes here again.
                Err(error) if error.kind == StoreFailure::Lost => return Ok(()),
                found => found.map_err(|error| stop(&error.message))?,
            };
            if record.is_none_or(|record| record.hash != position.hash) {
                return Err(Undone::Stop(ErrorKind::SetBack(position.sequence).into()));
            }
        }
        Ok(())
    }
}

fn broken(what: &str) -> Undone {
    Undone::Stop(Error::integrity(what))
}
