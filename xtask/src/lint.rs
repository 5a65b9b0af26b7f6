//! `cargo xtask lint`: clippy on everything that the tests compile, and whose words are whose; a warning is an error.

use std::process::ExitCode;

use crate::test::cargo;
use crate::words;

/// Checks the words, and runs clippy.
pub fn run(arguments: &[String]) -> ExitCode {
    match words::faults() {
        Ok(faults) if faults.is_empty() => {}
        Ok(faults) => {
            eprintln!("error: {}", faults.join("\nerror: "));
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
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
