//! What a handle tells about its ledger. Nothing here changes anything.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use taximeter_transparency::{NodeHash, PublicKey, SignedCheckpoint};

use super::Ledger;
use crate::account::Account;
use crate::books::Books;
use crate::charge::{Charge, Receipt};
use crate::commit_times::CommitTimes;
use crate::error::{Error, ErrorKind};
use crate::history::{History, Journal};
use crate::journal::{LedgerId, Position};
use crate::name::{AccountName, Key};
use crate::quote::Quote;
use crate::reader::LedgerReader;
use crate::refusals::RefusedCharge;
use crate::sequence::{RepeatedCharge, SequenceQuote, named};
use crate::store::Location;
use crate::writer::Command;

/// The accounts, as this handle knows them. Where others write to the same ledger, [`refresh`](Ledger::refresh) first.
impl Ledger {
    /// The effect that a charge would have. Charges nothing.
    pub fn quote(&self, charge: &Charge) -> Result<Quote, Error> {
        let payers = |books: &Books| Ok::<_, Error>(books.payers(charge.accounts())?.into_iter().cloned().collect());
        Quote::new(self.books(payers)?, charge)
    }

    /// The effect that charges would have one after the other, however many. Charges nothing.
    pub fn quote_sequence(&self, charges: &[RepeatedCharge]) -> Result<SequenceQuote, Error> {
        let names = named(charges);
        let payers = |books: &Books| Ok::<_, Error>(books.payers(&names)?.into_iter().cloned().collect());
        SequenceQuote::new(self.books(payers)?, charges)
    }

    /// An account as it is now.
    pub fn account(&self, name: &AccountName) -> Result<Account, Error> {
        self.books(|books| books.account(name).cloned())
    }

    /// Something about an account as it is now, without copying it. The writer waits meanwhile: it should not take long.
    pub fn look<T>(&self, name: &AccountName, read: impl FnOnce(&Account) -> T) -> Result<T, Error> {
        self.books(|books| books.account(name).map(read))
    }

    /// All accounts as they are now, in the order in which they were opened.
    pub fn accounts(&self) -> Vec<Account> {
        self.books(|books| books.accounts().to_vec())
    }

    /// Something about each account as it is now, without copying it, in the order in which they were opened; nothing of those for
    /// which `read` finds nothing. The writer waits meanwhile: it should not take long.
    pub fn survey<T>(&self, read: impl FnMut(&Account) -> Option<T>) -> Vec<T> {
        self.books(|books| books.accounts().iter().filter_map(read).collect())
    }

    /// The accounts whose newest record comes after this one, in the order in which they were opened.
    pub fn changed_since(&self, sequence: u64) -> Vec<Account> {
        self.books(|books| books.accounts().iter().filter(|account| account.sequence() > sequence).cloned().collect())
    }

    /// The ledger's identity.
    pub fn id(&self) -> LedgerId {
        self.books(Books::id)
    }

    /// The newest record of the journal that this handle knows. It is on disk.
    pub fn position(&self) -> Position {
        self.books(Books::head)
    }

    fn books<T>(&self, read: impl FnOnce(&Books) -> T) -> T {
        read(&self.inner.shared.books())
    }
}

/// The journal, up to the newest record that this handle knows. These block: within an asynchronous runtime, call them on a thread
/// for blocking work.
///
/// A receipt tells its reader that a record stands, as the reply to a charge does. So it is shown only when the witnesses know the record;
/// while they cannot be told, it is an [unknown outcome](Error::is_unknown_outcome). [`history`](Ledger::history) and
/// [`records`](Ledger::records) do not ask the witnesses: what they return is a receipt only up to [`acknowledged`](Ledger::acknowledged).
impl Ledger {
    /// What happened to an account, newest first, at most `most` records; `from` is where the previous part ended.
    pub fn history(&self, name: &AccountName, from: Option<u64>, most: usize) -> Result<History, Error> {
        let account = self.account(name)?;
        self.journal(|journal| journal.history(&account, from, most))
    }

