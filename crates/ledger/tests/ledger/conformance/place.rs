//! Where a test keeps its ledger, and short ways to say what it does with it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use taximeter_accounting::{Amount, Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Error, Event, FreshReceipt, ImportedJournal, Key, Ledger, LedgerReader, Location,
    Options, Outcome, Privacy, Receipt, Record, Refusal, Verified, import, verify,
};
use tempfile::TempDir;

/// A place for one ledger and its witness.
#[derive(Clone)]
pub struct Place {
    pub location: Location,
    pub witness: PathBuf,
    folder: Arc<TempDir>,
}

impl Place {
    /// An empty place for a SQLite file.
    pub fn sqlite() -> Place {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Place::at(Location::File(folder.path().join("taximeter.db")), &folder)
    }

    /// An empty database on a private PostgreSQL server.
    #[cfg(feature = "server-tests")]
    pub fn postgres() -> Place {
        let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
        Place::at(Location::Postgres(url), &Arc::new(tempfile::tempdir().unwrap()))
    }

    fn at(location: Location, folder: &Arc<TempDir>) -> Place {
        let witness = folder.path().join(format!("{}.witness", number()));
        Place { location, witness, folder: Arc::clone(folder) }
    }

    /// An empty place of the same kind.
    pub fn another(&self) -> Place {
        match &self.location {
            Location::File(_) => {
                Place::at(Location::File(self.folder.path().join(format!("{}.db", number()))), &self.folder)
            }
            Location::Postgres(_) => new_postgres(),
        }
    }

    /// A copy of the ledger as it is now, as a backup makes one, with a copy of the witness. Nobody may have the ledger open.
    pub fn copy(&self) -> Place {
        let location = match &self.location {
            Location::File(from) => {
                let to = self.folder.path().join(format!("{}.db", number()));
                fs::copy(from, &to).unwrap();
                Location::File(to)
            }
            Location::Postgres(from) => Location::Postgres(copy_database(from)),
        };
        let copy = Place::at(location, &self.folder);
        if self.witness.exists() {
            fs::copy(&self.witness, &copy.witness).unwrap();
        }
        copy
    }

    /// The same ledger with the witness of another place.
    pub fn with_witness_of(&self, other: &Place) -> Place {
        Place { location: self.location.clone(), witness: other.witness.clone(), folder: Arc::clone(&other.folder) }
    }

    pub fn options(&self) -> Options {
        Options { witness: Some(self.witness.clone()), ..Options::default() }
    }

    /// Opens the ledger that is here.
    pub fn open(&self) -> Result<Ledger, Error> {
        Ledger::open(&self.location, self.options())
    }

    /// Makes a ledger here, or opens the one that is here.
    pub fn create(&self) -> Ledger {
        self.create_with(self.options())
    }

    pub fn create_with(&self, options: Options) -> Ledger {
        Ledger::open(&self.location, Options { create: true, ..options }).unwrap()
    }

    pub fn reader(&self) -> Result<LedgerReader, Error> {
        LedgerReader::open(&self.location, Some(&self.witness))
    }

    pub fn try_verify(&self) -> Result<Verified, Error> {
        verify(&self.location, Some(&self.witness), &mut |_, _| {})
    }

    pub fn verify(&self) -> Verified {
        self.try_verify().unwrap()
    }

    pub fn export(&self) -> String {
        let mut out = Vec::new();
        self.reader().unwrap().export(&mut out, &mut |_, _| {}).unwrap();
        String::from_utf8(out).unwrap()
    }

    pub fn import(&self, export: &str) -> Result<ImportedJournal, Error> {
        import(&self.location, &self.options(), &mut export.as_bytes(), &mut |_| {})
    }

    /// All records of the journal.
    pub fn journal(&self) -> Vec<Record> {
        let export = self.export();
        let lines: Vec<&str> = export.lines().collect();
        lines[..lines.len() - 1].iter().map(|line| Record::parse(line).unwrap()).collect()
    }

    /// The keys of all charges in the journal, in order.
    pub fn charged_keys(&self) -> Vec<String> {
        let charges = self.journal().into_iter().filter_map(|record| match record.event {
            Event::Charge(charge) => Some(charge.key().to_string()),
            _ => None,
        });
        charges.collect()
    }
}

