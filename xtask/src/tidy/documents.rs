//! Every crate says what it is, every document can be found from another one, and every crate has one integration binary.

use super::Fault;
use super::sources::TextFile;
use crate::docs::SUMMARY;

/// Integration binaries beside the one of their crate, since their test needs a process of its own also under `cargo test`.
const ALONE: [&str; 1] = ["crates/server/tests/panics.rs"];

/// Crates without a README.md, documents without a link to them or outside of the table of contents, and integration binaries that should
/// be modules.
pub fn faults(sources: &[TextFile]) -> Vec<Fault> {
    let mut faults = readmes(sources);
    faults.extend(links(sources));
    faults.extend(contents(sources));
    faults.extend(binaries(sources));
    faults
}

fn fault(rule: &'static str, subject: &str, what: &str) -> Fault {
    Fault { rule, subject: subject.to_string(), text: format!("{subject}: {what}") }
}

fn readmes(sources: &[TextFile]) -> Vec<Fault> {
    let folders = sources.iter().filter_map(|source| source.path.strip_suffix("/Cargo.toml"));
    let has_readme = |folder: &&str| sources.iter().any(|source| source.path == format!("{folder}/README.md"));
    let say = "this crate has no README.md; say what it is, show an example, and say how it is tested";
    folders.filter(|folder| !has_readme(folder)).map(|folder| fault("readme", folder, say)).collect()
}

fn links(sources: &[TextFile]) -> Vec<Fault> {
    let is_document = |path: &str| path.starts_with("docs/") && path.ends_with(".md") && path != SUMMARY;
    let documents = sources.iter().filter(|source| is_document(&source.path));
    let is_linked = |document: &&TextFile| {
        let links = |source: &TextFile| {
            let path = path_from(&source.path, &document.path);
            [")", "#"].iter().any(|end| source.text.contains(&format!("]({path}{end}")))
        };
        let others = sources.iter().filter(|source| source.path == "README.md" || is_document(&source.path));
        others.filter(|source| source.path != document.path).any(links)
    };
    let say = "neither README.md nor another document links to it";
    documents.filter(|document| !is_linked(document)).map(|document| fault("link", &document.path, say)).collect()
}

/// Every document is a page of the site, if there is a table of contents.
fn contents(sources: &[TextFile]) -> Vec<Fault> {
    let Some(summary) = sources.iter().find(|source| source.path == SUMMARY) else { return Vec::new() };
    let is_document = |path: &str| path.ends_with(".md") && path != SUMMARY && !path.contains("/tests/");
    let is_listed = |path: &str| summary.text.contains(&format!("]({})", path_from(SUMMARY, path)));
    let left_out = sources.iter().filter(|source| is_document(&source.path) && !is_listed(&source.path));
    left_out.map(|source| fault("contents", &source.path, "docs/SUMMARY.md does not list it")).collect()
}

/// The path of one file as a link in another writes it.
fn path_from(source: &str, target: &str) -> String {
    let folders = |path: &str| path.split('/').map(str::to_string).collect::<Vec<_>>();
    let (mut from, to) = (folders(source), folders(target));
    from.pop();
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..".to_string(), from.len() - common);
    up.chain(to[common..].iter().cloned()).collect::<Vec<_>>().join("/")
}

fn binaries(sources: &[TextFile]) -> Vec<Fault> {
    let is_beside = |path: &str| match path.split_once("/tests/") {
        Some((folder, name)) if !folder.contains("/src") => {
            let own = format!("{}/main.rs", folder.rsplit('/').next().unwrap_or_default());
            let is_binary = name.ends_with(".rs") && !name.contains('/') || name.ends_with("/main.rs");
            // A crate with a single file of tests needs no folder.
            let is_only =
                sources.iter().filter(|other| other.path.starts_with(&format!("{folder}/tests/"))).count() == 1;
            is_binary && name != own && !is_only && !ALONE.contains(&path)
        }
        _ => false,
    };
    let beside = sources.iter().filter(|source| is_beside(&source.path));
    let say = "this is a second integration test program of its crate; make it a module of tests/<crate>/main.rs";
    beside.map(|source| fault("binary", &source.path, say)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let source = |(path, text): &(&str, &str)| TextFile { path: path.to_string(), text: text.to_string() };
        let found = faults(&files.iter().map(source).collect::<Vec<_>>());
        let found: Vec<String> = found.iter().map(|fault| format!("{} {}", fault.rule, fault.subject)).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn a_crate_without_a_readme_is_found() {
        check(
            &[("Cargo.toml", ""), ("crates/a/Cargo.toml", ""), ("bench/Cargo.toml", ""), ("bench/README.md", "")],
            &["readme crates/a"],
        );
    }

    #[test]
    fn a_document_without_a_link_is_found() {
        let documents = [("docs/a.md", "see [b](b.md#part)"), ("docs/b.md", "see [itself](b.md)")];
        check(&documents, &["link docs/a.md"]);
        check(&[documents[0], documents[1], ("README.md", "[a](docs/a.md)")], &[]);
        check(&[documents[1], ("README.md", "docs/b.md, and [b](b.md)")], &["link docs/b.md"]);
        let page = ("docs/guide/c.md", "[a](../a.md)");
        check(&[documents[0], documents[1], page], &["link docs/guide/c.md"]);
        check(&[documents[0], documents[1], page, ("docs/guide/d.md", "[c](c.md)")], &["link docs/guide/d.md"]);
        check(&[documents[0], page, ("docs/b.md", "[c](guide/c.md)")], &[]);
    }

    #[test]
    fn a_document_that_is_no_page_is_found() {
        let page = ("docs/a.md", "");
        let others = [("README.md", "[a](docs/a.md)"), ("crates/a/tests/data/README.md", ""), page];
        check(&[others[0], others[1], page, (SUMMARY, "[x](../README.md) [a](a.md)")], &[]);
        check(&[others[0], others[1], page, (SUMMARY, "[a](a.md)")], &["contents README.md"]);
        check(&[others[0], page, (SUMMARY, "[x](../README.md)")], &["contents docs/a.md"]);
    }

    #[test]
    fn a_second_integration_binary_is_found() {
        check(
            &[("crates/a/tests/a/main.rs", ""), ("crates/a/tests/a/b.rs", ""), ("crates/a/tests/data/x.py", "")],
            &[],
        );
        check(&[("crates/a/tests/a/main.rs", ""), ("crates/a/tests/b.rs", "")], &["binary crates/a/tests/b.rs"]);
        check(
            &[("crates/a/tests/a/main.rs", ""), ("crates/a/tests/b/main.rs", "")],
            &["binary crates/a/tests/b/main.rs"],
        );
        check(&[("xtask/tests/postgres.rs", ""), ("crates/a/src/tests/b.rs", "")], &[]);
        check(&[("crates/server/tests/server/main.rs", ""), (ALONE[0], "")], &[]);
    }
}
