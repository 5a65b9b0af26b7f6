//! Drivers of ADBC, the Arrow database standard: found, checked, loaded, asked and stopped in time.
//!
//! A driver is a library that runs in this process with all its rights. Owners name it, on the machine itself; its file must be theirs
//! or root's, and no one else may be able to change it. The crate `adbc_driver_manager` loads it, which is unsafe inside: a driver that
//! does not keep to the standard can crash the process.

#![forbid(unsafe_code)]

mod connection;
mod driver;
mod error;
mod known;
mod manifest;
mod new_rows;
mod places;
mod rows;
mod search;
mod spec;
mod trust;

pub use connection::{AdbcConnection, AdbcOptions};
pub use driver::AdbcDriver;
pub use error::AdbcError;
pub use known::advice;
pub use new_rows::{NewColumn, NewRows};
pub use rows::{ArrowColumn, ArrowKind, ArrowRows, ArrowValue};
pub use search::{FoundDriver, Search};
pub use spec::DriverSpec;
