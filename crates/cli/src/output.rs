//! What commands print: a JSON document for programs, text for people, and errors with advice.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use taximeter_service::{Code, Problem};

use crate::advice;

pub use taximeter_service::words::{show_cost, show_count, show_number, show_share, show_spent, thousands};

/// The exit code for wrong usage or input.
const WRONG_USAGE: u8 = 2;

/// The exit code for a refusal by a filter.
pub const REFUSED: u8 = 3;

/// The exit code for a damaged record or a failed check.
pub const INTEGRITY_BROKEN: u8 = 4;

/// The exit code for a question that is charged and has no answer.
pub const NO_ANSWER: u8 = 5;

/// The exit code for a charge that was made earlier under the same key.
pub const REPLAYED: u8 = 6;

/// Why a command failed.
pub enum Failure {
    /// The arguments or the input cannot be used.
    Usage(String),
    /// A question cannot be answered as written.
    Question {
        /// What is wrong with it.
        message: String,
        /// The line of the question with the mistake, counted from 0.
        line: u64,
    },
    /// Stored records differ from what was written.
    Integrity(String),
    /// The reader of the output has closed it.
    ClosedPipe,
    /// Anything else.
    Other(String),
}

/// A failure due to the arguments or the input.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage(message.into())
}

/// Turns an error about the value of a flag into a failure that names the flag.
pub fn in_flag<E: Display>(flag: &str) -> impl Fn(E) -> Failure {
    move |error| usage(format!("{flag}: {error}"))
}

impl Failure {
    /// The exit code of the program after this failure.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) | Failure::Question { .. } => ExitCode::from(WRONG_USAGE),
            Failure::Integrity(_) => ExitCode::from(INTEGRITY_BROKEN),
            Failure::ClosedPipe => ExitCode::SUCCESS,
            Failure::Other(_) => ExitCode::FAILURE,
        }
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        match self {
            Failure::Usage(message)
            | Failure::Question { message, .. }
            | Failure::Integrity(message)
            | Failure::Other(message) => message,
            Failure::ClosedPipe => "the output was closed",
        }
    }

    /// Adds the line of the input. `number` is the first line of the question or command that failed.
    pub fn in_line(self, number: u64) -> Failure {
        let with_line = |message: String| format!("line {number}: {message}");
        match self {
            Failure::Question { message, line: 0 } => Failure::Usage(with_line(message)),
            Failure::Question { message, line } => Failure::Usage(format!(
                "line {}, in the question that begins in line {number}: {message}",
                number + line
            )),
            Failure::Usage(message) => Failure::Usage(with_line(message)),
            Failure::Integrity(message) => Failure::Integrity(with_line(message)),
            Failure::Other(message) => Failure::Other(with_line(message)),
            Failure::ClosedPipe => Failure::ClosedPipe,
        }
    }
}

impl From<taximeter_accounting::Error> for Failure {
    fn from(error: taximeter_accounting::Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<taximeter_lab::Error> for Failure {
    fn from(error: taximeter_lab::Error) -> Self {
        usage(error.to_string())
    }
}

impl From<taximeter_gate::Error> for Failure {
    fn from(error: taximeter_gate::Error) -> Self {
        let message = format!("{error}{}", advice::of_gate(&error));
        match error.is_integrity() {
            true => Failure::Integrity(message),
            false if error.is_input() => Failure::Usage(message),
            false => Failure::Other(message),
        }
    }
}

impl From<taximeter_ledger::Error> for Failure {
    fn from(error: taximeter_ledger::Error) -> Self {
        taximeter_gate::Error::from(error).into()
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let message = format!("{problem}{}", advice::of_problem(&problem));
        match problem.code {
            Code::Integrity | Code::Alarm => Failure::Integrity(message),
            Code::BadRequest
            | Code::Unauthorized
            | Code::Forbidden
            | Code::NoAccount
            | Code::NoDataset
            | Code::NotFound
            | Code::MethodNotAllowed
            | Code::TooLarge
            | Code::UnsupportedMediaType
            | Code::KeyReused
            | Code::HeadersTooLarge => Failure::Usage(message),
            Code::RequestTimeout
            | Code::Refused
            | Code::NoAnswer
            | Code::TooManyRequests
            | Code::Storage
            | Code::Busy
            | Code::Stopped
            | Code::UnknownOutcome => Failure::Other(message),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Other(format!("the output cannot be written: {error}; is the disk full?")),
        }
    }
}

/// Prints the result of a command: a JSON document, or text for people.
pub fn print(json: bool, document: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode, Failure> {
    match json {
        true => print_json(document)?,
        false => print_line(&text())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one JSON document and a newline.
pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(document).map_err(|error| Failure::Other(error.to_string()))?;
    print_document(&text)
}

/// Writes a line for people to standard output at once.
pub fn print_line(line: &str) -> Result<(), Failure> {
    print_document(&visible(line))
}

/// Replaces control characters, which a terminal would obey: text may come from a server or a file.
pub fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Writes a document to standard output at once, byte for byte.
pub fn print_document(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Prints warnings about something that was done nevertheless.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        tell(&format!("warning: {warning}"));
    }
}

/// Prints a message to standard error. If standard error is closed, the message is dropped.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(visible("a\u{1b}[2J\u{7}\n\tb\u{9b}1m\r"), "a\u{fffd}[2J\u{fffd}\n\tb\u{fffd}1m\u{fffd}");
    }
}
