//! What tests and benchmarks stand on: [`PrivatePostgres`], a PostgreSQL server of one's own that leaves nothing behind.
//!
//! Nothing here is part of the product. Folders for a test come from the `tempfile` crate.

#![forbid(unsafe_code)]

mod postgres;
mod programs;
mod query;
mod watchdog;

pub use postgres::PrivatePostgres;
pub use programs::find_programs;
pub use query::query;
