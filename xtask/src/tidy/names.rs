//! A type's name is unique in the workspace, unless it is the same idea.

use std::collections::BTreeMap;

use super::Fault;
use super::sources::TextFile;

const KINDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];

/// Types that share their name with another one, each counted under the name.
pub fn faults(sources: &[TextFile]) -> Vec<Fault> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_production()) {
        for (number, line) in source.code() {
            // In an `impl`, a type is a part of a trait and no name of its own.
            if let Some(name) = name_of(line) {
                places.entry(name).or_default().push(format!("{}:{number}", source.path));
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    let fault = |(name, places): (&str, Vec<String>)| {
        let text = format!("{name} is the name of {} types: {}", places.len(), places.join(", "));
        // The first may keep the name.
        vec![text; places.len() - 1]
            .into_iter()
            .map(|text| Fault { rule: "name", subject: name.to_string(), text })
            .collect()
    };
    shared.flat_map(|shared| -> Vec<Fault> { fault(shared) }).collect()
}

/// The name of the type that a line makes known to others.
fn name_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line.strip_prefix("pub ")?,
    };
    let rest = KINDS.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_types_is_found() {
        let source = |path: &str, text: &str| TextFile { path: path.to_string(), text: text.to_string() };
        let sources = [
            source("crates/a/src/lib.rs", "pub struct Outcome {\npub(crate) enum Once<T> {\nstruct Own;"),
            source("crates/b/src/lib.rs", "pub type Outcome = u8;\nstruct Own;\nmod tests {\npub struct Once;"),
            source("crates/b/tests/b.rs", "pub struct Outcome;"),
            source("crates/b/src/c/tests.rs", "pub struct Outcome;"),
        ];
        let found = faults(&sources);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.contains("crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"), "{found:?}");
        assert_eq!(found[0].subject, "Outcome");
    }
}
