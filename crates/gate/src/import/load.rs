//! Rows into the table, and what cannot be read into a list.

use std::fmt::Write as _;
use std::path::Path;

use csv::ByteRecord;
use rusqlite::Statement;
use rusqlite::types::ToSqlOutput;

use super::file::{NewFile, cannot_write};
use super::keep::Crowd;
use super::values::{self, LONGEST_TEXT, Misfit, Shown, Value};
use super::{BadRow, BadRows, Imported};
use crate::error::Error;
use crate::schema::{Column, ColumnType, Schema};

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
    values: Vec<Value>,
    loaded: Loaded,
}

/// How many rows there were.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) rows: u64,
    pub(super) inserted: u64,
    pub(super) without_unit: u64,
    pub(super) bad: Vec<BadRow>,
    pub(super) bad_rows: u64,
    /// How many rows units have, if they have a column.
    pub(super) crowd: Option<Crowd>,
}

impl<'a> Load<'a> {
    pub(super) fn new(file: &'a NewFile, schema: &'a Schema, bad_rows: BadRows) -> Result<Load<'a>, Error> {
        Ok(Load {
            columns: &schema.columns,
            unit: schema.unit_column(),
            bad_rows,
            insert: file.insert(schema.columns.len())?,
            values: vec![Value::Null; schema.columns.len()],
            loaded: Loaded { crowd: schema.unit_column().map(|_| Crowd::new()), ..Loaded::default() },
        })
    }

    /// The rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.loaded.rows
    }

    /// Adds a row, which starts at this line.
    pub(super) fn add(&mut self, row: &ByteRecord, line: impl FnOnce() -> u64) -> Result<(), Error> {
        self.loaded.rows += 1;
        if self.loaded.rows > MOST_ROWS {
            return Err(Error::input(format!(
                "the file has more than {MOST_ROWS} rows; divide it into several datasets"
            )));
        }
        if let Err(reason) = self.read(row) {
            self.loaded.bad_rows += 1;
            if self.loaded.bad.len() < Imported::SHOWN {
                self.loaded.bad.push(BadRow { line: line(), why: reason.explain(self.columns, row) });
            }
            return Ok(());
        }
        if let Some(at) = self.unit
            && self.values[at] == Value::Null
        {
            self.loaded.without_unit += 1;
            return Ok(());
        }
        if self.loaded.bad_rows > 0 && self.bad_rows == BadRows::Refuse {
            // Nothing will be imported: the rest is only read to tell the owner what is wrong with it.
            return Ok(());
        }
        if let (Some(at), Some(crowd)) = (self.unit, &mut self.loaded.crowd) {
            crowd.count(self.values[at].stored(&row[at]));
        }
        self.loaded.inserted += 1;
        self.insert(row).map_err(|error| cannot_write(&error))
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

    fn insert(&mut self, row: &ByteRecord) -> rusqlite::Result<()> {
        for (at, value) in self.values.iter().enumerate() {
            self.insert.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(value.stored(&row[at])))?;
        }
        self.insert.raw_execute().map(|_| ())
    }

    /// All rows are there: whether they are good enough.
    pub(super) fn finish(self, csv: &Path) -> Result<Loaded, Error> {
        let Loaded { rows, bad_rows, bad, .. } = &self.loaded;
        if *bad_rows == 0 || self.bad_rows == BadRows::Skip {
            return Ok(self.loaded);
        }
        let mut message =
            format!("{bad_rows} of {rows} rows of {} cannot be read; nothing was imported:", csv.display());
        for BadRow { line, why } in bad {
            let _ = write!(message, "\n  line {line}: {why}");
        }
        if *bad_rows > bad.len() as u64 {
            let _ = write!(message, "\n  and {} more", bad_rows - bad.len() as u64);
        }
        message += "\ncorrect the file or the declared types, or leave these rows out with --skip-bad-rows";
        Err(Error::input(message))
    }
}

/// Why a row cannot be read.
enum Reason {
    Length,
    Field { at: usize, misfit: Misfit },
}

impl Reason {
    fn explain(self, columns: &[Column], row: &ByteRecord) -> String {
        let (at, misfit) = match self {
            Reason::Length => {
                return format!(
                    "it has {} fields, but the header has {}; is a comma or a quote missing or too many?",
                    row.len(),
                    columns.len()
                );
            }
            Reason::Field { at, misfit } => (at, misfit),
        };
        let (name, kind, field) = (&columns[at].name, columns[at].kind, &row[at]);
        let what = match misfit {
            Misfit::NotOfType if std::str::from_utf8(field).is_err() => {
                "is not UTF-8: write the file in UTF-8".to_string()
            }
            Misfit::NotOfType => format!(
                "is not {kind}: correct it, or declare the column's type as {}",
                match kind {
                    ColumnType::Integer if values::real(field).is_some() => "real",
                    _ => "text",
                }
            ),
            Misfit::NotUtf8 => "is not UTF-8: write the file in UTF-8".to_string(),
            Misfit::Nul => "has a NUL character: take it out".to_string(),
            Misfit::TooLong => format!("is longer than {LONGEST_TEXT} bytes: is a quote not closed?"),
        };
        format!("{} in the column {name:?} {what}", Shown(field))
    }
}
