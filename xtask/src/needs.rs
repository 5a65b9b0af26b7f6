//! What the tests need beside cargo, and how it comes here.

use std::process::{Command, Output, Stdio};

/// Debian's name for the server programs of the version it supports. The package also makes and starts a server of its own, as it does
/// on every machine; the tests leave that one alone, and so does this.
const PACKAGE: &str = "postgresql";

/// Makes sure that what the tests need is here; installs what is missing where that is possible without asking.
pub fn provide() -> Result<(), String> {
    match plan(&Here::look())? {
        Plan::Nothing => Ok(()),
        Plan::Install { prefix } => install(prefix),
    }
}

/// What this machine has.
struct Here {
    compiler: bool,
    server: bool,
    apt: bool,
    root: bool,
    sudo: bool,
}

impl Here {
    fn look() -> Here {
        let server = taximeter_testing::find_programs().is_ok();
        Here {
            compiler: succeeds("cc", &["--version"]),
            server,
            // How something could be installed matters only if something is missing; a machine may log that sudo was tried.
            apt: !server && succeeds("apt-get", &["--version"]),
            root: !server && output(&["id", "-u"]).is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: !server && succeeds("sudo", &["-n", "true"]),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install {
        /// What makes `apt-get` run as root.
        prefix: &'static [&'static str],
    },
}

/// What to do, given what is here. An error says what is missing and how to install it.
fn plan(here: &Here) -> Result<Plan, String> {
    if !here.compiler {
        return Err("the tests need a C compiler, and there is no `cc`; install one with `apt-get install gcc libc6-dev`, or what \
                    this system has in its place"
            .to_string());
    }
    if here.server {
        return Ok(Plan::Nothing);
    }
    if !here.apt {
        return Err("the tests need PostgreSQL's server programs (initdb, postgres, psql), and there is no `apt-get` to install \
                    them; install this system's package of the PostgreSQL server, and put its programs into the path"
            .to_string());
    }
    if here.root {
        return Ok(Plan::Install { prefix: &[] });
    }
    if here.sudo {
        return Ok(Plan::Install { prefix: &["sudo", "-n"] });
    }
    Err(format!(
        "the tests need PostgreSQL's server programs (initdb, postgres, psql), and only root can install them; run \
         `sudo apt-get install {PACKAGE}` and then this again"
    ))
}

fn install(prefix: &[&str]) -> Result<(), String> {
    eprintln!("installing PostgreSQL for the tests: apt-get install {PACKAGE}");
    // Without package lists, or with old ones, the first attempt fails; fetching them every time would be slow.
    if apt_get(prefix, &["install", "--no-install-recommends", PACKAGE]).is_err() {
        apt_get(prefix, &["update"])?;
        apt_get(prefix, &["install", "--no-install-recommends", PACKAGE])?;
    }
    taximeter_testing::find_programs().map(|_| ())
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
        "`{}` failed ({}); install PostgreSQL by hand, with `apt-get install {PACKAGE}`, and then run this again\n{}",
        line.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    ))
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    output(&[&[program], arguments].concat()).is_ok_and(|output| output.status.success())
}

fn output(line: &[&str]) -> Result<Output, String> {
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
        check("compiler server", Ok(Plan::Nothing));
        check("compiler server apt root", Ok(Plan::Nothing));
        check("compiler apt root", Ok(Plan::Install { prefix: &[] }));
        check("compiler apt root sudo", Ok(Plan::Install { prefix: &[] }));
        check("compiler apt sudo", Ok(Plan::Install { prefix: &["sudo", "-n"] }));
        check("compiler apt", Err("sudo apt-get install postgresql"));
        check("compiler root", Err("there is no `apt-get`"));
        check("compiler", Err("there is no `apt-get`"));
        check("server apt root", Err("there is no `cc`"));
        check("", Err("there is no `cc`"));
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_installation_says_what_was_tried() {
        // In place of sudo, a program that only fails.
        let message = apt_get(&["false"], &["install", PACKAGE]).unwrap_err();
        assert!(message.contains("`false env DEBIAN_FRONTEND=noninteractive apt-get -y"), "{message}");
        assert!(message.contains("`apt-get install postgresql`"), "{message}");
        assert!(apt_get(&["/nowhere/sudo"], &["update"]).unwrap_err().contains("/nowhere/sudo could not be started"));
    }
}
