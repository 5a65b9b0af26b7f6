//! A crate that others can use says what a registry asks for, and carries its licences.

use std::path::Path;

use super::Fault;
use super::sources::TextFile;

/// What the manifest of such a crate has.
const KEYS: [&str; 5] = ["description", "keywords", "categories", "readme", "license.workspace"];

/// Beside the manifest; a link to the file of the workspace will do.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What manifests lack. Crates that are not published need none of it.
pub fn faults(root: &Path, sources: &[TextFile]) -> Vec<Fault> {
    let manifests = sources.iter().filter(|source| source.path.starts_with("crates/") && is_published(source));
    manifests.flat_map(|manifest| faults_of(root, manifest)).collect()
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
    let licences = LICENCES.into_iter().filter(|name| !folder.join(name).is_file());
    let keys = keys.map(|key| fault(format!("it has no {key}, which a registry requires")));
    keys.chain(licences.map(|name| fault(format!("there is no {name} next to it; link to the one of the workspace"))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, licences: &[&str], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("crates/a");
        std::fs::create_dir_all(&folder).unwrap();
        for licence in licences {
            std::fs::write(folder.join(licence), "").unwrap();
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
        check(whole, &LICENCES, &[]);
        check(whole, &LICENCES[..1], &["no LICENSE-APACHE"]);
        check(&whole.replace("readme", "x"), &LICENCES, &["no readme"]);
        check("publish = false\n", &[], &[]);
        check("publish.workspace = true\n", &[], &[]);
    }
}
