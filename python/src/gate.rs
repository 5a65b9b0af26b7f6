//! The gate of a ledger on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Deserialize;
use taximeter_accounting::{Amount, FilterRule};
use taximeter_gate::{
    BadRows, CsvEngine, CsvForm, Data, Declaration, DriverChoice, DummyAnswer, Gate, Origin, Prepared, Registration,
    RemoteTable, Rules, TableRows, folder_beside,
};
use taximeter_ledger::{AccountName, Key, Location, Who};
use taximeter_service::{
    Code, DatasetDocument, DatasetList, Explanation, FilterRequest, NewAnalyst, OdometerRequest, Problem,
    QuestionOutcome, QuestionRequest, SchemaDocument, Sight, StudyRequest, datasets, plans, specs,
};

use crate::ledger::PyLedger;
use crate::problem::{OrRaise, json, problem_of, unreadable};
use crate::table::table_rows;
use crate::waiting::{OfThisProcess, wait};

/// The gate of a ledger. Its results are the JSON documents of the service.
#[pyclass(frozen, module = "taximeter._native", name = "Gate")]
pub struct PyGate(OfThisProcess<Arc<Gate>>);

/// A dataset to register, with data that this process can read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTable {
    dataset: AccountName,
    source: Option<TableSource>,
    schema: Option<SchemaDocument>,
    filter: Option<FilterRequest>,
    odometer: Option<OdometerRequest>,
    #[serde(default)]
    new_version: bool,
    reuse: Option<bool>,
    timeout_seconds: Option<f64>,
    min_epsilon: Option<Amount>,
}

/// Where the data are.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum TableSource {
    Csv {
        path: PathBuf,
        #[serde(default)]
        skip_bad_rows: bool,
        #[serde(default)]
        form: CsvForm,
        engine: Option<FileEngine>,
        driver: Option<DriverChoice>,
    },
    Parquet {
        pattern: String,
        driver: Option<DriverChoice>,
    },
    Postgres {
        url: String,
        table: String,
    },
    Remote {
        table: RemoteTable,
        driver: Option<DriverChoice>,
    },
}

/// The engine that a file is imported into.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileEngine {
    Sqlite,
    Duckdb,
}

impl TableSource {
    fn data(self) -> Data {
        match self {
            TableSource::Csv { path, skip_bad_rows, form, engine, driver } => {
                let bad_rows = if skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
                let engine = match engine {
                    None => CsvEngine::Automatic,
                    Some(FileEngine::Sqlite) => CsvEngine::Sqlite,
                    Some(FileEngine::Duckdb) => CsvEngine::Duckdb(driver.unwrap_or_default()),
                };
                Data::Csv { path, form, bad_rows, engine }
            }
            TableSource::Parquet { pattern, driver } => Data::Parquet { pattern, driver: driver.unwrap_or_default() },
            TableSource::Postgres { url, table } => Data::Postgres { url, table },
            TableSource::Remote { table, driver } => {
                Data::Remote { driver: driver.unwrap_or_else(|| table.service.driver()), table }
            }
        }
    }
}

impl PyGate {
    /// Does something with the gate, without Python's lock.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Gate) -> Result<T, Problem> + Send + 'static,
    ) -> PyResult<T> {
        let gate = self.0.get(py)?;
        wait(py, move || work(&gate))?.or_raise(py)
    }

    /// Does something with the gate after its ledger has taken over what other processes wrote.
    fn with_refreshed<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Gate) -> Result<T, Problem> + Send + 'static,
    ) -> PyResult<T> {
        self.with(py, move |gate| {
            gate.ledger().refresh()?;
            work(gate)
        })
    }
}

#[pymethods]
impl PyGate {
    #[new]
    fn new(py: Python<'_>, ledger: &PyLedger, folder: Option<PathBuf>) -> PyResult<PyGate> {
        let ledger = ledger.open(py)?.ledger;
        let folder = folder.unwrap_or_else(|| match ledger.location() {
            Location::File(path) => folder_beside(path),
            Location::Postgres(_) => PathBuf::from("taximeter.gate"),
        });
        let gate = wait(py, move || Gate::open(&folder, ledger))?.or_raise(py)?;
        Ok(PyGate(OfThisProcess::new(Arc::new(gate))))
    }

    /// Closes the gate; its ledger stays open.
    fn close(&self, py: Python<'_>) {
        let gate = self.0.close();
        py.detach(|| drop(gate));
    }

    fn datasets(&self, py: Python<'_>) -> PyResult<String> {
        let list = |gate: &Gate| {
            let (datasets, accounts) = (gate.catalog().datasets()?, gate.ledger().accounts());
            let document = |dataset| DatasetDocument::new(dataset, &datasets, &accounts, &Sight::All, true);
            Ok(DatasetList(datasets.iter().map(document).collect()))
        };
        json(&self.with_refreshed(py, list)?)
    }

    /// Registers a dataset: a table that speaks Arrow's C stream interface, or the source that the request names.
    fn register(&self, py: Python<'_>, request: &str, table: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let new: NewTable = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let table = table.map(table_rows).transpose()?;
        let registered = |gate: &Gate| Ok(datasets::register(gate, &new.registration(gate, table)?, &mut |_, _| {})?);
        json(&self.with_refreshed(py, registered)?)
    }

