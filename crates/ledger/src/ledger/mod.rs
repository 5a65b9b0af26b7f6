//! The handle: what a program holds to charge and to ask.

mod queries;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_channel::{Receiver, TrySendError};

use crate::account::AccountSpec;
use crate::books::Books;
use crate::charge::{Charge, Outcome, PreparedCharge, Receipt};
use crate::clock::now;
use crate::commit_times::CommitClock;
use crate::connections::Connections;
use crate::cosigning::{Cosignatures, Cosigners, Signing, Uncovered};
use crate::error::{Error, ErrorKind};
use crate::hash::StateTree;
use crate::journal::LedgerOrigin;
use crate::name::{AccountName, Note, Who};
use crate::pulse::Pulse;
use crate::reader::{self, Loaded};
use crate::refusals::Refusals;
use crate::store::{self, Access, Location, Store};
use crate::witness::{Sharing, Testimony, Witness};
use crate::writer::{Command, ReplyTo, Shared, Writer, cover, waiting};

/// How a ledger is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the witness is; by default beside the file, or in the user's state folder for PostgreSQL.
    pub witness: Option<PathBuf>,
    /// Whether to make a ledger where there is none.
    pub create: bool,
    /// How long to wait for another process that writes to the same file.
    pub wait: Duration,
    /// How many charges may wait for the writer, and so the most in one transaction.
    pub queue: usize,
    /// Whether a database writes the first half of a large batch while the second is decided. That is faster where a core is free for
    /// it meanwhile, and slower where the callers keep all of them busy, as those of a server do.
    pub overlap: bool,
    /// Who signs checkpoints, and which witnesses on other machines cosign them before a charge is acknowledged.
    pub signing: Option<Arc<Signing>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            witness: None,
            create: false,
            wait: Duration::from_secs(5),
            queue: 1024,
            overlap: true,
            signing: None,
        }
    }
}

/// A ledger that is open for writing. Cheap to clone; the last clone to go ends the writer, when all that waits is answered.
///
/// ```
/// use taximeter_accounting::{Amount, Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
/// use taximeter_ledger::{AccountName, AccountSpec, Charge, Key, Ledger, Location, Options, Outcome, Privacy};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("taximeter.db");
///
/// let ledger = Ledger::open(&Location::File(path), Options { create: true, ..Options::default() })?;
/// let budget = Budget::parse("1,1e-6")?;
/// ledger.open_account(AccountSpec {
///     name: AccountName::parse("census")?,
///     privacy: Privacy::default(),
///     filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
///     odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
/// })?;
///
/// let cost = Cost::parse_epsilon("0.1")?.cost;
/// let charge = Charge::new(Key::generate()?, vec![AccountName::parse("census")?], vec![cost])?;
/// match ledger.charge(charge)? {
///     Outcome::Charged(fresh) => println!("run the mechanism; receipt {}", fresh.receipt().hash()),
///     Outcome::Replayed(receipt) => println!("charged before, in record {}", receipt.sequence()),
///     Outcome::Refused(refusal) => println!("refused; what fits: {:?}", refusal.fits()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    /// Of a database.
    pulse: Option<Pulse>,
    writer: Option<JoinHandle<()>>,
    location: Location,
    witness: PathBuf,
    was_witness_whole: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.queue.close();
        // A task that is woken on the writer's own thread may hold the last handle; it cannot wait for itself.
        if let Some(writer) = self.writer.take().filter(|writer| writer.thread().id() != thread::current().id()) {
            // A writer that panicked has told all callers who waited.
            let _ = writer.join();
        }
    }
}

/// Closes the queue when the writer ends, however it ends, so that no caller waits for it.
pub(crate) struct Ending(pub(crate) Receiver<Command>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.close();
        // Dropping a reply tells its caller.
        waiting(&self.0).for_each(drop);
    }
}

impl Ledger {
    /// Opens a ledger for writing, and checks it against its witness. Blocks: within an asynchronous runtime, call it on a thread for
    /// blocking work.
    pub fn open(location: &Location, options: Options) -> Result<Ledger, Error> {
        let (writer, was_witness_whole) = open_writer(location, options)?;
        let (shared, path) = (Arc::clone(&writer.shared), writer.witness.path().to_path_buf());
        let pulse = match location.sharing() {
            Sharing::Alone => None,
            Sharing::Shared => Some(Pulse::start(location)?),
        };
        let ending = Ending(writer.waiting.clone());
        let writer = thread::Builder::new()
            .name("ledger writer".to_string())
            .spawn(move || {
                let _ending = ending;
                writer.run();
            })
            .map_err(|error| Error::storage(format!("the writer's thread cannot be started: {error}")))?;
        let (writer, location) = (Some(writer), location.clone());
        let inner = Inner { shared, pulse, writer, location, witness: path, was_witness_whole };
        Ok(Ledger { inner: Arc::new(inner) })
    }

