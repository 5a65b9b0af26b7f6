//! The writer: the one thread that owns the store.
//!
//! It takes whatever waits, decides it in order in memory, commits all of it in one transaction, has the witness remember it, and
//! only then answers. Between the commit and the answer nothing can fail silently: what is not certain stops the ledger.

mod batch;
mod command;
mod covering;
mod recovery;
mod shared;
mod step;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use async_channel::Receiver;

use self::batch::{Batch, Decided, Reply};
pub(crate) use self::command::{Command, ReplyTo, waiting};
pub(crate) use self::covering::cover;
pub(crate) use self::shared::Shared;
#[cfg(any(test, feature = "simulation"))]
pub(crate) use self::step::WriterStep;
use crate::books::Changes;
use crate::charge::Outcome;
use crate::clock::{instant, pause};
use crate::cosigning::Cosigners;
use crate::error::{Error, ErrorKind};
use crate::hash::StateTree;
use crate::journal::Position;
use crate::name::Key;
use crate::store::{Store, StoreError, StoreFailure, StoredRecord};
use crate::witness::{Sharing, Witness};

/// How long a transaction may take, with all its attempts: callers have time limits of their own.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it may take if the store could not be reached before: the next caller fails soon, or finds that it is back.
const PATIENCE_WHEN_LOST: Duration = Duration::from_secs(2);

/// How many transactions in a row must have found no other writer before the next one expects none. Two processes that take turns
/// rarely reach it; a process that is alone soon does.
const UNDISTURBED: u32 = 8;

/// The number of expected commands from which on the store gets the first half while the second is decided.
const HALVED: usize = 32;

pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) waiting: Receiver<Command>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) witness: Witness,
    pub(crate) tree: StateTree,
    /// The witnesses on other machines, if there are any.
    pub(crate) cosigners: Option<Cosigners>,
    pub(crate) sharing: Sharing,
    /// Whether the store writes while a batch is decided.
    pub(crate) overlap: bool,
    /// How many commands are likely to arrive with the next ones.
    pub(crate) expected: usize,
    /// Whether the newest batch had keys that were used before.
    pub(crate) meets_repeats: bool,
    /// How many transactions in a row found the ledger as this process had left it.
    pub(crate) undisturbed: u32,
    /// Whether the store could not be reached the last time.
    pub(crate) is_lost: bool,
    /// A transaction whose commit got no answer. Until it is known what came of it, nothing else is decided.
    pub(crate) in_doubt: Option<InDoubt>,
}

/// A transaction whose commit got no answer.
pub(crate) struct InDoubt {
    changes: Changes,
    /// The replies, if it was committed; nothing once the callers were told that this is not known.
    replies: Option<Vec<Reply>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Before the store: the last to close a file tidies it up, and only the writer can.
        self.shared.connections.close();
    }
}

/// Why a transaction did not happen.
enum Undone {
    /// The same may be tried again at once.
    Again(Error),
    /// The connection is lost.
    Lost(Error),
    /// Too few witnesses on other machines answer.
    Late(Error),
    /// The commands are answered with the error; the ledger goes on.
    Failed(Error),
    /// The commands' outcome is not known, and the ledger stops.
    Stop(Error),
}

impl Writer {
    /// Works until the queue is closed and empty, or until something fails that must not be passed over.
    pub(crate) fn run(mut self) {
        while let Ok(first) = self.waiting.recv_blocking() {
            if self.take(first).is_break() {
                return;
            }
        }
    }

    /// Serves a command, and all that wait behind it. Breaks when the ledger must stop.
    pub(crate) fn take(&mut self, first: Command) -> ControlFlow<()> {
        let mut commands = vec![first];
        commands.extend(waiting(&self.waiting));
        while !commands.is_empty() {
            match self.serve(&mut commands, self.expected) {
                Ok(replies) => {
                    // Most callers who get a reply now will ask again at once.
                    self.expected = replies.len() + self.shared.queue.len();
                    self.answer(commands.drain(..replies.len()), replies);
                }
                Err(Undone::Stop(error)) => {
                    self.stop(commands, &error);
                    return ControlFlow::Break(());
                }
                Err(Undone::Lost(error)) => {
                    let why =
                        format!("the ledger cannot be reached: {error}. Nothing was charged; try again in a moment");
                    self.fail(commands.drain(..), &error, &Error::busy(why));
                }
                Err(Undone::Late(error)) => {
                    let why = format!("{error}. Nothing was charged; try again in a moment");
                    self.fail(commands.drain(..), &error, &Error::busy(why));
                }
                Err(Undone::Again(error) | Undone::Failed(error)) => self.fail(commands.drain(..), &error, &error),
            }
        }
        ControlFlow::Continue(())
    }

