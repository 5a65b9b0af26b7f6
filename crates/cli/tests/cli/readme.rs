//! The commands of README.md, run as they stand there, print what it says.

use std::process::Command;

/// Fenced blocks of the README: their language and text, in order.
fn blocks() -> Vec<(String, String)> {
    let readme = include_str!("../../../../README.md");
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in readme.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => open = Some((language.to_string(), String::new())),
            (None, Some((_, text))) => text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    blocks
}

/// Whether a text is what a pattern says, where `…` stands for anything in a line.
fn matches(pattern: &str, text: &str) -> bool {
    pattern.lines().count() == text.lines().count()
        && pattern.lines().zip(text.lines()).all(|(pattern, line)| line_matches(pattern, line))
}

/// A text in which any number, key and width of a column stands for any other: answers have noise.
fn without_numbers(text: &str) -> String {
    let word = |word: &str| match word {
        _ if word.contains(|c: char| c.is_ascii_digit()) => "0".to_string(),
        _ => word.replace("──", "─").trim_start_matches('─').to_string(),
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ").trim_end().to_string();
    text.lines().map(|text| line(text) + "\n").collect()
}

/// In a line with a `…` columns need not stand where they do in the other.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((first, others)) = pattern.split_once('…') else { return pattern == line };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = words(line);
    let Some(mut rest) = line.strip_prefix(&words(first)) else { return false };
    for piece in others.split('…').map(words) {
        match rest.split_once(&piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    others.ends_with('…') || others.is_empty() || rest.is_empty()
}

#[test]
fn every_command_prints_what_the_readme_says() {
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let programs = program.parent().expect("the program is in a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    // One folder for all: what an earlier command leaves there is what a later one finds.
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = blocks();
    let mut ran = 0;
    for pair in blocks.windows(2) {
        let [(language, command), (next_language, expected)] = pair else { unreachable!("windows of two") };
        if language != "sh" {
            continue;
        }
        assert!(next_language.starts_with("text"), "what {command:?} prints must stand below it");
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder.path()).env("PATH", &path);
        let output = shell
            .env_remove("TAXIMETER_LEDGER")
            .env_remove("TAXIMETER_WITNESS")
            .env_remove("TAXIMETER_DATA")
            .env_remove("TAXIMETER_SERVER")
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        let refused = expected.contains("would be refused") || expected.starts_with("refused");
        let code = if refused { 3 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let (expected, printed) = match next_language.as_str() {
            "text noisy" => (without_numbers(expected), without_numbers(&printed)),
            _ => (expected.clone(), printed.into_owned()),
        };
        assert!(matches(&expected, &printed), "{command} prints:\n{printed}");
        ran += 1;
    }
    assert!(ran >= 13, "only {ran} commands were found");
}

#[test]
fn only_what_is_left_open_may_differ() {
    for (pattern, text, expected) in [
        ("a\nb\n", "a\nb\n", true),
        ("a\nb\n", "a\nc\n", false),
        ("a\n", "a\nb\n", false),
        ("hash …\n", "hash 12ab\n", true),
        ("hash …\n", "key 12ab\n", false),
        ("at … by …, end\n", "at noon by bus, end\n", true),
        ("at … by …, end\n", "at noon by bus, start\n", false),
        ("at … by …, end\n", "at noon by bus, end of day\n", false),
        ("  3  …     x  y\n", "  3  12:00  x  y\n", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern:?} and {text:?}");
    }
}
