//! The writer: the one thread that owns the store.
//!
//! It takes whatever waits, decides it in order in memory, commits all of it in one transaction, has the witness remember it, and
//! only then answers. Between the commit and the answer nothing can fail silently: what is not certain stops the ledger.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use jiff::Timestamp;

use crate::account::AccountSpec;
use crate::books::{Books, Changes};
use crate::charge::{Outcome, PreparedCharge, Receipt};
use crate::commit_times::CommitClock;
use crate::connections::Connections;
use crate::deciding::{DecidedBatch, Deciding, Settled};
use crate::error::{Error, ErrorKind};
use crate::hash::StateTree;
use crate::journal::Position;
use crate::name::{AccountName, Key, Note, Who};
use crate::refusals::Refusals;
use crate::store::{Failure, Store, StoreError, StoredRecord};
use crate::witness::{Testimony, Witness};

/// What waits in the queue: something to do, and where the answer goes.
pub(crate) enum Command {
    Charge(PreparedCharge, Reply<Outcome>),
    Open(Box<AccountSpec>, Reply<Receipt>),
    Close(AccountName, Option<Who>, Option<Note>, Reply<Receipt>),
    /// Takes over what other processes wrote, which every transaction does first.
    Refresh(Reply<()>),
}

/// Where an answer goes. Dropped without one, it tells so.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

impl Command {
    /// How much there is to decide, at most: costs times accounts that pay them.
    pub(crate) fn work(&self) -> usize {
        match self {
            Command::Charge(prepared, _) => {
                prepared.costs.len() * prepared.charge.accounts().len() * AccountName::DEPTH
            }
            Command::Open(..) | Command::Close(..) | Command::Refresh(_) => 1,
        }
    }

    fn fail(self, error: Error) {
        // A caller that no longer waits gets no answer.
        let _ = match self {
            Command::Charge(_, reply) => reply.send(Err(error)).is_ok(),
            Command::Open(_, reply) | Command::Close(.., reply) => reply.send(Err(error)).is_ok(),
            Command::Refresh(reply) => reply.send(Err(error)).is_ok(),
        };
    }
}

/// What the writer shares with the handles.
pub(crate) struct Shared {
    pub(crate) queue: Sender<Command>,
    pub(crate) books: RwLock<Books>,
    pub(crate) refusals: Mutex<Refusals>,
    /// Charges that were committed.
    pub(crate) charges: AtomicU64,
    /// How long commits take.
    pub(crate) commit_clock: CommitClock,
    /// For reading the journal.
    pub(crate) connections: Connections,
    /// Why the writer stopped, if it did.
    pub(crate) cause: OnceLock<Error>,
    /// Since when the writer is at the transaction that it is at, if it is.
    pub(crate) busy_since: Mutex<Option<Instant>>,
}

impl Shared {
    /// The books, to read. No code that can panic holds them, so a poisoned lock guards a sound state.
    pub(crate) fn books(&self) -> RwLockReadGuard<'_, Books> {
        self.books.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn books_mut(&self) -> RwLockWriteGuard<'_, Books> {
        self.books.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_busy_since(&self, since: Option<Instant>) {
        *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// What is told to whoever asks after the writer stopped.
    pub(crate) fn stopped(&self) -> Error {
        ErrorKind::Stopped(self.cause.get().cloned()).into()
    }
}

/// How long a transaction may take, with all its attempts: callers have time limits of their own.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same where the store could not be reached before: the next caller fails at once, or finds that it is back.
const PATIENCE_WHEN_LOST: Duration = Duration::from_secs(2);

/// So many transactions in a row must have found the ledger undisturbed before the next one is expected to. Where two processes take
/// turns that hardly happens; where one is alone it is soon over.
const UNDISTURBED: u32 = 8;

/// Where at least so many are expected, the store gets the first half of them while the second is decided.
const HALVED: usize = 32;

pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) waiting: Receiver<Command>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) witness: Witness,
    pub(crate) tree: StateTree,
    /// Whether the store writes while a batch is decided.
    pub(crate) overlap: bool,
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
    /// What those who wait for it are told if it is there; nothing once they were told that it is not known.
    settled: Option<Vec<Settled>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Before the store: whoever closes a file last tidies it up, and only the writer can.
        self.shared.connections.close();
    }
}

