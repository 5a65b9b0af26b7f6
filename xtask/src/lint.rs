//! `cargo xtask lint`: what we agreed on, and clippy on everything that the tests compile; a warning is an error.

use std::process::ExitCode;

use crate::test::cargo;
use crate::tidy;

/// Checks what we agreed on, and runs clippy.
pub fn run(arguments: &[String]) -> ExitCode {
    if let Err(message) = tidy::check() {
        eprintln!("error: {message}");
        return ExitCode::FAILURE;
    }
    let status = cargo("clippy").arg("--all-targets").args(arguments).args(["--", "-D", "warnings"]).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: clippy could not be started: {error}; `rustup component add clippy` installs it");
            ExitCode::FAILURE
        }
    }
}
