use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use adbc_core::options::AdbcVersion;
use adbc_driver_manager::ManagedDriver;

use crate::error::AdbcError;
use crate::search::{FoundDriver, Search};
use crate::spec::DriverSpec;

/// A driver that was checked and loaded.
#[derive(Clone)]
pub struct AdbcDriver {
    found: FoundDriver,
    pub(crate) managed: ManagedDriver,
}

/// What is loaded stays: libraries have threads of their own that may outlive what they were loaded for.
static LOADED: LazyLock<Mutex<HashMap<(PathBuf, String), ManagedDriver>>> = LazyLock::new(Mutex::default);

impl AdbcDriver {
    /// Finds, checks and loads a driver.
    pub fn find(spec: &DriverSpec, search: &Search) -> Result<AdbcDriver, AdbcError> {
        let found = search.find(spec)?;
        // The file that was checked, whatever a link leads to a moment later.
        let failed = |why: String| AdbcError::Load { path: found.library.clone(), why };
        let path = found.library.canonicalize().map_err(|error| failed(format!("it cannot be found: {error}")))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (path, found.entry.clone());
        let managed = match loaded.get(&key) {
            Some(managed) => managed.clone(),
            None => {
                let entry = found.entry.as_bytes();
                is_whole(&key.0).map_err(failed)?;
                // A driver of an older version of the standard could not be told to stop.
                let managed = ManagedDriver::load_dynamic_from_filename(&key.0, Some(entry), AdbcVersion::V110);
                let managed = managed.map_err(|error| {
                    let (message, entry) = (error.message, &found.entry);
                    failed(format!(
                        "{message}; it must be a driver of ADBC 1.1 for this machine, with the entry point {entry}"
                    ))
                })?;
                loaded.insert(key, managed.clone());
                managed
            }
        };
        drop(loaded);
        Ok(AdbcDriver { found, managed })
    }

    /// Where it is and how it was found.
    pub fn found(&self) -> &FoundDriver {
        &self.found
    }
}

/// Whether a library has all that it says it has. Loading half of one would end the process. Only the format of Linux is looked at.
fn is_whole(library: &Path) -> Result<(), String> {
    const HEADER: usize = 64;
    let unread = |error: io::Error| format!("it cannot be read: {error}");
    let mut file = File::open(library).map_err(unread)?;
    let length = file.metadata().map_err(unread)?.len();
    let mut header = Vec::new();
    file.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(unread)?;
    if header.len() < HEADER || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(());
    }
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let sections = u64::from_le_bytes(header[40..48].try_into().unwrap_or_default());
    // The table of its sections is behind everything else.
    match sections.checked_add(short(58) * short(60)).is_some_and(|end| end <= length) {
        true => Ok(()),
        false => Err("it is cut off; install it again".to_string()),
    }
}
