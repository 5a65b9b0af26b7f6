//! Whose words are whose: a library says what is wrong, and the command line alone says what to type. And what is wrong is known by an
//! error's kind, never by its text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::test::workspace_root;

/// The crates that have no command line.
const LIBRARIES: [&str; 6] = ["accounting", "lab", "ledger", "gate", "api", "server"];

/// The commands of the program, which a library does not name in backquotes.
const COMMANDS: [&str; 11] =
    ["account", "ask", "charge", "dataset", "export", "history", "import", "ledger", "quote", "token", "verify"];

/// What holds the text of an error, and what would decide by it.
const TEXTS: [&str; 5] = ["to_string()", "detail", "message", "reason", "why"];
const DECIDING: [&str; 8] = [
    "contains(",
    "starts_with(",
    "ends_with(",
    "strip_prefix(",
    "strip_suffix(",
    "replace(",
    "split_once(",
    "rsplit_once(",
];

/// Every line of the program that uses words which are not its own, or decides by them.
pub fn faults() -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for name in LIBRARIES.into_iter().chain(["cli"]) {
        let mut files = Vec::new();
        let folder = workspace_root().join("crates").join(name).join("src");
        sources(&folder, &mut files).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
        for path in files {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let of_file = faults_of(&text, name != "cli").into_iter();
            faults.extend(of_file.map(|(line, what)| format!("{}:{line}: {what}", path.display())));
        }
    }
    Ok(faults)
}

/// The files of a folder that are no tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            files.push(path);
        }
    }
    Ok(())
}

/// The lines of a file with what is wrong with them. Comments are for those who read the program, and unit tests come last.
fn faults_of(text: &str, is_library: bool) -> Vec<(usize, &'static str)> {
    let code = text.lines().take_while(|line| *line != "mod tests {");
    let lines = (1..).zip(code).filter(|(_, line)| !line.trim_start().starts_with("//"));
    let mut faults = Vec::new();
    for (number, line) in lines {
        if is_library && has_flag(line) {
            faults.push((number, "a library names a flag; say what is wrong, and leave the flag to the command line"));
        }
        if is_library && COMMANDS.iter().any(|command| has_command(line, command)) {
            faults.push((number, "a library names a command; leave that to the command line"));
        }
        if TEXTS.iter().any(|text| DECIDING.iter().any(|deciding| line.contains(&format!("{text}.{deciding}\"")))) {
            faults.push((number, "an error's text decides; match on its kind"));
        }
    }
    faults
}

/// Whether a line has two dashes and a word, which is no Rust outside of a string.
fn has_flag(line: &str) -> bool {
    line.match_indices("--")
        .any(|(at, _)| !line[..at].ends_with('-') && line[at + 2..].starts_with(|next: char| next.is_ascii_lowercase()))
}

fn has_command(line: &str, command: &str) -> bool {
    let start = format!("`{command}");
    line.match_indices(&start).any(|(at, _)| line[at + start.len()..].starts_with([' ', '`']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_sources(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all_sources(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }

    /// A static is never dropped, so that its folder would stay when the tests are over.
    #[test]
    fn no_folder_for_temporary_files_is_static() {
        let mut files = Vec::new();
        ["crates", "bench", "xtask"].iter().for_each(|folder| all_sources(&workspace_root().join(folder), &mut files));
        assert!(files.len() > 300, "{} files", files.len());
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let is_static = |line: &&str| line.trim_start().starts_with("static ") && line.contains("TempDir");
            assert_eq!(text.lines().find(is_static), None, "{}", path.display());
        }
    }

    #[test]
    fn the_program_has_none() {
        let faults = faults().unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn they_are_found_where_they_are() {
        for line in [
            "Err(Error::input(\"give a key with --key\"))",
            "         (--witness)\",",
            "format!(\"there is no account {name}; `account create` makes one\")",
            "Error::integrity(\"it is gone; run `verify`\")",
            "match error.to_string().contains(\"above\") {",
            "problem.detail.strip_prefix(\"account \")",
            "message if message.starts_with(\"the column\") => error,",
            "let (message, place) = message.rsplit_once(\" at Line: \")?;",
            "and see \" code { \"taximeter ledger restore --help\" } \".\"",
        ] {
            assert_eq!(faults_of(line, true).len(), 1, "{line}");
        }
        for line in [
            "    // As with --key.",
            "    /// What `verify` does.",
            "let boundary = \"----edge\";",
            "let x = a - -b;",
            "format!(\"make it with `createdb`\")",
            "if text.contains('.') {",
            "#[cfg(test)]\nmod tests {\n    assert!(error.to_string().contains(\"--key\"));",
        ] {
            assert_eq!(faults_of(line, true), [], "{line}");
        }
        assert_eq!(faults_of("Failure::Usage(\"give one with --key\")", false), []);
    }
}
