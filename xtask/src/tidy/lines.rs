//! How wide lines and how long files are, and words that are not plain English.

use super::Fault;
use super::sources::TextFile;

/// The widest line, in characters.
const WIDTH: usize = 140;

/// The longest file of production code, in lines.
const LENGTH: usize = 400;

/// Words that make a sentence hard to read.
const WORDS: [&str; 12] = [
    "whoever",
    "somebody",
    "so many",
    "come of it",
    "what would come of",
    "beside itself",
    "how manyth",
    "leave by out",
    "as many as they",
    "as large as they are many",
    "records do not hold",
    "there is no such thing",
];

/// The file with those words.
const THIS: &str = "xtask/src/tidy/lines.rs";

/// Lines that are too wide or have such words, and files that are too long.
pub fn faults(sources: &[TextFile]) -> Vec<Fault> {
    sources.iter().flat_map(faults_of).collect()
}

fn faults_of(source: &TextFile) -> Vec<Fault> {
    let path = &source.path;
    let fault = |rule, text: String| Fault { rule, subject: path.clone(), text };
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(source.text.lines()) {
        let width = line.chars().count();
        if width > WIDTH && !is_row(source, line) {
            faults.push(fault("width", format!("{path}:{number}: {width} characters, more than {WIDTH}")));
        }
        let lower = line.to_lowercase();
        for word in WORDS.iter().filter(|_| path != THIS) {
            let times = lower.matches(word).count();
            faults.extend((0..times).map(|_| fault("words", format!("{path}:{number}: {word:?}; say it plainly"))));
        }
    }
    let length = source.text.lines().count();
    if source.is_production() && length > LENGTH {
        faults.push(fault("length", format!("{path}: {length} lines, more than {LENGTH}; make it a folder")));
    }
    faults
}

/// Whether a line is a row of a table, which Markdown cannot break.
fn is_row(source: &TextFile, line: &str) -> bool {
    source.path.ends_with(".md") && line.trim_start().starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let source = TextFile { path: path.to_string(), text: text.to_string() };
        let rules: Vec<&str> = faults_of(&source).iter().map(|fault| fault.rule).collect();
        assert_eq!(rules, expected, "{path}: {text}");
    }

    #[test]
    fn wide_lines_long_files_and_odd_words_are_found() {
        let wide = "é".repeat(141);
        check("crates/a/src/lib.rs", &wide, &["width"]);
        check("crates/a/src/lib.rs", &wide[2..], &[]);
        check("docs/a.md", &format!("| {wide} |"), &[]);
        check("docs/a.md", &wide, &["width"]);
        let long = "line\n".repeat(401);
        check("crates/a/src/lib.rs", &long, &["length"]);
        check("crates/a/src/lib.rs", &long[5..], &[]);
        check("crates/a/tests/a/main.rs", &long, &[]);
        check("crates/a/src/tests/a.rs", &long, &[]);
        check("README.md", "Whoever asks somebody", &["words", "words"]);
        check("README.md", "who asks someone", &[]);
        check("README.md", "The records do not hold, and what would come of them?", &["words", "words"]);
    }
}
