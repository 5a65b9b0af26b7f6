//! A Python environment for the tests, in the folder of what is built: it is made once, and goes with `cargo clean`.

use std::path::{Path, PathBuf};

use crate::needs::output;

/// What tests the API against its own description. Pinned: a new release may find more, and that is a change of its own.
const SCHEMATHESIS: &str = "4.32.5";

/// The programs that tests need from Python's package index; each stands in a variable of the environment.
pub fn provide(built: &Path) -> Result<(&'static str, PathBuf), String> {
    let environment = built.join("python");
    let program = environment.join("bin").join("schemathesis");
    if !is_there(&program) {
        eprintln!("making a Python environment for the tests, with schemathesis {SCHEMATHESIS}");
        let folder = environment.display().to_string();
        must(&["python3", "-m", "venv", "--clear", &folder])?;
        let pip = environment.join("bin").join("pip").display().to_string();
        let package = format!("schemathesis=={SCHEMATHESIS}");
        must(&[&pip, "install", "--quiet", "--disable-pip-version-check", &package])?;
    }
    Ok(("TAXIMETER_SCHEMATHESIS", program))
}

fn is_there(program: &Path) -> bool {
    let line = [program.to_str().unwrap_or_default(), "--version"];
    output(&line).is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim_end().ends_with(SCHEMATHESIS))
}

fn must(line: &[&str]) -> Result<(), String> {
    let output = output(line)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "`{}` failed ({}); the tests of the API need Python and its package index\n{}",
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
        assert!(!is_there(Path::new("/nowhere/schemathesis")));
    }
}
