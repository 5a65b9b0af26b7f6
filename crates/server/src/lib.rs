//! The ledger and the gate for a team, over HTTP, with roles.

#![forbid(unsafe_code)]

mod access;
mod background;
mod body;
mod dashboard;
mod databases;
mod events;
mod extract;
mod failure;
mod fair;
mod limits;
mod listen;
mod log;
mod metrics;
mod openapi;
mod places;
mod random;
mod readiness;
mod responses;
mod routes;
mod runtime;
mod service;
mod state;
mod tokens;
mod trace;
mod trails;
mod turns;
mod uploads;
mod verification;

pub use listen::{Listener, Tls};
pub use log::{Log, LogForm};
pub use runtime::runtime;
pub use service::Service;
pub use state::{Settings, State};
pub use tokens::{TokenPlace, Tokens};
