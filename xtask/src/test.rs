//! `cargo xtask test`: every test of the workspace, and one line at the end that says how it went.

mod folder;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use taximeter_testing::{POSTGRES_VARIABLE, PrivatePostgres, QUICK_VARIABLE};

use self::folder::TestFolder;
use crate::fuzz::{self, Fuzzer};
use crate::needs::{self, Provided};
use crate::python::{self, PythonTests};
use crate::tally::{Printed, Tally};

/// The tests that need a server, a driver or a browser. They are behind features, so that `cargo test --workspace` needs none.
const TEST_FEATURES: [&str; 12] = [
    "taximeter-engine-adbc/driver-tests",
    "taximeter-gate/driver-tests",
    "taximeter-gate/server-tests",
    "taximeter-ledger/server-tests",
    "taximeter-postgres/server-tests",
    "taximeter-server/otlp",
    "taximeter-server/server-tests",
    "taximeter-testing/server-tests",
    "taximeter/driver-tests",
    "taximeter/otlp",
    "taximeter/server-tests",
    "xtask/server-tests",
];

/// What is asked of this task; the rest is for cargo-nextest.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    may_install: bool,
    is_quick: bool,
    /// Whether only the tests of the Python package are run.
    is_python: bool,
    /// Whether the tests that need PyTorch are run too.
    with_torch: bool,
    rest: Vec<String>,
}

impl Wish {
    fn parse(arguments: &[String]) -> Wish {
        const OWN: [&str; 4] = ["--no-install", "--quick", "--python", "--with-torch"];
        // What stands behind `--` is for the tests.
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let (before, behind) = arguments.split_at(end);
        let has = |name: &str| before.iter().any(|argument| argument == name);
        let rest = before.iter().filter(|argument| !OWN.contains(&argument.as_str())).chain(behind).cloned().collect();
        Wish {
            may_install: !has("--no-install"),
            is_quick: has("--quick"),
            is_python: has("--python"),
            with_torch: has("--with-torch"),
            rest,
        }
    }
}

