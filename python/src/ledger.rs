//! Ledgers on this machine: files and PostgreSQL.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Deserialize;
use taximeter_ledger::{AccountName, Key, Ledger as Inner, Location, Neighbours, Note, Options, Unit, Who};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, Code, DeclaredCost, HistoryDocument, NewAccount,
    Problem, QuoteDocument, Sight, VerifyDocument, accounts, blocked_by, checkpoints, journal,
};

use crate::cost::PyCost;
use crate::problem::{OrRaise, json, problem_of, unreadable};
use crate::waiting::{OfThisProcess, wait};

/// A ledger that is open for writing. Its results are the JSON documents of the service.
#[pyclass(frozen, module = "taximeter._native", name = "Ledger")]
pub struct PyLedger(OfThisProcess<OpenLedger>);

/// An open ledger, and how it was opened.
#[derive(Clone)]
pub struct OpenLedger {
    /// The ledger.
    pub ledger: Inner,
    witness: Option<PathBuf>,
}

impl OpenLedger {
    /// Takes over what other processes wrote.
    fn refreshed(&self) -> Result<&Inner, Problem> {
        self.ledger.refresh()?;
        Ok(&self.ledger)
    }
}

impl PyLedger {
    /// The open ledger.
    pub fn open(&self, py: Python<'_>) -> PyResult<OpenLedger> {
        self.0.get(py)
    }

    /// Does something with the ledger, without Python's lock.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&OpenLedger) -> Result<T, Problem> + Send + 'static,
    ) -> PyResult<T> {
        let ledger = self.open(py)?;
        wait(py, move || work(&ledger))?.or_raise(py)
    }
}

#[pymethods]
impl PyLedger {
    #[new]
    fn new(py: Python<'_>, location: &str, create: bool, witness: Option<PathBuf>) -> PyResult<PyLedger> {
        let location = Location::parse(location).or_raise(py)?;
        let options = Options { witness: witness.clone(), create, ..Options::default() };
        let ledger = wait(py, move || Inner::open(&location, options))?.or_raise(py)?;
        Ok(PyLedger(OfThisProcess::new(OpenLedger { ledger, witness })))
    }

    /// Closes the ledger when all that waits is done.
    fn close(&self, py: Python<'_>) {
        let ledger = self.0.close();
        py.detach(|| drop(ledger));
    }