    /// A handle to a writer that has no thread: a simulation runs it.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn of_writer(writer: &Writer, location: Location) -> Ledger {
        let (shared, witness) = (Arc::clone(&writer.shared), writer.witness.path().to_path_buf());
        let inner = Inner { shared, pulse: None, writer: None, location, witness, was_witness_whole: true };
        Ledger { inner: Arc::new(inner) }
    }

    /// Charges, and returns when the charge is on disk. Waits for room in the queue.
    pub fn charge(&self, charge: Charge) -> Result<Outcome, Error> {
        let prepared = PreparedCharge::new(charge);
        self.ask(|reply| Command::Charge(prepared, reply))
    }

    /// Charges, or says at once that the ledger is busy if the queue is full.
    pub fn try_charge(&self, charge: Charge) -> Result<Outcome, Error> {
        let (reply, answer) = oneshot::channel();
        match self.inner.shared.queue.try_send(Command::Charge(PreparedCharge::new(charge), reply)) {
            Ok(()) => answer.recv().unwrap_or_else(gone),
            Err(TrySendError::Full(_)) => Err(Error::busy(format!(
                "{} charges wait for the ledger already; nothing was charged, try again in a moment",
                self.waiting()
            ))),
            Err(TrySendError::Closed(_)) => Err(self.inner.shared.stopped()),
        }
    }

    /// Charges without blocking a thread. If the future is dropped, the charge may still be made.
    pub fn charge_async(&self, charge: Charge) -> impl Future<Output = Result<Outcome, Error>> + Send + 'static {
        let prepared = PreparedCharge::new(charge);
        self.ask_async(|reply| Command::Charge(prepared, reply))
    }

    /// Takes over what other processes wrote to the same ledger since, so that no reading is below the truth. A file has one writer,
    /// which knows all of it.
    pub fn refresh(&self) -> Result<(), Error> {
        match self.inner.location.sharing() {
            Sharing::Alone => self.require_running(),
            Sharing::Shared => self.ask(Command::Refresh),
        }
    }

    /// Takes over what other processes wrote, without blocking a thread.
    pub fn refresh_async(&self) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let ledger = self.clone();
        async move {
            match ledger.inner.location.sharing() {
                Sharing::Alone => ledger.require_running(),
                Sharing::Shared => ledger.ask_async(Command::Refresh).await,
            }
        }
    }

    /// A ledger that stopped may have committed what its handles do not know.
    fn require_running(&self) -> Result<(), Error> {
        self.cause().map_or(Ok(()), Err)
    }

    /// Opens an account.
    pub fn open_account(&self, spec: AccountSpec) -> Result<Receipt, Error> {
        self.ask(|reply| Command::Open(Box::new(spec), reply))
    }

    /// Closes an account: it takes no more charges, nor does any account below it.
    pub fn close_account(&self, name: AccountName, by: Option<Who>, note: Option<Note>) -> Result<Receipt, Error> {
        self.ask(|reply| Command::Close(name, by, note, reply))
    }

    fn ask<T>(&self, command: impl FnOnce(ReplyTo<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let (command, shared) = (command(reply), &self.inner.shared);
        #[cfg(any(test, feature = "simulation"))]
        if crate::simulation::is_running() {
            return crate::simulation::serve(shared, command, &answer);
        }
        shared.queue.send_blocking(command).map_err(|_| shared.stopped())?;
        answer.recv().unwrap_or_else(gone)
    }

    fn ask_async<T: Send + 'static>(
        &self,
        command: impl FnOnce(ReplyTo<T>) -> Command,
    ) -> impl Future<Output = Result<T, Error>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let command = command(reply);
        // Keeps the writer until the answer is there.
        let ledger = self.clone();
        async move {
            let shared = &ledger.inner.shared;
            shared.queue.send(command).await.map_err(|_| shared.stopped())?;
            answer.await.unwrap_or_else(gone)
        }
    }
}

/// The writer ended without an answer.
fn gone<T>(_: oneshot::RecvError) -> Result<T, Error> {
    Err(ErrorKind::UnknownOutcome(None).into())
}

