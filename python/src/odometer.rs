//! Odometers.

use pyo3::prelude::*;
use serde::Serialize;
use taximeter_accounting::{FilterRule, Odometer as Inner};
use taximeter_service::{Computed, OdometerRequest, specs};

use crate::cost::PyCost;
use crate::problem::{OrRaise, json, unreadable};

/// A privacy odometer in memory.
#[pyclass(subclass, module = "taximeter", name = "Odometer")]
pub struct PyOdometer {
    odometer: Inner,
    ride: Ride,
}

impl From<Inner> for PyOdometer {
    fn from(odometer: Inner) -> PyOdometer {
        PyOdometer { ride: Ride::new(odometer.reading().printed()), odometer }
    }
}

/// The readings of a ride for a curve: after every call of `charge`, or after every second, fourth, ... one of a long ride.
struct Ride {
    /// The first is that before the first call.
    readings: Vec<f64>,
    calls: u64,
    /// How many calls there are between two readings.
    step: u64,
}

impl Ride {
    /// The most readings that are kept. Even, so that every second one is left when the step doubles.
    const MOST: usize = 256;

    fn new(reading: f64) -> Ride {
        Ride { readings: vec![reading], calls: 0, step: 1 }
    }

    /// Counts a call, after which the odometer reads this.
    fn count(&mut self, reading: impl FnOnce() -> f64) {
        self.calls += 1;
        if !self.calls.is_multiple_of(self.step) {
            return;
        }
        if self.readings.len() == Ride::MOST {
            self.readings = self.readings.iter().copied().step_by(2).collect();
            self.step *= 2;
        }
        self.readings.push(reading());
    }

    /// The readings, the newest included, each with the number of calls before it.
    fn curve(&self, newest: f64) -> Vec<(u64, f64)> {
        let kept = (0..).zip(&self.readings).map(|(at, reading)| (at * self.step, *reading));
        let is_newest_kept = self.calls.is_multiple_of(self.step);
        kept.chain((!is_newest_kept).then_some((self.calls, newest))).collect()
    }
}

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
        Ok(Inner::new(spec).or_raise(py)?.into())
    }

    /// Counts a cost, as often as it is said.
    #[pyo3(signature = (cost, times=1))]
    fn charge(&mut self, py: Python<'_>, cost: &PyCost, times: u64) -> PyResult<()> {
        self.odometer.charge_times(&cost.0, times).or_raise(py)?;
        self.ride.count(|| self.odometer.reading().printed());
        Ok(())
    }

    /// The JSON of the reading.
    fn reading_json(&self) -> PyResult<String> {
        let reading = self.odometer.reading();
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
        self.odometer.reading().value
    }

    /// The readings since it was made or restored, for a curve, each with the number of calls of `charge` before it: at most 257 of
    /// them, evenly spaced but for the newest.
    fn ride(&self) -> Vec<(u64, f64)> {
        self.ride.curve(self.odometer.reading().printed())
    }

    /// The JSON of the odometer as it was asked for, with every default in its place.
    fn request_json(&self) -> PyResult<String> {
        json(&OdometerRequest::from(self.odometer.spec()))
    }

    /// The paper, its version and the theorem.
    #[getter]
    fn citation(&self) -> &'static str {
        self.odometer.spec().rule().citation()
    }

    /// The odometer with what it has counted, as text to keep.
    fn state(&self) -> PyResult<String> {
        json(&self.odometer)
    }

    /// Continues an odometer from its `state`.
    fn restore(&mut self, py: Python<'_>, state: &str) -> PyResult<()> {
        let odometer: Inner = serde_json::from_str(state).map_err(|error| unreadable(py, error))?;
        *self = odometer.into();
        Ok(())
    }
}
