//! The part of the Python package that is written in Rust: it reads arguments, calls the libraries, and hands their documents on.
//!
//! Requests and results cross as the JSON documents of `taximeter-service`, so that a ledger here and a server give Python the same.

mod amount;
mod cost;
mod filter;
mod gate;
mod lab;
mod ledger;
mod odometer;
mod problem;
mod stream;
mod table;
mod waiting;
mod words;

use pyo3::prelude::*;

/// Taximeter's libraries.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::amount::rounded;
    #[pymodule_export]
    use super::cost::{PyCost, cost, cost_kinds};
    #[pymodule_export]
    use super::filter::PyFilter;
    #[pymodule_export]
    use super::gate::PyGate;
    #[pymodule_export]
    use super::lab::{rule_names, smallest_epsilon, stopping_time_attack, worst_case};
    #[pymodule_export]
    use super::ledger::PyLedger;
    #[pymodule_export]
    use super::odometer::PyOdometer;
    #[pymodule_export]
    use super::stream::arrow_stream;
    #[pymodule_export]
    use super::words::{show_number, show_share};

    #[allow(unused_imports)]
    use super::*;
}
