//! The gate: parse, check, charge, commit; only then touch the data, add noise, store, and answer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use taximeter_ledger::{Computed, FreshReceipt, Key, Ledger, Outcome, Receipt, ReceiptDocument, Refusal, Sight};

use crate::answer::{self, Noisy};
use crate::catalog::{AskingProcess, Catalog, Dataset, Interrupted, StoredAnswer};
use crate::document::{AnswerDocument, PayingAccount};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::plan::MISS;
use crate::request::{Prepared, Request};

/// The only way to the data.
pub struct Gate {
    pub(crate) ledger: Ledger,
    pub(crate) catalog: Catalog,
    /// Keys whose questions are under way.
    under_way: KeyLocks,
    /// Connections that wait for the next question, by dataset and version.
    idle: Mutex<HashMap<DatasetVersion, Vec<Box<dyn Engine>>>>,
    /// Says that this process asks, so that another one does not take its questions for interrupted ones.
    asking: AskingProcess,
}

/// A dataset's name, and a version of it.
type DatasetVersion = (String, u32);

/// What came of a question.
#[derive(Debug)]
pub enum GateOutcome {
    /// It was answered.
    Answered(Answer),
    /// The filter of an account said halt. Nothing was charged, and no data were touched.
    Refused(Box<Refusal>),
    /// It is charged, and there is no answer. Why is in the owner's log alone, since it may depend on the data.
    NoAnswer(Receipt),
}

/// An answer that is stored for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The JSON document, the same bytes whenever it is asked for again.
    pub document: String,
    /// Where it is from.
    pub origin: Origin,
}

/// Where an answer is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was made and charged just now.
    Fresh,
    /// It was made before, under the same key; nothing was charged again.
    Replayed,
    /// It is the account's own earlier answer to the same question; nothing was charged.
    Reused,
}

impl Answer {
    /// A number of the answer, by row and column, both from 0. Nothing where there is no number: a group, or an average of too few
    /// rows.
    pub fn value(&self, row: usize, column: usize) -> Option<f64> {
        let document = AnswerDocument::read(&self.document).ok()?;
        document.rows.get(row)?.get(column)?.estimate()?.nearest()
    }
}

impl Gate {
    /// Opens the gate of a ledger. Its records and the embedded data are in a folder.
    pub fn open(folder: &Path, ledger: Ledger) -> Result<Gate, Error> {
        let catalog = Catalog::open(folder, ledger.id())?;
        let asking = catalog.asking()?;
        let gate = Gate { ledger, catalog, under_way: KeyLocks::default(), idle: Mutex::default(), asking };
        gate.settle()?;
        Ok(gate)
    }

    /// Finds out what came of questions that a process had under way when it ended, or of which it did not know whether they were
    /// charged. One that is charged has no answer, and the owner is told. Call it regularly where other processes ask as well. Blocks.
    pub fn settle(&self) -> Result<(), Error> {
        let interrupted = self.catalog.interrupted()?;
        if interrupted.is_empty() {
            return Ok(());
        }
        // A commit that got no answer is there from now on, or never will be.
        self.ledger.refresh()?;
        for Interrupted { question, asker } in interrupted {
            if self.ledger.receipt_of(&Key::parse("key", &question.key)?)?.is_none() {
                self.catalog.forget(&question.key, &asker)?;
                continue;
            }
            let why = match asker.as_str() {
                "" => "the outcome of the charge was unknown at first; it was charged, but the question did not run",
                _ => "the program ended after the charge and before the answer was stored",
            };
            self.catalog.lose(&StoredAnswer { stored: Timestamp::now(), ..question }, &asker, why)?;
        }
        Ok(())
    }

    /// The ledger that pays.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The gate's own records.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Answers a question, if the budget allows it.
    ///
    /// An error means that nothing was charged by this call, unless it is one of the ledger's that says that it does not know: then the
    /// same key tells. Whatever goes wrong after the charge is [`GateOutcome::NoAnswer`].
    pub fn ask(&self, request: &Request) -> Result<GateOutcome, Error> {
        // A caller who asks again while the answer is being made waits for it.
        let _lock = self.under_way.take(request.ledger_key()?.as_str());
        let prepared = Prepared::new(&self.catalog, request)?;
        if let Some(answer) = self.stored(&prepared)? {
            return Ok(GateOutcome::Answered(answer));
        }
        if let Some(document) = self.reusable(&prepared)? {
            return Ok(GateOutcome::Answered(Answer { document, origin: Origin::Reused }));
        }
        // A database that is down is noticed before the charge. The time that this takes is part of the question's.
        let (started, timeout) = (Instant::now(), prepared.timeout());
        let engine = self.checked_engine(&prepared, timeout / 2)?;
        if let Some(answer) = self.begin(&prepared, started + timeout)? {
            self.give_back(&prepared, engine);
            return Ok(GateOutcome::Answered(answer));
        }
        let left = timeout.saturating_sub(started.elapsed());
        let (key, asker) = (prepared.charge.key().as_str(), self.asking.name());
        match self.ledger.charge(prepared.charge.clone()) {
            Err(error) if error.is_input() => {
                self.catalog.forget(key, asker)?;
                Err(prepared.of_ledger(error))
            }
            Err(error) => {
                // This attempt or an earlier one may be charged: the next look finds out; and where this cannot be written, the next start.
                let _ = self.catalog.abandon(key, &self.asking);
                Err(prepared.of_ledger(error))
            }
            Ok(Outcome::Refused(refusal)) => {
                self.catalog.forget(key, asker)?;
                self.give_back(&prepared, engine);
                Ok(GateOutcome::Refused(refusal))
            }
            Ok(Outcome::Replayed(receipt)) => {
                self.give_back(&prepared, engine);
                Ok(self.replay(&prepared).map_or(GateOutcome::NoAnswer(receipt), GateOutcome::Answered))
            }
            Ok(Outcome::Charged(fresh)) => Ok(self.answer(fresh, &prepared, engine, left)),
        }
    }

