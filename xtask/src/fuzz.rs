//! `cargo xtask fuzz`: libFuzzer on the targets of the folder `fuzz`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;

use crate::tally::Tally;
use crate::test::{built, cargo, workspace_root};

/// How long each target runs, unless it is said.
pub const SECONDS: u64 = 60;

/// How many targets run at the same time.
const AT_A_TIME: usize = 2;

/// How long one input may take. Much more than any should: the fuzzer gives way to what runs beside it.
const TIMEOUT: &str = "-timeout=120";

/// How much memory all inputs of a target may take together.
const MEMORY: &str = "-rss_limit_mb=2048";

/// How many lines of a failed target's output are shown.
const SHOWN: usize = 25;

/// Runs the targets that are named, or all of them.
pub fn run(arguments: &[String]) -> ExitCode {
    match fuzz(arguments) {
        Ok(tally) => {
            println!("{tally}");
            if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(crate::WRONG_USAGE)
        }
    }
}

fn fuzz(arguments: &[String]) -> Result<Tally, String> {
    let FuzzWish { targets, seconds } = FuzzWish::parse(arguments, targets()?)?;
    Ok(Fuzzer::build()?.run(&targets, seconds, &[]))
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct FuzzWish {
    targets: Vec<String>,
    seconds: u64,
}

impl FuzzWish {
    fn parse(arguments: &[String], known: Vec<String>) -> Result<FuzzWish, String> {
        let mut wish = FuzzWish { targets: Vec::new(), seconds: SECONDS };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--seconds" {
                let seconds = arguments.next().and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds > 0);
                wish.seconds = seconds.ok_or("--seconds needs a whole number above 0, such as 28800 for a night")?;
            } else if known.contains(argument) {
                wish.targets.push(argument.clone());
            } else {
                return Err(format!("there is no target {argument:?}; there are {}", known.join(", ")));
            }
        }
        if wish.targets.is_empty() {
            wish.targets = known;
        }
        Ok(wish)
    }
}

fn corpus() -> PathBuf {
    workspace_root().join("fuzz/corpus")
}

/// The names of all targets: each has a folder.
pub fn targets() -> Result<Vec<String>, String> {
    let folders = fs::read_dir(corpus()).map_err(|error| format!("{}: {error}", corpus().display()))?;
    let mut names: Vec<String> = folders.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// The program with all targets.
pub struct Fuzzer {
    program: PathBuf,
}

impl Fuzzer {
    /// Builds it. Our own crates are compiled once more, instrumented; their dependencies are those of the tests.
    pub fn build() -> Result<Fuzzer, String> {
        let mut build = cargo("test");
        build.args(["--no-run", "--quiet", "--test", "fuzzer", "--features", "taximeter-fuzz/libfuzzer"]);
        build.args(["--message-format", "json-render-diagnostics"]);
        build.env("RUSTC_WORKSPACE_WRAPPER", workspace_root().join("fuzz/instrument"));
        let output = build.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cargo could not be started: {error}"))?;
        if !output.status.success() {
            return Err("the fuzzer could not be built; see above".to_string());
        }
        let program = String::from_utf8_lossy(&output.stdout).lines().find_map(executable);
        Ok(Fuzzer { program: program.ok_or("cargo does not say where the fuzzer is")? })
    }

    /// Runs the targets, two at a time, and says of each how it went.
    pub fn run(&self, targets: &[String], seconds: u64, variables: &[(&str, OsString)]) -> Tally {
        let (waiting, tally) = (Mutex::new(targets.iter()), Mutex::new(Tally::default()));
        let next = || waiting.lock().expect("no target panics while the list is held").next();
        std::thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    while let Some(target) = next() {
                        let result = self.run_target(target, seconds, variables);
                        let mut tally = tally.lock().expect("no target panics while the tally is held");
                        match result {
                            Ok(summary) => {
                                println!("fuzz {target}: {summary}");
                                tally.passed += 1;
                            }
                            Err(message) => {
                                println!("fuzz {target}: FAILED\n{message}");
                                tally.failed += 1;
                            }
                        }
                    }
                });
            }
        });
        tally.into_inner().expect("all targets have ended")
    }

    fn run_target(&self, target: &str, seconds: u64, variables: &[(&str, OsString)]) -> Result<String, String> {
        let folder = built().join("fuzz").join(target);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder.join("inputs")).map_err(failed)?;
        let log = folder.join("log.txt");
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        // Behind what runs beside it: how far it gets in its time matters less.
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(&self.program);
        command.arg(format!("-max_total_time={seconds}")).args([TIMEOUT, MEMORY, "-print_final_stats=1"]);
        command.arg(format!("-artifact_prefix={}/", folder.display()));
        let words = workspace_root().join(format!("fuzz/words/{target}.dict"));
        if words.exists() {
            command.arg(format!("-dict={}", words.display()));
        }
        // What is found goes into the first folder; all are read.
        command.arg(folder.join("inputs")).arg(corpus().join(target));
        command.env("TAXIMETER_FUZZ_TARGET", target).envs(variables.iter().cloned());
        let status = command.stdin(Stdio::null()).stdout(output).stderr(errors).status();
        let status = status.map_err(|error| format!("nice could not be started: {error}"))?;
        let text = String::from_utf8_lossy(&fs::read(&log).map_err(failed)?).into_owned();
        if status.success() { Ok(summary(&text)) } else { Err(failure(&text, target, &log)) }
    }
}

