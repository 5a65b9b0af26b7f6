//! Costs.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use taximeter_accounting::{Amount, Cost as Declared, CostForm, CostKind, Number};

use crate::amount::{amount, decimal};
use crate::problem::{OrRaise, bad_input, json};

/// The privacy cost of one mechanism, declared before it runs. It is made by functions such as `taximeter.pure`.
#[pyclass(frozen, eq, hash, module = "taximeter", name = "Cost")]
#[derive(PartialEq, Eq, Hash)]
pub struct PyCost(pub Declared);

#[pymethods]
impl PyCost {
    /// Reads a cost from the JSON of documents and servers.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<PyCost> {
        Ok(PyCost(Declared::from_json(text).or_raise(py)?.cost))
    }

    /// The cost as JSON, as it stands in documents.
    fn to_json(&self) -> PyResult<String> {
        json(&self.0)
    }

    /// The kind of mechanism: `"epsilon"`, `"gaussian"`, ...
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// The numbers that the cost is declared with, exactly.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let numbers = PyDict::new(py);
        for (name, value) in self.0.numbers() {
            numbers.set_item(name, decimal(py, value)?)?;
        }
        Ok(numbers)
    }

    /// The ε for which the mechanism is (ε, δ)-DP; None if there is none.
    #[getter]
    fn epsilon<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.epsilon().map(|epsilon| decimal(py, epsilon)).transpose()
    }

    /// The mechanism's own δ.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decimal(py, self.0.delta())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("Cost({})", self.to_json()?))
    }

    /// Lets a cost be copied and sent to another process.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<PyCost>().getattr("from_json")?, (self.to_json()?,)))
    }
}

/// A cost of a kind, from numbers by name; those that are None are not given.
#[pyfunction]
#[pyo3(signature = (kind, **numbers))]
pub fn cost(py: Python<'_>, kind: &str, numbers: Option<&Bound<'_, PyDict>>) -> PyResult<PyCost> {
    let Some(kind) = CostKind::ALL.into_iter().find(|known| known.name() == kind) else {
        let known = CostKind::ALL.map(CostKind::name).join(", ");
        return Err(bad_input(py, "kind", &format!("{kind:?} is not a kind of cost; choose one of {known}")));
    };
    let mut given = Vec::new();
    for (name, value) in numbers.into_iter().flatten() {
        if !value.is_none() {
            given.push((name.extract::<String>()?, value));
        }
    }
    let form = form(py, kind, &given)?;
    let value = |number: &&'static Number| match given.iter().find(|(name, _)| name == number.name) {
        Some((name, value)) => amount(name, value, number.rounding),
        None => Amount::parse_exact(number.default.unwrap_or("0")).or_raise(py),
    };
    let numbers = form.numbers.iter().map(value).collect::<PyResult<Vec<Amount>>>()?;
    Ok(PyCost(form.cost(&numbers).or_raise(py)?))
}

/// The form of a kind that takes exactly these numbers.
fn form(py: Python<'_>, kind: CostKind, given: &[(String, Bound<'_, PyAny>)]) -> PyResult<&'static CostForm> {
    let has = |number: &Number| given.iter().any(|(name, _)| name == number.name);
    let takes = |form: &CostForm, name: &str| form.numbers.iter().any(|number| number.name == name);
    let fits = |form: &&CostForm| form.required().all(has) && given.iter().all(|(name, _)| takes(form, name));
    kind.forms().iter().find(fits).ok_or_else(|| {
        let names = |form: &CostForm| {
            let name = |number: &&Number| match number.default {
                Some(default) => format!("{} (or {default})", number.name),
                None => number.name.to_string(),
            };
            form.numbers.iter().map(name).collect::<Vec<_>>().join(" and ")
        };
        let forms = kind.forms().iter().map(names).collect::<Vec<_>>().join(", or ");
        let given = given.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        let given = if given.is_empty() { "no number".to_string() } else { given.join(" and ") };
        bad_input(py, kind.name(), &format!("{} takes {forms}; it was given {given}", kind.name().replace('_', " ")))
    })
}

/// The kinds of cost with their sentences and the numbers of their forms, as the accounting library defines them.
#[pyfunction]
pub fn cost_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let kinds = PyList::empty(py);
    for kind in CostKind::ALL {
        let names = |form: &CostForm| form.numbers.iter().map(|number| number.name).collect::<Vec<_>>();
        let forms: Vec<Vec<&str>> = kind.forms().iter().map(names).collect();
        kinds.append((kind.name(), kind.sentence(), forms))?;
    }
    Ok(kinds)
}
