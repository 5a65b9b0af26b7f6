//! The gate seen from outside: the order of things, hostile questions, registering data, the noise of answers.

#[cfg(feature = "driver-tests")]
mod cluster;
mod common;
mod corpus;
mod dates;
mod documents;
#[cfg(feature = "driver-tests")]
mod duckdb;
mod dummy;
mod exact;
mod hostile;
mod joined;
mod meaning;
mod options;
mod order;
#[cfg(feature = "server-tests")]
mod postgres;
mod public;
mod registering;
mod simulated;
mod statistics;
mod suggest;
