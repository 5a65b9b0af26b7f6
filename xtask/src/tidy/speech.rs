//! Whose words are whose: a library says what is wrong, and the command line alone says what to type. And what is wrong is known by an
//! error's kind, never by its text.

use super::Fault;
use super::sources::TextFile;

/// The crates that are no libraries of the product: the command line, and what tests stand on, which starts programs with their flags.
const NOT_LIBRARIES: [&str; 2] = ["cli", "testing"];

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
pub fn faults(sources: &[TextFile]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| source.is_production()) {
        let Some(name) = source.crate_folder() else { continue };
        for (line, what) in faults_of(source, !NOT_LIBRARIES.contains(&name)) {
            let text = format!("{}:{line}: {what}", source.path);
            faults.push(Fault { rule: "speech", subject: source.path.clone(), text });
        }
    }
    faults
}

/// The lines of a file with what is wrong with them. Comments are for those who read the program.
fn faults_of(source: &TextFile, is_library: bool) -> Vec<(usize, &'static str)> {
    let lines = source.code().filter(|(_, line)| !line.trim_start().starts_with("//"));
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

    use super::super::sources;
    use crate::test::workspace_root;

    fn found(line: &str, is_library: bool) -> usize {
        let source = TextFile { path: "crates/a/src/lib.rs".to_string(), text: line.to_string() };
        faults_of(&source, is_library).len()
    }

    /// A static is never dropped, so that its folder would stay when the tests are over.
    #[test]
    fn no_folder_for_temporary_files_is_static() {
        let sources = sources::all(&workspace_root()).unwrap();
        let files: Vec<&TextFile> = sources.iter().filter(|source| source.is_rust()).collect();
        assert!(files.len() > 300, "{} files", files.len());
        for source in files {
            let is_static = |line: &&str| line.trim_start().starts_with("static ") && line.contains("TempDir");
            assert_eq!(source.text.lines().find(is_static), None, "{}", source.path);
        }
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
            assert_eq!(found(line, true), 1, "{line}");
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
            assert_eq!(found(line, true), 0, "{line}");
        }
        assert_eq!(found("Failure::Usage(\"give one with --key\")", false), 0);
    }
}