#[cfg(feature = "server-tests")]
fn new_postgres() -> Place {
    Place::postgres()
}

#[cfg(not(feature = "server-tests"))]
fn new_postgres() -> Place {
    unreachable!("there is no server without the feature server-tests")
}

#[cfg(feature = "server-tests")]
fn copy_database(url: &str) -> String {
    let from = url.rsplit_once('/').unwrap().1;
    let to = format!("{from}_copy_{}", number());
    let server = taximeter_testing::PrivatePostgres::shared();
    // It waits a few seconds for connections that are about to go.
    taximeter_testing::query(&server.url("postgres"), &format!("CREATE DATABASE {to} TEMPLATE {from}")).unwrap();
    server.url(&to)
}

#[cfg(not(feature = "server-tests"))]
fn copy_database(_: &str) -> String {
    unreachable!("there is no server without the feature server-tests")
}

fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

pub fn names(texts: &[&str]) -> Vec<AccountName> {
    texts.iter().map(|text| name(text)).collect()
}

pub fn key(text: &str) -> Key {
    Key::parse("key", text).unwrap()
}

pub fn epsilon(text: &str) -> Cost {
    Cost::parse_epsilon(text).unwrap().cost
}

pub fn gaussian(mu: &str) -> Cost {
    Cost::Gaussian { mu: Amount::parse_exact(mu).unwrap() }
}

/// An account with a budget under the default rules.
pub fn budgeted(text: &str, budget: &str) -> AccountSpec {
    ruled(text, FilterRule::Residue, budget)
}

/// An account with a budget under a rule.
pub fn ruled(text: &str, rule: FilterRule, budget: &str) -> AccountSpec {
    let filter = FilterSpec::new(rule, Budget::parse(budget).unwrap());
    AccountSpec { filter: Some(filter), ..reading(text) }
}

/// The same account, closed for good by its first halt.
pub fn stopping(spec: AccountSpec) -> AccountSpec {
    let filter = spec.filter.map(|filter| FilterSpec { on_halt: OnHalt::Stop, ..filter });
    AccountSpec { filter, ..spec }
}

/// An account without a budget.
pub fn reading(text: &str) -> AccountSpec {
    let at_delta = Amount::parse_exact("1e-6").unwrap();
    let odometer = OdometerSpec::new(OdometerRule::RenyiMixture, at_delta);
    AccountSpec { name: name(text), privacy: Privacy::default(), filter: None, odometer }
}

pub fn charge(key_text: &str, accounts: &[&str], costs: &[Cost]) -> Charge {
    Charge::new(key(key_text), names(accounts), costs.to_vec()).unwrap()
}

/// What came of a charge that must have been made just now.
#[track_caller]
pub fn charged(outcome: Result<Outcome, Error>) -> FreshReceipt {
    match outcome {
        Ok(Outcome::Charged(fresh)) => fresh,
        other => panic!("it should have been charged: {other:?}"),
    }
}

#[track_caller]
pub fn replayed(outcome: Result<Outcome, Error>) -> Receipt {
    match outcome {
        Ok(Outcome::Replayed(receipt)) => receipt,
        other => panic!("it should have been replayed: {other:?}"),
    }
}

#[track_caller]
pub fn refused(outcome: Result<Outcome, Error>) -> Refusal {
    match outcome {
        Ok(Outcome::Refused(refusal)) => *refusal,
        other => panic!("it should have been refused: {other:?}"),
    }
}

/// An error about the input whose message has all these parts.
#[track_caller]
pub fn check_input<T>(result: Result<T, Error>, parts: &[&str]) {
    let error = result.err().expect("it should have been an error");
    assert!(error.is_input(), "{error}");
    check_message(&error, parts);
}

#[track_caller]
pub fn check_message(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "the message should have {part:?} in it: {message}");
    }
}

/// Runs something that may wait for ever if it is wrong.
#[track_caller]
pub fn within_minutes<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let thread = thread::spawn(move || done.send(action()));
    match result.recv_timeout(Duration::from_secs(300)) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("it did not end within five minutes: a thread waits for ever"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(_) => unreachable!("a thread that ends sends its result first"),
        },
    }
}
