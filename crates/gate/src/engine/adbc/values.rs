//! Rows of Arrow as exact answers.

use taximeter_engine_adbc::{ArrowRows, ArrowValue};

use crate::engine::ExactRow;
use crate::number::Number;
use crate::schema::{ColumnType, Value};
use crate::sql::Statement;

/// The groups of an answer. What is not of the type that the statement says is an error.
pub(super) fn exact_rows(rows: ArrowRows, statement: &Statement) -> Result<Vec<ExactRow>, String> {
    let (keys, measures) = (statement.keys.len(), statement.measures);
    let exact = |row: Vec<ArrowValue>| {
        if row.len() != keys + measures {
            return Err(format!("the answer has {} columns, and {} are expected", row.len(), keys + measures));
        }
        let mut fields = row.into_iter();
        let keys =
            statement.keys.iter().zip(&mut fields).map(|(kind, field)| key(field, *kind)).collect::<Result<_, _>>()?;
        Ok(ExactRow { keys, measures: fields.map(measure).collect::<Result<_, _>>()? })
    };
    rows.rows.into_iter().map(exact).collect()
}

fn key(field: ArrowValue, kind: ColumnType) -> Result<Value, String> {
    Ok(match (kind, field) {
        (ColumnType::Boolean, ArrowValue::Boolean(value)) => Value::Boolean(value),
        (ColumnType::Real, ArrowValue::Real(value)) => Value::Real(value),
        (ColumnType::Text, ArrowValue::Text(text)) => Value::Text(text),
        (ColumnType::Date, ArrowValue::Date(days)) => Value::Date(days),
        (ColumnType::Timestamp, ArrowValue::Timestamp(microseconds)) => Value::Timestamp(microseconds),
        (ColumnType::Decimal, ArrowValue::Decimal(digits, scale)) => Value::Decimal(number(digits, scale)?),
        (ColumnType::Decimal, ArrowValue::Text(text)) => {
            Value::Decimal(Number::parse(&text).map_err(|error| error.to_string())?)
        }
        (kind, field) => match (kind, field.integer()) {
            (ColumnType::Integer, Some(value)) => Value::Integer(value),
            _ => return Err(format!("the key of a group is {field:?}, which is not of type {kind}")),
        },
    })
}

/// A whole number; the sum of no rows is null. What is beyond 64 bits, the sum of thousands of millions of rows, counts as the end of
/// them: that brings no two answers further apart, and fails on no data.
fn measure(field: ArrowValue) -> Result<i64, String> {
    let ends = (i128::from(i64::MIN), i128::from(i64::MAX));
    match field {
        ArrowValue::Null => Ok(0),
        ArrowValue::Integer(value) | ArrowValue::Decimal(value, 0) => Ok(value.clamp(ends.0, ends.1) as i64),
        field => Err(format!("a measure is {field:?}, which is no whole number")),
    }
}

/// A decimal number without zeros at its end.
fn number(mut digits: i128, scale: i8) -> Result<Number, String> {
    let mut scale = i32::from(scale);
    while scale > 0 && digits % 10 == 0 {
        (digits, scale) = (digits / 10, scale - 1);
    }
    let unit = Number::power_of_ten(-scale);
    unit.and_then(|unit| unit.times(digits)).ok_or_else(|| format!("{digits}e{} has too many digits", -scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_a_whole_number_within_64_bits_or_an_error() {
        assert_eq!(measure(ArrowValue::Null), Ok(0));
        assert_eq!(measure(ArrowValue::Integer(-5)), Ok(-5));
        assert_eq!(measure(ArrowValue::Decimal(i128::from(i64::MIN), 0)), Ok(i64::MIN));
        assert_eq!(measure(ArrowValue::Integer(i128::from(i64::MAX) + 1)), Ok(i64::MAX));
        assert_eq!(measure(ArrowValue::Decimal(i128::MIN, 0)), Ok(i64::MIN));
        for field in [
            ArrowValue::Decimal(15, 1),
            ArrowValue::Real(1.0),
            ArrowValue::Text("1".to_string()),
            ArrowValue::Boolean(true),
        ] {
            assert!(measure(field.clone()).is_err(), "{field:?}");
        }
    }

    #[test]
    fn the_key_of_a_group_has_the_type_that_the_statement_says() {
        let decimal = |text: &str| Value::Decimal(Number::parse(text).unwrap());
        for (kind, field, expected) in [
            (ColumnType::Integer, ArrowValue::Integer(7), Value::Integer(7)),
            (ColumnType::Decimal, ArrowValue::Decimal(1_500_000, 6), decimal("1.5")),
            (ColumnType::Decimal, ArrowValue::Decimal(-100, 0), decimal("-100")),
            (ColumnType::Decimal, ArrowValue::Text("0.25".to_string()), decimal("0.25")),
            (ColumnType::Date, ArrowValue::Date(-3), Value::Date(-3)),
        ] {
            assert_eq!(key(field, kind).unwrap(), expected);
        }
        for (kind, field) in [
            (ColumnType::Integer, ArrowValue::Text("7".to_string())),
            (ColumnType::Integer, ArrowValue::Null),
            (ColumnType::Integer, ArrowValue::Integer(i128::MAX)),
            (ColumnType::Boolean, ArrowValue::Integer(1)),
            (ColumnType::Real, ArrowValue::Integer(1)),
            (ColumnType::Date, ArrowValue::Timestamp(1)),
        ] {
            assert!(key(field.clone(), kind).is_err(), "{kind} {field:?}");
        }
    }
}
