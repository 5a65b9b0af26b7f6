//! The project's tasks: `cargo xtask <task>`.

#![forbid(unsafe_code)]

mod dist;
mod docs;
mod downloads;
mod engines;
mod fuzz;
mod lint;
mod needs;
mod package;
mod postgres;
mod python;
mod screenshots;
mod simulate;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

/// One thing that can be asked for.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> ExitCode,
}

const TASKS: [Task; 10] = [
    Task {
        name: "test",
        help: "run every test of the workspace and end with one line `N passed, N failed`;\n              \
               installs cargo-nextest, a C++ compiler, PostgreSQL, Python, Chromium, schemathesis and axe-core\n              \
               if they are missing, and announces it first; [--no-install] installs nothing and, if anything is\n              \
               missing, skips all tests that need a server or a browser; [--quick] skips crash loops, browsers,\n              \
               planted defects, the fuzzer, SmartNoise and Tumult, and tries fewer random inputs;\n              \
               [--python] runs only the tests of the Python package; [--with-torch] adds those that need\n              \
               PyTorch, about 6 GB; further arguments go to `cargo nextest run`",
        run: test::run,
    },
    Task {
        name: "fuzz",
        help: "run the fuzzer on every target in `fuzz`; [TARGET...] runs only these targets; [--seconds N] is\n              \
               the time for each, 60 by default",
        run: fuzz::run,
    },
    Task {
        name: "lint",
        help: "run `tidy`, and clippy on everything that the tests compile; a warning is an error",
        run: lint::run,
    },
    Task {
        name: "tidy",
        help: "check widths, lengths, names, words, READMEs and links, against the list xtask/tidy.txt;\n              \
               [--lower] removes fixed faults from the list",
        run: tidy::run,
    },
    Task {
        name: "simulate",
        help: "run the ledger on simulated disks, networks and clocks that fail at random;\n              \
               [--gate] runs the gate on such a ledger, [--seed N] is the first seed,\n              \
               [--steps N] the number of steps, a million by default",
        run: simulate::run,
    },
    Task {
        name: "postgres",
        help: "start a private PostgreSQL server, print its URL, and remove it at Ctrl-C or at the\n              \
               end of the input",
        run: postgres::run,
    },
    Task {
        name: "screenshots",
        help: "take the README's pictures of the dashboard into docs/images; [--all FOLDER] also takes\n              \
               every page in both themes, wide and narrow; [--dev] uses a debug build",
        run: screenshots::run,
    },
    Task {
        name: "dist",
        help: "make a release in target/dist: the program, manual pages, completions, a Debian package, the\n              \
               list of what is in it (CycloneDX), and checksums",
        run: dist::run,
    },
    Task {
        name: "docs",
        help: "make a searchable site from the documents, in target/site, and check its links; installs mdBook if\n              \
               it is missing",
        run: docs::run,
    },
    Task {
        name: "package",
        help: "check that `cargo package` works for every crate except those of tests and tasks; [--verify] also\n              \
               builds accounting, noise and transparency from their packages",
        run: package::run,
    },
];

/// Wrong usage, as in the `taximeter` program.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", help());
        return ExitCode::SUCCESS;
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("error: there is no task {name:?}; `cargo xtask help` lists the tasks");
        return ExitCode::from(WRONG_USAGE);
    };
    (task.run)(rest)
}

fn help() -> String {
    let mut help = String::from("cargo xtask <task>\n\n  help        list the tasks\n");
    for task in &TASKS {
        help.push_str(&format!("  {:<11} {}\n", task.name, task.help));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_listed() {
        assert!(TASKS.iter().all(|task| help().contains(task.name)));
    }
}
