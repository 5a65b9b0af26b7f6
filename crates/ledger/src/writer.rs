//! The writer: the one thread that owns the store.
//!
//! It takes whatever waits, decides it in order in memory, commits all of it in one transaction, has the witness remember it, and
//! only then answers. Between the commit and the answer nothing can fail silently: what is not certain stops the ledger.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::account::AccountSpec;
use crate::books::{Books, Changes};
use crate::charge::{Outcome, PreparedCharge, Receipt};
use crate::commit_times::CommitClock;
use crate::connections::Connections;
use crate::deciding::{DecidedBatch, Deciding, Settled};
use crate::error::Error;
use crate::hash::StateTree;
use crate::journal::Position;
use crate::name::{AccountName, Key, Note, Who};
use crate::queue::{Batch, Queue, Reply};
use crate::refusals::Refusals;
use crate::store::{Failure, Store, StoreError, StoredRecord};
use crate::witness::{Testimony, Witness};

/// What waits in the queue: something to do, and where the answer goes.
pub(crate) enum Command {
    Charge(PreparedCharge, Reply<Result<Outcome, Error>>),
    Open(Box<AccountSpec>, Reply<Result<Receipt, Error>>),
    Close(AccountName, Option<Who>, Option<Note>, Reply<Result<Receipt, Error>>),
    /// Takes over what other processes wrote, which every transaction does first.
    Refresh(Reply<Result<(), Error>>),
}

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
        match self {
            Command::Charge(_, reply) => reply.send(Err(error)),
            Command::Open(_, reply) | Command::Close(.., reply) => reply.send(Err(error)),
            Command::Refresh(reply) => reply.send(Err(error)),
        }
    }
}

/// What the writer shares with the handles.
pub(crate) struct Shared {
    pub(crate) queue: Queue<Command>,
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
}

impl Shared {
    /// What is told to whoever asks after the writer stopped.
    pub(crate) fn stopped(&self) -> Error {
        let cause = self.cause.get().map_or(String::new(), |cause| format!(" ({cause})"));
        Error::stopped(format!(
            "the ledger has stopped{cause} and takes nothing more; nothing was charged. Mend the cause and open the ledger again"
        ))
    }
}

/// How often, and for how long, a transaction is tried when the store says that it may be.
const TRIES: u32 = 20;
const TRYING: Duration = Duration::from_secs(120);

/// So many transactions in a row must have found the ledger undisturbed before the next one is expected to. Where two processes take
/// turns that hardly happens; where one is alone it is soon over.
const UNDISTURBED: u32 = 8;

/// Where at least so many are expected, the store gets the first half of them while the second is decided.
const HALVED: usize = 32;

pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) witness: Witness,
    pub(crate) tree: StateTree,
    /// Whether the store writes while a batch is decided.
    pub(crate) overlap: bool,
    /// Whether the newest batch had keys that were used before.
    pub(crate) meets_repeats: bool,
    /// How many transactions in a row found the ledger as this process had left it.
    pub(crate) undisturbed: u32,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Before the store: whoever closes a file last tidies it up, and only the writer can.
        self.shared.connections.close();
    }
}

/// Why a batch could not be done.
enum Trouble {
    /// The commands are answered with the error; the ledger goes on.
    Failed(Error),
    /// The commands' outcome is not known, and the ledger stops.
    Stop(Error),
}

impl Writer {
    /// Works until the queue is closed and empty, or until something fails that must not be passed over.
    pub(crate) fn run(mut self) {
        let mut expected = 0;
        loop {
            let mut batch = self.shared.queue.take();
            if batch.items.is_empty() {
                return;
            }
            while !batch.items.is_empty() {
                match self.serve(&mut batch, expected) {
                    Ok(settled) => {
                        // Whoever is answered now will mostly ask again at once.
                        expected = settled.len() + self.shared.queue.len();
                        self.answer(batch.items.drain(..settled.len()), settled);
                    }
                    Err(Trouble::Failed(error)) => {
                        batch.items.drain(..).for_each(|command| command.fail(error.clone()))
                    }
                    Err(Trouble::Stop(error)) => return self.stop(batch, &error),
                }
            }
        }
    }

    /// Ends for good: whoever is in the batch does not know its outcome, and whoever still waits was not charged.
    fn stop(self, mut batch: Batch<Command>, error: &Error) {
        // The first cause is the one that is told.
        let _ = self.shared.cause.set(error.clone());
        self.shared.queue.close();
        let unknown = Error::unknown_outcome(format!(
            "{error}. The ledger stopped, since what is on disk is not known. What was asked may or may not be in it: mend the \
             cause, open the ledger again, and ask again for a charge with the same key, or look at the account"
        ));
        let stopped = self.shared.stopped();
        for command in batch.items.drain(..) {
            let changes_nothing = matches!(command, Command::Refresh(_));
            command.fail(if changes_nothing { stopped.clone() } else { unknown.clone() });
        }
        drop(batch);
        loop {
            let mut waiting = self.shared.queue.take();
            if waiting.items.is_empty() {
                return;
            }
            waiting.items.drain(..).for_each(|command| command.fail(stopped.clone()));
        }
    }