/// The program of the fuzzer, in a message of cargo.
fn executable(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    (message["target"]["name"] == "fuzzer").then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
}

/// How much was tried.
fn summary(log: &str) -> String {
    let after = |mark: &str| log.rsplit(mark).next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("?");
    format!("{} inputs, {} branches", after("stat::number_of_executed_units:"), after("cov:"))
}

/// What a target said last, and what to do.
fn failure(log: &str, target: &str, path: &Path) -> String {
    let lines: Vec<&str> =
        log.lines().filter(|line| !line.starts_with('#') && !line.starts_with("\tNEW_FUNC")).collect();
    let last = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
    format!(
        "{last}\nthe whole output: {}\nwhen it is fixed, copy the failing input to fuzz/corpus/{target}, named after the fault",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], expected: Result<(&[&str], u64), &str>) {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let wish = FuzzWish::parse(&owned(arguments), owned(&["amount", "cost"]));
        match (wish, expected) {
            (Ok(wish), Ok((targets, seconds))) => assert_eq!(wish, FuzzWish { targets: owned(targets), seconds }),
            (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
            (got, expected) => panic!("{arguments:?}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn targets_and_seconds_are_read() {
        check(&[], Ok((&["amount", "cost"], SECONDS)));
        check(&["cost", "--seconds", "28800"], Ok((&["cost"], 28_800)));
        check(&["--seconds", "0"], Err("whole number above 0"));
        check(&["--seconds"], Err("whole number above 0"));
        check(&["costs"], Err("there are amount, cost"));
    }

    #[test]
    fn the_output_of_the_fuzzer_is_read() {
        let log =
            "#2 INITED cov: 12 ft: 3\n#970686\tDONE   cov: 1075 ft: 2784\nstat::number_of_executed_units: 970686\n";
        assert_eq!(summary(log), "970686 inputs, 1075 branches");
        let message = failure("#1 NEW\nthread panicked at x\nSUMMARY: deadly signal\n", "cost", Path::new("/log"));
        assert!(
            message.starts_with("thread panicked at x\nSUMMARY") && message.contains("fuzz/corpus/cost"),
            "{message}"
        );
        let executed = r#"{"reason":"compiler-artifact","target":{"name":"fuzzer"},"executable":"/built/fuzzer-1"}"#;
        assert_eq!(executable(executed), Some(PathBuf::from("/built/fuzzer-1")));
        assert_eq!(executable(r#"{"reason":"compiler-artifact","target":{"name":"csv"},"executable":null}"#), None);
    }
}
