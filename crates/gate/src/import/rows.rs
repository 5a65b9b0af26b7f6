//! The rows of a CSV file, the lines where they start, and the hash of all its bytes.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Reader, ReaderBuilder};
use encoding_rs::Encoding;
use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};

use super::CsvForm;
use crate::error::{Error, ErrorKind};

/// Reads a CSV file from its beginning to its end, once. The hash is that of its text, whatever the encoding.
pub(super) struct Rows {
    path: PathBuf,
    reader: Reader<Source>,
    /// The length of the file when it was opened.
    length: u64,
    /// Fields that stand for a missing value.
    missing: Vec<Vec<u8>>,
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
    pub(super) fn open(path: &Path, form: &CsvForm) -> Result<Rows, Error> {
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::file(path, "file not found; check the path"),
            _ => Error::file(path, format!("it cannot be read: {error}")),
        };
        let mut file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(Error::file(path, "it is a folder; name a CSV file in it"));
        }
        let mut beginning = Vec::new();
        file.by_ref().take(BUFFER as u64).read_to_end(&mut beginning).map_err(cannot)?;
        if let Some((_, what)) = OTHER_FORMATS.iter().find(|(mark, _)| beginning.starts_with(mark)) {
            return Err(Error::file(path, format!("it is {what}, and not a CSV file; write the rows to one first")));
        }
        let delimiter = match form.delimiter {
            Some(delimiter) => u8::try_from(delimiter).ok().filter(|byte| is_delimiter(*byte)).ok_or_else(|| {
                let needs = "it cannot separate fields; give an ASCII character, such as ; or a tab";
                Error::value("delimiter", format_args!("{delimiter:?}"), needs)
            })?,
            None => find_delimiter(&beginning),
        };
        let encoding = form.encoding.as_deref().map(|name| {
            let needs = "it is not known; give for instance utf-8, latin1 or utf-16le";
            Encoding::for_label(name.as_bytes())
                .ok_or_else(|| Error::value("encoding", format_args!("{name:?}"), needs))
        });
        // Text in UTF-8 is passed on as it is, so that what is wrong in it is found in its row.
        let mut decoder = DecodeReaderBytesBuilder::new();
        decoder.encoding(encoding.transpose()?).utf8_passthru(true).strip_bom(true);
        let source = Source {
            file: decoder.build(Cursor::new(beginning).chain(file)),
            hasher: blake3::Hasher::new(),
            done: 0,
            ended: false,
            row: 0,
            last: Vec::with_capacity(BUFFER),
        };
        // Rows of another length than the header are found by the caller, who goes on.
        let mut reader = ReaderBuilder::new();
        reader.delimiter(delimiter).has_headers(false).flexible(true).buffer_capacity(BUFFER);
        let missing = form.missing.iter().map(|text| text.as_bytes().to_vec()).collect();
        Ok(Rows { path: path.to_path_buf(), reader: reader.from_reader(source), length: metadata.len(), missing })
    }

    /// Reads the names of the columns: the first row.
    pub(super) fn header(&mut self) -> Result<Vec<String>, Error> {
        let mut row = ByteRecord::new();
        if !self.read(&mut row)? {
            return Err(Error::file(&self.path, "it is empty; its first line must name the columns"));
        }
        let wrong = |why: String| Error::file(&self.path, format!("the header cannot be used: {why}"));
        let name = |(at, field)| match str::from_utf8(field).map(str::trim) {
            Ok("") => Err(wrong(format!("column {} has no name; the first line must name every column", at + 1))),
            Ok(name) => Ok(name.to_string()),
            Err(_) => Err(ErrorKind::HeaderEncoding { path: self.path.clone(), column: at + 1 }.into()),
        };
        row.iter().enumerate().map(name).collect()
    }

    /// Reads the next row, in which missing values are empty; false at the end.
    pub(super) fn next(&mut self, row: &mut ByteRecord) -> Result<bool, Error> {
        let more = self.read(row)?;
        let is_missing = |field: &[u8]| self.missing.iter().any(|text| text == field);
        if row.iter().any(is_missing) {
            *row = row.iter().map(|field| if is_missing(field) { b"" } else { field }).collect();
        }
        Ok(more)
    }

    /// Reads the next row as it is; false at the end.
    fn read(&mut self, row: &mut ByteRecord) -> Result<bool, Error> {
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
        // The last line end is part of the row here; it was counted as the one behind it, too.
        let line = self.line(row) + 1;
        let why = "a quote is opened in this row and never closed; close it, or double it if it is part of a value";
        Err(Error::file(&self.path, format!("line {line}: {why}")))
    }

    fn cannot_read(&self, error: &csv::Error) -> Error {
        let why = match self.reader.get_ref().row > LONGEST_ROW {
            true => format!(
                "the row after line {} is longer than {LONGEST_ROW} bytes; is a quote opened and never closed?",
                self.reader.position().line()
            ),
            false => format!("it cannot be read: {error}"),
        };
        Error::file(&self.path, why)
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

/// What files begin with that are often taken for tables of text.
const OTHER_FORMATS: [(&[u8], &str); 6] = [
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"PK\x03\x04", "a ZIP archive, as workbooks of Excel are"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard"),
];

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | 0)
}

/// What stands between the fields: the sign that the first line has most often, out of quotes; a comma if there is none.
fn find_delimiter(beginning: &[u8]) -> u8 {
    let (mut is_quoted, mut line) = (false, Vec::new());
    for byte in beginning {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted && line.is_empty() => {}
            b'\n' | b'\r' if !is_quoted => break,
            byte if !is_quoted => line.push(*byte),
            _ => {}
        }
    }
    let count = |sign: &u8| line.iter().filter(|byte| *byte == sign).count();
    // The last one of those that are there as often.
    [b'|', b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// The text of a file in UTF-8, and [`END`] behind it.
struct Source {
    file: DecodeReaderBytes<Chain<Cursor<Vec<u8>>, File>, Vec<u8>>,
    hasher: blake3::Hasher,
    /// Bytes of text that are read.
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
