//! `cargo xtask test`: every test of the workspace, and one line at the end that says how it went.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::needs;
use crate::tally::Tally;

/// The tests that need a server or a browser. They are behind features, so that `cargo test --workspace` needs none.
const SERVER_TESTS: [&str; 7] = [
    "taximeter-gate/server-tests",
    "taximeter-ledger/server-tests",
    "taximeter-postgres/server-tests",
    "taximeter-server/server-tests",
    "taximeter-testing/server-tests",
    "taximeter/server-tests",
    "xtask/server-tests",
];

/// Runs the tests. The last line of all is `N passed, N failed`, also where the reason of a failure stands before it.
pub fn run(arguments: &[String]) -> ExitCode {
    let mut tally = Tally::default();
    let result = cargo_test(arguments).and_then(|mut command| {
        let folder = TestFolder::new()?;
        command.env("TMPDIR", &folder.0);
        run_and_count(&mut command, &mut std::io::stdout(), &mut tally)
    });
    if let Err(message) = &result {
        eprintln!("error: {message}");
    }
    println!("{tally}");
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A folder for the temporary files of the tests, removed with all that they left there.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Result<TestFolder, String> {
        let folder = std::env::temp_dir().join(format!("taximeter-tests-{}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => Ok(TestFolder(folder)),
            Err(error) => Err(format!("the folder {} cannot be made: {error}", folder.display())),
        }
    }

    fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let left = self.left_behind();
        if !left.is_empty() {
            eprintln!("the tests left temporary files behind, which are removed now: {}", left.join(", "));
        }
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("the folder {} could not be removed: {error}", self.0.display());
        }
    }
}

/// Whether something may be installed, and the arguments for cargo. `--no-install` before `--` is for this task and not for cargo.
fn own_flags(arguments: &[String]) -> (bool, Vec<&String>) {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let is_own = |at: usize, argument: &str| at < end && argument == "--no-install";
    let rest =
        arguments.iter().enumerate().filter(|(at, argument)| !is_own(*at, argument)).map(|(_, argument)| argument);
    let rest: Vec<&String> = rest.collect();
    (rest.len() == arguments.len(), rest)
}

/// What the tests run in, with the programs that they need; servers they start themselves.
fn cargo_test(arguments: &[String]) -> Result<Command, String> {
    let (may_install, arguments) = own_flags(arguments);
    let programs = needs::provide(&built(), may_install)?;
    let mut command = if programs.is_some() { cargo("test") } else { plain_cargo("test") };
    command.arg("--no-fail-fast").args(arguments).envs(programs.into_iter().flatten());
    Ok(command)
}

/// Where cargo puts what it builds.
pub(crate) fn built() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    workspace_root().join(folder)
}

/// A command of cargo on the whole workspace, with the tests that need a server. Not with all features: one of them builds OpenSSL.
pub fn cargo(command: &str) -> Command {
    let mut cargo = plain_cargo(command);
    cargo.args(["--features", &SERVER_TESTS.join(",")]);
    cargo
}

/// The same without those tests.
fn plain_cargo(command: &str) -> Command {
    // The cargo that runs this task, not another one that is first in the path.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut cargo = Command::new(cargo);
    cargo.args([command, "--workspace"]).current_dir(workspace_root());
    cargo
}

pub(crate) fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Passes the output on as it comes, counts the results in it, and says what failed.
fn run_and_count(command: &mut Command, shown: &mut impl Write, tally: &mut Tally) -> Result<(), String> {
    // Compiler messages are on standard error and go straight through; the results are on standard output.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} could not be started: {error}", command.get_program().display()))?;
    if let Some(output) = child.stdout.take() {
        pass_on(BufReader::new(output), shown, tally)
            .map_err(|error| format!("the output of the tests was cut off: {error}"))?;
    }
    let status = child.wait().map_err(|error| format!("the tests were lost: {error}"))?;
    verdict(status, *tally)
}

