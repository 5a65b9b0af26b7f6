//! The gate: parse, check, charge, commit; only then touch the data, add noise, store, and answer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use taximeter_ledger::{FreshReceipt, Ledger, Outcome as Charged, Receipt, Refusal};

use crate::answer::{self, AccountJson, Document, Noisy, ReceiptJson};
use crate::catalog::{Catalog, StoredAnswer};
use crate::engine::Engine;
use crate::error::Error;
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
        let document: serde_json::Value = serde_json::from_str(&self.document).ok()?;
        document["rows"].get(row)?.get(column)?["value"].as_f64()
    }
}

impl Gate {
    /// Opens the gate of a ledger. Its records and the embedded data are in a folder.
    pub fn open(folder: &Path, ledger: Ledger) -> Result<Gate, Error> {
        let catalog = Catalog::open(folder, ledger.id())?;
        Ok(Gate { ledger, catalog, under_way: Turns::default(), idle: Mutex::default() })
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
        // A database that is down is found out before anybody pays.
        let mut engine = self.engine(&prepared)?;
        engine.check(&prepared.dataset.schema)?;
        match self.ledger.charge(prepared.charge.clone())? {
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
            Charged::Charged(fresh) => Ok(self.answer(fresh, &prepared, engine)),
        }
    }

    /// What is stored under the key of a request; an error if that was another request.
    fn stored(&self, prepared: &Prepared) -> Result<Option<Answer>, Error> {
        let key = &prepared.key;
        match self.catalog.answer(prepared.charge.key().as_str())? {
            None | Some(StoredAnswer { document: None, .. }) => Ok(None),
            Some(StoredAnswer { request, .. }) if request != prepared.hash => Err(Error::key_taken(format!(
                "the key {key:?} belongs to another question, or to the same one at another price; leave it out to get a new one"
            ))),
            Some(StoredAnswer { account, .. }) if account != prepared.account.as_str() => {
                Err(Error::key_taken(format!(
                    "the key {key:?} belongs to a question that another account paid for; leave it out to get a new one"
                )))
            }
            Some(StoredAnswer { document: Some(document), .. }) => {
                Ok(Some(Answer { document, origin: Origin::Replayed }))
            }
        }
    }

    /// The account's own earlier answer to the same question, mechanism and cost on the same version: giving it again is
    /// post-processing. Only if the owner allows it, and to a principal only its own.
    fn reusable(&self, prepared: &Prepared) -> Result<Option<String>, Error> {
        if !prepared.reuse {
            return Ok(None);
        }
        if !prepared.dataset.reuse {
            return Err(Error::input(format!(
                "the owner of {} does not let earlier answers be used again; leave --reuse out",
                prepared.dataset.name
            )));
        }
        self.catalog.same_answer(&prepared.record(None), prepared.principal.as_deref())
    }

    /// Executes a question that was charged just now. The receipt is consumed: nothing can be executed on it again.
    fn answer(&self, fresh: FreshReceipt, prepared: &Prepared, mut engine: Box<dyn Engine>) -> Outcome {
        let receipt = fresh.into_receipt();
        let key = prepared.charge.key().as_str();
        // Whatever goes wrong has one outcome, a defect of this program included.
        let make = AssertUnwindSafe(|| self.make(&receipt, prepared, &mut *engine));
        let made = catch_unwind(make).unwrap_or_else(|_| Err("the program panicked".to_string()));
        let made = made.and_then(|document| {
            self.catalog.store(&prepared.record(Some(&document))).map_err(|error| error.to_string())?;
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
                let _ = self.catalog.store(&prepared.record(None));
                Outcome::NoAnswer(receipt)
            }
        }
    }

