//! The program as one uses it: its commands, here and through a server, and its dashboard in a browser.

mod client;
mod commands;
#[cfg(feature = "server-tests")]
mod dashboard;
#[cfg(unix)]
mod demo;
mod desk;
mod gate;
mod ledger;
mod readme;
mod responder;
mod restore;
#[cfg(feature = "server-tests")]
mod schemathesis;
#[cfg(unix)]
mod serve;
mod server;
mod trust;

#[cfg(feature = "server-tests")]
use dashboard::{pages, visit};