/// Runs the tests. The last line of all is `N passed, N failed`, also where the reason of a failure stands before it.
pub fn run(arguments: &[String]) -> ExitCode {
    let (wish, mut tally) = (Wish::parse(arguments), Tally::default());
    let result = run_tests(&wish, &mut tally);
    if let Err(message) = &result {
        eprintln!("error: {message}");
    }
    if wish.is_quick {
        println!("{}", left_out(&wish, tally));
    }
    println!("{tally}");
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a quick run does not do. With arguments for cargo-nextest, its number of tests left out is also about those.
fn left_out(wish: &Wish, tally: Tally) -> String {
    let number = if wish.rest.is_empty() { format!("{} ", tally.left_out) } else { String::new() };
    format!(
        "quick: fewer random inputs; skipped: {number}crash loops, tests in a browser and planted defects; the fuzzer, SmartNoise, Tumult"
    )
}

fn run_tests(wish: &Wish, tally: &mut Tally) -> Result<(), String> {
    let provided = needs::provide(&built(), wish.may_install)?;
    let folder = TestFolder::new(wish.is_quick)?;
    // Every test is a process: one server for all of them, and not one for each.
    let server = provided.programs.as_ref().map(|_| PrivatePostgres::start()).transpose()?;
    let mut variables: Vec<(&str, OsString)> = vec![("TMPDIR", folder.path().into())];
    variables.extend(server.iter().map(|server| (POSTGRES_VARIABLE, server.url("postgres").into())));
    variables.extend(wish.is_quick.then(|| (QUICK_VARIABLE, "1".into())));
    variables.extend(std::io::stdout().is_terminal().then(|| ("CARGO_TERM_COLOR", "always".into())));
    variables.extend(provided.programs.iter().flatten().map(|(name, path)| (*name, path.into())));

    if wish.is_python {
        let environments = python_environments(wish)?;
        let wheel = build_wheel(&environments)?;
        // The program that the tests of a server start.
        let build = bare_cargo("build").args(["--quiet", "--package", "taximeter"]).status();
        if !build.is_ok_and(|status| status.success()) {
            return Err("the program could not be built; see above".to_string());
        }
        return run_python(wish, &environments, wheel.as_deref(), variables, &mut std::io::stdout(), tally);
    }
    if !wish.rest.is_empty() {
        println!(
            "the arguments are for cargo-nextest: the examples in documentation and the Python package are skipped"
        );
        let tests = nextest(&provided, wish);
        return run_and_count(tests, Printed::Nextest, &variables, &mut std::io::stdout(), tally);
    }
    std::thread::scope(|scope| {
        // Most of what this takes is waiting for a network, while the tests are built.
        let environments = scope.spawn(|| python_environments(wish));
        let mut build = with_features(plain_cargo("test"), &provided);
        build.arg("--no-run");
        run_and_count(build, Printed::CargoTest, &variables, &mut std::io::stdout(), &mut Tally::default())?;
        // All that is not for cargo-nextest runs beside its tests, which also wait: for a disk, a server or a timeout. It begins when they
        // are built, since it would keep cargo from building them, and is shown after them.
        let others = scope.spawn(|| {
            let environments = joined(environments)?;
            let wheel = build_wheel(&environments)?;
            let (mut shown, mut tally) = (Vec::new(), Tally::default());
            // cargo-nextest does not know the examples in documentation.
            let mut examples = with_features(plain_cargo("test"), &provided);
            examples.args(["--doc", "--no-fail-fast"]);
            let examples = run_and_count(examples, Printed::CargoTest, &variables, &mut shown, &mut tally);
            let package = run_python(wish, &environments, wheel.as_deref(), variables.clone(), &mut shown, &mut tally);
            Ok((shown, tally, examples.and(package)))
        });
        // So is the fuzzer, which then runs beside the tests.
        let fuzzed = scope.spawn(|| match wish.is_quick || provided.programs.is_none() {
            true => Ok(Tally::default()),
            false => Ok(Fuzzer::build()?.run(&fuzz::targets()?, fuzz::SECONDS, &variables)),
        });
        let tests = nextest(&provided, wish);
        let tests = run_and_count(tests, Printed::Nextest, &variables, &mut std::io::stdout(), tally);
        let (shown, counted, others) = joined(others)?;
        std::io::stdout().write_all(&shown).map_err(|error| format!("the results cannot be shown: {error}"))?;
        tally.add(counted);
        let fuzzed = joined(fuzzed)?;
        tally.add(fuzzed);
        let fuzzed = match fuzzed.failed {
            0 => Ok(()),
            failed => Err(format!("failed targets of the fuzzer: {failed}; see above")),
        };
        tests.and(others).and(fuzzed)
    })
}

/// What a thread returned.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    thread.join().unwrap_or_else(|_| {
        Err("the doc tests, the fuzzer or the Python package could not be prepared; see above".to_string())
    })
}

/// The environments of the Python package's tests, made where they are missing. Without the first one, which builds the wheel, none.
fn python_environments(wish: &Wish) -> Result<Vec<PythonTests>, String> {
    let prepare = |folder| PythonTests::prepare(&built(), folder, wish.may_install);
    let Some(first) = prepare("")? else { return Ok(Vec::new()) };
    // Spark and its virtual machine take most of the time of these.
    let peers = python::APART.into_iter().filter(|_| !wish.is_quick);
    let apart = peers.chain(wish.with_torch.then_some(python::WITH_TORCH)).map(prepare);
    Ok(std::iter::once(first).chain(apart.collect::<Result<Vec<_>, _>>()?.into_iter().flatten()).collect())
}

/// The wheel, built in the first environment; nothing if there is none.
fn build_wheel(environments: &[PythonTests]) -> Result<Option<PathBuf>, String> {
    environments.first().map(PythonTests::build_wheel).transpose()
}

/// The tests of the Python package, in every environment.
fn run_python(
    wish: &Wish,
    environments: &[PythonTests],
    wheel: Option<&Path>,
    mut variables: Vec<(&str, OsString)>,
    shown: &mut impl Write,
    tally: &mut Tally,
) -> Result<(), String> {
    variables.push(("TAXIMETER_PROGRAM", built().join("debug/taximeter").into()));
    let mut result = Ok(());
    for tests in environments {
        tests.install_wheel(wheel.ok_or("there is no wheel")?)?;
        let tested = run_and_count(tests.pytest(), Printed::Pytest, &variables, shown, tally);
        result = result.and(tested);
    }
    if !wish.with_torch {
        writeln!(shown, "the tests that need PyTorch or JAX are skipped: run `cargo xtask test --with-torch` for them")
            .map_err(|error| format!("the results cannot be shown: {error}"))?;
    }
    result
}

