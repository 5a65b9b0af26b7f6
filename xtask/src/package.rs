//! `cargo xtask package`: whether every crate that others can use packs, by cargo itself, with its licences.

use std::process::{Command, ExitCode};

use crate::test::{bare_cargo, built};

/// What only serves the project: `publish = false`. Cargo does not leave them out by itself.
const LEFT_OUT: [&str; 5] = ["taximeter-testing", "taximeter-bench", "taximeter-fuzz", "taximeter-python", "xtask"];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::workspace_root;

    #[test]
    fn what_is_not_published_is_left_out() {
        let root = workspace_root();
        let folders = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
        let folders = folders.chain(std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()));
        let manifests = folders.filter_map(|folder| std::fs::read_to_string(folder.join("Cargo.toml")).ok());
        let is_kept_here =
            |text: &String| text.lines().any(|line| line == "publish = false" || line == "publish.workspace = true");
        let name = |text: String| text.lines().find_map(|line| Some(line.strip_prefix("name = ")?.replace('"', "")));
        let mut kept: Vec<String> = manifests.filter(is_kept_here).filter_map(name).collect();
        kept.sort();
        let mut left_out = LEFT_OUT.to_vec();
        left_out.sort();
        assert_eq!(kept, left_out);
    }
}
