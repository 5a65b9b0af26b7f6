//! Drivers of ADBC that go wrong, made of C by the compiler that links our programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library with several entry points.
///
/// * `aborts` and `reads_nowhere` end the process as soon as the driver is loaded;
/// * `knows_another_version` refuses the version of the standard that is asked for;
/// * `aborts_later` is DuckDB, until [`abort_file`](Self::abort_file) is there: then it aborts at the next sum;
/// * `fails_later` is DuckDB that runs no statement.
pub struct BrokenDriver {
    /// The library.
    pub library: PathBuf,
    /// The file that lets `aborts_later` abort.
    pub abort_file: PathBuf,
}

impl BrokenDriver {
    /// Makes the library in a folder, in front of DuckDB's library.
    pub fn build(folder: &Path, duckdb: &Path) -> Result<BrokenDriver, String> {
        let source = folder.join("broken_driver.c");
        std::fs::write(&source, include_str!("broken_driver.c"))
            .map_err(|error| format!("{} cannot be written: {error}", source.display()))?;
        let broken = BrokenDriver { library: folder.join("libbroken.so"), abort_file: folder.join("abort") };
        let define = |name: &str, path: &Path| format!("-D{name}=\"{}\"", path.display());
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", &define("DUCKDB", duckdb), &define("ABORT_FILE", &broken.abort_file), "-o"])
            .args([&broken.library, &source])
            .arg("-ldl")
            .output();
        let made =
            compiler.map_err(|error| format!("cc, which also links our programs, cannot be started: {error}"))?;
        match made.status.success() {
            true => Ok(broken),
            false => Err(format!("cc cannot make the library: {}", String::from_utf8_lossy(&made.stderr))),
        }
    }
}
