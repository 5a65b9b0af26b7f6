//! `cargo xtask lint`: clippy on everything that the tests compile; a warning is an error.

use std::process::ExitCode;

use crate::test::cargo;

/// Runs clippy.
pub fn run(arguments: &[String]) -> ExitCode {
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