/// Runs the tests with what `.config/nextest.toml` says about them.
fn nextest(provided: &Provided, wish: &Wish) -> Command {
    let mut nextest = outside_of_this_package(Command::new(&provided.nextest));
    nextest.args(["nextest", "run", "--workspace", "--no-fail-fast"]).current_dir(workspace_root());
    if wish.is_quick {
        nextest.args(["--profile", "quick"]);
    }
    // More at a time than there are processors: tests also wait, for a disk, a server or a timeout; those of a quick run more often.
    let is_said = wish.rest.iter().any(|argument| argument.starts_with("--test-threads") || argument.starts_with("-j"));
    if let (false, Ok(processors)) = (is_said, std::thread::available_parallelism()) {
        let threads = if wish.is_quick { processors.get() * 3 } else { processors.get() + 1 };
        nextest.args(["--test-threads", &threads.to_string()]);
    }
    let mut nextest = with_features(nextest, provided);
    nextest.args(&wish.rest);
    nextest
}

/// A command with the tests that need a server, if there is what they need.
fn with_features(mut command: Command, provided: &Provided) -> Command {
    if provided.programs.is_some() {
        command.args(["--features", &TEST_FEATURES.join(",")]);
    }
    command
}

/// Where cargo puts what it builds.
pub(crate) fn built() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    workspace_root().join(folder)
}

/// A command of cargo on the whole workspace, with the tests that need a server.
pub fn cargo(command: &str) -> Command {
    let mut cargo = plain_cargo(command);
    cargo.args(["--features", &TEST_FEATURES.join(",")]);
    cargo
}

/// The same without those tests.
fn plain_cargo(command: &str) -> Command {
    let mut cargo = bare_cargo(command);
    cargo.arg("--workspace");
    cargo
}

/// A command of the cargo that runs this task, not of another one that is first in the path.
pub(crate) fn bare_cargo(command: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut cargo = outside_of_this_package(Command::new(cargo));
    cargo.arg(command).current_dir(workspace_root());
    cargo
}

/// `cargo xtask` tells this program which package it is. Build scripts of dependencies look at that, and would run again each time that
/// cargo is used with and without this program.
pub(crate) fn outside_of_this_package(mut command: Command) -> Command {
    let variables = std::env::vars_os().map(|(name, _)| name);
    let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for name in variables.filter(|name| name.to_str().is_some_and(is_of_package)) {
        command.env_remove(name);
    }
    command
}

pub(crate) fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Passes the output on as it comes, counts the results in it, and says what failed.
fn run_and_count(
    mut command: Command,
    printed: Printed,
    variables: &[(&str, OsString)],
    shown: &mut impl Write,
    tally: &mut Tally,
) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    // Results are on standard output or on standard error, depending on who prints them.
    let (output, input) = std::io::pipe().map_err(|error| format!("there is no pipe for the tests: {error}"))?;
    let errors = input.try_clone().map_err(|error| format!("there is no pipe for the tests: {error}"))?;
    command.envs(variables.iter().cloned());
    let child = command.stdin(Stdio::null()).stdout(input).stderr(errors).spawn();
    // It holds an end of the pipe, whose other end is read until all of them are closed.
    drop(command);
    let mut child = child.map_err(|error| format!("{program} could not be started: {error}"))?;
    let mut own = Tally::default();
    pass_on(BufReader::new(output), shown, |line| own.count(line, printed))
        .map_err(|error| format!("the output of the tests was cut off: {error}"))?;
    let status = child.wait().map_err(|error| format!("the tests were lost: {error}"))?;
    tally.add(own);
    verdict(status, own)
}

fn pass_on(mut output: impl BufRead, shown: &mut impl Write, mut count: impl FnMut(&str)) -> std::io::Result<()> {
    // Lines of bytes, since a test may print what is not text.
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        // Only the end of the output can lack its newline; the closing line stands alone all the same.
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        shown.write_all(&line)?;
        count(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// What is not a success, in words. A test binary that does not compile or crashes prints no result, so counting is not enough.
fn verdict(status: ExitStatus, tally: Tally) -> Result<(), String> {
    match (tally.failed, status.success()) {
        (0, true) => Ok(()),
        (0, false) => {
            Err(format!("no test failed, but cargo did ({status}): something did not compile or crashed; see above"))
        }
        (failed, _) => Err(format!("failed tests: {failed}; see above")),
    }
}

#[cfg(all(test, unix))]
mod tests;
