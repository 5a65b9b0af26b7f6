//! The gate: parse, check, charge, commit; only then touch the data, add noise, store, and answer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::value::RawValue;
use taximeter_ledger::{Computed, FreshReceipt, Key, Ledger, Outcome as Charged, Receipt, Refusal};

use crate::answer::{self, Cell, Noisy};
use crate::catalog::{Catalog, StoredAnswer};
use crate::document::{AnswerDocument, AnswerReceipt, Estimate, PayingAccount};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::plan::MISS;
use crate::request::{Prepared, Request};

/// The only way to the data.
pub struct Gate {
    pub(crate) ledger: Ledger,
    pub(crate) catalog: Catalog,
    /// Keys whose questions are under way.
    under_way: Turns,
    /// Connections that wait for the next question, by dataset and version.
    idle: Mutex<HashMap<Place, Vec<Box<dyn Engine>>>>,
    /// Says that this process asks, so that another one does not take its questions for interrupted ones.
    _asking: File,
}

/// A dataset's name, and a version of it.
type Place = (String, u32);

/// What came of a question.
#[derive(Debug)]
pub enum Outcome {
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
        let document: AnswerDocument = serde_json::from_str(&self.document).ok()?;
        let estimate: Estimate = serde_json::from_value(document.rows.get(row)?.get(column)?.clone()).ok()?;
        estimate.value?.as_f64()
    }
}

impl Gate {
    /// Opens the gate of a ledger. Its records and the embedded data are in a folder.
    pub fn open(folder: &Path, ledger: Ledger) -> Result<Gate, Error> {
        let catalog = Catalog::open(folder, ledger.id())?;
        let (asking, is_alone) = catalog.asking()?;
        let gate = Gate { ledger, catalog, under_way: Turns::default(), idle: Mutex::default(), _asking: asking };
        if is_alone {
            gate.settle()?;
        }
        Ok(gate)
    }

