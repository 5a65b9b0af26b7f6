//! Numbers as text for people, as everywhere in Taximeter: rounding never makes a budget look better than it is.

use pyo3::prelude::*;
use taximeter_service::words;

/// A share of a budget in percent, rounded down.
#[pyfunction]
pub fn show_share(share: f64) -> String {
    words::show_share(share)
}

/// A bound to six digits, rounded up.
#[pyfunction]
pub fn show_number(value: f64) -> String {
    words::show_number(value)
}
