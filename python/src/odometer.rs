//! Odometers.

use pyo3::prelude::*;
use serde::Serialize;
use taximeter_accounting::{FilterRule, Odometer as Inner};
use taximeter_service::{Computed, OdometerRequest, specs};

use crate::cost::PyCost;
use crate::problem::{OrRaise, json, unreadable};

/// A privacy odometer in memory.
#[pyclass(subclass, module = "taximeter", name = "Odometer")]
pub struct PyOdometer(Inner);

/// A reading with what it promises.
#[derive(Serialize)]
struct ReadingText {
    value: Option<Computed>,
    reason: Option<&'static str>,
    guarantee: String,
    two_sided: bool,
    delta: String,
}

#[pymethods]
impl PyOdometer {
    #[new]
    fn new(py: Python<'_>, request: &str) -> PyResult<PyOdometer> {
        let request: OdometerRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
        let (_, spec) = specs(None, Some(&request), FilterRule::default()).or_raise(py)?;
        Ok(PyOdometer(Inner::new(spec).or_raise(py)?))
    }

    /// Counts a cost, as often as it is said.
    #[pyo3(signature = (cost, times=1))]
    fn charge(&mut self, py: Python<'_>, cost: &PyCost, times: u64) -> PyResult<()> {
        self.0.charge_times(&cost.0, times).or_raise(py)
    }

    /// The JSON of the reading.
    fn reading_json(&self) -> PyResult<String> {
        let reading = self.0.reading();
        json(&ReadingText {
            value: reading.value.is_finite().then(|| Computed(reading.printed())),
            reason: reading.unbounded,
            guarantee: reading.guarantee.to_string(),
            two_sided: reading.guarantee.two_sided,
            delta: reading.guarantee.delta.to_string(),
        })
    }

    /// The bound as a binary number that is not below it, for those who compare with it.
    fn upper(&self) -> f64 {
        self.0.reading().value
    }

    /// The JSON of the odometer as it was asked for, with every default in its place.
    fn request_json(&self) -> PyResult<String> {
        json(&OdometerRequest::from(self.0.spec()))
    }

    /// The paper, its version and the theorem.
    #[getter]
    fn citation(&self) -> &'static str {
        self.0.spec().rule().citation()
    }

    /// The odometer with what it has counted, as text to keep.
    fn state(&self) -> PyResult<String> {
        json(&self.0)
    }

    /// Continues an odometer from its `state`.
    fn restore(&mut self, py: Python<'_>, state: &str) -> PyResult<()> {
        self.0 = serde_json::from_str(state).map_err(|error| unreadable(py, error))?;
        Ok(())
    }
}
