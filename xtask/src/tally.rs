//! Counting tests from what cargo-nextest, `cargo test` and pytest print.

use std::fmt;

/// How many tests passed and failed, and how many were not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number that passed.
    pub passed: u64,
    /// The number that failed, crashed or hung.
    pub failed: u64,
    /// The number that was not to be run.
    pub left_out: u64,
}

/// What prints the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// One summary at the end. The output of a test that failed is above it, with a result of its own that does not count.
    Nextest,
    /// A result for each test binary, and for the examples in the documentation of each crate.
    CargoTest,
    /// One summary at the end.
    Pytest,
}

impl Tally {
    /// Counts a line if it is a result; other lines count nothing.
    pub fn count(&mut self, line: &str, printed: Printed) {
        let line = without_colours(line);
        let result = match printed {
            Printed::Nextest => summary_of(line.trim()),
            Printed::CargoTest => result_of(line.trim()),
            Printed::Pytest => pytest_summary_of(line.trim()),
        };
        if let Some(result) = result {
            self.add(result);
        }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.left_out += other.left_out;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn result_of(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |name| counts.split(';').find_map(|part| number_before(part.trim(), name));
    Some(Tally { passed: count("passed")?, failed: count("failed")?, left_out: 0 })
}

/// Reads `Summary [  1.234s] 9 tests run: 4 passed (2 slow, 1 leaky), 2 failed, 1 exec failed, 2 timed out, 3 skipped`.
fn summary_of(line: &str) -> Option<Tally> {
    let (_, rest) = line.strip_prefix("Summary [")?.split_once("] ")?;
    let (_, counts) = rest.split_once(" run: ")?;
    let count = |name| counts.split(", ").find_map(|part| number_before(part, name)).unwrap_or_default();
    let failed = ["failed", "exec failed", "timed out"].iter().map(|name| count(name)).sum();
    Some(Tally { passed: count("passed"), failed, left_out: count("skipped") })
}

/// Reads `2 failed, 310 passed, 3 skipped in 61.23s (0:01:01)`, with or without a frame around it.
fn pytest_summary_of(line: &str) -> Option<Tally> {
    let (counts, _) = line.trim_matches('=').trim().rsplit_once(" in ").filter(|(_, time)| time.contains('s'))?;
    let count = |names: &[&str]| -> u64 {
        let number = |part: &str| names.iter().find_map(|name| number_before(part.trim(), name));
        counts.split(',').filter_map(number).sum()
    };
    let is_summary = |part: &str| part.trim().split(' ').next().is_some_and(|number| number.parse::<u64>().is_ok());
    let tally = Tally {
        passed: count(&["passed"]),
        failed: count(&["failed", "error", "errors"]),
        left_out: count(&["skipped"]),
    };
    (counts.split(',').all(is_summary) && tally != Tally::default()).then_some(tally)
}

/// The number in `12 passed`, also where more is said about it in brackets.
fn number_before(part: &str, name: &str) -> Option<u64> {
    let (part, _) = part.split_once(" (").unwrap_or((part, ""));
    part.strip_suffix(name)?.strip_suffix(' ')?.parse().ok()
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
        lines.iter().for_each(|line| tally.count(line, Printed::CargoTest));
        assert_eq!(tally.to_string(), expected, "{lines:?}");
    }

    fn check_summary(summary: &str, expected: [u64; 3]) {
        let mut tally = Tally::default();
        tally.count(summary, Printed::Nextest);
        assert_eq!([tally.passed, tally.failed, tally.left_out], expected, "{summary}");
    }

    #[test]
    fn a_summary_of_nextest_is_read() {
        check_summary("     Summary [   0.010s] 3 tests run: 3 passed, 0 skipped\n", [3, 0, 0]);
        check_summary("     Summary [  61.000s] 1 test run: 1 passed (1 slow), 7 skipped", [1, 0, 7]);
        check_summary(
            "Summary [ 1.0s] 9 tests run: 4 passed (2 slow, 1 leaky), 2 failed, 1 exec failed, 2 timed out, 3 skipped",
            [4, 5, 3],
        );
        check_summary(
            "Summary [ 1.0s] 9/20 tests run: 8 passed, 1 failed (1 due to being leaky), 3 skipped",
            [8, 1, 3],
        );
        check_summary(
            "\u{1b}[31;1m     Summary\u{1b}[0m [ 1.0s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m \
             \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped",
            [2, 0, 0],
        );
        // What a test printed that failed.
        check_summary("    test result: FAILED. 0 passed; 1 failed; 0 ignored;", [0, 0, 0]);
        check_summary("        PASS [   0.003s] ledger crash::summary", [0, 0, 0]);
    }

    #[test]
    fn a_summary_of_pytest_is_read() {
        let check = |line: &str, expected: [u64; 3]| {
            let mut tally = Tally::default();
            tally.count(line, Printed::Pytest);
            assert_eq!([tally.passed, tally.failed, tally.left_out], expected, "{line}");
        };
        check("310 passed in 12.34s", [310, 0, 0]);
        check("==== 2 failed, 310 passed, 3 skipped, 1 warning in 61.23s (0:01:01) ====", [310, 2, 3]);
        check("1 error in 0.10s", [0, 1, 0]);
        check("\u{1b}[32m\u{1b}[32m\u{1b}[1m5 passed\u{1b}[0m\u{1b}[32m in 0.10s\u{1b}[0m\u{1b}[0m", [5, 0, 0]);
        check("FAILED tests/test_ledger.py::test_a - found 3 passed in 2 rooms", [0, 0, 0]);
        check("no tests ran in 0.01s", [0, 0, 0]);
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
