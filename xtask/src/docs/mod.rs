//! `cargo xtask docs`: a site with a search, made by mdBook from the documents as they are, in target/site.
//!
//! mdBook wants all pages in one folder, beside their table of contents. So the documents are copied to target/site-source, at the same
//! paths as in the repository, together with the files that they link to, and docs/SUMMARY.md is put above them.

mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use self::links::{is_outside, path_of_link, targets, with_targets};
use crate::downloads::must;
use crate::needs::output;
use crate::test::{built, workspace_root};

/// What makes the site, MPL-2.0 licence. Pinned: a new release may write links otherwise, and that is a change of its own.
const MDBOOK: &str = "0.5.4";

/// The table of contents, from the root of the workspace.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Makes the site, and checks its links.
pub fn run(arguments: &[String]) -> ExitCode {
    if let Some(argument) = arguments.first() {
        eprintln!("error: docs takes no argument {argument:?}");
        return ExitCode::from(crate::WRONG_USAGE);
    }
    match make() {
        Ok((site, pages)) => {
            println!("the site is in {}: {pages} pages, and every link in them leads somewhere", site.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make() -> Result<(PathBuf, usize), String> {
    let program = built().join("tools").join("bin").join("mdbook");
    if !has_mdbook(&program) {
        eprintln!("installing mdbook {MDBOOK} into {}: it makes the site", built().join("tools").display());
        fetch_mdbook(&built())?;
    }
    let (source, site) = (built().join("site-source"), built().join("site"));
    for folder in [&source, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
    }
    gather(&workspace_root(), &source)?;
    let mut build = Command::new(&program);
    let ended = build.arg("build").arg("--dest-dir").arg(&site).arg(&source).env("RUST_LOG", "warn").status();
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("mdbook ended with {status}")),
        Err(error) => return Err(format!("{}: {error}", program.display())),
    }
    let broken = links::broken(&site)?;
    if !broken.is_empty() {
        return Err(format!("{} links of the site lead nowhere:\n{}", broken.len(), broken.join("\n")));
    }
    Ok((site, documents(&workspace_root())?.len()))
}

fn has_mdbook(program: &Path) -> bool {
    let line = [program.to_str().unwrap_or_default(), "--version"];
    output(&line).is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(MDBOOK))
}

/// Builds mdBook without optimisation and without its server: that takes less time than it saves.
fn fetch_mdbook(built: &Path) -> Result<(), String> {
    let root = built.join("tools").display().to_string();
    let what = ["--no-default-features", "--features", "search", "--version", MDBOOK, "--root", &root, "mdbook"];
    must(&[&["cargo", "install", "--quiet", "--locked", "--debug"], what.as_slice()].concat())
}

/// The documents in the table of contents, from the root of the workspace.
fn documents(root: &Path) -> Result<Vec<String>, String> {
    let summary = read(&root.join(SUMMARY))?;
    targets(&summary).map(|target| path_of_link(SUMMARY, target)).collect()
}

/// Copies the documents and what they link to, and writes the table of contents for where they are now.
fn gather(root: &Path, source: &Path) -> Result<(), String> {
    let pages = documents(root)?;
    let mut others = BTreeSet::new();
    for page in &pages {
        let text = read(&root.join(page))?;
        for target in targets(&text).filter(|target| !is_outside(target)) {
            let path = path_of_link(page, target)?;
            if !pages.contains(&path) {
                others.insert(path);
            }
        }
        // mdBook calls the page of a README.md index.html, but leaves the links to it alone.
        write(&source.join("src").join(page), &with_targets(&text, as_index))?;
    }
    for path in others {
        let to = source.join("src").join(&path);
        let made = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(root.join(&path), &to));
        made.map_err(|error| format!("{path}, which a document links to, cannot be copied: {error}"))?;
    }
    let from_root = |target: &str| path_of_link(SUMMARY, target).unwrap_or_else(|_| target.to_string());
    write(&source.join("src/SUMMARY.md"), &with_targets(&read(&root.join(SUMMARY))?, from_root))?;
    for file in ["book.toml", "theme.css"] {
        write(&source.join(file), &read(&root.join("docs").join(file))?)?;
    }
    Ok(())
}

/// A link to a README.md as mdBook wants it.
fn as_index(target: &str) -> String {
    let (path, anchor) = target.find('#').map_or((target, ""), |at| target.split_at(at));
    match path.strip_suffix("README.md").filter(|folder| folder.is_empty() || folder.ends_with('/')) {
        Some(folder) if !is_outside(target) => format!("{folder}index.md{anchor}"),
        _ => target.to_string(),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    made.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What mdBook would be given; it is not needed for this, so it also runs where mdBook is not installed.
    #[test]
    fn every_document_and_what_it_links_to_can_be_gathered() {
        let source = tempfile::tempdir().unwrap();
        gather(&workspace_root(), source.path()).unwrap();
        let summary = fs::read_to_string(source.path().join("src/SUMMARY.md")).unwrap();
        for target in targets(&summary) {
            assert!(source.path().join("src").join(target).is_file(), "{target}");
        }
        for file in ["src/docs/figures/queries.svg", "src/LICENSE-MIT", "book.toml", "theme.css"] {
            assert!(source.path().join(file).is_file(), "{file}");
        }
        let team = fs::read_to_string(source.path().join("src/docs/guide/5-only-the-ledger.md")).unwrap();
        assert!(team.contains("(../../python/index.md)"));
    }

    #[test]
    fn a_link_to_a_readme_leads_to_the_index() {
        for (target, expected) in [
            ("README.md", "index.md"),
            ("../a/README.md#part", "../a/index.md#part"),
            ("a.md", "a.md"),
            ("https://example.org/README.md", "https://example.org/README.md"),
            ("NOT-README.md", "NOT-README.md"),
        ] {
            assert_eq!(as_index(target), expected);
        }
    }
}
