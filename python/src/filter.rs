//! Filters.

use pyo3::prelude::*;
use serde::Serialize;
use taximeter_accounting::{Balance, Cost as Declared, Filter as Inner, FilterRule, Refusal, Verdict};
use taximeter_service::{BalanceDocument, FilterRequest, specs};

use crate::cost::PyCost;
use crate::problem::{OrRaise, bad_input, json, raise, refusal, unreadable};

/// A privacy filter in memory.
#[pyclass(subclass, module = "taximeter", name = "Filter")]
pub struct PyFilter(Inner);

/// The effect of a charge.
#[derive(Serialize)]
struct QuoteText<'a> {
    verdict: &'static str,
    reason: Option<String>,
    parameter: Option<&'a str>,
    asked: [Declared; 1],
    fits: Option<[Declared; 1]>,
    count: u64,
    at_least: bool,
    left: BalanceDocument,
    left_after: Option<BalanceDocument>,
}

#[pymethods]
impl PyFilter {
    #[new]
    fn new(py: Python<'_>, request: &str) -> PyResult<PyFilter> {
        let request: FilterRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let (spec, _) = specs(Some(&request), None, FilterRule::default()).or_raise(py)?;
        let spec = spec.ok_or_else(|| bad_input(py, "budget", "a filter needs a budget"))?;
        Ok(PyFilter(Inner::new(spec).or_raise(py)?))
    }

    /// Charges a cost, or raises Refused and changes nothing.
    fn charge(&mut self, py: Python<'_>, cost: &PyCost) -> PyResult<()> {
        match self.0.charge(&cost.0).or_raise(py)? {
            Verdict::Continue => Ok(()),
            Verdict::Halt(why) => Err(self.refused(py, &cost.0, &why)),
        }
    }

    /// Whether a cost would be admitted.
    fn admits(&self, py: Python<'_>, cost: &PyCost) -> PyResult<bool> {
        Ok(self.0.decide(&cost.0).or_raise(py)?.continues())
    }

    /// The JSON of the effect that a charge would have.
    fn quote_json(&self, py: Python<'_>, cost: &PyCost) -> PyResult<String> {
        let mut after = self.0.clone();
        let verdict = after.charge(&cost.0).or_raise(py)?;
        let count = self.0.count(&cost.0).or_raise(py)?;
        let (reason, parameter) = match &verdict {
            Verdict::Continue => (None, None),
            Verdict::Halt(refusal) => (Some(refusal.reason()), refusal.parameter()),
        };
        json(&QuoteText {
            verdict: if verdict.continues() { "admitted" } else { "refused" },
            reason,
            parameter,
            asked: [cost.0],
            fits: self.0.largest(&cost.0, 1).or_raise(py)?.map(|fits| [fits]),
            count: count.count,
            at_least: count.at_least,
            left: self.0.left().into(),
            left_after: verdict.continues().then(|| after.left().into()),
        })
    }

    /// The largest cost of the same kind that fits this number of times.
    fn largest_like(&self, py: Python<'_>, cost: &PyCost, times: u64) -> PyResult<Option<PyCost>> {
        Ok(self.0.largest(&cost.0, times).or_raise(py)?.map(PyCost))
    }

    /// How many more costs like this one fit.
    fn count(&self, py: Python<'_>, cost: &PyCost) -> PyResult<u64> {
        Ok(self.0.count(&cost.0).or_raise(py)?.count)
    }

    /// The JSON of what is spent and what is left.
    fn balances_json(&self) -> PyResult<String> {
        json(&[self.0.spent(), self.0.left()].map(|balance: Balance| BalanceDocument::from(balance)))
    }

    /// The JSON of the filter as it was asked for, with every default in its place.
    fn request_json(&self) -> PyResult<String> {
        json(&FilterRequest::from(self.0.spec()))
    }

    /// What the filter promises about everything that it admits.
    #[getter]
    fn guarantee(&self) -> String {
        self.0.guarantee()
    }

    /// The paper, its version and the theorem.
    #[getter]
    fn citation(&self) -> &'static str {
        self.0.spec().rule().citation()
    }

    /// Whether the filter halted for good.
    #[getter]
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The filter with what it has admitted, as text to keep.
    fn state(&self) -> PyResult<String> {
        json(&self.0)
    }

    /// Continues a filter from its `state`.
    fn restore(&mut self, py: Python<'_>, state: &str) -> PyResult<()> {
        self.0 = serde_json::from_str(state).map_err(|error| unreadable(py, error))?;
        Ok(())
    }
}

impl PyFilter {
    fn refused(&self, py: Python<'_>, cost: &Declared, why: &Refusal) -> PyErr {
        match self.0.largest(cost, 1) {
            Ok(fits) => raise(py, &refusal(cost, fits, why, self.0.is_closed())),
            Err(error) => raise(py, &error.into()),
        }
    }
}
