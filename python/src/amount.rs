//! Python's numbers as exact amounts.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};
use taximeter_accounting::{Amount, Rounding};

use crate::problem::bad_input;

/// An amount from a str, Decimal, int, Fraction or float, rounded as asked where it has more than thirty places.
pub fn amount(name: &str, value: &Bound<'_, PyAny>, rounding: Rounding) -> PyResult<Amount> {
    let text = text(name, value)?;
    let parsed = Amount::parse(&text, rounding);
    Ok(parsed.map_err(|error| bad_input(value.py(), name, &format!("{name}: {error}")))?.amount)
}

/// The decimal text of a number, rounded up as a cost is or down as a budget is where it has more than thirty places.
#[pyfunction]
pub fn rounded(name: &str, value: &Bound<'_, PyAny>, up: bool) -> PyResult<String> {
    Ok(amount(name, value, if up { Rounding::Up } else { Rounding::Down })?.to_string())
}

/// An amount as Python's exact decimal number.
pub fn decimal<'py>(py: Python<'py>, amount: Amount) -> PyResult<Bound<'py, PyAny>> {
    decimal_type(py)?.call1((amount.to_string(),))
}

fn decimal_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// The decimal text of a number.
fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let refuse = |why: &str| Err(bad_input(py, name, &format!("{name}: {why}")));
    if value.is_instance_of::<PyBool>() {
        return refuse("True and False are not amounts; write a number such as \"0.1\"");
    }
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(text.to_string()),
            Err(_) => refuse("the text has lone surrogates, which are not characters; write a number such as \"0.1\""),
        };
    }
    // A float is taken at its shortest decimal text: 0.1 is one tenth.
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(format!("{:?}", float.value()));
    }
    if let Some(whole) = whole(value)? {
        return match whole.extract::<i64>() {
            Ok(whole) => Ok(whole.to_string()),
            Err(_) => refuse("the number is too large; no budget admits it"),
        };
    }
    let decimal = decimal_type(py)?;
    if value.is_instance(decimal)? {
        return decimal.call_method1("__str__", (value,))?.extract();
    }
    static RATIONAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance(RATIONAL.import(py, "numbers", "Rational")?)? {
        return fraction(name, value);
    }
    let kind = value.get_type().fully_qualified_name()?.to_string();
    refuse(&format!(
        "a {kind} cannot be an amount; give text such as \"0.1\", a Decimal, an int, a Fraction or a float"
    ))
}

/// A whole number: an int, or what stands for one, such as an integer of NumPy.
fn whole<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.clone()));
    }
    let index = value.py().import("operator")?.call_method1("index", (value,));
    match index {
        Ok(whole) => Ok(Some(whole)),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A fraction to one place more than an amount keeps, and a last digit that says whether there is a rest: so it is rounded as its
/// exact value would be.
fn fraction(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    const LONGEST: u64 = 1 << 14;
    let py = value.py();
    let int = py.get_type::<PyInt>();
    let [above, below] = ["numerator", "denominator"].map(|part| int.call1((value.getattr(part)?,)));
    let (above, below) = (above?, below?);
    for part in [&above, &below] {
        if part.call_method0("bit_length")?.extract::<u64>()? > LONGEST {
            return Err(bad_input(py, name, &format!("{name}: the fraction has too many digits; round it first")));
        }
    }
    if above.lt(0)? {
        return Err(bad_input(py, name, &format!("{name}: {} is below 0; amounts are zero or positive", value.str()?)));
    }
    let scaled = above.mul(10_i64.into_pyobject(py)?.pow(31, py.None())?)?;
    let (whole, rest) = scaled.divmod(below)?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    // Far above every amount, and long before Python refuses to write it.
    if whole.call_method0("bit_length")?.extract::<u64>()? > 256 {
        return Err(bad_input(py, name, &format!("{name}: the number is too large; no budget admits it")));
    }
    Ok(format!("{}{}e-32", whole.str()?, u8::from(rest.is_truthy()?)))
}
