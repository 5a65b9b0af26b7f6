//! The ledger seen from outside, on both stores: what it must do, and what it must survive.

mod conformance;
mod crash;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(feature = "server-tests")]
mod postgres;
#[cfg(unix)]
mod read_only;
mod tampering;