    fn add_analyst(&self, py: Python<'_>, dataset: &str, request: &str) -> PyResult<String> {
        let dataset = AccountName::parse(dataset).or_raise(py)?;
        let new: NewAnalyst = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let added = move |gate: &Gate| {
            let rules = new.rules(&gate.ledger().account(&dataset)?)?;
            datasets::add_analyst(gate, dataset, &new.analyst, rules)
        };
        json(&self.with_refreshed(py, added)?)
    }

    /// Asks once for a key: the answer and where it is from.
    fn ask(
        &self,
        py: Python<'_>,
        request: &str,
        key: Option<&str>,
        by: Option<&str>,
    ) -> PyResult<(String, &'static str)> {
        let request: QuestionRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let key = key.map_or_else(Key::generate, |key| Key::parse("key", key)).or_raise(py)?;
        let by = by.map(|by| Who::parse("by", by)).transpose().or_raise(py)?;
        let asked = move |gate: &Gate| {
            let outcome = gate.ask(&request.for_gate(key.clone(), by, None)).map_err(|error| {
                let problem = Problem::from(error);
                let tells = matches!(problem.code, Code::UnknownOutcome | Code::KeyReused);
                Problem { key: tells.then(|| key.to_string()), ..problem }
            })?;
            match QuestionOutcome::new(outcome, &Sight::All)? {
                QuestionOutcome::Answered { document, origin } => Ok((document, name_of(origin))),
                QuestionOutcome::Refused(refused) => Err(problem_of(refused)),
                QuestionOutcome::NoAnswer { sequence } => Err(Problem {
                    key: Some(key.to_string()),
                    sequence: Some(sequence),
                    ..Problem::new(Code::NoAnswer, NO_ANSWER)
                }),
            }
        };
        self.with(py, asked)
    }

    fn explain(&self, py: Python<'_>, request: &str) -> PyResult<String> {
        let request: QuestionRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let explained = |gate: &Gate| {
            let prepared = Prepared::new(gate.catalog(), &request.for_gate(Key::generate()?, None, None))?;
            let quote = gate.ledger().quote(prepared.charge())?;
            Ok(Explanation::new(&prepared, quote, &Sight::All, true))
        };
        json(&self.with_refreshed(py, explained)?)
    }

    /// What the questions of a study cost and need together. Charges nothing.
    fn plan(&self, py: Python<'_>, study: &str) -> PyResult<String> {
        let study: StudyRequest = serde_json::from_str(study).map_err(|error| unreadable(py, error))?;
        let planned =
            move |gate: &Gate| plans::plan(gate.catalog(), &study, &|charges| gate.ledger().quote_sequence(charges));
        json(&self.with_refreshed(py, planned)?)
    }

    /// Answers from made-up rows, and charges nothing.
    fn ask_dummy(&self, py: Python<'_>, request: &str, rows: u32) -> PyResult<String> {
        let request: QuestionRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let tried = move |gate: &Gate| {
            let request = request.for_gate(Key::generate()?, None, None);
            Ok(DummyAnswer::new(gate.catalog(), &request, rows)?)
        };
        json(&self.with(py, tried)?)
    }
}

const NO_ANSWER: &str = "the question is charged, and the charge stands, but there is no answer. If it is still running, ask again later \
                         with the same key; otherwise the owner finds the reason in the log";

fn name_of(origin: Origin) -> &'static str {
    match origin {
        Origin::Fresh => "fresh",
        Origin::Replayed => "replayed",
        Origin::Reused => "reused",
    }
}

impl NewTable {
    /// The registration. For newer data, a declaration, limits and reuse that are not given stay as they were.
    fn registration(self, gate: &Gate, table: Option<TableRows>) -> Result<Registration, Problem> {
        let (rules, timeout) = (self.rules()?, self.timeout()?);
        let before = if self.new_version { Some(gate.catalog().dataset(&self.dataset)?) } else { None };
        let declaration = match (&self.schema, &before) {
            (Some(schema), _) => schema.declaration()?,
            (None, Some(before)) => Declaration::of(&before.schema),
            (None, None) => {
                return Err(Problem::bad_request("the declaration is missing: say whose privacy is protected"));
            }
        };
        let data = match (self.source, table) {
            (None, Some(table)) => Data::Rows(table),
            (None, None) | (Some(_), Some(_)) => return Err(Problem::bad_request("give one table, file or database")),
            (Some(source), None) => source.data(),
        };
        data.check(Some(&declaration))?;
        Ok(Registration {
            name: self.dataset,
            declaration,
            data,
            rules,
            new_version: self.new_version,
            reuse: self.reuse.unwrap_or(before.as_ref().is_some_and(|before| before.reuse)),
            timeout: timeout.unwrap_or(before.as_ref().map_or(Registration::TIMEOUT, |before| before.timeout)),
            min_epsilon: self.min_epsilon.or(before.and_then(|before| before.min_epsilon)),
        })
    }

    /// The rules of its account, if any are given.
    fn rules(&self) -> Result<Option<Rules>, Problem> {
        if self.filter.is_none() && self.odometer.is_none() {
            return Ok(None);
        }
        let (filter, odometer) = specs(self.filter.as_ref(), self.odometer.as_ref(), FilterRule::default())?;
        Ok(Some(Rules { filter, odometer }))
    }

    /// The time limit of a question, if it is given.
    fn timeout(&self) -> Result<Option<Duration>, Problem> {
        let duration = |seconds: f64| {
            let wrong = |error| Problem::bad_request(format!("the timeout is {seconds} seconds: {error}"));
            Duration::try_from_secs_f64(seconds).map_err(wrong)
        };
        self.timeout_seconds.map(duration).transpose()
    }
}
