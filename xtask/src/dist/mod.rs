//! `cargo xtask dist`: what a release is made of, in target/dist.

mod bill;
mod debian;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use self::bill::bill_of_materials;
use crate::test::{bare_cargo, built, workspace_root};

/// What a release has and a plain build leaves out: data that drivers of ADBC read.
const FEATURES: &str = "adbc";

/// The shells that have completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Makes the program, its manual pages and completions, a Debian package, the list of what is in it, and their checksums.
pub fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        eprintln!("error: dist takes no argument {argument:?}");
        return ExitCode::from(crate::WRONG_USAGE);
    }
    match make() {
        Ok(folder) => {
            println!("the release is in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make() -> Result<PathBuf, String> {
    let folder = built().join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (man, completions) = (folder.join("man/man1"), folder.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let machine = machine()?;
    finish(&mut build(&machine))?;
    let program = folder.join("taximeter");
    let from = built().join(&machine).join("release/taximeter");
    fs::copy(&from, &program).map_err(|error| format!("{}: {error}", from.display()))?;
    // The program that the compiler's linker belongs to has it.
    finish(Command::new("strip").arg(&program))?;
    finish(Command::new(&program).arg("man").arg(&man))?;
    for shell in SHELLS {
        let script = printed(Command::new(&program).args(["completions", shell]))?;
        write(&completions.join(format!("taximeter.{shell}")), &script)?;
    }
    let metadata = serde_json::from_slice(&printed(&mut metadata(&machine))?);
    let metadata = metadata.map_err(|error| format!("cargo metadata: {error}"))?;
    let bill = serde_json::to_vec_pretty(&bill_of_materials(&metadata)?).map_err(|error| error.to_string())?;
    write(&folder.join("taximeter.cdx.json"), &bill)?;
    for document in ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"] {
        fs::copy(workspace_root().join(document), folder.join(document)).map_err(|error| error.to_string())?;
    }
    debian::package(&folder)?;
    let files = printed(Command::new("find").args([".", "-type", "f", "-printf", "%P\\n"]).current_dir(&folder))?;
    let files = String::from_utf8_lossy(&files);
    let names: BTreeSet<&str> = files.lines().collect();
    let sums = printed(Command::new("sha256sum").args(names).current_dir(&folder))?;
    write(&folder.join("SHA256SUMS"), &sums)?;
    Ok(folder)
}

/// Builds the program for this kind of machine, whatever else cargo is set to, into the folder that has its name.
fn build(machine: &str) -> Command {
    let mut build = bare_cargo("build");
    build.args(["--release", "--locked", "--package", "taximeter", "--features", FEATURES, "--target", machine]);
    build
}

/// What the program is made of on a machine of this kind. On others it has other crates, such as those of Windows.
fn metadata(machine: &str) -> Command {
    let mut metadata = bare_cargo("metadata");
    metadata.args(["--format-version", "1", "--locked", "--features", &format!("taximeter/{FEATURES}")]);
    metadata.args(["--filter-platform", machine]);
    metadata
}

/// The kind of this machine, as the compiler calls it.
fn machine() -> Result<String, String> {
    let version = printed(Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version);
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_string).ok_or("rustc -vV: no host".into())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a command to its end.
fn finish(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// What a command prints.
fn printed(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{name} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &Command) -> Vec<&str> {
        command.get_args().filter_map(|argument| argument.to_str()).collect()
    }

    #[test]
    fn a_release_reads_data_by_drivers_and_its_bill_is_of_the_same_features() {
        for (command, features) in [(build("x86_64-linux"), "adbc"), (metadata("x86_64-linux"), "taximeter/adbc")] {
            assert!(arguments(&command).windows(2).any(|pair| pair == ["--features", features]), "{command:?}");
            // Where the program is looked for.
            assert!(!arguments(&command).contains(&"--target-dir"), "{command:?}");
        }
        // A default of cargo put the program into another folder, and the release had an old one.
        assert!(arguments(&build("x86_64-linux")).ends_with(&["--target", "x86_64-linux"]));
        assert!(arguments(&metadata("x86_64-linux")).ends_with(&["--filter-platform", "x86_64-linux"]));
        let machine = machine().unwrap();
        assert!(machine.split('-').count() > 2, "{machine}");
    }
}