    /// Where the ledger is, without a password.
    fn location(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.get(py)?.ledger.location().to_string())
    }

    fn ledger(&self, py: Python<'_>) -> PyResult<String> {
        let describe = |open: &OpenLedger| Ok(journal::describe(&open.ledger.reader()?, open.ledger.location()));
        json(&self.with(py, describe)?)
    }

    fn accounts(&self, py: Python<'_>) -> PyResult<String> {
        let list = |open: &OpenLedger| {
            let ledger = open.refreshed()?;
            Ok(AccountList::new(ledger.id(), &ledger.accounts(), &Sight::All))
        };
        json(&self.with(py, list)?)
    }

    fn account(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let name = AccountName::parse(name).or_raise(py)?;
        let account = move |open: &OpenLedger| {
            let ledger = open.refreshed()?;
            let path = name.path().map(|above| ledger.account(&AccountName::parse(above)?));
            let path = path.collect::<Result<Vec<_>, _>>()?;
            let account =
                path.last().ok_or_else(|| Problem::new(Code::NoAccount, format!("account {name} not found")))?;
            let blocking = blocked_by(account, |name| path.iter().find(|account| account.name() == name));
            Ok(AccountDocument::new(account, blocking, &Sight::All))
        };
        json(&self.with(py, account)?)
    }

    fn open_account(&self, py: Python<'_>, request: &str) -> PyResult<String> {
        let new: NewAccount = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        json(&self.with(py, move |open| accounts::open(open.refreshed()?, &new))?)
    }

    fn close_account(&self, py: Python<'_>, name: &str, by: Option<&str>, note: Option<&str>) -> PyResult<String> {
        let name = AccountName::parse(name).or_raise(py)?;
        let (by, note) = signature(by, note).or_raise(py)?;
        json(&self.with(py, move |open| accounts::close(&open.ledger, &name, by, note))?)
    }

    /// Charges once for a key. A refusal is raised.
    #[pyo3(signature = (accounts, costs, key=None, details=None))]
    fn charge(
        &self,
        py: Python<'_>,
        accounts: Vec<String>,
        costs: Vec<PyRef<'_, PyCost>>,
        key: Option<&str>,
        details: Option<&str>,
    ) -> PyResult<String> {
        let key = key.map_or_else(Key::generate, |key| Key::parse("key", key)).or_raise(py)?;
        let request = request(&accounts, &costs, details).or_raise(py)?;
        let charge = request.charge(key.clone()).or_raise(py)?;
        let charged = move |open: &OpenLedger| {
            let outcome = open.ledger.charge(charge).map_err(|error| {
                let problem = Problem::from(error);
                let tells = matches!(problem.code, Code::UnknownOutcome | Code::KeyReused);
                Problem { key: tells.then(|| key.to_string()), ..problem }
            })?;
            match ChargeOutcome::new(&outcome, key.as_str(), &open.ledger, &Sight::All)? {
                ChargeOutcome::Charged(charged) => Ok(serde_json::to_string(&charged)),
                ChargeOutcome::Refused(refused) => Err(problem_of(refused)),
            }
        };
        self.with(py, charged)?.map_err(|error| unreadable(py, error))
    }

    #[pyo3(signature = (accounts, costs, details=None))]
    fn quote(
        &self,
        py: Python<'_>,
        accounts: Vec<String>,
        costs: Vec<PyRef<'_, PyCost>>,
        details: Option<&str>,
    ) -> PyResult<String> {
        let request = request(&accounts, &costs, details).or_raise(py)?;
        let charge = request.charge(Key::generate().or_raise(py)?).or_raise(py)?;
        let quote = move |open: &OpenLedger| Ok(QuoteDocument::new(open.refreshed()?.quote(&charge)?, &Sight::All));
        json(&self.with(py, quote)?)
    }

    fn history(&self, py: Python<'_>, name: &str, start: Option<u64>, most: usize) -> PyResult<String> {
        let name = AccountName::parse(name).or_raise(py)?;
        let history = move |open: &OpenLedger| {
            let history = open.refreshed()?.history(&name, start, most)?;
            Ok(HistoryDocument::new(&name, &history, &Sight::All)?)
        };
        json(&self.with(py, history)?)
    }

    /// Verifies the journal, also against the signed checkpoints that are kept beside the ledger.
    fn verify(&self, py: Python<'_>) -> PyResult<String> {
        let verified = |open: &OpenLedger| {
            let result = checkpoints::verify(open.ledger.location(), open.witness.as_deref(), &mut |_, _| {});
            match result {
                Err(error) if !error.is_integrity() => Err(error.into()),
                result => Ok(VerifyDocument::of(&result)),
            }
        };
        json(&self.with(py, verified)?)
    }
}

/// What may be said with a charge.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Details {
    by: Option<Who>,
    note: Option<Note>,
    unit: Option<Unit>,
    neighbours: Option<Neighbours>,
}

/// A charge as it is asked for.
fn request(accounts: &[String], costs: &[PyRef<'_, PyCost>], details: Option<&str>) -> Result<ChargeRequest, Problem> {
    let read = |text: &str| serde_json::from_str(text).map_err(|error| Problem::bad_request(error.to_string()));
    let Details { by, note, unit, neighbours } = details.map_or_else(|| Ok(Details::default()), read)?;
    let accounts = accounts.iter().map(|name| AccountName::parse(name)).collect::<Result<_, _>>()?;
    let costs = costs.iter().map(|cost| DeclaredCost(cost.0)).collect();
    Ok(ChargeRequest { accounts, costs, unit, neighbours, by, note })
}

/// Who asks, and what for.
fn signature(by: Option<&str>, note: Option<&str>) -> Result<(Option<Who>, Option<Note>), Problem> {
    let by = by.map(|by| Who::parse("by", by)).transpose()?;
    Ok((by, note.map(|note| Note::parse("note", note)).transpose()?))
}
