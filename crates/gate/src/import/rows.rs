//! The rows of a CSV file, the lines where they start, and the hash of all its bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::error::Error;
use crate::schema::{Column, Schema};

/// Reads a CSV file from its beginning to its end, once.
pub(super) struct Rows {
    path: PathBuf,
    reader: Reader<Source>,
    /// The length of the file when it was opened.
    length: u64,
}

/// A row is not read further than this: most likely, a quote is not closed.
const LONGEST_ROW: u64 = 64 << 20;

/// Read at once, in bytes.
const BUFFER: usize = 1 << 16;

/// A row that is read after the last one of the file. Where a quote is not closed it becomes part of the last field, so that rows
/// that were swallowed by that field do not go unnoticed.
const END: &[u8] = b"\n\x1a\n";
const END_FIELD: &[u8] = b"\x1a";

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Rows, Error> {
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::input(format!("there is no file {}; check the path", path.display())),
            _ => Error::input(format!("the file {} cannot be read: {error}", path.display())),
        };
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(Error::input(format!("{} is a folder; name a CSV file in it", path.display())));
        }
        let source = Source {
            file,
            hasher: blake3::Hasher::new(),
            done: 0,
            ended: false,
            row: 0,
            last: Vec::with_capacity(BUFFER),
        };
        // Rows of another length than the header are found by whoever reads them, who goes on.
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(BUFFER).from_reader(source);
        Ok(Rows { path: path.to_path_buf(), reader, length: metadata.len() })
    }

    /// Reads the names of the columns: the first row.
    pub(super) fn header(&mut self) -> Result<Vec<String>, Error> {
        let mut row = ByteRecord::new();
        let path = self.path.display().to_string();
        if !self.next(&mut row)? {
            return Err(Error::input(format!("the file {path} is empty; its first line must name the columns")));
        }
        let wrong = |why: String| Error::input(format!("the header of {path} cannot be used: {why}"));
        if row.len() > Schema::COLUMNS {
            return Err(wrong(format!("it has {} columns, more than {}: leave some out", row.len(), Schema::COLUMNS)));
        }
        if row.len() == 1
            && let Some(sign) = row[0].iter().find(|byte| matches!(byte, b';' | b'\t' | b'|'))
        {
            let name = match sign {
                b';' => "semicolons",
                b'\t' => "tabs",
                _ => "vertical bars",
            };
            return Err(wrong(format!(
                "it names one column only, and has {name}: separate the columns by commas, in this line and in all others"
            )));
        }
        let mut names: Vec<String> = Vec::with_capacity(row.len());
        for (at, field) in row.iter().enumerate() {
            let place = at + 1;
            let Ok(name) = std::str::from_utf8(field) else {
                return Err(wrong(format!("the name of column {place} is not UTF-8: write the file in UTF-8")));
            };
            let name = name.trim();
            if name.is_empty() {
                return Err(wrong(format!("column {place} has no name; the first line must name every column")));
            }
            if name.len() > Column::NAME || name.chars().any(char::is_control) {
                let shown: String = name.chars().take(Column::NAME).collect();
                return Err(wrong(format!(
                    "the name of column {place}, {shown:?}, must have at most {} bytes and no control characters: rename it",
                    Column::NAME
                )));
            }
            if let Some(other) = names.iter().position(|other| other.eq_ignore_ascii_case(name)) {
                return Err(wrong(format!(
                    "the columns {} and {place} are called {:?} and {name:?}, which is the same name, since a question may \
                     write it in any case: rename one",
                    other + 1,
                    names[other]
                )));
            }
            names.push(name.to_string());
        }
        Ok(names)
    }

    /// Reads the next row; false at the end.
    pub(super) fn next(&mut self, row: &mut ByteRecord) -> Result<bool, Error> {
        self.reader.get_mut().row = 0;
        let more = self.reader.read_byte_record(row).map_err(|error| self.cannot_read(&error))?;
        let source = self.reader.get_ref();
        let at_end = source.ended && self.reader.position().byte() == source.done + END.len() as u64;
        if !more || !at_end {
            return Ok(more);
        }
        if row.len() == 1 && &row[0] == END_FIELD {
            return Ok(false);
        }
        Err(Error::input(format!(
            "{}, line {}: a quote is opened in this row and never closed; close it, or double it if it is part of a value",
            self.path.display(),
            // The last line end is part of the row here; it was counted as the one behind it, too.
            self.line(row) + 1,
        )))
    }

    fn cannot_read(&self, error: &csv::Error) -> Error {
        let path = self.path.display();
        if self.reader.get_ref().row > LONGEST_ROW {
            return Error::input(format!(
                "{path}: the row after line {} is longer than {LONGEST_ROW} bytes; is a quote opened and never closed?",
                self.reader.position().line()
            ));
        }
        Error::input(format!("the file {path} cannot be read: {error}"))
    }

    /// The line where the row that was read last starts.
    ///
    /// The reader itself only knows where it stopped before: in front of empty lines, and between CR and LF.
    pub(super) fn line(&self, row: &ByteRecord) -> u64 {
        let position = self.reader.position();
        let within = row.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        let behind = u64::from(self.reader.get_ref().byte_before(position.byte()) == Some(b'\n'));
        position.line() - within - behind
    }

    /// How many bytes of how many are read.
    pub(super) fn progress(&self) -> (u64, u64) {
        let done = self.reader.get_ref().done;
        (done, self.length.max(done))
    }

    /// The hash of the bytes that are read.
    pub(super) fn fingerprint(&self) -> blake3::Hash {
        self.reader.get_ref().hasher.finalize()
    }
}

/// The bytes of a file, and [`END`] behind them.
struct Source {
    file: File,
    hasher: blake3::Hasher,
    /// Bytes of the file that are read.
    done: u64,
    /// Whether [`END`] is read.
    ended: bool,
    /// Bytes that are read for the current row.
    row: u64,
    /// What was read last; the reader has no other bytes in its buffer.
    last: Vec<u8>,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.row > LONGEST_ROW {
            return Err(io::Error::other("a row is too long"));
        }
        let mut length = loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if length == 0 {
            self.ended = true;
            length = END.len();
            buffer[..length].copy_from_slice(END);
        } else {
            self.done += length as u64;
            self.hasher.update(&buffer[..length]);
        }
        self.row += length as u64;
        self.last.clear();
        self.last.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}

impl Source {
    /// The byte before a position that the reader has just reached.
    fn byte_before(&self, position: u64) -> Option<u8> {
        let all = self.done + if self.ended { END.len() as u64 } else { 0 };
        let back = usize::try_from(all - position).ok()? + 1;
        self.last.get(self.last.len().checked_sub(back)?).copied()
    }
}
