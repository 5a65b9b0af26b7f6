use std::fmt;

/// What went wrong, in words a person can act on.
///
/// A refusal by a filter is not an error: see [`Verdict`](crate::Verdict).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Input,
    UnsupportedCost,
}

impl Error {
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Error { kind: Kind::Input, message: message.into() }
    }

    pub(crate) fn unsupported_cost(message: impl Into<String>) -> Self {
        Error { kind: Kind::UnsupportedCost, message: message.into() }
    }

    /// A number, a name or a parameter that cannot be used as given.
    pub fn is_input(&self) -> bool {
        self.kind == Kind::Input
    }

    /// A cost for which the chosen rule has no theorem; the message names a rule that has one.
    pub fn is_unsupported_cost(&self) -> bool {
        self.kind == Kind::UnsupportedCost
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Shows at most the first characters of what somebody typed, so that a message stays readable.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(SHOWN).collect();
    match chars.count() {
        0 => format!("{head:?}"),
        more => format!("{head:?} and {more} more characters"),
    }
}