    /// Computes, adds noise, and writes the document.
    fn make(&self, receipt: &Receipt, prepared: &Prepared, engine: &mut dyn Engine) -> Result<String, String> {
        let Prepared { dataset, question, plan, .. } = prepared;
        let schema = &dataset.schema;
        let statement = prepared.statement_for(engine.dialect(), &engine.table());
        let exact = engine.run(&statement, dataset.timeout)?;
        let noisy = Noisy::new(question, plan, schema, exact, prepared.clamp)?;
        let accounts = receipt.after().iter().map(|after| {
            let account = self.ledger.account(&after.account).map_err(|error| error.to_string())?;
            Ok(AccountJson {
                account: after.account.to_string(),
                reading: after.reading,
                left: after.left,
                guarantee: account.odometer().guarantee().to_string(),
                filter_guarantee: account.filter().map(|filter| filter.guarantee()),
            })
        });
        let document = Document {
            dataset: dataset.name.as_str(),
            version: dataset.version,
            key: prepared.key.as_str(),
            question: &prepared.canonical,
            protects: schema.privacy().map_err(|error| error.to_string())?.to_string(),
            confidence: 1.0 - MISS,
            columns: answer::columns(question, plan, schema),
            rows: answer::rows(&noisy),
            post_processing: &noisy.post_processing,
            cost: plan.total,
            accounts: accounts.collect::<Result<_, String>>()?,
            receipt: ReceiptJson::new(receipt)?,
        };
        serde_json::to_string(&document).map_err(|error| error.to_string())
    }

    /// A connection to the data of a dataset: one that waits, or a new one.
    pub(crate) fn engine(&self, prepared: &Prepared) -> Result<Box<dyn Engine>, Error> {
        let place = (prepared.dataset.name.to_string(), prepared.dataset.version);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = idle.get_mut(&place).and_then(Vec::pop) {
            return Ok(engine);
        }
        drop(idle);
        prepared.dataset.source.connect(self.catalog.folder())
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
    use std::time::Duration;

    use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
    use taximeter_ledger::{AccountName, Location, Options};

    use super::*;
    use crate::engine::ExactRow;
    use crate::measure::{Dialect, Statement};
    use crate::schema::Schema;
    use crate::{BadRows, Data, Declaration, Price, Registration, Rules};

    /// An engine with a defect that one person's row brings out.
    struct Defective;

    impl Engine for Defective {
        fn dialect(&self) -> Dialect {
            Dialect::Sqlite
        }

        fn table(&self) -> String {
            "data".to_string()
        }

        fn check(&mut self, _: &Schema) -> Result<(), Error> {
            Ok(())
        }

        fn run(&mut self, _: &Statement, _: Duration) -> Result<Vec<ExactRow>, String> {
            panic!("eve is 40 years old")
        }
    }

    #[test]
    fn a_panic_after_the_charge_is_a_question_without_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let csv = folder.path().join("people.csv");
        std::fs::write(&csv, "age\n40\n").unwrap();
        let (people, budget) = (AccountName::parse("people").unwrap(), Budget::parse("1,1e-6").unwrap());
        let registration = Registration {
            name: people.clone(),
            declaration: Declaration::default(),
            data: Data::Csv { path: csv, bad_rows: BadRows::Refuse },
            rules: Some(Rules {
                filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
                odometer: OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta()),
            }),
            new_version: false,
            reuse: false,
            timeout: Duration::from_secs(60),
        };
        gate.register(&registration, &mut |_, _| {}).unwrap();
        let price = Price::Epsilon(Amount::parse_exact("0.1").unwrap());
        let request = Request::new(&people, "SELECT COUNT(*) FROM people", price).unwrap();
        let prepared = Prepared::new(&gate.catalog, &request).unwrap();
        let Ok(Charged::Charged(fresh)) = gate.ledger.charge(prepared.charge.clone()) else { panic!("0.1 fits 1") };
        let outcome = gate.answer(fresh, &prepared, Box::new(Defective));
        assert!(matches!(outcome, Outcome::NoAnswer(_)), "{outcome:?}");
        assert!(matches!(gate.ask(&request).unwrap(), Outcome::NoAnswer(_)), "and it is not made later");
        assert_eq!(gate.catalog.failures(1).unwrap()[0].why, "the program panicked");
    }
}
