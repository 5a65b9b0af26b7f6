//! Drivers seen from outside: where they are found, and a real one at work.

#[cfg(feature = "driver-tests")]
mod duckdb;
mod searching;