    /// Replies with why nothing was done. The outcome of what was to be committed is unknown; a charge's key tells it later.
    fn fail(&mut self, commands: impl Iterator<Item = Command>, cause: &Error, error: &Error) {
        let in_doubt = self.in_doubt.as_mut().and_then(|doubt| doubt.replies.take()).map_or(0, |replies| replies.len());
        let unknown = Error::from(ErrorKind::UnknownOutcome(Some(cause.clone())));
        for (at, command) in commands.enumerate() {
            // Whether a record stands is not known, either, to those who ask for its receipt.
            let is_unsure = matches!(command, Command::Acknowledge(_)) && error.is_busy();
            let is_in_doubt = at < in_doubt && !command.changes_nothing() || is_unsure;
            command.fail(if is_in_doubt { unknown.clone() } else { error.clone() });
        }
    }

    /// Ends for good: the outcome of the commands in the batch is unknown, and those that still wait were not charged.
    fn stop(&self, commands: Vec<Command>, error: &Error) {
        // The first cause is the one that is told.
        let _ = self.shared.cause.set(error.clone());
        self.shared.queue.close();
        let unknown = Error::from(ErrorKind::UnknownOutcome(Some(error.clone())));
        let stopped = self.shared.stopped();
        for command in commands {
            let error = if command.changes_nothing() { &stopped } else { &unknown };
            command.fail(error.clone());
        }
        waiting(&self.waiting).for_each(|command| command.fail(stopped.clone()));
    }

