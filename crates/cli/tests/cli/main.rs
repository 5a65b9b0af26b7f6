//! The program as one uses it: its commands, here and through a server, and its dashboard in a browser.

mod backup;
mod bounds;
mod charges;
mod client;
mod config;
#[cfg(feature = "server-tests")]
mod dashboard;
mod datasets;
#[cfg(unix)]
mod demo;
mod deploy;
mod drivers;
mod dummy;
mod examples;
mod input;
mod journal;
mod lab;
mod meter;
mod options;
mod planning;
mod program;
mod prompt;
mod questions;
mod readme;
#[cfg(unix)]
mod rehearsal;
mod report;
mod restore;
mod sandbox;
#[cfg(feature = "server-tests")]
mod schemathesis;
#[cfg(unix)]
mod serve;
mod server;
mod transparency;
mod trust;
mod typed;
mod usage;

#[cfg(feature = "server-tests")]
use dashboard::{pages, visit};
