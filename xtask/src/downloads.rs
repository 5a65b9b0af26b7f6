//! What the tests need from package indexes, in the folder of what is built: it is fetched once, and goes with `cargo clean`.

use std::path::{Path, PathBuf};

use crate::needs::{output, succeeds};

/// What runs the tests, if there is none in the path. Pinned: it builds with the oldest compiler that the tests are run with.
const NEXTEST: &str = "0.9.143";

/// What tests the API against its own description. Pinned: a new release may find more, and that is a change of its own.
const SCHEMATHESIS: &str = "4.32.5";

/// What tests whether pages can be read and heard; pinned likewise.
const AXE: &str = "4.10.3";

/// The program `cargo-nextest`: the one in the path, or else the one that is or will be in the folder of what is built.
pub fn nextest(built: &Path) -> PathBuf {
    let in_path = PathBuf::from("cargo-nextest");
    if runs(&in_path) { in_path } else { built.join("tools").join("bin").join("cargo-nextest") }
}

/// Whether there is one.
pub fn has_nextest(built: &Path) -> bool {
    runs(&nextest(built))
}

fn runs(nextest: &Path) -> bool {
    succeeds(nextest.to_str().unwrap_or_default(), &["nextest", "--version"])
}

/// Builds cargo-nextest, without optimisation: that takes less time than it saves.
pub fn fetch_nextest(built: &Path) -> Result<(), String> {
    let root = built.join("tools").display().to_string();
    must(&[
        "cargo",
        "install",
        "--quiet",
        "--locked",
        "--debug",
        "--version",
        NEXTEST,
        "--root",
        &root,
        "cargo-nextest",
    ])
}

/// The program `schemathesis`, where it is or will be.
pub fn schemathesis(built: &Path) -> PathBuf {
    built.join("python").join("bin").join("schemathesis")
}

/// Whether that is the version that is wanted.
pub fn has_schemathesis(built: &Path) -> bool {
    let program = schemathesis(built);
    let line = [program.to_str().unwrap_or_default(), "--version"];
    output(&line).is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim_end().ends_with(SCHEMATHESIS))
}

/// Makes a Python environment with schemathesis.
pub fn fetch_schemathesis(built: &Path) -> Result<(), String> {
    let environment = built.join("python");
    must(&["python3", "-m", "venv", "--clear", &environment.display().to_string()])?;
    let pip = environment.join("bin").join("pip").display().to_string();
    must(&[&pip, "install", "--quiet", "--disable-pip-version-check", &format!("schemathesis=={SCHEMATHESIS}")])
}

/// The script of axe-core, where it is or will be.
pub fn axe(built: &Path) -> PathBuf {
    axe_prefix(built).join("node_modules").join("axe-core").join("axe.min.js")
}

fn axe_prefix(built: &Path) -> PathBuf {
    built.join("axe").join(AXE)
}

/// Fetches axe-core.
pub fn fetch_axe(built: &Path) -> Result<(), String> {
    npm_install(&axe_prefix(built), &format!("axe-core@{AXE}"))
}

/// Puts a package of npm into a folder; nothing of it is run.
pub(crate) fn npm_install(prefix: &Path, package: &str) -> Result<(), String> {
    let prefix = prefix.display().to_string();
    let options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    must(&[&["npm", "install", "--prefix", &prefix], options.as_slice(), &[package]].concat())
}

pub(crate) fn must(line: &[&str]) -> Result<(), String> {
    let output = output(line)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "`{}` failed ({}); the tests fetch programs with cargo, pip and npm\n{}",
            line.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_run() {
        assert!(must(&["false", "-m", "venv"]).unwrap_err().contains("`false -m venv` failed"));
        assert!(must(&["/nowhere/python3"]).unwrap_err().contains("/nowhere/python3 could not be started"));
        assert!(!has_schemathesis(Path::new("/nowhere")));
    }
}