    fn answer(&self, commands: impl Iterator<Item = Command>, replies: Vec<Reply>) {
        for (command, reply) in commands.zip(replies) {
            // A caller that no longer waits gets no answer.
            let _ = match (command, reply) {
                (Command::Charge(prepared, to), Reply::Charge(result)) => {
                    if let Ok(Outcome::Refused(refusal)) = &result {
                        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).note(&prepared, refusal);
                    }
                    to.send(result).is_ok()
                }
                (Command::Open(_, to) | Command::Close(.., to), Reply::Account(result)) => to.send(result).is_ok(),
                (Command::Refresh(to) | Command::Acknowledge(to), Reply::Refreshed) => to.send(Ok(())).is_ok(),
                _ => unreachable!("answers come in the order of the commands"),
            };
        }
    }

    /// Decides and commits a batch, or as much of it as one transaction should hold. The replies come in the order of the commands.
    /// `expected` is how many commands are likely to arrive in all: those that arrive while the first are decided join the batch.
    ///
    /// Where the connection is lost it is made again, and what was decided is decided anew; a commit that got no answer is looked for
    /// first. What cannot be reached in time is an error for those who wait, and is tried again for the next.
    fn serve(&mut self, commands: &mut Vec<Command>, expected: usize) -> Result<Vec<Reply>, Undone> {
        let started = instant();
        let deadline = started + if self.is_lost { PATIENCE_WHEN_LOST } else { PATIENCE };
        self.store.set_deadline(deadline);
        self.shared.set_busy_since(Some(started));
        let mut expected = if self.meets_repeats { 0 } else { expected };
        let result = loop {
            let undone = match self.attempt(commands, expected, started) {
                Err(Undone::Lost(error)) => match self.reconnect(&error) {
                    Ok(()) => continue,
                    Err(undone) => undone,
                },
                Err(Undone::Again(_)) if instant() < deadline => {
                    pause(Duration::from_millis(5));
                    expected = 0;
                    continue;
                }
                Err(undone) => undone,
                Ok(replies) => break Ok(replies),
            };
            break Err(undone);
        };
        self.shared.set_busy_since(None);
        self.is_lost = matches!(result, Err(Undone::Lost(_)));
        result
    }

    fn attempt(
        &mut self,
        commands: &mut Vec<Command>,
        expected: usize,
        started: Instant,
    ) -> Result<Vec<Reply>, Undone> {
        self.cover_outstanding()?;
        let (head, foreseen) = self.begin(commands, expected, self.in_doubt.is_none() && !self.meets_repeats)?;
        if let Some(replies) = self.resolve_doubt(started)? {
            self.store.rollback();
            return Ok(replies);
        }
        self.refresh(head)?;
        // Most keys are new, and the journal takes none twice; so they are looked up only where they may not be new.
        let known = if self.meets_repeats { self.known_keys(commands.iter())? } else { HashMap::new() };
        let (changes, replies) = foreseen.unwrap_or_else(|| self.decide(commands, expected, &known));
        let decided = &commands[..replies.len()];
        if !self.meets_repeats {
            // What is not charged now may have been charged before.
            let suspects = decided.iter().zip(&replies).filter(|(_, reply)| !reply.is_charged());
            let repeats = self.known_keys(suspects.map(|(command, _)| command));
            if !matches!(&repeats, Ok(repeats) if repeats.is_empty()) {
                changes.undo(&mut self.tree);
                self.meets_repeats = true;
                repeats?;
                self.store.rollback();
                return Err(Undone::Again(Error::busy("a key was used before")));
            }
        }
        if changes.is_empty() {
            self.store.rollback();
            let is_asked = commands[..replies.len()].iter().any(|command| matches!(command, Command::Acknowledge(_)));
            if is_asked || !known.is_empty() {
                self.acknowledge_known()?;
            }
            return Ok(replies);
        }
        if let Err(error) = self.store.write(&changes) {
            return Err(self.undo(changes, error));
        }
        match self.store.commit() {
            Ok(()) => {
                self.meets_repeats = !known.is_empty();
                self.remember(changes, started, replies)
            }
            Err(error) if error.kind == StoreFailure::Lost => {
                self.in_doubt = Some(InDoubt { changes, replies: Some(replies) });
                Err(error.into())
            }
            Err(error) => Err(self.undo(changes, error)),
        }
    }

    /// Begins a transaction. Where no other process writes, the books are already what they will be when it has begun. So the batch is
    /// decided while the store answers, and the store may write the first half of it while the second is decided.
    fn begin(
        &mut self,
        commands: &mut Vec<Command>,
        expected: usize,
        may_foresee: bool,
    ) -> Result<(Option<Position>, Option<Decided>), Undone> {
        let known = self.shared.books().head();
        let is_as_known =
            |begun: &Result<Option<Position>, StoreError>| matches!(begun, Ok(Some(head)) if *head == known);
        if !may_foresee || self.undisturbed < UNDISTURBED {
            let begun = self.store.begin();
            self.undisturbed = if is_as_known(&begun) { self.undisturbed.saturating_add(1) } else { 0 };
            return Ok((begun?, None));
        }
        self.store.ask_to_begin();
        let Writer { shared, waiting, store, tree, overlap, .. } = self;
        let books = shared.books();
        let mut batch = Batch::new(&books, tree);
        let half = if *overlap && expected >= HALVED { expected / 2 } else { usize::MAX };
        batch.decide(waiting, commands, expected, half, &HashMap::new());
        let begun = store.begin();
        let (is_foreseen, mut ahead) = (is_as_known(&begun), Ok(()));
        if is_foreseen && batch.len() == half {
            ahead = store.append(batch.take_entries()).and_then(|()| store.send_ahead());
            if ahead.is_ok() {
                batch.decide(waiting, commands, expected, usize::MAX, &HashMap::new());
            }
        }
        let (changes, replies) = batch.finish();
        drop(books);
        match ahead {
            Ok(()) if is_foreseen => Ok((begun?, Some((changes, replies)))),
            Ok(()) => {
                self.undisturbed = 0;
                changes.undo(&mut self.tree);
                Ok((begun?, None))
            }
            Err(error) => Err(self.undo(changes, error)),
        }
    }

    /// Leaves what was not written, because of an error of the store.
    fn undo(&mut self, changes: Changes, error: StoreError) -> Undone {
        changes.undo(&mut self.tree);
        self.meets_repeats |= error.kind == StoreFailure::KeyTaken;
        error.into()
    }

    /// Decides a batch.
    fn decide(&mut self, commands: &mut Vec<Command>, expected: usize, known: &HashMap<Key, StoredRecord>) -> Decided {
        let Writer { shared, waiting, tree, .. } = self;
        let books = shared.books();
        let mut batch = Batch::new(&books, tree);
        batch.decide(waiting, commands, expected, usize::MAX, known);
        batch.finish()
    }

    /// The records of keys that were used before.
    fn known_keys<'a>(
        &mut self,
        commands: impl Iterator<Item = &'a Command>,
    ) -> Result<HashMap<Key, StoredRecord>, Undone> {
        let keys: Vec<&Key> = commands
            .filter_map(|command| match command {
                Command::Charge(prepared, _) => Some(prepared.charge.key()),
                _ => None,
            })
            .collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let texts: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
        let found = self.store.find_keys(&texts)?;
        if found.is_empty() {
            return Ok(HashMap::new());
        }
        let by_text: HashMap<&str, &Key> = keys.iter().map(|key| (key.as_str(), *key)).collect();
        Ok(found
            .into_iter()
            .filter_map(|record| Some(((*by_text.get(record.key.as_deref()?)?).clone(), record)))
            .collect())
    }
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Undone {
        match error.kind {
            StoreFailure::Again | StoreFailure::KeyTaken => Undone::Again(Error::busy(format!(
                "the store is contended: {}; nothing was charged, try again",
                error.message
            ))),
            StoreFailure::Lost => Undone::Lost(error.into()),
            StoreFailure::Failed => Undone::Failed(Error::storage(format!(
                "{}. Nothing was charged, and nothing that was acknowledged is lost",
                error.message
            ))),
            StoreFailure::Alarm => Undone::Failed(error.into()),
            StoreFailure::Broken | StoreFailure::OtherFormat(_) | StoreFailure::Fatal => Undone::Stop(error.into()),
        }
    }
}
