//! However the end comes, nothing of a browser stays.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use taximeter_testing::{Browser, wait_until};

/// Tells the test of this file that it is the process which will be killed.
const HOLDER: &str = "TAXIMETER_TEST_HOLDS_A_BROWSER";

/// Waits until a folder is empty and no process has its name in its command.
fn nothing_stays(folder: &Path) {
    wait_until(&format!("{} is empty, and its processes are gone", folder.display()), || {
        std::fs::read_dir(folder).unwrap().next().is_none() && processes_of(folder).is_empty()
    });
}

fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let commands = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let command = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    commands.filter(|command| command.contains(folder)).collect()
}

#[test]
fn a_browser_goes_with_the_process_that_had_it() {
    if std::env::var_os(HOLDER).is_some() {
        return hold_a_browser();
    }
    for end in ["drop", "kill"] {
        let folder = tempfile::tempdir().unwrap();
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "browser::ending::a_browser_goes_with_the_process_that_had_it", "--nocapture"])
            .env(HOLDER, end)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it runs")), "{end}: the browser did not start");
        assert!(processes_of(folder.path()).len() > 3, "{end}: {:?}", processes_of(folder.path()));
        match end {
            "kill" => holder.kill().unwrap(),
            _ => drop(holder.stdin.take()),
        }
        holder.wait().unwrap();
        nothing_stays(folder.path());
    }
}

/// What the test does in the process of its own.
fn hold_a_browser() {
    let browser = Browser::start().unwrap();
    browser.open("data:text/html,it runs");
    println!("{}", browser.text());
    // Until it is killed, or told to end.
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}