/// Why a transaction did not happen.
enum Undone {
    /// The same may be tried again at once.
    Again(Error),
    /// The connection is lost.
    Lost(Error),
    /// The commands are answered with the error; the ledger goes on.
    Failed(Error),
    /// The commands' outcome is not known, and the ledger stops.
    Stop(Error),
}

impl Writer {
    /// Works until the queue is closed and empty, or until something fails that must not be passed over.
    pub(crate) fn run(mut self) {
        let mut expected = 0;
        while let Ok(first) = self.waiting.recv_blocking() {
            let mut batch = vec![first];
            batch.extend(waiting(&self.waiting));
            while !batch.is_empty() {
                match self.serve(&mut batch, expected) {
                    Ok(settled) => {
                        // Whoever is answered now will mostly ask again at once.
                        expected = settled.len() + self.shared.queue.len();
                        self.answer(batch.drain(..settled.len()), settled);
                    }
                    Err(Undone::Stop(error)) => return self.stop(batch, &error),
                    Err(Undone::Lost(error)) => {
                        let why = format!(
                            "the ledger cannot be reached: {error}. Nothing was charged; try again in a moment"
                        );
                        self.fail(batch.drain(..), &error, &Error::busy(why));
                    }
                    Err(Undone::Again(error) | Undone::Failed(error)) => self.fail(batch.drain(..), &error, &error),
                }
            }
        }
    }

    /// Tells why nothing was done; and of what was to be committed, that its outcome is unknown. The key of a charge tells later.
    fn fail(&mut self, commands: impl Iterator<Item = Command>, cause: &Error, error: &Error) {
        let in_doubt = self.in_doubt.as_mut().and_then(|doubt| doubt.settled.take()).map_or(0, |settled| settled.len());
        let unknown = Error::from(ErrorKind::UnknownOutcome(Some(cause.clone())));
        for (at, command) in commands.enumerate() {
            let changes = at < in_doubt && !matches!(command, Command::Refresh(_));
            command.fail(if changes { unknown.clone() } else { error.clone() });
        }
    }

    /// Ends for good: whoever is in the batch does not know its outcome, and whoever still waits was not charged.
    fn stop(self, batch: Vec<Command>, error: &Error) {
        // The first cause is the one that is told.
        let _ = self.shared.cause.set(error.clone());
        self.shared.queue.close();
        let unknown = Error::from(ErrorKind::UnknownOutcome(Some(error.clone())));
        let stopped = self.shared.stopped();
        for command in batch {
            let changes_nothing = matches!(command, Command::Refresh(_));
            command.fail(if changes_nothing { stopped.clone() } else { unknown.clone() });
        }
        waiting(&self.waiting).for_each(|command| command.fail(stopped.clone()));
    }

