//! The files that people write.

use std::fs;
use std::path::Path;

/// A file with text in it.
pub struct TextFile {
    /// From the root of the workspace, with `/`.
    pub path: String,
    pub text: String,
}

/// What text files are called at the end.
const ENDINGS: [&str; 9] = ["rs", "md", "toml", "sh", "js", "css", "c", "py", "run"];

/// Folders without anything that people wrote.
const LEFT_OUT: [&str; 3] = ["target", ".git", "proptest-regressions"];

impl TextFile {
    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is a program's own code, and not one of its tests.
    pub fn is_production(&self) -> bool {
        let is_test = self.path.contains("/tests/") || self.path.ends_with("/tests.rs");
        self.is_rust() && self.path.contains("/src/") && !is_test
    }

    /// The crate's folder within `crates`, if it has one there.
    pub fn crate_folder(&self) -> Option<&str> {
        Some(self.path.strip_prefix("crates/")?.split_once('/')?.0)
    }

    /// The lines of code with their numbers, without unit tests, which come last.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines().take_while(|line| *line != "mod tests {"))
    }
}

/// All of them, in order.
pub fn all(root: &Path) -> Result<Vec<TextFile>, String> {
    let mut sources = Vec::new();
    add(root, root, &mut sources).map_err(|error| format!("the sources cannot be read: {error}"))?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn add(root: &Path, folder: &Path, sources: &mut Vec<TextFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !LEFT_OUT.contains(&name.as_ref()) {
                add(root, &path, sources)?;
            }
        } else if ENDINGS.contains(&name.rsplit('.').next().unwrap_or_default()) {
            let path = path.strip_prefix(root).unwrap_or(&path);
            let text = fs::read_to_string(root.join(path))?;
            sources.push(TextFile { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::workspace_root;

    #[test]
    fn the_files_of_the_workspace_are_found() {
        let sources = all(&workspace_root()).unwrap();
        for path in ["README.md", ".ci/run", "xtask/src/tidy/sources.rs", "crates/ledger/tests/ledger/main.rs"] {
            assert!(sources.iter().any(|source| source.path == path), "{path}");
        }
        assert!(sources.iter().all(|source| !source.path.starts_with("target")));
        assert!(sources.iter().filter(|source| source.is_production()).count() > 200);
    }
}
