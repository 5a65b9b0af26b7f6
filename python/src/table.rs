//! Tables of pandas, polars and others, by Arrow's C stream interface: read where they are, without a copy as text.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use taximeter_gate::{ColumnType, Field, TableRows};

use crate::problem::bad_input;

/// The rows of an object that has `__arrow_c_stream__`.
pub fn table_rows(table: &Bound<'_, PyAny>) -> PyResult<TableRows> {
    let py = table.py();
    let refuse = |why: String| bad_input(py, "table", &why);
    let kind = table.get_type().name()?.to_string();
    if !table.hasattr("__arrow_c_stream__")? {
        return Err(refuse(format!(
            "a {kind} is not a table; give a DataFrame of pandas or polars, a table of pyarrow, or the path of a CSV file"
        )));
    }
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let reader = reader(&capsule).map_err(|why| refuse(format!("the {kind} cannot be read: {why}")))?;
    let column = |field: &arrow_schema::FieldRef| {
        let column_type = column_type(field.data_type()).ok_or_else(|| {
            let (name, holds) = (field.name(), field.data_type());
            refuse(format!("the column {name:?} holds {holds}, which cannot be asked about; convert it or omit it"))
        })?;
        Ok((field.name().clone(), column_type))
    };
    let columns = reader.schema().fields().iter().map(column).collect::<PyResult<Vec<_>>>()?;
    Ok(TableRows::new(columns, ArrowRows { reader, cells: Vec::new(), at: 0, length: 0 }))
}

/// Takes the stream out of its capsule.
#[allow(unsafe_code, reason = "Arrow's C stream interface is a pointer in a capsule")]
fn reader(capsule: &Bound<'_, PyCapsule>) -> Result<RecordBatchStreamReader, String> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream")).map_err(|error| error.to_string())?;
    // SAFETY: a capsule of this name holds a stream, by the interface's definition; it is moved out, and an empty one left behind.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| error.to_string())
}

/// The gate's type for a type of Arrow.
fn column_type(kind: &DataType) -> Option<ColumnType> {
    Some(match kind {
        DataType::Boolean => ColumnType::Boolean,
        kind if kind.is_integer() => ColumnType::Integer,
        DataType::Float32 | DataType::Float64 => ColumnType::Real,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => ColumnType::Text,
        DataType::Dictionary(_, values) if is_text(values) => ColumnType::Text,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        _ => return None,
    })
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The field of a row in a column that has a value there, or why it cannot be used.
type Cell = Box<dyn Fn(usize) -> Result<Field, String> + Send>;

/// The rows of a stream, batch by batch.
struct ArrowRows {
    reader: RecordBatchStreamReader,
    cells: Vec<Cell>,
    at: usize,
    length: usize,
}

impl Iterator for ArrowRows {
    type Item = Result<Vec<Field>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at == self.length {
            let batch = match self.reader.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error.to_string())),
            };
            (self.at, self.length) = (0, batch.num_rows());
            self.cells = match batch.columns().iter().map(cell).collect() {
                Ok(cells) => cells,
                Err(why) => return Some(Err(why)),
            };
        }
        let mut row = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            match cell(self.at) {
                Ok(field) => row.push(field),
                Err(why) => return Some(Err(why)),
            }
        }
        self.at += 1;
        Some(Ok(row))
    }
}

/// How a column of a batch is read.
fn cell(column: &ArrayRef) -> Result<Cell, String> {
    macro_rules! numbers {
        ($kind:ty, $field:expr) => {{
            let (values, field) = (column.as_primitive::<$kind>().clone(), $field);
            known(column, move |at| field(values.value(at)))
        }};
    }
    macro_rules! integers {
        ($kind:ty) => {
            numbers!($kind, |value| Ok(Field::Integer(i64::from(value))))
        };
    }
    macro_rules! times {
        ($kind:ty, $microseconds:expr) => {{
            let microseconds: fn(i64) -> Option<i64> = $microseconds;
            numbers!($kind, move |value: i64| {
                microseconds(value).map(Field::Integer).ok_or_else(|| format!("the time {value} is out of range"))
            })
        }};
    }
    macro_rules! texts {
        ($values:expr) => {{
            let values = $values.clone();
            known(column, move |at| Ok(Field::Text(values.value(at).to_string())))
        }};
    }
    Ok(match column.data_type() {
        DataType::Null => Box::new(|_| Ok(Field::Null)),
        DataType::Boolean => {
            let values = column.as_boolean().clone();
            known(column, move |at| Ok(Field::Integer(values.value(at).into())))
        }
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type, |value| {
            let too_large = |_| format!("{value} does not fit into 64 bits with a sign; convert the column to text");
            i64::try_from(value).map(Field::Integer).map_err(too_large)
        }),
        DataType::Float32 => numbers!(Float32Type, |value| Ok(Field::Real(f64::from(value)))),
        DataType::Float64 => numbers!(Float64Type, |value| Ok(Field::Real(value))),
        DataType::Date32 => integers!(Date32Type),
        DataType::Date64 => numbers!(Date64Type, |value: i64| Ok(Field::Integer(value.div_euclid(86_400_000)))),
        DataType::Timestamp(TimeUnit::Second, _) => times!(TimestampSecondType, |value| value.checked_mul(1_000_000)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            times!(TimestampMillisecondType, |value| value.checked_mul(1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => times!(TimestampMicrosecondType, Some),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            times!(TimestampNanosecondType, |value| Some(value.div_euclid(1000)))
        }
        DataType::Utf8 => texts!(column.as_string::<i32>()),
        DataType::LargeUtf8 => texts!(column.as_string::<i64>()),
        DataType::Utf8View => texts!(column.as_string_view()),
        DataType::Dictionary(_, values) if is_text(values) => {
            let dictionary = column.as_any_dictionary();
            let (keys, word) = (dictionary.normalized_keys(), cell(dictionary.values())?);
            known(column, move |at| word(keys[at]))
        }
        other => return Err(format!("a column of {other} cannot be read")),
    })
}

/// A column that is read where it is not null.
fn known(column: &ArrayRef, read: impl Fn(usize) -> Result<Field, String> + Send + 'static) -> Cell {
    let nulls = column.logical_nulls();
    Box::new(move |at| match &nulls {
        Some(nulls) if nulls.is_null(at) => Ok(Field::Null),
        _ => read(at),
    })
}
