//! The operations on a ledger and a gate, shared by commands, server and pages.
//!
//! A [`Caller`] is admitted to a [`Service`] with a token; its methods are the operations, with typed requests and results. The
//! functions of [`accounts`], [`datasets`], [`plans`] and [`journal`] do the same for an owner at the machine, who needs no token.

#![forbid(unsafe_code)]

pub mod accounts;
mod answers;
mod background;
pub mod backup;
mod caller;
mod charges;
pub mod checkpoints;
mod databases;
pub mod datasets;
mod documents;
mod events;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod identity;
pub mod journal;
mod limits;
pub mod log;
mod overview;
pub mod plans;
pub mod public_tables;
mod questions;
mod random;
mod readiness;
mod service;
pub mod timelines;
mod tokens;
mod trace;
mod uploads;
mod verification;
pub mod witness;

pub use answers::OwnAnswer;
pub use background::{keep_checkpoints, settle_questions, verify_journal};
pub use caller::{Action, Caller};
pub use documents::*;
pub use events::Events;
pub use identity::{ClientSecret, Issuer, OidcSettings, SignInRequest, SignInSettings};
pub use limits::{Slot, Slots};
pub use log::{Log, LogForm};
pub use overview::{TreePage, TreeQuery};
pub use random::{random, random_digits};
pub use readiness::Readiness;
pub use service::{Service, Settings};
pub use tokens::{TokenPlace, Tokens};
pub use trace::Trace;
