//! What the commands print: one document for programs, text for people, and errors with what to do.

use std::io::{self, Write};

use serde::Serialize;
use taximeter_accounting::{Cost, Count, Error};
use taximeter_api::{Code, Problem};

/// The exit code for what a filter refused.
pub const REFUSED: u8 = 3;

/// The exit code for evidence or records that do not hold.
pub const INTEGRITY_BROKEN: u8 = 4;

/// The exit code for a question that is charged and has no answer.
pub const NO_ANSWER: u8 = 5;

/// Why a command could not do its work.
pub enum Failure {
    /// The words or numbers given cannot be used.
    Usage(String),
    /// Records are not what was written.
    Integrity(String),
    /// The reader of the output went away: nothing is left to say.
    ClosedPipe,
    /// Anything else.
    Other(String),
}

impl Failure {
    /// What to tell.
    pub fn message(&self) -> &str {
        match self {
            Failure::Usage(message) | Failure::Integrity(message) | Failure::Other(message) => message,
            Failure::ClosedPipe => "nobody reads the output",
        }
    }

    /// The same, with the line of the input that it is about.
    pub fn in_line(self, number: u64) -> Failure {
        let with_line = |message: String| format!("line {number}: {message}");
        match self {
            Failure::Usage(message) => Failure::Usage(with_line(message)),
            Failure::Integrity(message) => Failure::Integrity(with_line(message)),
            Failure::Other(message) => Failure::Other(with_line(message)),
            Failure::ClosedPipe => Failure::ClosedPipe,
        }
    }
}

impl From<taximeter_gate::Error> for Failure {
    fn from(error: taximeter_gate::Error) -> Self {
        match error.to_string() {
            message if error.is_input() => Failure::Usage(message),
            message if error.is_integrity() => Failure::Integrity(message),
            message => Failure::Other(message),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<taximeter_ledger::Error> for Failure {
    fn from(error: taximeter_ledger::Error) -> Self {
        match error.to_string() {
            message if error.is_input() => Failure::Usage(message),
            message if error.is_integrity() => Failure::Integrity(message),
            message => Failure::Other(message),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let message = problem.detail;
        match problem.code {
            Code::Integrity => Failure::Integrity(message),
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

/// Writes one JSON document and a newline.
pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(document).map_err(|error| Failure::Other(error.to_string()))?;
    print_document(&text)
}

/// Writes a line for people to standard output at once.
pub fn print_line(line: &str) -> Result<(), Failure> {
    print_document(&visible(line))
}

/// What a terminal would obey is shown as a mark: some of it comes from a server, or from a file.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Writes a document to standard output at once, byte for byte.
pub fn print_document(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Tells people something on standard error. If nobody reads it any more, there is nobody to tell.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}

/// A count for people.
pub fn show_count(count: Count) -> String {
    match count {
        Count { count: u64::MAX, .. } => "more than 10^19".to_string(),
        Count { count, at_least: true } => format!("at least {}", thousands(count)),
        Count { count, .. } => thousands(count),
    }
}

/// A number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A computed number for people: six significant digits, never below the number itself.
pub fn show_number(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_string();
    }
    if value <= 0.0 {
        return "0".to_string();
    }
    // The nearest six digits, and the next ones up if those are below.
    let nearest = format!("{value:.5e}");
    let (mantissa, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    let mut digits: u64 = mantissa.replace('.', "").parse().unwrap_or(0);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let number = |digits: u64| format!("{digits}e{}", exponent - 5).parse::<f64>().unwrap_or(value);
    digits += u64::from(number(digits) < value);
    if (-4..6).contains(&exponent) {
        let text = format!("{:.*}", (5 - exponent).max(0) as usize, number(digits));
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text };
    }
    format!("{:e}", number(digits))
}

/// A cost for people: at most eight significant digits, the rest is in the JSON.
pub fn show_cost(cost: &Cost) -> String {
    let size = cost.size();
    let short = size.significant(8);
    let mark = if short == size { "" } else { "…" };
    format!("{}{mark}", cost.with_size(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_six_digits_and_rounded_up() {
        for (value, shown) in [
            (10.0, "10"),
            (10.000000000000002, "10.0001"),
            (0.999_999_9, "1"),
            (1.0000001, "1.00001"),
            (0.1, "0.1"),
            (1234567.0, "1.23457e6"),
            (1e-6, "1e-6"),
            (3.14159265e-9, "3.1416e-9"),
            (0.0, "0"),
            (f64::INFINITY, "∞"),
        ] {
            assert_eq!(show_number(value), shown);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_a_mark() {
        assert_eq!(visible("a\u{1b}[2J\u{7}\n\tb\u{9b}1m\r"), "a\u{fffd}[2J\u{fffd}\n\tb\u{fffd}1m\u{fffd}");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
