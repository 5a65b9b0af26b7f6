//! How the tests are run, and what is made of their results.

use super::*;

/// The output is kept here: on standard output these results would be counted with the real ones.
fn check(script: &str, closing_line: &str, expected: Result<(), &str>) {
    let (mut shown, mut tally) = (Vec::new(), Tally::default());
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let result = run_and_count(command, Printed::CargoTest, &[], &mut shown, &mut tally);
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
fn what_tests_leave_behind_is_removed() {
    let folder = TestFolder::new(true).unwrap();
    let path = folder.path().to_path_buf();
    std::fs::create_dir(path.join("left")).unwrap();
    assert_eq!(folder.left_behind(), ["left"]);
    drop(folder);
    assert!(!path.exists());
}

#[test]
fn no_test_that_needs_a_server_or_a_driver_is_left_out() {
    let crates = std::fs::read_dir(workspace_root().join("crates")).unwrap();
    let mut manifests: Vec<PathBuf> = crates.map(|entry| entry.unwrap().path().join("Cargo.toml")).collect();
    manifests.push(workspace_root().join("xtask/Cargo.toml"));
    let mut features: Vec<String> = Vec::new();
    for manifest in manifests {
        let text = std::fs::read_to_string(&manifest).unwrap_or_default();
        for feature in ["driver-tests", "otlp", "server-tests"] {
            if text.lines().any(|line| line.starts_with(&format!("{feature} ="))) {
                let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
                features.push(format!("{}/{feature}", name.trim_matches('"')));
            }
        }
    }
    features.sort();
    assert_eq!(features, TEST_FEATURES, "the list in test.rs and the manifests differ");
}

#[test]
fn a_cargo_that_is_not_there_is_a_failure() {
    let mut tally = Tally::default();
    let result = run_and_count(Command::new("/nowhere/cargo"), Printed::Nextest, &[], &mut Vec::new(), &mut tally);
    assert!(result.unwrap_err().contains("/nowhere/cargo could not be started"));
}

#[test]
fn output_that_is_not_text_does_not_hide_a_result() {
    check("printf '\\377\\ntest result: ok. 2 passed; 0 failed;'", "2 passed, 0 failed", Ok(()));
}

#[test]
fn results_on_standard_error_count_as_well() {
    check("printf 'test result: ok. 2 passed; 0 failed;' >&2", "2 passed, 0 failed", Ok(()));
}

#[test]
fn a_quick_run_says_how_many_tests_it_left_out() {
    let tally = Tally { passed: 9, failed: 0, left_out: 41 };
    let quick = || Wish::parse(&["--quick".to_string()]);
    let wish = |rest: &[String]| Wish { rest: rest.to_vec(), ..quick() };
    assert!(
        left_out(&wish(&[]), tally).ends_with(
            "skipped: 41 crash loops, tests in a browser and planted defects; the fuzzer, SmartNoise, Tumult"
        )
    );
    let named = left_out(&wish(&["crash".to_string()]), tally);
    assert!(
        named.ends_with("skipped: crash loops, tests in a browser and planted defects; the fuzzer, SmartNoise, Tumult"),
        "{named}"
    );
}

#[test]
fn arguments_for_this_task_are_taken_anywhere_before_what_is_for_the_tests() {
    let parse = |text: &str| Wish::parse(&text.split_whitespace().map(str::to_string).collect::<Vec<_>>());
    let wish = |may_install, is_quick, rest: &[&str]| {
        let rest = rest.iter().map(|argument| argument.to_string()).collect();
        Wish { may_install, is_quick, is_python: false, with_torch: false, rest }
    };
    assert_eq!(parse(""), wish(true, false, &[]));
    assert_eq!(parse("--quick"), wish(true, true, &[]));
    assert_eq!(parse("--quick --no-install crash"), wish(false, true, &["crash"]));
    assert_eq!(parse("--with-torch"), Wish { with_torch: true, ..wish(true, false, &[]) });
    assert_eq!(parse("crash --quick"), wish(true, true, &["crash"]));
    assert_eq!(parse("crash -- --quick"), wish(true, false, &["crash", "--", "--quick"]));
}
