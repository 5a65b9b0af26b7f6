//! A crate that others can use says what a registry asks for, and carries its licences. No program is built with a simulated ledger.

use std::fs;
use std::path::Path;

use super::Fault;
use super::sources::TextFile;

/// What the manifest of such a crate has.
const KEYS: [&str; 5] = ["description", "keywords", "categories", "readme", "license.workspace"];

/// Beside the manifest, with the text of those of the workspace: symbolic links, which cargo follows when it packs. A file that only says
/// where the licence is would be packed as it is.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What manifests lack. Crates that are not published need none of it.
pub fn faults(root: &Path, sources: &[TextFile]) -> Vec<Fault> {
    let published = sources.iter().filter(|source| source.path.starts_with("crates/") && is_published(source));
    let manifests = sources.iter().filter(|source| source.path.ends_with("Cargo.toml"));
    published.flat_map(|manifest| faults_of(root, manifest)).chain(manifests.filter_map(simulated)).collect()
}

/// Only tests have a simulated ledger.
fn simulated(manifest: &TextFile) -> Option<Fault> {
    let (mut table, path) = ("", &manifest.path);
    for line in manifest.text.lines() {
        match line.starts_with('[') {
            true => table = line,
            false if line.contains("\"simulation\"") && table != "[dev-dependencies]" => {
                let text = format!("{path}: {line}: the feature `simulation` is for [dev-dependencies] alone");
                return Some(Fault { rule: "manifest", subject: path.clone(), text });
            }
            false => {}
        }
    }
    None
}

fn is_published(source: &TextFile) -> bool {
    let is_kept_here = ["publish = false", "publish.workspace = true"].iter().any(|line| has_line(&source.text, line));
    source.path.ends_with("/Cargo.toml") && !is_kept_here
}

fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

fn faults_of(root: &Path, manifest: &TextFile) -> Vec<Fault> {
    let path = &manifest.path;
    let fault = |text: String| Fault { rule: "manifest", subject: path.clone(), text: format!("{path}: {text}") };
    let folder = root.join(path.strip_suffix("/Cargo.toml").unwrap_or(path));
    let keys = KEYS.into_iter().filter(|key| !has_line(&manifest.text, &format!("{key} = ")));
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).ok();
    let licences = LICENCES.into_iter().filter(|name| {
        let text = read(&folder, name);
        text.is_none() || text != read(root, name)
    });
    let keys = keys.map(|key| fault(format!("it has no {key}, which a registry requires")));
    let unlike =
        |name| format!("the {name} next to it is not that of the workspace; make it a symbolic link to ../../{name}");
    keys.chain(licences.map(|name| fault(unlike(name)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The licences beside the manifest are files with these texts; those of the workspace have their names as texts.
    fn check(text: &str, licences: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("crates/a");
        fs::create_dir_all(&folder).unwrap();
        for name in LICENCES {
            fs::write(root.path().join(name), name).unwrap();
        }
        for (name, text) in licences {
            fs::write(folder.join(name), text).unwrap();
        }
        let manifest = TextFile { path: "crates/a/Cargo.toml".to_string(), text: text.to_string() };
        let found = faults(root.path(), &[manifest]);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (fault, part) in found.iter().zip(expected) {
            assert!(fault.text.contains(part), "{fault:?}");
        }
    }

    #[test]
    fn a_manifest_says_what_a_registry_asks_for() {
        let whole =
            "description = \"a\"\nkeywords = []\ncategories = []\nreadme = \"README.md\"\nlicense.workspace = true\n";
        let licences = LICENCES.map(|name| (name, name));
        check(whole, &licences, &[]);
        check(whole, &licences[..1], &["the LICENSE-APACHE next to it"]);
        // What git writes for a link where it makes none.
        check(whole, &[("LICENSE-MIT", "../../LICENSE-MIT"), licences[1]], &["the LICENSE-MIT next to it"]);
        check(&whole.replace("readme", "x"), &licences, &["no readme"]);
        check("publish = false\n", &[], &[]);
        let depends = |table: &str| format!("publish = false\n[{table}]\na = {{ features = [\"simulation\"] }}\n");
        check(&depends("dev-dependencies"), &[], &[]);
        check(&depends("dependencies"), &[], &["for [dev-dependencies] alone"]);
        check("publish.workspace = true\n", &[], &[]);
    }
}
