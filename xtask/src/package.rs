//! `cargo xtask package`: whether every crate that others can use packs, by cargo itself, with its licences.

use std::process::{Command, ExitCode};

use crate::test::{bare_cargo, built};

/// What only serves the project: `publish = false`. Cargo does not leave them out by itself.
const LEFT_OUT: [&str; 4] = ["taximeter-testing", "taximeter-bench", "taximeter-python", "xtask"];

/// The crates that are of use alone; `--verify` builds them from their packages.
const ALONE: [&str; 3] = ["taximeter-accounting", "taximeter-noise", "taximeter-transparency"];

/// Packs all crates.
pub fn run(arguments: &[String]) -> ExitCode {
    let verifies = match arguments {
        [] => false,
        [verify] if verify == "--verify" => true,
        _ => {
            eprintln!("error: `cargo xtask package` takes `--verify` or nothing, not {arguments:?}");
            return ExitCode::from(crate::WRONG_USAGE);
        }
    };
    match pack(&mut every_crate()).and_then(|()| if verifies { pack(&mut those_of_use_alone()) } else { Ok(()) }) {
        Ok(()) => {
            println!("every crate packs");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// In a folder of its own: the packages are for looking at, and no build should wait for them.
fn package() -> Command {
    let mut package = bare_cargo("package");
    package.args(["--quiet", "--allow-dirty", "--target-dir"]).arg(built().join("packages"));
    package
}

fn every_crate() -> Command {
    let mut package = package();
    package.args(["--workspace", "--no-verify"]).args(LEFT_OUT.map(|name| format!("--exclude={name}")));
    package
}

fn those_of_use_alone() -> Command {
    let mut package = package();
    package.args(ALONE.map(|name| format!("--package={name}")));
    package
}

fn pack(package: &mut Command) -> Result<(), String> {
    match package.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo package ended with {status}; it says above what is missing")),
        Err(error) => Err(format!("cargo package could not be started: {error}")),
    }
}