    fn answer(&self, commands: impl Iterator<Item = Command>, settled: Vec<Settled>) {
        for (command, settled) in commands.zip(settled) {
            match (command, settled) {
                (Command::Charge(prepared, reply), Settled::Charge(result)) => {
                    if let Ok(Outcome::Refused(refusal)) = &result {
                        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).note(&prepared, refusal);
                    }
                    reply.send(result);
                }
                (Command::Open(_, reply) | Command::Close(.., reply), Settled::Account(result)) => reply.send(result),
                (Command::Refresh(reply), Settled::Refreshed) => reply.send(Ok(())),
                _ => unreachable!("answers come in the order of the commands"),
            }
        }
    }

    /// Decides and commits a batch, or as much of it as one transaction should hold. The answers come in the order of the commands.
    /// So many are expected in all: those that arrive while the first are decided join the batch.
    fn serve(&mut self, batch: &mut Batch<Command>, expected: usize) -> Result<Vec<Settled>, Trouble> {
        // A transaction whose commit got no answer.
        let mut in_doubt: Option<DecidedBatch> = None;
        let started = Instant::now();
        for attempt in (0..TRIES).take_while(|attempt| *attempt == 0 || started.elapsed() < TRYING) {
            let expected = if attempt == 0 && !self.meets_repeats { expected } else { 0 };
            match self.attempt(batch, expected, started, &mut in_doubt) {
                Ok(settled) => return Ok(settled),
                Err(Undone::Trouble(Trouble::Failed(error))) if in_doubt.is_some() => return Err(Trouble::Stop(error)),
                Err(Undone::Trouble(trouble)) => return Err(trouble),
                Err(Undone::Again) => thread::sleep(Duration::from_millis(u64::from(attempt.min(10)) * 5)),
                Err(Undone::Lost(error)) => self.reconnect(&error)?,
            }
        }
        match in_doubt {
            Some(_) => Err(Trouble::Stop(Error::storage("the store was lost at every attempt"))),
            None => Err(Trouble::Failed(Error::busy(format!(
                "the store was contended for {} s; nothing was charged, try again",
                started.elapsed().as_secs()
            )))),
        }
    }

    fn attempt(
        &mut self,
        batch: &mut Batch<Command>,
        expected: usize,
        started: Instant,
        in_doubt: &mut Option<DecidedBatch>,
    ) -> Result<Vec<Settled>, Undone> {
        let (head, foreseen) = self.begin(batch, expected, in_doubt.is_none() && !self.meets_repeats)?;
        // Every other writer waits now, so what the journal says is the last word about a commit that got no answer.
        if let Some(position) = in_doubt.as_ref().map(|(changes, _)| changes.head()) {
            let is_there = self.store.record(position.sequence)?.is_some_and(|record| record.hash == position.hash);
            if let Some((changes, settled)) = in_doubt.take() {
                if is_there {
                    self.store.rollback();
                    self.remember(changes, started)?;
                    return Ok(settled);
                }
                changes.undo(&mut self.tree);
            }
        }
        self.refresh(head)?;
        // Most keys are new, and the journal takes none twice; so they are looked up only where they may not be new.
        let known = if self.meets_repeats { self.known_keys(batch.items.iter())? } else { HashMap::new() };
        let (changes, settled) = foreseen.unwrap_or_else(|| self.decide(batch, expected, &known));
        let commands = &batch.items[..settled.len()];
        if !self.meets_repeats {
            // What is not charged now may have been charged before.
            let suspects = commands.iter().zip(&settled).filter(|(_, settled)| !settled.is_charged());
            let repeats = self.known_keys(suspects.map(|(command, _)| command));
            if !matches!(&repeats, Ok(repeats) if repeats.is_empty()) {
                changes.undo(&mut self.tree);
                self.meets_repeats = true;
                repeats?;
                self.store.rollback();
                return Err(Undone::Again);
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
                *in_doubt = Some((changes, settled));
                Err(error.into())
            }
            Err(error) => Err(self.undo(changes, error)),
        }
    }

    /// Begins a transaction. Where nobody else writes, the books are already what they will be when it has begun. So the batch is
    /// decided while the store answers, and the store may write the first half of it while the second is decided.
    fn begin(
        &mut self,
        batch: &mut Batch<Command>,
        expected: usize,
        may_foresee: bool,
    ) -> Result<(Option<Position>, Option<DecidedBatch>), Undone> {
        let known = self.books_head();
        let is_as_known =
            |begun: &Result<Option<Position>, StoreError>| matches!(begun, Ok(Some(head)) if *head == known);
        if !may_foresee || self.undisturbed < UNDISTURBED {
            let begun = self.store.begin();
            self.undisturbed = if is_as_known(&begun) { self.undisturbed.saturating_add(1) } else { 0 };
            return Ok((begun?, None));
        }
        self.store.ask_to_begin();
        let Writer { shared, store, tree, overlap, .. } = self;
        let books = shared.books.read().unwrap_or_else(PoisonError::into_inner);
        let mut deciding = Deciding::new(&books, tree);
        let half = if *overlap && expected >= HALVED { expected / 2 } else { usize::MAX };
        deciding.decide(&shared.queue, batch, expected, half, &HashMap::new());
        let begun = store.begin();
        let (is_foreseen, mut ahead) = (is_as_known(&begun), Ok(()));
        if is_foreseen && deciding.len() == half {
            ahead = store.append(deciding.take_entries()).and_then(|()| store.send_ahead());
            if ahead.is_ok() {
                deciding.decide(&shared.queue, batch, expected, usize::MAX, &HashMap::new());
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
        batch: &mut Batch<Command>,
        expected: usize,
        known: &HashMap<Key, StoredRecord>,
    ) -> DecidedBatch {
        let Writer { shared, tree, .. } = self;
        let books = shared.books.read().unwrap_or_else(PoisonError::into_inner);
        let mut deciding = Deciding::new(&books, tree);
        deciding.decide(&shared.queue, batch, expected, usize::MAX, known);
        deciding.finish()
    }

    /// What is on disk is remembered by the witness, and then part of the books.
    fn remember(&mut self, changes: Changes, started: Instant) -> Result<(), Undone> {
        let ledger = self.shared.books.read().unwrap_or_else(PoisonError::into_inner).id();
        let stop = |error| Undone::Trouble(Trouble::Stop(error));
        self.witness.advance(Testimony { ledger, position: changes.head() }).map_err(stop)?;
        self.shared.commit_clock.note(started.elapsed());
        self.shared.charges.fetch_add(changes.charges(), Ordering::Relaxed);
        self.shared.books.write().unwrap_or_else(PoisonError::into_inner).adopt(changes);
        Ok(())
    }

    /// What other processes committed is acknowledged again by a repeated key, so this one's witness must know it too. What is only
    /// read need not be known to it: whoever was told that it is charged has a witness that knows.
    fn acknowledge_known(&mut self) -> Result<(), Undone> {
        let (ledger, position) = {
            let books = self.shared.books.read().unwrap_or_else(PoisonError::into_inner);
            (books.id(), books.head())
        };
        self.witness.advance(Testimony { ledger, position }).map_err(|error| Undone::Trouble(Trouble::Stop(error)))
    }

    /// The newest record that the books know.
    fn books_head(&self) -> Position {
        self.shared.books.read().unwrap_or_else(PoisonError::into_inner).head()
    }

    /// Takes over what other processes wrote since.
    fn refresh(&mut self, head: Option<Position>) -> Result<(), Undone> {
        let known = self.books_head();
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
        let mut books = self.shared.books.write().unwrap_or_else(PoisonError::into_inner);
        books.refresh(&mut self.tree, &rows, &record).map_err(|error| Undone::Trouble(Trouble::Stop(error)))?;
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

    /// Makes the connection again, and checks that the ledger was not set back meanwhile.
    fn reconnect(&mut self, cause: &Error) -> Result<(), Trouble> {
        let stop = |error: &dyn std::fmt::Display| Trouble::Stop(Error::storage(format!("{cause}, and then: {error}")));
        self.store.reconnect().map_err(|error| stop(&error.message))?;
        let (id, known) = {
            let books = self.shared.books.read().unwrap_or_else(PoisonError::into_inner);
            (books.id(), books.head())
        };
        let testimony = Witness::read(self.witness.path()).map_err(Trouble::Stop)?;
        for position in
            testimony.filter(|testimony| testimony.ledger == id).map(|t| t.position).into_iter().chain([known])
        {
            let record = self.store.record(position.sequence).map_err(|error| stop(&error.message))?;
            if record.is_none_or(|record| record.hash != position.hash) {
                return Err(Trouble::Stop(Error::rollback(format!(
                    "after the connection was made again, record {} is not the one that was acknowledged: the ledger was set back",
                    position.sequence
                ))));
            }
        }
        Ok(())
    }
}

/// Why a transaction did not happen.
enum Undone {
    Again,
    Lost(Error),
    Trouble(Trouble),
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Undone {
        match error.kind {
            Failure::Again | Failure::KeyTaken => Undone::Again,
            Failure::Lost => Undone::Lost(error.into()),
            Failure::Failed => Undone::Trouble(Trouble::Failed(Error::storage(format!(
                "{}. Nothing was charged, and nothing that was acknowledged is lost",
                error.message
            )))),
            Failure::Broken | Failure::Fatal => Undone::Trouble(Trouble::Stop(error.into())),
        }
    }
}

fn broken(what: &str) -> Undone {
    Undone::Trouble(Trouble::Stop(Error::integrity(format!("{what}; run `verify`"))))
}

/// The time, to the millisecond.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default()
}
