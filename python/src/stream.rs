//! Tables for pyarrow, polars, pandas and others, by Arrow's C stream interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{Field, Schema};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyString};

/// Columns of numbers, texts or booleans as a stream of one batch, in the capsule that `__arrow_c_stream__` returns.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Vec<Bound<'py, PyAny>>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (name, values) in columns {
        let array = array(&values)?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let batches = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
}

/// A column of the first type that takes all of its values; None is a missing value. Where one of them is text, such as `(all)` for a key
/// that a grouping omits, all of them are.
fn array(values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    if values.iter().all(|value| value.is_none()) {
        return Ok(Arc::new(NullArray::new(values.len())));
    }
    if values.iter().any(|value| value.is_instance_of::<PyString>()) {
        return Ok(Arc::new(values.iter().map(text).collect::<PyResult<StringArray>>()?));
    }
    if let Ok(values) = all::<bool>(values) {
        return Ok(Arc::new(BooleanArray::from(values)));
    }
    if let Ok(values) = all::<i64>(values) {
        return Ok(Arc::new(Int64Array::from(values)));
    }
    Ok(Arc::new(Float64Array::from(all::<f64>(values)?)))
}

/// A value as text.
fn text(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if value.is_none() {
        return Ok(None);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(value.is_truthy()?.to_string()));
    }
    Ok(Some(value.str()?.extract::<String>()?))
}

/// The values, if all of them are of a type or missing.
fn all<'py, T: FromPyObjectOwned<'py>>(values: &[Bound<'py, PyAny>]) -> PyResult<Vec<Option<T>>> {
    values.iter().map(|value| value.extract::<Option<T>>().map_err(Into::into)).collect()
}
