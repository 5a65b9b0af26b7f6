//! Tells the program which commit it was built from: the variable TAXIMETER_COMMIT, or what git says. Without either it does without.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=TAXIMETER_COMMIT");
    // A debug build would be made again after every commit.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return;
    }
    let commit = std::env::var("TAXIMETER_COMMIT").ok().or_else(|| {
        for name in ["HEAD", "logs/HEAD"] {
            println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", name])?);
        }
        git(&["rev-parse", "--short=12", "HEAD"])
    });
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        println!("cargo::rustc-env=TAXIMETER_BUILT_FROM={commit}");
    }
}

/// What git prints; nothing where there is no git, or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
