//! What comes back: rows of Arrow as a small enum.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, TimeUnit};

/// The rows that a statement returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrowRows {
    /// The columns.
    pub columns: Vec<ArrowColumn>,
    /// The rows, each with a value for every column.
    pub rows: Vec<Vec<ArrowValue>>,
}

/// A column of what a statement returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrowColumn {
    /// Its name.
    pub name: String,
    /// What it holds; nothing if values of its type are not read here.
    pub kind: Option<ArrowKind>,
    /// Its type in Arrow's words.
    pub type_name: String,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowKind {
    /// Nothing but nulls.
    Null,
    /// True or false.
    Boolean,
    /// Whole numbers of up to 64 bits.
    Integer,
    /// Binary numbers.
    Real,
    /// Text.
    Text,
    /// Days.
    Date,
    /// Points in time, of at most microseconds, and whether they are in UTC.
    Timestamp {
        /// Whether they have a time zone.
        zoned: bool,
    },
    /// Decimal numbers of up to 38 digits.
    Decimal {
        /// How many digits are behind the point; negative if the last ones before it are zeros.
        scale: i8,
    },
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrowValue {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// A binary number.
    Real(f64),
    /// Text.
    Text(String),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01.
    Timestamp(i64),
    /// A decimal number: its digits, and how many of them are behind the point.
    Decimal(i128, i8),
}

impl ArrowValue {
    /// A whole number of 64 bits; nothing for anything else, a larger number included.
    pub fn integer(&self) -> Option<i64> {
        match self {
            ArrowValue::Integer(value) | ArrowValue::Decimal(value, 0) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            ArrowValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A value that cannot be read here.
#[derive(Debug)]
pub(crate) struct UnreadValue {
    column: String,
    type_name: String,
}

impl fmt::Display for UnreadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the column {:?} of the answer has a value of the type {}, which is not read",
            self.column, self.type_name
        )
    }
}

impl ArrowColumn {
    pub(crate) fn new(field: &Field) -> ArrowColumn {
        let name = field.name().clone();
        ArrowColumn { name, kind: kind(field.data_type()), type_name: field.data_type().to_string() }
    }
}

fn kind(stored: &DataType) -> Option<ArrowKind> {
    Some(match stored {
        DataType::Null => ArrowKind::Null,
        DataType::Boolean => ArrowKind::Boolean,
        DataType::Float32 | DataType::Float64 => ArrowKind::Real,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ArrowKind::Text,
        DataType::Date32 => ArrowKind::Date,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => return None,
        DataType::Timestamp(_, zone) => ArrowKind::Timestamp { zoned: zone.is_some() },
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            ArrowKind::Decimal { scale: *scale }
        }
        whole if whole.is_integer() => ArrowKind::Integer,
        _ => return None,
    })
}

/// Appends the rows of a batch.
pub(crate) fn read(batch: &RecordBatch, rows: &mut Vec<Vec<ArrowValue>>) -> Result<(), UnreadValue> {
    let first = rows.len();
    rows.resize_with(first + batch.num_rows(), || Vec::with_capacity(batch.num_columns()));
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        for (at, row) in rows[first..].iter_mut().enumerate() {
            row.push(value(array.as_ref(), at).ok_or_else(|| UnreadValue {
                column: field.name().clone(),
                type_name: field.data_type().to_string(),
            })?);
        }
    }
    Ok(())
}

