//! Rows into the table, and what cannot be read into a list.

use std::path::Path;

use csv::ByteRecord;
use rusqlite::Statement;
use rusqlite::types::ToSqlOutput;

use super::file::{NewFile, cannot_write};
use super::values::{self, FieldValue, LONGEST_TEXT, Misfit, Shown};
use super::{BadRow, BadRows, Field, Imported};
use crate::error::{Error, ErrorKind};
use crate::register::ImportedRows;
use crate::schema::{Column, ColumnType, Schema, parse_timestamp};

/// More rows than this might overflow a sum, which is of steps within 2³¹.
const MOST_ROWS: u64 = 1 << 32;

/// The rows of a file on their way into the table.
pub(super) struct Load<'a> {
    columns: &'a [Column],
    /// The unit's column.
    unit: Option<usize>,
    bad_rows: BadRows,
    insert: Statement<'a>,
    /// The values of the current row.
    values: Vec<FieldValue>,
    imported: ImportedRows,
}

impl<'a> Load<'a> {
    pub(super) fn new(file: &'a NewFile, schema: &'a Schema, bad_rows: BadRows) -> Result<Load<'a>, Error> {
        Ok(Load {
            columns: &schema.columns,
            unit: schema.unit_column(),
            bad_rows,
            insert: file.insert(schema)?,
            values: vec![FieldValue::Null; schema.columns.len()],
            imported: ImportedRows::default(),
        })
    }

    /// The rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.imported.rows
    }

    /// Adds a row, which starts at this line.
    pub(super) fn add(&mut self, row: &ByteRecord, line: impl FnOnce() -> u64) -> Result<(), Error> {
        self.count_row()?;
        if let Err(reason) = self.read(row) {
            let is_not_utf8 = reason.is_not_utf8(row);
            let columns = self.columns;
            self.tell_bad(|| BadRow { line: line(), why: reason.explain(columns, row), is_not_utf8 });
            return Ok(());
        }
        self.put(|at| &row[at])
    }

    /// Adds a row of a table in memory.
    pub(super) fn add_fields(&mut self, fields: &[Field]) -> Result<(), Error> {
        self.count_row()?;
        for (at, (field, column)) in fields.iter().zip(self.columns).enumerate() {
            match field.value(column.kind) {
                Ok(value) => self.values[at] = value,
                Err(why) => {
                    let (line, name) = (self.imported.rows, &column.name);
                    let why = format!("{} in the column {name:?} {why}", Shown(field.bytes()));
                    self.tell_bad(|| BadRow { line, why, is_not_utf8: false });
                    return Ok(());
                }
            }
        }
        self.put(|at| fields[at].bytes())
    }

    fn count_row(&mut self) -> Result<(), Error> {
        self.imported.rows += 1;
        if self.imported.rows > MOST_ROWS {
            return Err(Error::input(
                "file",
                format!("the file has more than {MOST_ROWS} rows; divide it into several datasets"),
            ));
        }
        Ok(())
    }

    /// Counts a row that cannot be read, and lists it if it is one of the first.
    fn tell_bad(&mut self, row: impl FnOnce() -> BadRow) {
        self.imported.bad_rows += 1;
        if self.imported.first_bad_rows.len() < Imported::SHOWN {
            self.imported.first_bad_rows.push(row());
        }
    }

    /// Writes the values of the current row; `text` gives the text of a field.
    fn put<'t>(&mut self, text: impl Fn(usize) -> &'t [u8]) -> Result<(), Error> {
        if let Some(at) = self.unit
            && self.values[at] == FieldValue::Null
        {
            self.imported.without_unit += 1;
            return Ok(());
        }
        if self.imported.bad_rows > 0 && self.bad_rows == BadRows::Refuse {
            // Nothing will be imported: the rest is only read to tell the owner what is wrong with it.
            return Ok(());
        }
        self.imported.kept += 1;
        self.insert(text).map_err(|error| cannot_write(&error))
    }

    fn read(&mut self, row: &ByteRecord) -> Result<(), Reason> {
        if row.len() != self.columns.len() {
            return Err(Reason::Length);
        }
        for (at, (field, column)) in row.iter().zip(self.columns).enumerate() {
            self.values[at] = values::read(field, column.kind).map_err(|misfit| Reason::Field { at, misfit })?;
        }
        Ok(())
    }

    fn insert<'t>(&mut self, text: impl Fn(usize) -> &'t [u8]) -> rusqlite::Result<()> {
        for (at, value) in self.values.iter().enumerate() {
            self.insert.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(value.stored(text(at))))?;
        }
        self.insert.raw_execute().map(|_| ())
    }

    /// All rows are there: whether they are good enough.
    pub(super) fn finish(self, csv: &Path) -> Result<ImportedRows, Error> {
        if self.imported.bad_rows == 0 || self.bad_rows == BadRows::Skip {
            return Ok(self.imported);
        }
        let ImportedRows { rows, bad_rows, first_bad_rows: bad, .. } = self.imported;
        Err(ErrorKind::BadRows { path: csv.to_path_buf(), rows, bad_rows, bad }.into())
    }
}

const NOT_UTF8: &str = "is not UTF-8: write the file in UTF-8, or give its encoding";

/// Why a row cannot be read.
enum Reason {
    Length,
    Field { at: usize, misfit: Misfit },
}

impl Reason {
    /// Whether the field is in another encoding than it was read in.
    fn is_not_utf8(&self, row: &ByteRecord) -> bool {
        matches!(self, Reason::Field { at, .. } if std::str::from_utf8(&row[*at]).is_err())
    }

    fn explain(self, columns: &[Column], row: &ByteRecord) -> String {
        let (at, misfit) = match self {
            Reason::Length => {
                return format!(
                    "it has {} fields, but the header has {}; is a separator or a quote missing or extra?",
                    row.len(),
                    columns.len()
                );
            }
            Reason::Field { at, misfit } => (at, misfit),
        };
        let (name, kind, field) = (&columns[at].name, columns[at].kind, &row[at]);
        let what = match misfit {
            Misfit::NotOfType if std::str::from_utf8(field).is_err() => NOT_UTF8.to_string(),
            Misfit::NotOfType => format!(
                "is not {kind}: correct it, or declare the column's type as {}",
                match kind {
                    ColumnType::Integer if values::real(field).is_some() => "real",
                    ColumnType::Date if parse_timestamp(field).is_some() => "timestamp",
                    _ => "text",
                }
            ),
            Misfit::TooFine => {
                "has more than 12 digits before the point or 6 after it: round it, or declare the column's type as \
                                real"
                    .to_string()
            }
            Misfit::NotUtf8 => NOT_UTF8.to_string(),
            Misfit::Nul => "has a NUL character: remove it".to_string(),
            Misfit::TooLong => format!("is longer than {LONGEST_TEXT} bytes: is a quote not closed?"),
        };
        format!("{} in the column {name:?} {what}", Shown(field))
    }
}
