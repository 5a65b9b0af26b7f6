//! The commands of README.md, run as they stand there, print what it says.

use std::process::Command;

/// Fenced blocks of the README: their language and text, in order.
fn blocks() -> Vec<(String, String)> {
    let readme = include_str!("../../../README.md");
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

#[test]
fn every_command_prints_what_the_readme_says() {
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let folder = program.parent().expect("the program is in a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let blocks = blocks();
    let mut ran = 0;
    for pair in blocks.windows(2) {
        let [(language, command), (next_language, expected)] = pair else { unreachable!("windows of two") };
        if language != "sh" {
            continue;
        }
        assert_eq!(next_language, "text", "what {command:?} prints must stand below it");
        let output = Command::new("sh").args(["-c", command]).env("PATH", &path).output().expect("a shell");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), *expected, "{command}");
        ran += 1;
    }
    assert!(ran >= 3, "only {ran} commands were found");
}