    /// Finds out what came of questions that were under way when a process ended. One that is charged has no answer, and the owner is
    /// told.
    fn settle(&self) -> Result<(), Error> {
        for interrupted in self.catalog.interrupted()? {
            let key = interrupted.key.as_str();
            if self.ledger.receipt_of(&Key::parse("key", key)?)?.is_none() {
                self.catalog.forget(key)?;
                continue;
            }
            let why = "the program ended after the charge and before the answer was stored";
            self.catalog.log(key, interrupted.dataset.as_str(), why)?;
            self.catalog.store(&StoredAnswer { stored: Timestamp::now(), ..interrupted })?;
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

    /// Answers a question, if the budget says so.
    ///
    /// An error means that nothing was charged, unless it is one of the ledger's that says that it does not know: then the same key
    /// tells. Whatever goes wrong after the charge is [`Outcome::NoAnswer`].
    pub fn ask(&self, request: &Request) -> Result<Outcome, Error> {
        // Whoever asks again while the answer is being made waits for it.
        let _turn = self.under_way.take(request.ledger_key()?.as_str());
        let prepared = Prepared::new(&self.catalog, request)?;
        if let Some(answer) = self.stored(&prepared)? {
            return Ok(Outcome::Answered(answer));
        }
        if let Some(document) = self.reusable(&prepared)? {
            return Ok(Outcome::Answered(Answer { document, origin: Origin::Reused }));
        }
        // A database that is down is found out before anybody pays. What that takes is part of the question's time.
        let (started, timeout) = (Instant::now(), prepared.dataset.timeout);
        let engine = self.checked_engine(&prepared, timeout / 2)?;
        let left = timeout.saturating_sub(started.elapsed());
        let key = prepared.charge.key().as_str();
        let is_new = self.catalog.begin(&prepared.stored(None))?;
        let charged = self.ledger.charge(prepared.charge.clone());
        let is_settled = match &charged {
            Ok(Charged::Charged(_)) => false,
            Ok(_) => true,
            // If it is charged after all, the next start finds out.
            Err(error) => !error.is_unknown_outcome(),
        };
        if is_new && is_settled {
            self.catalog.forget(key)?;
        }
        match charged.map_err(|error| prepared.of_ledger(error))? {
            Charged::Refused(refusal) => {
                self.give_back(&prepared, engine);
                Ok(Outcome::Refused(refusal))
            }
            Charged::Replayed(receipt) => {
                self.give_back(&prepared, engine);
                // Another process that has the fresh receipt may have stored it meanwhile, or be at it still. If it is lost, nobody
                // makes it again.
                let answer = self.stored(&prepared).unwrap_or(None);
                Ok(answer.map_or(Outcome::NoAnswer(receipt), Outcome::Answered))
            }
            Charged::Charged(fresh) => Ok(self.answer(fresh, &prepared, engine, left)),
        }
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
        if !prepared.dataset.reuse {
            return Err(ErrorKind::NoReuse(prepared.dataset.name.clone()).into());
        }
        self.catalog.same_answer(&prepared.stored(None), prepared.principal.as_deref())
    }

    /// Executes a question that was charged just now. The receipt is consumed: nothing can be executed on it again.
    fn answer(&self, fresh: FreshReceipt, prepared: &Prepared, mut engine: Box<dyn Engine>, most: Duration) -> Outcome {
        let receipt = fresh.into_receipt();
        let key = prepared.charge.key().as_str();
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
                Outcome::Answered(Answer { document, origin: Origin::Fresh })
            }
            Err(why) => {
                // That there is no answer holds whether or not this can be written: the receipt is used up.
                let _ = self.catalog.log(key, prepared.dataset.name.as_str(), &why);
                let _ = self.catalog.store(&prepared.stored(None));
                Outcome::NoAnswer(receipt)
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
        let schema = &dataset.schema;
        let exact = engine.run(&prepared.statement(), most)?;
        let noisy = Noisy::new(question, plan, schema, exact, prepared.clamp)?;
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
            key: prepared.key.to_string(),
            question: prepared.canonical.clone(),
            protects: schema.privacy().map_err(|error| error.to_string())?.to_string(),
            confidence: Computed(1.0 - MISS),
            columns: answer::columns(question, plan, schema),
            rows: noisy.rows.iter().map(|row| row.iter().map(Cell::json).collect()).collect(),
            post_processing: noisy.post_processing,
            cost: plan.total,
            accounts: accounts.collect::<Result<_, String>>()?,
            receipt: AnswerReceipt {
                ledger: receipt.ledger(),
                sequence: receipt.sequence(),
                hash: Some(receipt.hash()),
                record: Some(RawValue::from_string(receipt.line().to_string()).map_err(|error| error.to_string())?),
            },
        };
        serde_json::to_string(&document).map_err(|error| error.to_string())
    }

    /// A connection to data that are what was registered, made and checked within this time.
    fn checked_engine(&self, prepared: &Prepared, most: Duration) -> Result<Box<dyn Engine>, Error> {
        let started = Instant::now();
        let checked = self.engine(prepared, most).and_then(|mut engine| {
            engine.check(&prepared.dataset.schema, most.saturating_sub(started.elapsed()))?;
            Ok(engine)
        });
        checked.map_err(|error| match error.kind() {
            ErrorKind::Storage(why) if prepared.dataset.source.is_elsewhere() => {
                ErrorKind::DataAway { dataset: prepared.dataset.name.clone(), why: why.clone() }.into()
            }
            _ => error,
        })
    }

    /// A connection to the data of a dataset: one that waits, or a new one.
    fn engine(&self, prepared: &Prepared, most: Duration) -> Result<Box<dyn Engine>, Error> {
        let place = (prepared.dataset.name.to_string(), prepared.dataset.version);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = idle.get_mut(&place).and_then(Vec::pop) {
            return Ok(engine);
        }
        drop(idle);
        prepared.dataset.source.connect(self.catalog.folder(), most)
    }

    /// Keeps a connection for the next question. One on which a question failed is not kept.
    fn give_back(&self, prepared: &Prepared, engine: Box<dyn Engine>) {
        const MOST: usize = 16;
        let place = (prepared.dataset.name.to_string(), prepared.dataset.version);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Older versions are not asked again.
        idle.retain(|(name, version), _| *name != place.0 || *version == place.1);
        let waiting = idle.entry(place).or_default();
        if waiting.len() < MOST {
            waiting.push(engine);
        }
    }
}

/// One at a time for each key.
#[derive(Default)]
struct Turns {
    taken: Mutex<HashSet<String>>,
    given_up: Condvar,
}

/// A turn, until it is dropped.
struct Turn<'a> {
    turns: &'a Turns,
    key: String,
}

