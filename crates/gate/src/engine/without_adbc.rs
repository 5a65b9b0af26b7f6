//! A program that was built without drivers: everything that would need one says so.

use std::path::Path;
use std::time::Duration;

use super::driver_source::{AdbcSource, DriverChoice};
use super::{Engine, PreparedLake};
use crate::declaration::Declaration;
use crate::error::Error;
use crate::schema::Schema;

/// The table that is asked, quoted.
pub(crate) const VIEW: &str = "\"asked\"";

fn missing() -> Error {
    Error::storage(
        "this program was built without drivers of ADBC, which these data need; build one with: cargo build -r -p taximeter -F adbc",
    )
}

pub(crate) fn connect(_: &AdbcSource, _: &Path, _: &Schema, _: Duration) -> Result<Box<dyn Engine>, Error> {
    Err(missing())
}

pub(crate) fn prepare_lake(
    _: &DriverChoice,
    _: &str,
    _: &Declaration,
    _: &[u8; 32],
    _: &Path,
    _: &Path,
) -> Result<PreparedLake, Error> {
    Err(missing())
}

pub(crate) fn prepare_remote(_: AdbcSource, _: &Declaration) -> Result<PreparedLake, Error> {
    Err(missing())
}

pub(crate) fn copy_of_embedded(_: &DriverChoice, _: &Path, _: &Schema, _: &Path) -> Result<u64, Error> {
    Err(missing())
}

pub(crate) fn is_installed(_: &DriverChoice) -> bool {
    false
}
