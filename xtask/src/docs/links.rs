//! The links of documents, and of the pages that are made from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The targets of the links and pictures in a document.
pub fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// A document with other targets.
pub fn with_targets(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((target, rest)) => format!("{text}]({}){rest}", change(target)),
        None => format!("{text}]({part}"),
    })
}

/// Whether a link leads out of the documents, or stays on its page.
pub fn is_outside(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.starts_with('#')
}

/// The path, from the same root as that of the document, that a link in it leads to.
pub fn path_of_link(document: &str, target: &str) -> Result<String, String> {
    let target = target.split('#').next().unwrap_or_default();
    let mut path: Vec<&str> = document.split('/').collect();
    path.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." if path.pop().is_none() => return Err(format!("{document}: {target} leads out of the project")),
            ".." => {}
            part => path.push(part),
        }
    }
    Ok(path.join("/"))
}

/// Links of the pages in a folder to files or places that are not there.
pub fn broken(site: &Path) -> Result<Vec<String>, String> {
    let mut files = BTreeSet::new();
    list(site, site, &mut files).map_err(|error| format!("{}: {error}", site.display()))?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        let text = fs::read_to_string(site.join(file)).map_err(|error| format!("{file}: {error}"))?;
        pages.insert(file.as_str(), text);
    }
    Ok(pages.iter().flat_map(|(page, text)| broken_of(page, text, &files, &pages)).collect())
}

fn broken_of(page: &str, text: &str, files: &BTreeSet<String>, pages: &BTreeMap<&str, String>) -> Vec<String> {
    let named = ["href=\"", "src=\""].into_iter().flat_map(|attribute| values(text, attribute));
    let is_broken = |target: &&str| {
        if target.is_empty() || target.contains(':') {
            return false;
        }
        let path = if target.starts_with('#') { Ok(page.to_string()) } else { path_of_link(page, target) };
        let Ok(path) = path else { return true };
        let anchor = target.split_once('#').map(|(_, anchor)| anchor).filter(|anchor| !anchor.is_empty());
        let has_anchor =
            |anchor| pages.get(path.as_str()).is_some_and(|text| text.contains(&format!("id=\"{anchor}\"")));
        !files.contains(&path) || !anchor.is_none_or(has_anchor)
    };
    named.filter(is_broken).map(|target| format!("{page}: {target}")).collect()
}

/// The values of an attribute.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

fn list(root: &Path, folder: &Path, files: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_and_changed() {
        let text = "See [a](a.md#x), ![b](../b.svg) and (c.md).";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["a.md#x", "../b.svg"]);
        assert_eq!(
            with_targets(text, |target| format!("<{target}>")),
            "See [a](<a.md#x>), ![b](<../b.svg>) and (c.md)."
        );
        for (document, target, expected) in [
            ("docs/guide/a.md", "../b.md#x", Some("docs/b.md")),
            ("README.md", "docs/b.md", Some("docs/b.md")),
            ("README.md", "../b.md", None),
        ] {
            assert_eq!(path_of_link(document, target).ok().as_deref(), expected);
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let site = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(site.path().join(path), text).unwrap();
        fs::create_dir(site.path().join("docs")).unwrap();
        let first =
            r##"<h1 id="top">x</h1><a href="docs/a.html#part"><a href="https://example.org/x"><a href="#top">"##;
        write("index.html", first);
        write("docs/a.html", r#"<h2 id="part">x</h2><img src="../x.svg"><a href="../index.html">"#);
        write("x.svg", "");
        assert_eq!(broken(site.path()).unwrap(), Vec::<String>::new());
        write("docs/a.html", r##"<img src="x.svg"><a href="../index.html#bottom"><a href="#none"><a href="../../x">"##);
        let expected =
            ["../index.html#bottom", "#none", "../../x", "x.svg"].map(|target| format!("docs/a.html: {target}"));
        let mut expected = expected.to_vec();
        expected.push("index.html: docs/a.html#part".to_string());
        assert_eq!(broken(site.path()).unwrap(), expected);
    }
}