/// A value; nothing if its type is not read here, or a time has no microseconds of 64 bits.
fn value(array: &dyn Array, at: usize) -> Option<ArrowValue> {
    use ArrowValue::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    if array.is_null(at) || *array.data_type() == DataType::Null {
        return Some(ArrowValue::Null);
    }
    macro_rules! whole {
        ($kind:ty) => {
            Integer(i128::from(array.as_primitive::<$kind>().value(at)))
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => Boolean(array.as_boolean().value(at)),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float32 => Real(f64::from(array.as_primitive::<Float32Type>().value(at))),
        DataType::Float64 => Real(array.as_primitive::<Float64Type>().value(at)),
        DataType::Utf8 => Text(array.as_string::<i32>().value(at).to_string()),
        DataType::LargeUtf8 => Text(array.as_string::<i64>().value(at).to_string()),
        DataType::Utf8View => Text(array.as_string_view().value(at).to_string()),
        DataType::Date32 => Date(array.as_primitive::<Date32Type>().value(at)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(at))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Timestamp(array.as_primitive::<TimestampMillisecondType>().value(at).checked_mul(1_000)?)
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            Timestamp(array.as_primitive::<TimestampSecondType>().value(at).checked_mul(1_000_000)?)
        }
        DataType::Decimal32(_, scale) => Decimal(i128::from(array.as_primitive::<Decimal32Type>().value(at)), *scale),
        DataType::Decimal64(_, scale) => Decimal(i128::from(array.as_primitive::<Decimal64Type>().value(at)), *scale),
        DataType::Decimal128(_, scale) => Decimal(array.as_primitive::<Decimal128Type>().value(at), *scale),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Int8Array, LargeStringArray,
        NullArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow_schema::Schema;

    use super::*;

    fn read_one(array: ArrayRef) -> Result<Vec<ArrowValue>, UnreadValue> {
        let schema = Arc::new(Schema::new(vec![Field::new("x", array.data_type().clone(), true)]));
        let mut rows = Vec::new();
        read(&RecordBatch::try_new(schema, vec![array]).unwrap(), &mut rows)?;
        Ok(rows.into_iter().flatten().collect())
    }

    #[test]
    fn values_come_out_as_they_are() {
        use ArrowValue::{Boolean, Date, Decimal, Integer, Null, Real, Text, Timestamp};
        let decimal = Decimal128Array::from(vec![Some(i128::MAX / 10), None]).with_precision_and_scale(38, 2).unwrap();
        let cases: [(ArrayRef, Vec<ArrowValue>); 9] = [
            (Arc::new(Int8Array::from(vec![Some(-128), None])), vec![Integer(-128), Null]),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), vec![Integer(i128::from(u64::MAX))]),
            (Arc::new(Float32Array::from(vec![0.5])), vec![Real(0.5)]),
            (Arc::new(BooleanArray::from(vec![Some(true), None])), vec![Boolean(true), Null]),
            (Arc::new(LargeStringArray::from(vec!["é"])), vec![Text("é".to_string())]),
            (Arc::new(Date32Array::from(vec![-1])), vec![Date(-1)]),
            (Arc::new(TimestampMillisecondArray::from(vec![5])), vec![Timestamp(5_000)]),
            (Arc::new(decimal), vec![Decimal(i128::MAX / 10, 2), Null]),
            (Arc::new(NullArray::new(1)), vec![Null]),
        ];
        for (array, expected) in cases {
            let shown = format!("{array:?}");
            assert_eq!(read_one(array).unwrap(), expected, "{shown}");
        }
        let zoned = TimestampMicrosecondArray::from(vec![i64::MIN]).with_timezone("UTC");
        assert_eq!(kind(zoned.data_type()), Some(ArrowKind::Timestamp { zoned: true }));
        assert_eq!(read_one(Arc::new(zoned)).unwrap(), [Timestamp(i64::MIN)]);
    }

    #[test]
    fn what_cannot_be_read_exactly_is_an_error_and_not_another_value() {
        let arrays: [ArrayRef; 3] = [
            Arc::new(BinaryArray::from_vec(vec![b"x"])),
            Arc::new(TimestampNanosecondArray::from(vec![1])),
            Arc::new(TimestampMillisecondArray::from(vec![i64::MAX])),
        ];
        for array in arrays {
            let shown = format!("{array:?}");
            assert!(read_one(array).is_err_and(|error| error.to_string().contains("\"x\"")), "{shown}");
        }
        assert_eq!(ArrowValue::Integer(i128::from(i64::MAX) + 1).integer(), None);
        assert_eq!(ArrowValue::Decimal(5, 1).integer(), None);
        assert_eq!(ArrowValue::Decimal(-5, 0).integer(), Some(-5));
    }
}
