//! What the tests need beside cargo, and how it comes here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use taximeter_testing::{AXE_VARIABLE, BROWSER_VARIABLES, BrowserPrograms};

use crate::{downloads, engines};

/// Something that the tests need.
#[derive(Debug, PartialEq, Eq)]
struct Need {
    /// What it is, with the programs that are looked for.
    what: &'static str,
    why: &'static str,
    /// Debian's names for it; none for what is fetched into the folder of what is built.
    packages: &'static [&'static str],
}

const POSTGRESQL: Need = Need {
    what: "PostgreSQL's server programs (initdb, postgres, psql)",
    why: "ledgers and data are tested on private servers. Debian's package also starts a server of its own, which the tests do not use",
    packages: &["postgresql"],
};

const PYTHON: Need = Need {
    what: "Python 3 with its modules venv and ensurepip",
    why: "schemathesis, which tests the API against its description, is a Python program",
    packages: &["python3-venv"],
};

const BROWSER: Need = Need {
    what: "the browser Chromium with its chromedriver (chromium, chromedriver)",
    why: "the dashboard is tested in a browser",
    packages: &["chromium", "chromium-driver"],
};

const CPP: Need = Need { what: "a C++ compiler (c++)", why: "the fuzzer is written in C++", packages: &["g++"] };

/// The packages of all these, as a command has them.
fn packages(needs: &[&Need]) -> String {
    needs.iter().flat_map(|need| need.packages).copied().collect::<Vec<_>>().join(" ")
}

const NEXTEST: Need = Need {
    what: "cargo-nextest, with cargo",
    why: "it runs every test in a process of its own, and says which are slow",
    packages: &[],
};

const SCHEMATHESIS: Need =
    Need { what: "schemathesis, with pip", why: "it tests the API against its description", packages: &[] };

const AXE: Need =
    Need { what: "axe-core, with npm", why: "it tests whether the dashboard is accessible", packages: &[] };

const NPM: Need = Need { what: "npm", why: "it fetches DuckDB's library and axe-core", packages: &["npm"] };

const ENGINES: Need = Need {
    what: "DuckDB's library, with npm, and the driver of Flight SQL and Sail, with pip: 270 MB",
    why: "data are tested in Parquet files and on a cluster",
    packages: &[],
};

