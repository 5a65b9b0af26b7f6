//! What can be done with a ledger and a gate, once, for commands, server and pages alike.

#![forbid(unsafe_code)]

mod documents;

pub use documents::*;