fn pass_on(mut output: impl BufRead, shown: &mut impl Write, tally: &mut Tally) -> std::io::Result<()> {
    // Lines of bytes, since a test may print what is not text.
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        // Only the end of the output can lack its newline; the closing line stands alone all the same.
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        shown.write_all(&line)?;
        tally.count(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// What is not a success, in words. A test binary that does not compile or crashes prints no result, so counting is not enough.
fn verdict(status: ExitStatus, tally: Tally) -> Result<(), String> {
    match (tally.failed, status.success()) {
        (0, true) => Ok(()),
        (0, false) => Err(format!(
            "no test failed, but `cargo test` did ({status}): something did not compile or crashed; see above"
        )),
        (failed, _) => Err(format!("failed tests: {failed}; see above")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The output is kept here: on standard output these results would be counted with the real ones.
    fn check(script: &str, closing_line: &str, expected: Result<(), &str>) {
        let (mut shown, mut tally) = (Vec::new(), Tally::default());
        let result = run_and_count(Command::new("sh").args(["-c", script]), &mut shown, &mut tally);
        assert_eq!(tally.to_string(), closing_line, "{script}");
        assert!(shown.is_empty() || shown.ends_with(b"\n"), "{script}");
        match (result, expected) {
            (Ok(()), Ok(())) => {}
            (Err(message), Err(part)) => assert!(message.contains(part), "{script}: {message}"),
            (got, expected) => panic!("{script}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn success_needs_both_the_counts_and_cargo() {
        let passed = "printf 'test result: ok. 2 passed; 0 failed; 0 ignored\\n'";
        let failed = "printf 'test result: FAILED. 1 passed; 1 failed; 0 ignored\\n'";
        check(passed, "2 passed, 0 failed", Ok(()));
        check(&format!("{failed}; exit 101"), "1 passed, 1 failed", Err("failed tests: 1"));
        check(&format!("{passed}; exit 101"), "2 passed, 0 failed", Err("did not compile or crashed"));
        check("exit 101", "0 passed, 0 failed", Err("did not compile or crashed"));
        check(failed, "1 passed, 1 failed", Err("failed tests: 1"));
        check(&format!("{passed}; kill -9 $$"), "2 passed, 0 failed", Err("signal"));
    }

    #[test]
    fn no_install_is_taken_anywhere_before_what_is_for_the_tests() {
        for (arguments, may_install, passed_on) in [
            ("", true, ""),
            ("--no-install", false, ""),
            ("-p taximeter --no-install --test gate", false, "-p taximeter --test gate"),
            ("-p taximeter -- --no-install", true, "-p taximeter -- --no-install"),
        ] {
            let given: Vec<String> = arguments.split_whitespace().map(str::to_string).collect();
            let (may, rest) = own_flags(&given);
            let rest: Vec<&str> = rest.into_iter().map(String::as_str).collect();
            assert_eq!((may, rest.join(" ").as_str()), (may_install, passed_on), "{arguments}");
        }
    }

    #[test]
    fn what_tests_leave_behind_is_removed() {
        let folder = TestFolder::new().unwrap();
        let path = folder.0.clone();
        std::fs::create_dir(path.join("left")).unwrap();
        assert_eq!(folder.left_behind(), ["left"]);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn no_test_that_needs_a_server_is_left_out() {
        let crates = std::fs::read_dir(workspace_root().join("crates")).unwrap();
        let mut manifests: Vec<PathBuf> = crates.map(|entry| entry.unwrap().path().join("Cargo.toml")).collect();
        manifests.push(workspace_root().join("xtask/Cargo.toml"));
        let mut features: Vec<String> = Vec::new();
        for manifest in manifests {
            let text = std::fs::read_to_string(&manifest).unwrap_or_default();
            if text.lines().any(|line| line.starts_with("server-tests =")) {
                let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
                features.push(format!("{}/server-tests", name.trim_matches('"')));
            }
        }
        features.sort();
        assert_eq!(features, SERVER_TESTS, "the list in test.rs and the manifests differ");
    }

    #[test]
    fn a_cargo_that_is_not_there_is_a_failure() {
        let mut tally = Tally::default();
        let result = run_and_count(&mut Command::new("/nowhere/cargo"), &mut Vec::new(), &mut tally);
        assert!(result.unwrap_err().contains("/nowhere/cargo could not be started"));
    }

    #[test]
    fn output_that_is_not_text_does_not_hide_a_result() {
        check("printf '\\377\\ntest result: ok. 2 passed; 0 failed;'", "2 passed, 0 failed", Ok(()));
    }
}
