//! A folder in which commands run.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a ledger in it, which the commands find because they run there.
pub struct Desk {
    pub folder: TempDir,
    pub ledger: Option<String>,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap(), ledger: None }
    }

    /// A desk with an account `census` of (1, 1e-6) and two below it of (0.5, 1e-6).
    pub fn with_accounts() -> Desk {
        let desk = Desk::new();
        desk.make_accounts();
        desk
    }

    pub fn make_accounts(&self) {
        self.done(&["account", "create", "census", "--budget", "1,1e-6"]);
        for name in ["census/alice", "census/bob"] {
            self.done(&["account", "create", name, "--budget", "0.5,1e-6"]);
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("taximeter").expect("the program is built");
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("TAXIMETER_WITNESS")
            .env_remove("TAXIMETER_DATA");
        command.env("XDG_STATE_HOME", self.folder.path());
        match &self.ledger {
            Some(ledger) => command.env("TAXIMETER_LEDGER", ledger),
            None => command.env_remove("TAXIMETER_LEDGER"),
        };
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program runs")
    }

    /// What is printed by a command that ends with a code.
    pub fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn done(&self, arguments: &[&str]) -> String {
        self.ends(0, arguments)
    }

    /// The one document of a command that ends with a code.
    pub fn document(&self, code: i32, arguments: &[&str]) -> Value {
        let text = self.ends(code, &[arguments, &["--json"]].concat());
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).expect("one JSON document")
    }

    /// The message of a command that fails with a code and prints nothing else.
    pub fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output));
        String::from_utf8(output.stderr).unwrap()
    }

    pub fn charge(&self, account: &str, epsilon: &str) -> Value {
        self.document(0, &["charge", account, "--epsilon", epsilon])
    }
}

/// All that a command printed.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