/// Opens the store and checks it against its witnesses. Says besides whether both places of the witness file could be read.
pub(crate) fn open_writer(location: &Location, options: Options) -> Result<(Writer, bool), Error> {
    let access = Access::Write { create: options.create, wait: options.wait };
    let mut store = store::open(location, access)?;
    let Opened { books, tree, witness, was_witness_whole } =
        match reader::load(&mut *store, location, options.witness.as_deref())? {
            Some(loaded) => {
                if let Some(why) = store.alarm()? {
                    return Err(ErrorKind::Alarm(why).into());
                }
                trusted(&mut *store, loaded, location.sharing())?
            }
            None if options.create => create(&mut *store, location, &options)?,
            None => return Err(ErrorKind::NoLedger(location.clone()).into()),
        };
    if let Some(signing) = &options.signing {
        signing.check(books.id())?;
    }
    let (queue, waiting) = async_channel::bounded(options.queue.max(1));
    let shared = Arc::new(Shared {
        queue,
        connections: Connections::new(location, books.id()),
        books: RwLock::new(books),
        refusals: Mutex::new(Refusals::default()),
        charges: AtomicU64::new(0),
        acknowledged: AtomicU64::new(0),
        commit_clock: CommitClock::default(),
        tree: Mutex::default(),
        cosignatures: options.signing.as_deref().filter(|signing| !signing.cosigners.is_empty()).map(Cosignatures::new),
        signing: options.signing,
        cause: OnceLock::new(),
        busy_since: Mutex::new(None),
    });
    let (sharing, overlap) = (location.sharing(), options.overlap);
    let head = shared.books().head();
    let cosigners = cosigners(&shared, sharing)?;
    shared.set_acknowledged(head);
    let writer = Writer {
        shared,
        waiting,
        store,
        witness,
        tree,
        cosigners,
        sharing,
        overlap,
        expected: 0,
        meets_repeats: false,
        undisturbed: 0,
        is_lost: false,
        in_doubt: None,
    };
    Ok((writer, was_witness_whole))
}

/// What a writer begins with.
struct Opened {
    books: Books,
    tree: StateTree,
    witness: Witness,
    /// Whether both places of the witness could be read.
    was_witness_whole: bool,
}

/// Makes a ledger where there is none.
fn create(store: &mut dyn Store, location: &Location, options: &Options) -> Result<Opened, Error> {
    let origin = LedgerOrigin::generate()?;
    let path = reader::witness_path(location, options.witness.as_deref(), origin.id)?;
    if let Some(remembered) = Witness::read(&path)? {
        let Testimony { ledger, position } = remembered.testimony;
        let (location, remembered) = (location.clone(), position.sequence);
        return Err(ErrorKind::LostLedger { location, witness: path, of: ledger, remembered }.into());
    }
    let (books, tree, changes) = Books::create(origin, now());
    if store.begin()?.is_some() {
        store.rollback();
        return Err(Error::busy(format!("another process is making the ledger {location}; try again")));
    }
    store.write(&changes)?;
    store.commit()?;
    let witness = Witness::create(&path, books.testimony(), location.sharing())?;
    Ok(Opened { books, tree, witness, was_witness_whole: true })
}

/// A ledger with its witness, if it is what that remembers.
fn trusted(store: &mut dyn Store, loaded: Loaded, sharing: Sharing) -> Result<Opened, Error> {
    let Loaded { books, tree, witness: path, remembered } = loaded;
    let remembered = remembered?;
    // A ledger whose process was killed before the first witness was written has nothing in it yet that could be lost.
    let witness = if remembered.is_none() && books.head().sequence == 0 {
        Witness::create(&path, books.testimony(), sharing)?
    } else {
        reader::check_witness(store, books.id(), books.head(), remembered, &path)?;
        let mut witness = Witness::open(&path, sharing)?;
        // A process that was killed may have committed more than its witness learned; a repeated key will acknowledge that.
        witness.advance(books.testimony())?;
        witness
    };
    let was_witness_whole = remembered.is_none_or(|remembered| remembered.is_whole);
    Ok(Opened { books, tree, witness, was_witness_whole })
}

/// Asks the witnesses on other machines how far they cosigned this ledger, which must be there, and has them cosign the rest.
fn cosigners(shared: &Arc<Shared>, sharing: Sharing) -> Result<Option<Cosigners>, Error> {
    let (Some(signing), Some(cosignatures)) = (&shared.signing, &shared.cosignatures) else { return Ok(None) };
    let head = shared.books().head();
    let frontier = shared.with_tree(|tree, store| tree.frontier(store, head.sequence + 1))?;
    let mut cosigners = Cosigners::start(signing, cosignatures, shared, frontier)?;
    cosigners.send(head, &[], shared)?;
    cover(&mut cosigners, shared, sharing, Cosigners::wait_at_start).map_err(|uncovered| match uncovered {
        Uncovered::Few(why) => Error::busy(format!("the ledger cannot be opened, since it may be an old copy: {why}")),
        Uncovered::Forked(error) => error,
        Uncovered::Ahead { cosigner, size, .. } => cosigners.behind(cosigner, size),
    })?;
    Ok(Some(cosigners))
}