    fn answer(&self, commands: impl Iterator<Item = Command>, settled: Vec<Settled>) {
        for (command, settled) in commands.zip(settled) {
            // A caller that no longer waits gets no answer.
            let _ = match (command, settled) {
                (Command::Charge(prepared, reply), Settled::Charge(result)) => {
                    if let Ok(Outcome::Refused(refusal)) = &result {
                        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).note(&prepared, refusal);
                    }
                    reply.send(result).is_ok()
                }
                (Command::Open(_, reply) | Command::Close(.., reply), Settled::Account(result)) => {
                    reply.send(result).is_ok()
                }
                (Command::Refresh(reply), Settled::Refreshed) => reply.send(Ok(())).is_ok(),
                _ => unreachable!("answers come in the order of the commands"),
            };
        }
    }

    /// Decides and commits a batch, or as much of it as one transaction should hold. The answers come in the order of the commands.
    /// So many are expected in all: those that arrive while the first are decided join the batch.
    ///
    /// Where the connection is lost it is made again, and what was decided is decided anew; a commit that got no answer is looked for
    /// first. What cannot be reached in time is an error for those who wait, and is tried again for the next.
    fn serve(&mut self, batch: &mut Vec<Command>, expected: usize) -> Result<Vec<Settled>, Undone> {
        let started = Instant::now();
        let deadline = started + if self.is_lost { PATIENCE_WHEN_LOST } else { PATIENCE };
        self.store.set_deadline(deadline);
        self.shared.set_busy_since(Some(started));
        let mut expected = if self.meets_repeats { 0 } else { expected };
        let result = loop {
            let undone = match self.attempt(batch, expected, started) {
                Err(Undone::Lost(error)) => match self.reconnect(&error) {
                    Ok(()) => continue,
                    Err(undone) => undone,
                },
                Err(Undone::Again(_)) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(5));
                    expected = 0;
                    continue;
                }
                Err(undone) => undone,
                Ok(settled) => break Ok(settled),
            };
            break Err(undone);
        };
        self.shared.set_busy_since(None);
        self.is_lost = matches!(result, Err(Undone::Lost(_)));
        result
    }

    fn attempt(&mut self, batch: &mut Vec<Command>, expected: usize, started: Instant) -> Result<Vec<Settled>, Undone> {
        let (head, foreseen) = self.begin(batch, expected, self.in_doubt.is_none() && !self.meets_repeats)?;
        if let Some(settled) = self.resolve_doubt(started)? {
            self.store.rollback();
            return Ok(settled);
        }
        self.refresh(head)?;
        // Most keys are new, and the journal takes none twice; so they are looked up only where they may not be new.
        let known = if self.meets_repeats { self.known_keys(batch.iter())? } else { HashMap::new() };
        let (changes, settled) = foreseen.unwrap_or_else(|| self.decide(batch, expected, &known));
        let commands = &batch[..settled.len()];
        if !self.meets_repeats {
            // What is not charged now may have been charged before.
            let suspects = commands.iter().zip(&settled).filter(|(_, settled)| !settled.is_charged());
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
            if !known.is_empty() {
                self.acknowledge_known()?;
            }
            return Ok(settled);
        }
        if let Err(error) = self.store.write(&changes) {
            return Err(self.undo(changes, error));
        }
        match self.store.commit() {
            Ok(()) => {
                self.meets_repeats = !known.is_empty();
                self.remember(changes, started)?;
                Ok(settled)
            }
            Err(error) if error.kind == Failure::Lost => {
                self.in_doubt = Some(InDoubt { changes, settled: Some(settled) });
                Err(error.into())
            }
            Err(error) => Err(self.undo(changes, error)),
        }
    }

    /// Finds out what came of a commit that got no answer. Every other writer waits now, so what the journal says is the last word.
    /// Returns what those are told who still wait for it.
    fn resolve_doubt(&mut self, started: Instant) -> Result<Option<Vec<Settled>>, Undone> {
        let Some(position) = self.in_doubt.as_ref().map(|doubt| doubt.changes.head()) else { return Ok(None) };
        let is_there = self.store.record(position.sequence)?.is_some_and(|record| record.hash == position.hash);
        let Some(InDoubt { changes, settled }) = self.in_doubt.take() else { return Ok(None) };
        if !is_there {
            changes.undo(&mut self.tree);
            return Ok(None);
        }
        self.remember(changes, started)?;
        Ok(settled)
    }

    /// Begins a transaction. Where nobody else writes, the books are already what they will be when it has begun. So the batch is
    /// decided while the store answers, and the store may write the first half of it while the second is decided.
    fn begin(
        &mut self,
        batch: &mut Vec<Command>,
        expected: usize,
        may_foresee: bool,
    ) -> Result<(Option<Position>, Option<DecidedBatch>), Undone> {
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
        let mut deciding = Deciding::new(&books, tree);
        let half = if *overlap && expected >= HALVED { expected / 2 } else { usize::MAX };
        deciding.decide(waiting, batch, expected, half, &HashMap::new());
        let begun = store.begin();
        let (is_foreseen, mut ahead) = (is_as_known(&begun), Ok(()));
        if is_foreseen && deciding.len() == half {
            ahead = store.append(deciding.take_entries()).and_then(|()| store.send_ahead());
            if ahead.is_ok() {
                deciding.decide(waiting, batch, expected, usize::MAX, &HashMap::new());
            }
        }
        let (changes, settled) = deciding.finish();
        drop(books);
        match ahead {
            Ok(()) if is_foreseen => Ok((begun?, Some((changes, settled)))),
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
        self.meets_repeats |= error.kind == Failure::KeyTaken;
        error.into()
    }

    /// Decides a batch.
    fn decide(
        &mut self,
        batch: &mut Vec<Command>,
        expected: usize,
        known: &HashMap<Key, StoredRecord>,
    ) -> DecidedBatch {
        let Writer { shared, waiting, tree, .. } = self;
        let books = shared.books();
        let mut deciding = Deciding::new(&books, tree);
        deciding.decide(waiting, batch, expected, usize::MAX, known);
        deciding.finish()
    }

    /// What is on disk is remembered by the witness, and then part of the books.
    fn remember(&mut self, changes: Changes, started: Instant) -> Result<(), Undone> {
        let ledger = self.shared.books().id();
        self.witness.advance(Testimony { ledger, position: changes.head() }).map_err(Undone::Stop)?;
        self.shared.commit_clock.note(started.elapsed());
        self.shared.charges.fetch_add(changes.charges(), Ordering::Relaxed);
        self.shared.books_mut().adopt(changes);
        Ok(())
    }

    /// What other processes committed is acknowledged again by a repeated key, so this one's witness must know it too. What is only
    /// read need not be known to it: whoever was told that it is charged has a witness that knows.
    fn acknowledge_known(&mut self) -> Result<(), Undone> {
        let known = self.shared.books().testimony();
        self.witness.advance(known).map_err(Undone::Stop)
    }

    /// Takes over what other processes wrote since.
    fn refresh(&mut self, head: Option<Position>) -> Result<(), Undone> {
        let known = self.shared.books().head();
        let head = head.ok_or_else(|| broken("the journal of the ledger is gone"))?;
        if head == known {
            return Ok(());
        }
        if head.sequence <= known.sequence {
            return Err(broken(&format!(
                "the ledger was set back to record {} while this process knew record {}",
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

    /// The records of keys that were used before.
    fn known_keys<'a>(
        &mut self,
        commands: impl Iterator<Item = &'a Command>,
    ) -> Result<HashMap<Key, StoredRecord>, Undone> {
        let keys: Vec<&Key> = commands
            .filter_map(|command| match command {
                Command::Charge(prepared, _) => Some(prepared.charge.key()),
                Command::Open(..) | Command::Close(..) | Command::Refresh(_) => None,
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

    /// Makes the connection again, and checks that the ledger was not set back meanwhile. A database that does not come back in time
    /// may do so later; one that has become another must not be written to.
    fn reconnect(&mut self, cause: &Error) -> Result<(), Undone> {
        let stop = |error: &dyn std::fmt::Display| Undone::Stop(Error::storage(format!("{cause}, and then: {error}")));
        if let Err(error) = self.store.reconnect() {
            return Err(match error.kind {
                Failure::Lost => Undone::Lost(Error::storage(format!("{cause}, and then: {}", error.message))),
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
                Err(error) if error.kind == Failure::Lost => return Ok(()),
                found => found.map_err(|error| stop(&error.message))?,
            };
            if record.is_none_or(|record| record.hash != position.hash) {
                return Err(Undone::Stop(ErrorKind::SetBack(position.sequence).into()));
            }
        }
        Ok(())
    }
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Undone {
        match error.kind {
            Failure::Again | Failure::KeyTaken => Undone::Again(Error::busy(format!(
                "the store is contended: {}; nothing was charged, try again",
                error.message
            ))),
            Failure::Lost => Undone::Lost(error.into()),
            Failure::Failed => Undone::Failed(Error::storage(format!(
                "{}. Nothing was charged, and nothing that was acknowledged is lost",
                error.message
            ))),
            Failure::Alarm => Undone::Failed(error.into()),
            Failure::Broken | Failure::OtherFormat(_) | Failure::Fatal => Undone::Stop(error.into()),
        }
    }
}

fn broken(what: &str) -> Undone {
    Undone::Stop(Error::integrity(what))
}

/// Everything that waits now.
pub(crate) fn waiting(commands: &Receiver<Command>) -> impl Iterator<Item = Command> {
    std::iter::from_fn(|| commands.try_recv().ok())
}

/// The time, to the millisecond.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default()
}
