//! Problems as Python's exceptions. Which exception is which code is decided in `taximeter/errors.py`, for here and for servers.

use pyo3::prelude::*;
use serde::Serialize;
use taximeter_accounting::Cost;
use taximeter_service::{Code, Problem, Refused, RefusedAccount};

/// The exception for a problem.
pub fn raise(py: Python<'_>, problem: &Problem) -> PyErr {
    let exception = || {
        let text = json(problem)?;
        py.import("taximeter.errors")?.call_method1("from_problem", (text,))
    };
    match exception() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A document as text.
pub fn json(document: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
}

/// The exception for an argument that cannot be used.
pub fn bad_input(py: Python<'_>, parameter: &str, detail: &str) -> PyErr {
    raise(py, &Problem { parameter: Some(parameter.to_string()), ..Problem::bad_request(detail) })
}

/// The exception for a document that cannot be read.
pub fn unreadable(py: Python<'_>, error: serde_json::Error) -> PyErr {
    raise(py, &Problem::bad_request(error.to_string()))
}

/// Turns an error of a library into an exception.
pub trait OrRaise<T> {
    /// The value, or the exception for the problem.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Problem>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error.into()))
    }
}

/// A refusal of a filter that belongs to no account.
pub fn refusal(asked: &Cost, fits: Option<Cost>, refusal: &taximeter_accounting::Refusal, is_closed: bool) -> Problem {
    let refused = Refused {
        outcome: "refused".to_string(),
        refused: vec![RefusedAccount {
            account: None,
            reason: refusal.reason(),
            parameter: refusal.parameter().map(str::to_string),
        }],
        asked: vec![*asked],
        fits: fits.map(|fits| vec![fits]),
        not_open: is_closed,
        ledger: None,
        sequence: None,
        hash: None,
        record: None,
        halted: Vec::new(),
    };
    problem_of(refused)
}

/// A refusal as a problem.
pub fn problem_of(refused: Refused) -> Problem {
    let by = refused.refused.iter().map(|refused| match &refused.account {
        Some(account) => format!("{account}: {}", refused.reason),
        None => refused.reason.clone(),
    });
    let detail = format!("nothing was charged; {}", by.collect::<Vec<_>>().join("; "));
    Problem { refusal: Some(refused), ..Problem::new(Code::Refused, detail) }
}