    /// A record by its number; nothing if there is none.
    pub fn receipt(&self, sequence: u64) -> Result<Option<Receipt>, Error> {
        self.covered(self.journal(|journal| journal.receipt(sequence))?)
    }

    /// The records from a number on, in order, at most `most`; none if there are none yet.
    pub fn records(&self, from: u64, most: usize) -> Result<Vec<Receipt>, Error> {
        self.journal(|journal| journal.records(from, most))
    }

    /// The record of the charge that was made under a key; nothing if there is none.
    pub fn receipt_of(&self, key: &Key) -> Result<Option<Receipt>, Error> {
        self.covered(self.journal(|journal| journal.receipt_of(key))?)
    }

    /// How many of the first records the witnesses know. If they do not know this one, they are told first.
    pub fn acknowledged(&self, sequence: u64) -> u64 {
        // Without an answer, what they know is what they knew.
        let _ = self.acknowledge(sequence);
        self.inner.shared.acknowledged.load(Ordering::Acquire)
    }

    /// A receipt, once the witnesses know its record.
    fn covered(&self, receipt: Option<Receipt>) -> Result<Option<Receipt>, Error> {
        receipt.as_ref().map_or(Ok(()), |receipt| self.acknowledge(receipt.sequence()))?;
        Ok(receipt)
    }

    /// Returns when the witnesses know a record.
    fn acknowledge(&self, sequence: u64) -> Result<(), Error> {
        let shared = &self.inner.shared;
        if shared.is_acknowledged(sequence) {
            return Ok(());
        }
        self.ask(Command::Acknowledge)?;
        match shared.is_acknowledged(sequence) {
            true => Ok(()),
            // It was committed meanwhile.
            false => {
                let why = format!("the witnesses do not know record {sequence} yet");
                Err(ErrorKind::UnknownOutcome(Some(Error::busy(why))).into())
            }
        }
    }

    /// The proof that a record is among the first `size`.
    pub fn inclusion(&self, sequence: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        self.inner.shared.with_tree(|tree, store| tree.inclusion(store, sequence, size))
    }

    /// The proof that the tree of the first `size` records extends that of the first `old`.
    pub fn consistency(&self, old: u64, size: u64) -> Result<Vec<NodeHash>, Error> {
        self.inner.shared.consistency(old, size)
    }

    /// Signs a checkpoint of the newest record. Where witnesses cosign, it is the newest that enough of them have cosigned. Nothing if
    /// there is no key to sign with.
    pub fn checkpoint(&self) -> Result<Option<SignedCheckpoint>, Error> {
        let shared = &self.inner.shared;
        let Some(signing) = shared.signing.as_ref().filter(|signing| !signing.signers.is_empty()) else {
            return Ok(None);
        };
        if shared.cosignatures.is_some() {
            return Ok(self.cosigned_checkpoint());
        }
        let (ledger, head) = self.books(|books| (books.id(), books.head()));
        let root = shared.with_tree(|tree, store| tree.frontier(store, head.sequence + 1))?.root();
        Ok(Some(signing.sign(ledger, head, root)))
    }

    /// The newest checkpoint that enough witnesses on other machines have cosigned.
    pub fn cosigned_checkpoint(&self) -> Option<SignedCheckpoint> {
        self.inner.shared.cosignatures.as_ref()?.newest()
    }

    /// The names of the witnesses on other machines that say that they cosigned something else than this ledger, and do not prove it: they
    /// lie, or are broken. One that cosigns again is no longer among them.
    pub fn doubtful_cosigners(&self) -> Vec<String> {
        let shared = &self.inner.shared;
        let (Some(signing), Some(cosignatures)) = (&shared.signing, &shared.cosignatures) else { return Vec::new() };
        cosignatures.doubtful().into_iter().map(|at| signing.cosigners[at].key.name().to_string()).collect()
    }

    /// The public keys of those who sign checkpoints.
    pub fn signers(&self) -> Vec<PublicKey> {
        let signing = self.inner.shared.signing.iter();
        signing.flat_map(|signing| &signing.signers).map(|key| key.public().clone()).collect()
    }

