//! The types of columns, where they are not declared: what fits the first rows.

use csv::ByteRecord;

use super::rows::Rows;
use super::values::{boolean, integer, real};
use crate::declaration::Declaration;
use crate::error::Error;
use crate::schema::{ColumnType, parse_date, parse_timestamp};

/// The number of rows from which types are inferred.
const SAMPLE: usize = 10_000;

/// And no more bytes of them, about.
const SAMPLE_BYTES: usize = 64 << 20;

/// The first rows, with the lines where they start.
pub(super) fn sample(rows: &mut Rows) -> Result<Vec<(u64, ByteRecord)>, Error> {
    let (mut sample, mut bytes) = (Vec::new(), 0);
    let mut row = ByteRecord::new();
    while sample.len() < SAMPLE && bytes < SAMPLE_BYTES && rows.next(&mut row)? {
        bytes += row.as_slice().len();
        sample.push((rows.line(&row), row.clone()));
    }
    Ok(sample)
}

/// The type of every column: as declared, or as found. Rows of a wrong length say nothing.
pub(super) fn types(
    names: &[String],
    declaration: &Declaration,
    sample: &[(u64, ByteRecord)],
) -> Vec<(String, ColumnType)> {
    let mut found = vec![Evidence::default(); names.len()];
    for (_, row) in sample.iter().filter(|(_, row)| row.len() == names.len()) {
        for (evidence, field) in found.iter_mut().zip(row) {
            evidence.see(field);
        }
    }
    let kind = |(name, evidence): (&String, Evidence)| {
        (name.clone(), declaration.declared_type(name).unwrap_or_else(|| evidence.kind()))
    };
    names.iter().zip(found).map(kind).collect()
}

/// What the fields of a column look like.
#[derive(Clone, Copy, Default)]
struct Evidence {
    integers: bool,
    fractions: bool,
    /// `NaN` and `inf`, which are numbers among numbers; but Nan is also a name.
    words: bool,
    booleans: bool,
    dates: bool,
    timestamps: bool,
    texts: bool,
}

impl Evidence {
    fn see(&mut self, field: &[u8]) {
        let seen = match field {
            [] => return,
            field if boolean(field).is_some() => &mut self.booleans,
            field if parse_date(field).is_some() => &mut self.dates,
            field if parse_timestamp(field).is_some() => &mut self.timestamps,
            field if is_code(field) => &mut self.texts,
            field if integer(field).is_some() => &mut self.integers,
            field => match real(field) {
                // A whole number that is too long for 64 bits identifies something: it must not be rounded.
                Some(_) if field.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-')) => &mut self.texts,
                Some(_) if field.iter().any(u8::is_ascii_digit) => &mut self.fractions,
                Some(_) => &mut self.words,
                None => &mut self.texts,
            },
        };
        *seen = true;
    }

    fn kind(self) -> ColumnType {
        let is_only_time = !(self.integers || self.fractions || self.words || self.booleans || self.texts);
        match self {
            Evidence { timestamps: true, .. } if is_only_time => ColumnType::Timestamp,
            Evidence { dates: true, .. } if is_only_time => ColumnType::Date,
            Evidence { dates: true, .. } | Evidence { timestamps: true, .. } | Evidence { texts: true, .. } => {
                ColumnType::Text
            }
            Evidence { booleans: true, integers: false, fractions: false, words: false, .. } => ColumnType::Boolean,
            Evidence { booleans: true, .. } => ColumnType::Text,
            Evidence { integers: true, fractions: false, words: false, .. } => ColumnType::Integer,
            Evidence { integers: false, fractions: false, .. } => ColumnType::Text,
            _ => ColumnType::Real,
        }
    }
}

/// `01234` and `+4930` are postal codes and telephone numbers: read as numbers, they would lose their beginning.
fn is_code(field: &[u8]) -> bool {
    matches!(field, [b'+', ..] | [b'0', b'0'..=b'9', ..] | [b'-', b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_narrowest_type_that_fits_all_its_fields() {
        use ColumnType::{Boolean, Date, Integer, Real, Text, Timestamp};
        for (fields, expected) in [
            (&[][..], Text),
            (&["", ""], Text),
            (&["1", "", "-2"], Integer),
            (&["0", "-0"], Integer),
            (&["1", "2.5"], Real),
            (&["0.5", "-0.25", ".5"], Real),
            (&["1e3"], Real),
            (&["true", "FALSE", ""], Boolean),
            (&["true", "1"], Text),
            (&["true", "NaN"], Text),
            (&["1", "x"], Text),
            (&["1", "NaN"], Real),
            (&["1.5", "inf", "-Infinity"], Real),
            (&["Nan", "inf"], Text),
            (&["Nan", "Lee"], Text),
            (&["007", "8"], Text),
            (&["00.5"], Text),
            (&["+4930"], Text),
            (&["9223372036854775807"], Integer),
            (&["9223372036854775808", "1"], Text),
            (&["-9223372036854775809", "1.5"], Text),
            (&["1e400"], Real),
            (&[" 1"], Text),
            (&["2024-02-29", "", "1900-01-01"], Date),
            (&["0004-02-29"], Date),
            (&["2024-02-29", "2024-02-30"], Text),
            (&["2024-02-29", "20240229"], Text),
            (&["2024-02-29", "NaN"], Text),
            (&["2024-02-29 13:05:00", "2024-02-29T13:05:00.5+02:00"], Timestamp),
            (&["2024-02-29", "2024-02-29 13:05"], Timestamp),
            (&["2024-02-29 13:05:00", "13:05"], Text),
            (&["2024-02-29 13:05:00", "true"], Text),
        ] {
            let mut evidence = Evidence::default();
            fields.iter().for_each(|field| evidence.see(field.as_bytes()));
            assert_eq!(evidence.kind(), expected, "{fields:?}");
        }
    }
}
