//! Where the tests have their temporary files.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux has files in memory.
const MEMORY: &str = "/dev/shm";

/// How much memory must be free: much more than the files of the tests need, and what the tests themselves need beside it.
const FREE_FOR_FILES: u64 = 4 << 30;
const FREE_IN_ALL: u64 = 12 << 30;

/// A folder for the temporary files of the tests, removed with all that they left there.
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// A new one; for a quick run in memory, if there is enough.
    pub fn new(is_quick: bool) -> Result<TestFolder, String> {
        let place = if is_quick { in_memory() } else { None };
        let folder = place.unwrap_or_else(std::env::temp_dir).join(format!("taximeter-tests-{}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                eprintln!("temporary files are in {}", folder.display());
                Ok(TestFolder(folder))
            }
            Err(error) => Err(format!("the folder {} cannot be made: {error}", folder.display())),
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let left = self.left_behind();
        if !left.is_empty() {
            eprintln!("the tests did not remove these temporary files, which are removed now: {}", left.join(", "));
        }
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("the folder {} could not be removed: {error}", self.0.display());
        }
    }
}

/// A folder in memory, if there is enough of it, and TMPDIR names no other one. Tests sync thousands of small files, and on a disk they
/// wait most of the time.
fn in_memory() -> Option<PathBuf> {
    let memory = Path::new(MEMORY);
    let free = rustix::fs::statvfs(memory).ok()?;
    let has_room = free.f_bavail * free.f_frsize >= FREE_FOR_FILES && available()? >= FREE_IN_ALL;
    (has_room && std::env::var_os("TMPDIR").is_none()).then(|| memory.to_path_buf())
}

/// How much memory programs could still use, in bytes.
fn available() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}