/// The variables that tell the tests where their programs are.
pub type Programs = Vec<(&'static str, PathBuf)>;

/// What the tests run with.
pub struct Provided {
    /// The program `cargo-nextest`.
    pub nextest: PathBuf,
    /// What the tests start; nothing if it is not here and must not be installed.
    pub programs: Option<Programs>,
}

/// Makes sure that what the tests need is here: says what is missing, and then installs it where that is possible without asking.
pub fn provide(built: &Path, may_install: bool) -> Result<Provided, String> {
    match plan(&Here::look(built), may_install)? {
        InstallPlan::Nothing => {}
        InstallPlan::Without { needs } => {
            eprintln!("{}", without(&needs));
            return Ok(Provided { nextest: downloads::nextest(built), programs: None });
        }
        InstallPlan::Install { prefix, needs } => {
            eprintln!("{}", announcement(&needs, built));
            install(prefix, &needs, built)?;
        }
    }
    let BrowserPrograms { driver, browser } = taximeter_testing::find_browser()?;
    let mut programs: Programs = BROWSER_VARIABLES.into_iter().zip([driver, browser]).collect();
    programs.push(("TAXIMETER_SCHEMATHESIS", downloads::schemathesis(built)));
    programs.push((AXE_VARIABLE, downloads::axe(built)));
    programs.extend(engines::variables(built)?);
    Ok(Provided { nextest: downloads::nextest(built), programs: Some(programs) })
}

/// What this machine has.
struct Here {
    compiler: bool,
    cpp: bool,
    nextest: bool,
    server: bool,
    python: bool,
    browser: bool,
    schemathesis: bool,
    axe: bool,
    npm: bool,
    engines: bool,
    apt: bool,
    root: bool,
    sudo: bool,
}

impl Here {
    fn look(built: &Path) -> Here {
        let server = taximeter_testing::find_programs().is_ok();
        let python = succeeds("python3", &["-c", "import venv, ensurepip"]);
        let browser = taximeter_testing::find_browser().is_ok();
        let (axe, engines) = (downloads::axe(built).is_file(), engines::are_here(built));
        // It is needed to fetch these alone.
        let npm = axe && engines || succeeds("npm", &["--version"]);
        // How something could be installed matters only if something is missing; a machine may log that sudo was tried.
        let cpp = succeeds("c++", &["--version"]);
        let missing = !server || !python || !browser || !npm || !cpp;
        Here {
            compiler: succeeds("cc", &["--version"]),
            cpp,
            nextest: downloads::has_nextest(built),
            server,
            python,
            browser,
            schemathesis: downloads::has_schemathesis(built),
            axe,
            npm,
            engines,
            apt: missing && succeeds("apt-get", &["--version"]),
            root: missing && output(&["id", "-u"]).is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: missing && succeeds("sudo", &["-n", "true"]),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum InstallPlan {
    Nothing,
    /// Run the tests that do without.
    Without {
        needs: Vec<&'static Need>,
    },
    Install {
        /// What makes `apt-get` run as root.
        prefix: &'static [&'static str],
        needs: Vec<&'static Need>,
    },
}

/// What to do, given what is here. An error says what is missing and how to install it.
fn plan(here: &Here, may_install: bool) -> Result<InstallPlan, String> {
    if !here.compiler {
        return Err("the tests need a C compiler, and there is no `cc`; install one with `apt-get install gcc libc6-dev`, or this system's \
                    package of one"
            .to_string());
    }
    let all = [
        (here.nextest, &NEXTEST),
        (here.server, &POSTGRESQL),
        (here.python, &PYTHON),
        (here.browser, &BROWSER),
        (here.npm, &NPM),
        (here.cpp, &CPP),
        (here.schemathesis, &SCHEMATHESIS),
        (here.axe, &AXE),
        (here.engines, &ENGINES),
    ];
    let needs: Vec<&Need> = all.into_iter().filter(|(is_here, _)| !is_here).map(|(_, need)| need).collect();
    if needs.is_empty() {
        return Ok(InstallPlan::Nothing);
    }
    if !may_install && !here.nextest {
        return Err("the tests are run by cargo-nextest, which is not installed; install it with `cargo install --locked cargo-nextest`, or \
                    run `cargo test --workspace`, which does not need it"
            .to_string());
    }
    if !may_install {
        return Ok(InstallPlan::Without { needs });
    }
    let system: Vec<&Need> = needs.iter().copied().filter(|need| !need.packages.is_empty()).collect();
    let names = system.iter().map(|need| need.what).collect::<Vec<_>>().join(", and ");
    let prefix: &[&str] = if system.is_empty() || here.apt && here.root {
        &[]
    } else if here.apt && here.sudo {
        &["sudo", "-n"]
    } else {
        let how = match here.apt {
            true => format!(
                "only root can install them; run `sudo apt-get install {}` and run this again",
                packages(&system)
            ),
            false => "there is no `apt-get` to install them; install this system's packages, and put their programs into the path"
                .to_string(),
        };
        return Err(format!(
            "the tests need {names}, and {how}; or run `cargo xtask test --no-install`, which skips the fuzzer and all tests that need a \
             server or a browser"
        ));
    };
    Ok(InstallPlan::Install { prefix, needs })
}

/// What is about to be installed, and why.
fn announcement(needs: &[&Need], built: &Path) -> String {
    let mut text = String::from("the tests need programs that are not installed:\n");
    for Need { what, why, .. } in needs {
        text += &format!("  {what}: {why}\n");
    }
    let packages = packages(needs);
    if !packages.is_empty() {
        text += &format!("installing on this system, with apt-get: {packages}\n");
    }
    if needs.iter().any(|need| need.packages.is_empty()) {
        text += &format!("fetching into {}, which `cargo clean` removes: the rest\n", built.display());
    }
    text + "`cargo xtask test --no-install` installs nothing, and skips all tests that need a server or a browser"
}

/// That some tests are left out, and why.
fn without(needs: &[&Need]) -> String {
    let names = needs.iter().map(|need| need.what).collect::<Vec<_>>().join(", and ");
    format!(
        "not installed: {names}. Skipping the fuzzer and the tests that need a PostgreSQL server, DuckDB, a cluster, a browser or \
         schemathesis"
    )
}

fn install(prefix: &[&str], needs: &[&Need], built: &Path) -> Result<(), String> {
    let packages = packages(needs);
    if !packages.is_empty() {
        let line: Vec<&str> = ["install", "--no-install-recommends"].into_iter().chain(packages.split(' ')).collect();
        // Without package lists, or with old ones, the first attempt fails; fetching them every time would be slow.
        if apt_get(prefix, &line).is_err() {
            apt_get(prefix, &["update"])?;
            apt_get(prefix, &line)?;
        }
        taximeter_testing::find_programs()?;
    }
    if needs.contains(&&NEXTEST) {
        downloads::fetch_nextest(built)?;
    }
    if needs.contains(&&SCHEMATHESIS) {
        downloads::fetch_schemathesis(built)?;
    }
    if needs.contains(&&AXE) {
        downloads::fetch_axe(built)?;
    }
    if needs.contains(&&ENGINES) {
        engines::fetch(built)?;
    }
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
        "`{}` failed ({}); install the packages by hand, with `apt-get install {}`, and run this again\n{}",
        line.join(" "),
        output.status,
        packages(&[&POSTGRESQL, &PYTHON, &BROWSER, &NPM, &CPP]),
        String::from_utf8_lossy(&output.stderr).trim_end()
    ))
}

pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
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

    /// What is here, as words, and what is done if installing is allowed.
    fn check(present: &str, expected: Result<InstallPlan, &str>) {
        match (plan(&here(present), true), expected) {
            (Ok(plan), Ok(expected)) => assert_eq!(plan, expected, "{present}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{present}: {message}"),
            (got, expected) => panic!("{present}: got {got:?}, expected {expected:?}"),
        }
    }

    fn here(present: &str) -> Here {
        let words: Vec<&str> = present.split(' ').collect();
        let has = |thing: &str| words.contains(&thing) || words.contains(&"all");
        Here {
            compiler: has("compiler"),
            nextest: has("nextest") || has("fetched"),
            server: has("server"),
            python: has("python"),
            browser: has("browser"),
            schemathesis: has("schemathesis") || has("fetched"),
            axe: has("axe") || has("fetched"),
            npm: has("npm") || has("fetched"),
            cpp: has("cpp") || has("fetched"),
            engines: has("engines") || has("fetched"),
            apt: words.contains(&"apt"),
            root: words.contains(&"root"),
            sudo: words.contains(&"sudo"),
        }
    }

    #[test]
    fn only_what_is_missing_is_installed_and_only_by_who_may() {
        let install = |prefix, needs: &[&'static Need]| Ok(InstallPlan::Install { prefix, needs: needs.to_vec() });
        check("all", Ok(InstallPlan::Nothing));
        check("all apt root", Ok(InstallPlan::Nothing));
        check("compiler fetched python browser apt root", install(&[], &[&POSTGRESQL]));
        check("compiler fetched server browser apt root", install(&[], &[&PYTHON]));
        check("compiler fetched server python apt root", install(&[], &[&BROWSER]));
        let all: [&'static Need; 9] =
            [&NEXTEST, &POSTGRESQL, &PYTHON, &BROWSER, &NPM, &CPP, &SCHEMATHESIS, &AXE, &ENGINES];
        check("compiler apt root sudo", install(&[], &all));
        check("compiler server python browser npm cpp schemathesis axe engines", install(&[], &[&NEXTEST]));
        check("compiler nextest server python browser npm cpp schemathesis axe", install(&[], &[&ENGINES]));
        check("compiler fetched python browser apt sudo", install(&["sudo", "-n"], &[&POSTGRESQL]));
        check("compiler nextest server python browser npm cpp schemathesis engines", install(&[], &[&AXE]));
        check("compiler nextest server python browser npm cpp axe engines", install(&[], &[&SCHEMATHESIS]));
        check("compiler fetched python browser apt", Err("sudo apt-get install postgresql`"));
        check("compiler apt", Err("sudo apt-get install postgresql python3-venv chromium chromium-driver npm g++"));
        check("compiler fetched server browser apt", Err("Python 3 with its modules"));
        check("compiler fetched server python apt", Err("the browser Chromium with its chromedriver"));
        check("compiler fetched python browser root", Err("there is no `apt-get`"));
        check("compiler server", Err("there is no `apt-get`"));
        check("server python browser apt root", Err("there is no `cc`"));
        check("", Err("there is no `cc`"));
    }

    #[test]
    fn nothing_is_installed_where_that_is_not_wanted() {
        assert_eq!(plan(&here("all"), false), Ok(InstallPlan::Nothing));
        let needs = vec![&BROWSER, &AXE];
        assert_eq!(
            plan(&here("compiler nextest server python npm cpp schemathesis engines apt root"), false),
            Ok(InstallPlan::Without { needs })
        );
        assert!(without(&[&BROWSER, &AXE]).contains("Chromium"));
        let message =
            plan(&here("compiler server python browser npm cpp schemathesis axe engines"), false).unwrap_err();
        assert!(message.contains("cargo install --locked cargo-nextest"), "{message}");
    }

    #[test]
    fn what_is_installed_is_said_before_with_its_reason() {
        let text = announcement(&[&POSTGRESQL, &AXE], Path::new("/built"));
        for part in [
            "ledgers and data are tested on private servers",
            "it tests whether the dashboard is accessible",
            "installing on this system, with apt-get: postgresql\n",
            "fetching into /built, which `cargo clean` removes",
            "--no-install",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        assert!(!announcement(&[&AXE], Path::new("/built")).contains("apt-get"));
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_installation_says_what_was_tried() {
        // In place of sudo, a program that only fails.
        let message = apt_get(&["false"], &["install", "postgresql"]).unwrap_err();
        assert!(message.contains("`false env DEBIAN_FRONTEND=noninteractive apt-get -y"), "{message}");
        let by_hand = "`apt-get install postgresql python3-venv chromium chromium-driver npm g++`";
        assert!(message.contains(by_hand), "{message}");
        assert!(apt_get(&["/nowhere/sudo"], &["update"]).unwrap_err().contains("/nowhere/sudo could not be started"));
    }
}