    /// Notes that the question is under way. While another process answers the same one, waits for its answer, until a deadline.
    fn begin(&self, prepared: &Prepared, until: Instant) -> Result<Option<Answer>, Error> {
        const PAUSE: Duration = Duration::from_millis(20);
        while !self.catalog.begin(&prepared.stored(None), &self.asking)? {
            if let Some(answer) = self.stored(prepared)? {
                return Ok(Some(answer));
            }
            if Instant::now() >= until {
                return Err(ErrorKind::UnderWay(prepared.key.clone()).into());
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// The answer to a question that was charged before, which no other process is at. If it is lost, it is not made again, and the
    /// owner is told.
    fn replay(&self, prepared: &Prepared) -> Option<Answer> {
        let (key, asker) = (prepared.charge.key().as_str(), self.asking.name());
        let answer = self.stored(prepared).unwrap_or(None);
        let why = "the program ended before the answer was stored, or the gate's records are an older copy";
        // What cannot be written now is found when this process has ended.
        let _ = match answer {
            Some(_) => self.catalog.forget(key, asker),
            None => self.catalog.lose(&prepared.stored(None), asker, why),
        };
        answer
    }

    /// What is stored under the key of a request; an error if that was another request.
    fn stored(&self, prepared: &Prepared) -> Result<Option<Answer>, Error> {
        match self.catalog.answer(prepared.charge.key().as_str())? {
            None | Some(StoredAnswer { document: None, .. }) => Ok(None),
            Some(answer) if answer.request != prepared.hash => {
                Err(prepared.key_taken("another question, or to the same one at another price"))
            }
            Some(answer) if answer.account != prepared.account => {
                Err(prepared.key_taken("a question that another account paid for"))
            }
            Some(answer) => Ok(answer.document.map(|document| Answer { document, origin: Origin::Replayed })),
        }
    }

    /// The account's own earlier answer to the same question, mechanism and cost on the same version: giving it again is
    /// post-processing. Only if the owner allows it, and to a principal only its own.
    fn reusable(&self, prepared: &Prepared) -> Result<Option<String>, Error> {
        if !prepared.reuse {
            return Ok(None);
        }
        if let Some(dataset) = prepared.datasets().find(|dataset| !dataset.reuse) {
            return Err(ErrorKind::NoReuse(dataset.name.clone()).into());
        }
        let found = self.catalog.same_answer(&prepared.stored(None), prepared.principal.as_deref())?;
        // The newest has the newest versions: an older one is no better.
        Ok(found.filter(|document| AnswerDocument::read(document).is_ok_and(|it| it.joined == prepared.joined())))
    }

    /// Executes a question that was charged just now. The receipt is consumed: nothing can be executed on it again.
    fn answer(
        &self,
        fresh: FreshReceipt,
        prepared: &Prepared,
        mut engine: Box<dyn Engine>,
        most: Duration,
    ) -> GateOutcome {
        let receipt = fresh.into_receipt();
        // Whatever goes wrong has one outcome, a defect of this program included.
        let make = AssertUnwindSafe(|| self.make(&receipt, prepared, &mut *engine, most));
        let made = catch_unwind(make).unwrap_or_else(|_| Err("the program panicked".to_string()));
        let made = made.and_then(|document| {
            self.catalog.store(&prepared.stored(Some(document.clone()))).map_err(|error| error.to_string())?;
            Ok(document)
        });
        match made {
            Ok(document) => {
                self.give_back(prepared, engine);
                GateOutcome::Answered(Answer { document, origin: Origin::Fresh })
            }
            Err(why) => {
                // That there is no answer holds whether or not this can be written: the receipt is used up.
                let _ = self.catalog.lose(&prepared.stored(None), self.asking.name(), &why);
                GateOutcome::NoAnswer(receipt)
            }
        }
    }

    /// Computes, adds noise, and writes the document.
    fn make(
        &self,
        receipt: &Receipt,
        prepared: &Prepared,
        engine: &mut dyn Engine,
        most: Duration,
    ) -> Result<String, String> {
        let Prepared { dataset, question, plan, .. } = prepared;
        let until = Instant::now() + most;
        let noisy = Noisy::new(question, plan, prepared.clamp, |query, plan, asked| {
            prepared.statements(query, plan, asked).run(engine, until)
        })?;
        let accounts = receipt.after().iter().map(|after| {
            let account = self.ledger.account(&after.account).map_err(|error| error.to_string())?;
            Ok(PayingAccount {
                account: after.account.clone(),
                reading: after.reading,
                left: after.left,
                guarantee: account.odometer().guarantee().to_string(),
                filter_guarantee: account.filter().map(|filter| filter.guarantee()),
            })
        });
        let document = AnswerDocument {
            dataset: dataset.name.clone(),
            version: dataset.version,
            joined: prepared.joined(),
            key: prepared.key.to_string(),
            question: prepared.canonical.clone(),
            protects: dataset.schema.privacy().map_err(|error| error.to_string())?.to_string(),
            confidence: Computed(1.0 - MISS),
            columns: answer::columns(question, plan, &question.schema),
            other_parts: answer::other_parts(question, plan, &question.schema),
            rows: noisy.rows,
            post_processing: noisy.post_processing,
            cost: plan.total,
            accounts: accounts.collect::<Result<_, String>>()?,
            receipt: ReceiptDocument::new(receipt, &Sight::All),
        };
        serde_json::to_string(&document).map_err(|error| error.to_string())
    }

    /// A connection to data that are what was registered, made and checked within this time.
    fn checked_engine(&self, prepared: &Prepared, most: Duration) -> Result<Box<dyn Engine>, Error> {
        let started = Instant::now();
        let left = || most.saturating_sub(started.elapsed());
        let away = |dataset: &Dataset, error: Error| match error.kind() {
            ErrorKind::Storage(why) if dataset.source.is_elsewhere() => {
                ErrorKind::DataAway { dataset: dataset.name.clone(), why: why.clone() }.into()
            }
            _ => error,
        };
        let checked = self.engine(prepared, most).and_then(|mut engine| {
            engine.check(&prepared.dataset.schema, left())?;
            Ok(engine)
        });
        let mut engine = checked.map_err(|error| away(&prepared.dataset, error))?;
        for other in prepared.datasets().skip(1) {
            let joined = engine.join(&other.source, self.catalog.folder(), &other.schema, left());
            joined.map_err(|error| away(other, error))?;
        }
        Ok(engine)
    }

    /// A connection to the data of a dataset: one that waits, or a new one. One that joins others is for one question.
    fn engine(&self, prepared: &Prepared, most: Duration) -> Result<Box<dyn Engine>, Error> {
        let version = (prepared.dataset.name.to_string(), prepared.dataset.version);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = if prepared.joined.is_some() { None } else { idle.get_mut(&version) };
        if let Some(engine) = waiting.and_then(Vec::pop) {
            return Ok(engine);
        }
        drop(idle);
        prepared.dataset.source.connect(self.catalog.folder(), &prepared.dataset.schema, most)
    }

    /// Keeps a connection for the next question. One on which a question failed is not kept.
    fn give_back(&self, prepared: &Prepared, engine: Box<dyn Engine>) {
        const MOST: usize = 16;
        if prepared.joined.is_some() {
            return;
        }
        let newest = (prepared.dataset.name.to_string(), prepared.dataset.version);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Older versions are not asked again.
        idle.retain(|(name, version), _| *name != newest.0 || *version == newest.1);
        let waiting = idle.entry(newest).or_default();
        if waiting.len() < MOST {
            waiting.push(engine);
        }
    }
}

/// Lets one question at a time have a key.
#[derive(Default)]
struct KeyLocks {
    taken: Mutex<HashSet<String>>,
    released: Condvar,
}

/// A key that a question has, until this is dropped.
struct KeyLock<'a> {
    locks: &'a KeyLocks,
    key: String,
}

impl KeyLocks {
    /// Waits until no other question has the key, and takes it.
    fn take(&self, key: &str) -> KeyLock<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.released.wait_while(taken, |taken| taken.contains(key)).unwrap_or_else(PoisonError::into_inner);
        free.insert(key.to_string());
        KeyLock { locks: self, key: key.to_string() }
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        self.locks.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locks.released.notify_all();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("folder", &self.catalog.folder()).finish_non_exhaustive()
    }
}

/// Where the gate of a ledger's file keeps its records and data, unless it is said: beside it.
pub fn folder_beside(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_os_string();
    name.push(".gate");
    name.into()
}

#[cfg(test)]
mod tests;
