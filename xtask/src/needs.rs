//! What the tests need beside cargo, and how it comes here.

use std::process::{Command, Output, Stdio};

/// Debian's name for the server programs of the version it supports. The package also makes and starts a server of its own, as it does
/// on every machine; the tests leave that one alone, and so does this.
const POSTGRESQL: &str = "postgresql";

/// Debian's name for what makes a Python environment of one's own.
const PYTHON: &str = "python3-venv";

/// Debian's names for the browser, and for what gives it orders.
const BROWSER: [&str; 2] = ["chromium", "chromium-driver"];

/// Makes sure that what the tests need is here; installs what is missing where that is possible without asking.
pub fn provide() -> Result<(), String> {
    match plan(&Here::look())? {
        Plan::Nothing => Ok(()),
        Plan::Install { prefix, packages } => install(prefix, &packages),
    }
}

/// What this machine has.
struct Here {
    compiler: bool,
    server: bool,
    python: bool,
    browser: bool,
    apt: bool,
    root: bool,
    sudo: bool,
}

impl Here {
    fn look() -> Here {
        let server = taximeter_testing::find_programs().is_ok();
        let python = succeeds("python3", &["-c", "import venv, ensurepip"]);
        let browser = taximeter_testing::find_browser().is_ok();
        // How something could be installed matters only if something is missing; a machine may log that sudo was tried.
        let missing = !server || !python || !browser;
        Here {
            compiler: succeeds("cc", &["--version"]),
            server,
            python,
            browser,
            apt: missing && succeeds("apt-get", &["--version"]),
            root: missing && output(&["id", "-u"]).is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: missing && succeeds("sudo", &["-n", "true"]),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install {
        /// What makes `apt-get` run as root.
        prefix: &'static [&'static str],
        packages: Vec<&'static str>,
    },
}

/// What to do, given what is here. An error says what is missing and how to install it.
fn plan(here: &Here) -> Result<Plan, String> {
    if !here.compiler {
        return Err("the tests need a C compiler, and there is no `cc`; install one with `apt-get install gcc libc6-dev`, or what \
                    this system has in its place"
            .to_string());
    }
    let needs = [
        (here.server, &[POSTGRESQL][..], "PostgreSQL's server programs (initdb, postgres, psql)"),
        (here.python, &[PYTHON], "Python 3 with its modules venv and ensurepip"),
        (here.browser, &BROWSER, "the browser Chromium with its chromedriver (chromium, chromedriver)"),
    ];
    let missing: Vec<_> = needs.iter().filter(|(is_here, ..)| !is_here).collect();
    let packages: Vec<&str> = missing.iter().flat_map(|(_, packages, _)| packages.iter().copied()).collect();
    let names = missing.iter().map(|(.., name)| *name).collect::<Vec<_>>().join(", and ");
    if missing.is_empty() {
        return Ok(Plan::Nothing);
    }
    if !here.apt {
        return Err(format!(
            "the tests need {names}, and there is no `apt-get` to install them; install this system's packages of them, and put \
             their programs into the path"
        ));
    }
    if here.root {
        return Ok(Plan::Install { prefix: &[], packages });
    }
    if here.sudo {
        return Ok(Plan::Install { prefix: &["sudo", "-n"], packages });
    }
    Err(format!(
        "the tests need {names}, and only root can install them; run `sudo apt-get install {}` and then this again",
        packages.join(" ")
    ))
}

fn install(prefix: &[&str], packages: &[&str]) -> Result<(), String> {
    eprintln!("installing for the tests: apt-get install {}", packages.join(" "));
    let line = [&["install", "--no-install-recommends"], packages].concat();
    // Without package lists, or with old ones, the first attempt fails; fetching them every time would be slow.
    if apt_get(prefix, &line).is_err() {
        apt_get(prefix, &["update"])?;
        apt_get(prefix, &line)?;
    }
    taximeter_testing::find_programs()?;
    taximeter_testing::find_browser()?;
    Ok(())
}

fn apt_get(prefix: &[&str], arguments: &[&str]) -> Result<(), String> {
    // Nothing may ask a question, and another installation that is under way is waited for.
    let start = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "-o", "DPkg::Lock::Timeout=120"];
    let line = [prefix, &start, arguments].concat();
    let output = output(&line)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "`{}` failed ({}); install what the tests need by hand, with `apt-get install {POSTGRESQL} {PYTHON} {}`, and then run \
         this again\n{}",
        line.join(" "),
        output.status,
        BROWSER.join(" "),
        String::from_utf8_lossy(&output.stderr).trim_end()
    ))
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    output(&[&[program], arguments].concat()).is_ok_and(|output| output.status.success())
}

pub(crate) fn output(line: &[&str]) -> Result<Output, String> {
    let (program, arguments) = line.split_first().ok_or("there is nothing to run")?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} could not be started: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is here, as words.
    fn check(present: &str, expected: Result<Plan, &str>) {
        let has = |thing: &str| present.split(' ').any(|word| word == thing);
        let here = Here {
            compiler: has("compiler"),
            server: has("server"),
            python: has("python"),
            browser: has("browser"),
            apt: has("apt"),
            root: has("root"),
            sudo: has("sudo"),
        };
        match (plan(&here), expected) {
            (Ok(plan), Ok(expected)) => assert_eq!(plan, expected, "{present}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{present}: {message}"),
            (got, expected) => panic!("{present}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn only_what_is_missing_is_installed_and_only_by_who_may() {
        let install = |prefix, packages: &[&'static str]| Ok(Plan::Install { prefix, packages: packages.to_vec() });
        check("compiler server python browser", Ok(Plan::Nothing));
        check("compiler server python browser apt root", Ok(Plan::Nothing));
        check("compiler python browser apt root", install(&[], &["postgresql"]));
        check("compiler server browser apt root", install(&[], &["python3-venv"]));
        check("compiler server python apt root", install(&[], &["chromium", "chromium-driver"]));
        check("compiler apt root sudo", install(&[], &["postgresql", "python3-venv", "chromium", "chromium-driver"]));
        check("compiler python browser apt sudo", install(&["sudo", "-n"], &["postgresql"]));
        check("compiler python browser apt", Err("sudo apt-get install postgresql`"));
        check("compiler apt", Err("sudo apt-get install postgresql python3-venv chromium chromium-driver"));
        check("compiler server browser apt", Err("Python 3 with its modules"));
        check("compiler server python apt", Err("the browser Chromium with its chromedriver"));
        check("compiler python browser root", Err("there is no `apt-get`"));
        check("compiler server", Err("there is no `apt-get`"));
        check("server python browser apt root", Err("there is no `cc`"));
        check("", Err("there is no `cc`"));
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_installation_says_what_was_tried() {
        // In place of sudo, a program that only fails.
        let message = apt_get(&["false"], &["install", POSTGRESQL]).unwrap_err();
        assert!(message.contains("`false env DEBIAN_FRONTEND=noninteractive apt-get -y"), "{message}");
        let by_hand = "`apt-get install postgresql python3-venv chromium chromium-driver`";
        assert!(message.contains(by_hand), "{message}");
        assert!(apt_get(&["/nowhere/sudo"], &["update"]).unwrap_err().contains("/nowhere/sudo could not be started"));
    }
}
