//! Counting tests from what `cargo test` prints.

use std::fmt;

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number that passed.
    pub passed: u64,
    /// The number that failed.
    pub failed: u64,
}

impl Tally {
    /// Counts a line if it is the result of a test binary or of a crate's examples in documentation; other lines count nothing.
    pub fn count(&mut self, line: &str) {
        if let Some(result) = result_of(line) {
            self.passed += result.passed;
            self.failed += result.failed;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn result_of(line: &str) -> Option<Tally> {
    let line = without_colours(line);
    let (_, counts) = line.trim_start().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |name: &str| {
        counts.split(';').find_map(|part| part.trim().strip_suffix(name)?.strip_suffix(' ')?.parse::<u64>().ok())
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")? })
}

/// `--color always` puts escape sequences around the verdict.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let plain = parts.next().unwrap_or_default().to_string();
    // A sequence starts with `[` or `(` and ends with the first letter.
    parts.fold(plain, |plain, part| {
        let rest = part.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &part[end + 1..]);
        plain + rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &str) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.count(line));
        assert_eq!(tally.to_string(), expected, "{lines:?}");
    }

    #[test]
    fn results_of_all_binaries_add_up() {
        check(&[], "0 passed, 0 failed");
        check(
            &[
                "running 3 tests",
                "test tests::one ... ok",
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                "",
                "   Doc-tests taximeter_accounting",
                "test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
            ],
            "15 passed, 2 failed",
        );
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        check(
            &["test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"],
            "3 passed, 1 failed",
        );
        check(&["test result: \u{1b}[31mFAILED\u{1b}[0m. 0 passed; 4 failed; 0 ignored"], "0 passed, 4 failed");
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "test result_of_a_test ... ok",
            "5 passed; 5 failed",
            "test result: ok",
            "test result: ok. many passed; 0 failed",
            "the line said test result: ok. 5 passed; 0 failed;",
        ] {
            check(&[line], "0 passed, 0 failed");
        }
    }
}