impl Turns {
    /// Waits until nobody else has the key's turn, and takes it.
    fn take(&self, key: &str) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.given_up.wait_while(taken, |taken| taken.contains(key)).unwrap_or_else(PoisonError::into_inner);
        free.insert(key.to_string());
        Turn { turns: self, key: key.to_string() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.turns.given_up.notify_all();
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
mod tests {
    use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
    use taximeter_ledger::{AccountName, Location, Options};

    use super::*;
    use crate::engine::ExactRow;
    use crate::measure::Statement;
    use crate::schema::Schema;
    use crate::{Data, Declaration, Price, Registration, Rules};

    /// An engine with a defect that one person's row brings out.
    struct Defective;

    impl Engine for Defective {
        fn check(&mut self, _: &Schema, _: Duration) -> Result<(), Error> {
            Ok(())
        }

        fn run(&mut self, _: &Statement, _: Duration) -> Result<Vec<ExactRow>, String> {
            panic!("eve is 40 years old")
        }
    }

    fn open(folder: &Path) -> Gate {
        let location = Location::File(folder.join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        Gate::open(&folder.join("gate"), ledger).unwrap()
    }

    /// A gate with people behind it, and a question about them.
    fn gate_with_people(folder: &Path) -> (Gate, Request) {
        let gate = open(folder);
        let csv = folder.join("people.csv");
        std::fs::write(&csv, "age\n40\n").unwrap();
        let (people, budget) = (AccountName::parse("people").unwrap(), Budget::parse("1,1e-6").unwrap());
        let declaration = Declaration::of_rows("");
        let registration = Registration {
            rules: Some(Rules {
                filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
                odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
            }),
            ..Registration::new(people.clone(), declaration, Data::csv(csv))
        };
        gate.register(&registration, &mut |_, _| {}).unwrap();
        let price = Price::Epsilon(Amount::parse_exact("0.1").unwrap());
        let request = Request::new(&people, "SELECT COUNT(*) FROM people", price).unwrap();
        (gate, request)
    }

    #[test]
    fn a_question_that_was_interrupted_after_its_charge_is_in_the_owners_log_after_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, request) = gate_with_people(folder.path());
        let (charged, uncharged) = (request.clone(), Request { key: Key::parse("key", "never").unwrap(), ..request });
        for request in [&charged, &uncharged] {
            let prepared = Prepared::new(&gate.catalog, request).unwrap();
            assert!(gate.catalog.begin(&prepared.stored(None)).unwrap());
        }
        let prepared = Prepared::new(&gate.catalog, &charged).unwrap();
        assert!(matches!(gate.ledger.charge(prepared.charge.clone()), Ok(Charged::Charged(_))));
        // As if the process had been killed here.
        drop(gate);
        let gate = open(folder.path());
        let failures = gate.catalog.failures(10).unwrap();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert_eq!(failures[0].key, charged.key.as_str());
        assert!(failures[0].why.contains("the program ended"), "{failures:?}");
        assert!(matches!(gate.ask(&charged).unwrap(), Outcome::NoAnswer(_)));
        assert!(matches!(gate.ask(&uncharged).unwrap(), Outcome::Answered(_)));
        drop(gate);
        assert_eq!(open(folder.path()).catalog.failures(10).unwrap().len(), 1, "it is told once");
    }

    #[test]
    fn questions_of_a_process_that_is_alive_are_not_taken_for_interrupted_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, request) = gate_with_people(folder.path());
        let prepared = Prepared::new(&gate.catalog, &request).unwrap();
        gate.catalog.begin(&prepared.stored(None)).unwrap();
        let Ok(Charged::Charged(fresh)) = gate.ledger.charge(prepared.charge.clone()) else { panic!("0.1 fits 1") };
        let other = Gate::open(&folder.path().join("gate"), gate.ledger.clone()).unwrap();
        assert!(other.catalog.failures(10).unwrap().is_empty());
        let engine = gate.engine(&prepared, Duration::from_secs(60)).unwrap();
        let outcome = gate.answer(fresh, &prepared, engine, Duration::from_secs(60));
        assert!(matches!(outcome, Outcome::Answered(_)), "{outcome:?}");
        assert!(gate.catalog.interrupted().unwrap().is_empty());
    }

    #[test]
    fn a_panic_after_the_charge_is_a_question_without_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, request) = gate_with_people(folder.path());
        let prepared = Prepared::new(&gate.catalog, &request).unwrap();
        let Ok(Charged::Charged(fresh)) = gate.ledger.charge(prepared.charge.clone()) else { panic!("0.1 fits 1") };
        let outcome = gate.answer(fresh, &prepared, Box::new(Defective), Duration::from_secs(60));
        assert!(matches!(outcome, Outcome::NoAnswer(_)), "{outcome:?}");
        assert!(matches!(gate.ask(&request).unwrap(), Outcome::NoAnswer(_)), "and it is not made later");
        assert_eq!(gate.catalog.failures(1).unwrap()[0].why, "the program panicked");
    }
}