    /// Another view of the same ledger, as it is on disk.
    pub fn reader(&self) -> Result<LedgerReader, Error> {
        LedgerReader::open(&self.inner.location, Some(&self.inner.witness))
    }

    fn journal<T>(&self, mut look: impl FnMut(&mut Journal<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let (ledger, end) = self.books(|books| (books.id(), books.head().sequence));
        self.inner.shared.connections.look(|store| look(&mut Journal { store, ledger, end }))
    }
}

/// The ledger itself, and how it fares.
impl Ledger {
    /// Where the ledger is.
    pub fn location(&self) -> &Location {
        &self.inner.location
    }

    /// Where the witness is.
    pub fn witness(&self) -> &Path {
        &self.inner.witness
    }

    /// Whether both places of the witness could be read when the ledger was opened. The ledger agreed with the one that could, and the
    /// other was written anew.
    pub fn was_witness_whole(&self) -> bool {
        self.inner.was_witness_whole
    }

    /// Whether it still takes charges.
    pub fn is_running(&self) -> bool {
        !self.inner.shared.queue.is_closed()
    }

    /// Why it takes no more charges; nothing while it does.
    pub fn cause(&self) -> Option<Error> {
        (!self.is_running()).then(|| self.inner.shared.stopped())
    }

    /// Whether a charge would be taken now, for a server that is asked whether it is ready. Costs next to nothing, does not wait for
    /// a database, and says no within two seconds after a database hangs or is gone. The error says why.
    ///
    /// * [`is_stopped`](Error::is_stopped): the writer has ended for good, because what is on disk is not known or is not the ledger
    ///   that it was. Nothing but opening the ledger again helps: the process should end with an error.
    /// * [`is_integrity`](Error::is_integrity): a verification raised the alarm. Once the owner clears it the ledger goes on.
    /// * [`is_busy`](Error::is_busy): the database cannot be reached, or does not answer. The ledger goes on by itself when it does;
    ///   meanwhile each charge is an error, after twenty seconds the first time and two from then on. It is either
    ///   [`is_busy`](Error::is_busy), and nothing was charged; or [`is_unknown_outcome`](Error::is_unknown_outcome), and the same key
    ///   tells what came of it, since the writer looks for that commit before it does anything else.
    pub fn health(&self) -> Result<(), Error> {
        const SLOW: Duration = Duration::from_secs(1);
        if let Some(stopped) = self.cause() {
            return Err(stopped);
        }
        let busy_since = *self.inner.shared.busy_since.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(busy) = busy_since.map(|since| since.elapsed()).filter(|busy| *busy > SLOW) {
            return Err(Error::busy(format!("the ledger has waited for its store for {:.1} s", busy.as_secs_f64())));
        }
        if self.inner.shared.cosignatures.as_ref().is_some_and(|cosignatures| cosignatures.is_late()) {
            return Err(Error::busy(
                "too few of the witnesses on other machines answer; nothing is charged until they do",
            ));
        }
        match &self.inner.pulse {
            Some(pulse) => pulse.trouble().map_or(Ok(()), Err),
            None => match self.inner.shared.connections.look(|store| Ok(store.alarm()?))? {
                Some(why) => Err(ErrorKind::Alarm(why).into()),
                None => Ok(()),
            },
        }
    }

    /// How many charges wait for the writer.
    pub fn waiting(&self) -> usize {
        self.inner.shared.queue.len()
    }

    /// How many charges were committed by this handle and its clones.
    pub fn charges(&self) -> u64 {
        self.inner.shared.charges.load(Ordering::Relaxed)
    }

    /// How many transactions were committed since the ledger was opened.
    pub fn commits(&self) -> u64 {
        self.inner.shared.commit_clock.times().count
    }

    /// How long these transactions took, from the begin of the first attempt until the witness was synced.
    pub fn commit_times(&self) -> CommitTimes {
        self.inner.shared.commit_clock.times()
    }

    /// How many charges were refused since the ledger was opened, and the newest of them, oldest first.
    pub fn refusals(&self) -> (u64, Vec<RefusedCharge>) {
        let refusals = self.inner.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        (refusals.count, refusals.newest.iter().cloned().collect())
    }
}
