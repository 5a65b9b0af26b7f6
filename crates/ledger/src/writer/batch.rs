//! A batch: the commands that wait, decided in order and in memory.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use async_channel::Receiver;

use super::Command;
use crate::books::{Books, Changes, Draft, Entry};
use crate::charge::{Outcome, Receipt};
use crate::clock::{instant, now};
use crate::error::Error;
use crate::hash::StateTree;
use crate::name::Key;
use crate::store::StoredRecord;

/// The reply to a command, until the batch is on disk.
pub(crate) enum Reply {
    Charge(Result<Outcome, Error>),
    Account(Result<Receipt, Error>),
    Refreshed,
}

impl Reply {
    /// Whether it was charged just now.
    pub(crate) fn is_charged(&self) -> bool {
        matches!(self, Reply::Charge(Ok(Outcome::Charged(_))))
    }
}

/// What is to be written for a batch, and the replies to its commands, in their order.
pub(crate) type Decided = (Changes, Vec<Reply>);

/// A batch that is being decided.
pub(crate) struct Batch<'a> {
    draft: Draft<'a>,
    replies: Vec<Reply>,
    work: usize,
}

impl<'a> Batch<'a> {
    /// A batch with no replies yet. The tree belongs to the books.
    pub(crate) fn new(books: &'a Books, tree: &'a mut StateTree) -> Batch<'a> {
        Batch { draft: Draft::new(books, tree, now()), replies: Vec::new(), work: 0 }
    }

    /// Goes on deciding in order, until it has `until` replies. Commands that arrive meanwhile join the batch, until `expected` have
    /// arrived or none arrives for a moment: a commit costs about the same for one as for many.
    pub(crate) fn decide(
        &mut self,
        waiting: &Receiver<Command>,
        commands: &mut Vec<Command>,
        expected: usize,
        until: usize,
        known: &HashMap<Key, StoredRecord>,
    ) {
        /// How long to wait for the next command.
        const PAUSE: Duration = Duration::from_micros(4);
        /// Costs paid by accounts in one transaction, far less than a second of them: others must not give up waiting for it.
        const WORK: usize = 50_000;
        let Batch { draft, replies, work } = self;
        replies.reserve(commands.len() - replies.len());
        let mut newest = instant();
        while *work <= WORK && replies.len() < until {
            if let Some(command) = commands.get(replies.len()) {
                replies.push(decide(draft, command, known));
                *work += command.work();
            } else if replies.len() >= expected {
                break;
            } else if let Ok(command) = waiting.try_recv() {
                commands.push(command);
                newest = instant();
            } else if instant().saturating_duration_since(newest) > PAUSE {
                break;
            } else {
                thread::yield_now();
            }
        }
    }

    /// How many commands are decided.
    pub(crate) fn len(&self) -> usize {
        self.replies.len()
    }

    /// The records so far, to be written ahead of the rest.
    pub(crate) fn take_entries(&mut self) -> &[Entry] {
        self.draft.take_entries()
    }

    /// What is to be written, and the replies.
    pub(crate) fn finish(self) -> Decided {
        (self.draft.finish(), self.replies)
    }
}

fn decide(draft: &mut Draft<'_>, command: &Command, known: &HashMap<Key, StoredRecord>) -> Reply {
    match command {
        Command::Open(spec, _) => Reply::Account(draft.open((**spec).clone())),
        Command::Close(name, by, note, _) => Reply::Account(draft.close(name.clone(), by.clone(), note.clone())),
        Command::Refresh(_) | Command::Acknowledge(_) => Reply::Refreshed,
        Command::Charge(prepared, _) => Reply::Charge(match known.get(prepared.charge.key()) {
            Some(stored) => Receipt::from_stored(draft.ledger(), stored).and_then(|receipt| prepared.replayed(receipt)),
            None => draft.charge(prepared),
        }),
    }
}
