//! Deciding what waits, in order and in memory.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use async_channel::Receiver;

use crate::books::{Books, Changes, Draft, Entry};
use crate::charge::{Outcome, Receipt};
use crate::error::Error;
use crate::hash::StateTree;
use crate::name::Key;
use crate::store::StoredRecord;
use crate::writer::{Command, now};

/// What came of a command, until it may be told.
pub(crate) enum Settled {
    Charge(Result<Outcome, Error>),
    Account(Result<Receipt, Error>),
    Refreshed,
}

impl Settled {
    /// Whether it was charged just now.
    pub(crate) fn is_charged(&self) -> bool {
        matches!(self, Settled::Charge(Ok(Outcome::Charged(_))))
    }
}

/// What is to be written for a batch, and what its commands are told after that, in their order.
pub(crate) type DecidedBatch = (Changes, Vec<Settled>);

/// A batch that is being decided.
pub(crate) struct Deciding<'a> {
    draft: Draft<'a>,
    settled: Vec<Settled>,
    work: usize,
}

impl<'a> Deciding<'a> {
    /// With nothing decided yet. The tree belongs to the books.
    pub(crate) fn new(books: &'a Books, tree: &'a mut StateTree) -> Deciding<'a> {
        Deciding { draft: Draft::new(books, tree, now()), settled: Vec::new(), work: 0 }
    }

    /// Goes on deciding in order, until so many are settled. Those who were answered last and ask again at once join the batch, as
    /// long as they keep arriving: a commit costs about the same for one as for many.
    pub(crate) fn decide(
        &mut self,
        waiting: &Receiver<Command>,
        batch: &mut Vec<Command>,
        expected: usize,
        until: usize,
        known: &HashMap<Key, StoredRecord>,
    ) {
        /// How long nobody may arrive.
        const PAUSE: Duration = Duration::from_micros(4);
        /// Costs paid by accounts in one transaction, far less than a second of them: others must not give up waiting for it.
        const WORK: usize = 50_000;
        let Deciding { draft, settled, work } = self;
        settled.reserve(batch.len() - settled.len());
        let mut newest = Instant::now();
        while *work <= WORK && settled.len() < until {
            if let Some(command) = batch.get(settled.len()) {
                settled.push(decide(draft, command, known));
                *work += command.work();
            } else if settled.len() >= expected {
                break;
            } else if let Ok(command) = waiting.try_recv() {
                batch.push(command);
                newest = Instant::now();
            } else if newest.elapsed() > PAUSE {
                break;
            } else {
                thread::yield_now();
            }
        }
    }

    /// How many are settled.
    pub(crate) fn len(&self) -> usize {
        self.settled.len()
    }

    /// The records so far, to be written ahead of the rest.
    pub(crate) fn take_entries(&mut self) -> &[Entry] {
        self.draft.take_entries()
    }

    /// What is to be written, and what is told after that.
    pub(crate) fn finish(self) -> DecidedBatch {
        (self.draft.finish(), self.settled)
    }
}

fn decide(draft: &mut Draft<'_>, command: &Command, known: &HashMap<Key, StoredRecord>) -> Settled {
    match command {
        Command::Open(spec, _) => Settled::Account(draft.open((**spec).clone())),
        Command::Close(name, by, note, _) => Settled::Account(draft.close(name.clone(), by.clone(), note.clone())),
        Command::Refresh(_) => Settled::Refreshed,
        Command::Charge(prepared, _) => Settled::Charge(match known.get(prepared.charge.key()) {
            Some(stored) => Receipt::from_stored(draft.ledger(), stored).and_then(|receipt| prepared.replayed(receipt)),
            None => draft.charge(prepared),
        }),
    }
}
