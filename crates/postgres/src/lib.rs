#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod connection;
mod durable;
mod error;
mod session;
mod tls;

pub use address::{AddressError, PostgresAddress, without_password};
pub use connection::Connection;
pub use durable::{DURABLE_COLUMNS, check_durable};
pub use error::SessionError;
pub use session::{Link, Session, SessionSetup, time_to_cancel};
