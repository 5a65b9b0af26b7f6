//! What went wrong in a game or an experiment, in words a person can act on.

use std::fmt;

/// A parameter that cannot be used as given, a move that the game does not allow, or a rule that has no theorem for a cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    /// An error with a message that says what was wrong and what to do; also for adversaries, filters and odometers of one's own.
    pub fn new(message: impl Into<String>) -> Error {
        Error { message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<taximeter_accounting::Error> for Error {
    fn from(error: taximeter_accounting::Error) -> Error {
        Error::new(error.to_string())
    }
}
