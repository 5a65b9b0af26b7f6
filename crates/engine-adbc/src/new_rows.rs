//! Rows on their way into a table.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{ArrowError, Field, Schema};

/// A batch of rows, column by column.
#[derive(Clone, Debug, Default)]
pub struct NewRows {
    /// Names and values; all columns have the same number of values.
    pub columns: Vec<(String, NewColumn)>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum NewColumn {
    /// True or false.
    Boolean(Vec<Option<bool>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Binary numbers.
    Real(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
    /// Days since 1970-01-01.
    Date(Vec<Option<i32>>),
    /// Microseconds since 1970-01-01.
    Timestamp(Vec<Option<i64>>),
    /// Millionths, as decimal numbers of 18 digits.
    Millionths(Vec<Option<i64>>),
}

impl NewRows {
    pub(crate) fn batch(self) -> Result<RecordBatch, ArrowError> {
        let (names, arrays): (Vec<String>, Vec<ArrayRef>) = self
            .columns
            .into_iter()
            .map(|(name, column)| column.array().map(|array| (name, array)))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .unzip();
        let field = |(name, array): (String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Schema::new(names.into_iter().zip(&arrays).map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), arrays)
    }
}

impl NewColumn {
    fn array(self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            NewColumn::Boolean(values) => Arc::new(BooleanArray::from(values)),
            NewColumn::Integer(values) => Arc::new(Int64Array::from(values)),
            NewColumn::Real(values) => Arc::new(Float64Array::from(values)),
            NewColumn::Text(values) => Arc::new(StringArray::from(values)),
            NewColumn::Date(values) => Arc::new(Date32Array::from(values)),
            NewColumn::Timestamp(values) => Arc::new(TimestampMicrosecondArray::from(values)),
            NewColumn::Millionths(values) => {
                let values = values.into_iter().map(|value| value.map(i128::from));
                Arc::new(values.collect::<Decimal128Array>().with_precision_and_scale(18, 6)?)
            }
        })
    }
}
