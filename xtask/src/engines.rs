//! The engines beside SQLite and PostgreSQL that data are tested on, in the folder of what is built: fetched once by the names of their
//! packages, and gone with `cargo clean`.

use std::env::consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS};
use std::path::{Path, PathBuf};

use taximeter_testing::SAIL_VARIABLE;

use crate::downloads::{must, npm_install};
use crate::needs::Programs;

/// DuckDB's library, MIT licence, 71 MB. Pinned, like the others: a new release may compute otherwise, and that is a change of its own.
const DUCKDB: &str = "1.5.6-r.1";

/// The driver of Flight SQL, Apache licence, 34 MB.
const FLIGHTSQL: &str = "1.13.0";

/// Sail, a cluster that speaks the SQL of Spark, Apache licence, 160 MB.
const SAIL: &str = "0.7.2";

/// Where programs look for drivers first.
const DRIVERS_VARIABLE: &str = "TAXIMETER_DRIVERS";

/// The variables that tell the tests where the engines are.
pub fn variables(built: &Path) -> Result<Programs, String> {
    let drivers = std::env::join_paths([duckdb(built), flightsql(built)])
        .map_err(|error| format!("{} cannot be part of a list of folders: {error}", built.display()))?;
    Ok(vec![(DRIVERS_VARIABLE, drivers.into()), (SAIL_VARIABLE, sail(built))])
}

/// Whether all of them are there.
pub fn are_here(built: &Path) -> bool {
    let library = |folder: PathBuf, name: &str| folder.join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}")).is_file();
    library(duckdb(built), "duckdb") && library(flightsql(built), "adbc_driver_flightsql") && sail(built).is_file()
}

/// Fetches them.
pub fn fetch(built: &Path) -> Result<(), String> {
    let package = format!("{}@{DUCKDB}", duckdb_package());
    npm_install(&npm_prefix(built), &package)?;
    let environment = python(built);
    must(&["python3", "-m", "venv", "--clear", &environment.display().to_string()])?;
    let pip = environment.join("bin").join("pip").display().to_string();
    let packages = [format!("adbc-driver-flightsql=={FLIGHTSQL}"), format!("pysail=={SAIL}")];
    must(&[&pip, "install", "--quiet", "--disable-pip-version-check", &packages[0], &packages[1]])?;
    match are_here(built) {
        true => Ok(()),
        false => Err(format!(
            "{package} and {} were installed, but their libraries are not where they are expected",
            packages.join(", ")
        )),
    }
}

fn npm_prefix(built: &Path) -> PathBuf {
    built.join("engines").join(format!("duckdb-{DUCKDB}"))
}

/// The package for this machine.
fn duckdb_package() -> String {
    let system = if OS == "macos" { "darwin" } else { OS };
    let machine = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("@duckdb/node-bindings-{system}-{machine}")
}

fn duckdb(built: &Path) -> PathBuf {
    npm_prefix(built).join("node_modules").join(duckdb_package())
}

fn python(built: &Path) -> PathBuf {
    built.join("engines").join(format!("flightsql-{FLIGHTSQL}-sail-{SAIL}"))
}

fn sail(built: &Path) -> PathBuf {
    python(built).join("bin").join("sail")
}

/// The folder of packages is named after the version of Python.
fn flightsql(built: &Path) -> PathBuf {
    let entries = std::fs::read_dir(python(built).join("lib")).into_iter().flatten().flatten();
    let version = entries.map(|entry| entry.path()).find(|path| path.join("site-packages").is_dir());
    version.unwrap_or_else(|| python(built).join("lib")).join("site-packages").join("adbc_driver_flightsql")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_looked_for_by_their_versions() {
        let built = Path::new("/nowhere");
        assert!(!are_here(built));
        let variables = variables(built).unwrap();
        let shown = format!("{variables:?}");
        for part in [DUCKDB, SAIL, FLIGHTSQL, "@duckdb/node-bindings-", "TAXIMETER_DRIVERS", "bin/sail"] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
    }
}
