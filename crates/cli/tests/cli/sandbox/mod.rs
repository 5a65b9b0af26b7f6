//! A folder in which commands run.

#![allow(dead_code, reason = "every test file uses a part of it")]

mod serving;

use std::path::PathBuf;
use std::process::Output;
use std::sync::OnceLock;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

#[allow(unused_imports, reason = "not every test file starts one by itself")]
pub use serving::Serving;

/// A folder with a ledger in it, which the commands find because they run there.
pub struct Sandbox {
    pub folder: TempDir,
    pub ledger: Option<String>,
    /// Started as soon as there is a ledger to serve, if it is wanted.
    pub server: Option<OnceLock<(Serving, String)>>,
}

/// Runs tests twice: on a ledger of this machine, and with all commands, except those that create the ledger, going to a server.
#[allow(unused_macros, reason = "not every test file has such tests")]
macro_rules! here_and_at_a_server {
    ($($test:ident,)+) => {
        mod here {
            $(#[test]
            fn $test() {
                super::$test(&super::Sandbox::new());
            })+
        }

        mod at_a_server {
            $(#[test]
            fn $test() {
                super::$test(&super::Sandbox::at_server());
            })+
        }
    };
}

#[allow(unused_imports, reason = "not every test file has such tests")]
pub(crate) use here_and_at_a_server;

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().unwrap(), ledger: None, server: None }
    }

    /// A sandbox whose commands go to a server, with an owner's token. The first one that makes a ledger is carried out here, since a
    /// server needs one.
    pub fn at_server() -> Sandbox {
        Sandbox { server: Some(OnceLock::new()), ..Sandbox::new() }
    }

    /// A server on the sandbox's ledger, and the token of its owner.
    fn serve(&self) -> (Serving, String) {
        let here = Sandbox { folder: tempfile::tempdir().unwrap(), ledger: None, server: None };
        let ledger = self.path("taximeter.db").display().to_string();
        let create = ["token", "create", "owner", "--role", "owner", "--ledger", &ledger];
        let token = here.document(0, &create)["secret"].as_str().expect("a secret").to_string();
        (Serving::start(self, &[]), token)
    }

    /// The secret of a new token.
    pub fn token(&self, principal: &str, role: &str, more: &[&str]) -> String {
        let document = self.document(0, &[&["token", "create", principal, "--role", role], more].concat());
        document["secret"].as_str().expect("a secret").to_string()
    }

    /// Whether commands go to a server.
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// A sandbox with an account `census` of (1, 1e-6) and two below it of (0.5, 1e-6).
    pub fn with_accounts() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.make_accounts();
        sandbox
    }

    /// A sandbox with the dataset `people`.
    pub fn with_people() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.add_people();
        sandbox
    }

    pub fn make_accounts(&self) {
        self.done(&["account", "create", "census", "--budget", "1,1e-6"]);
        for name in ["census/alice", "census/bob"] {
            self.done(&["account", "create", name, "--budget", "0.5,1e-6"]);
        }
    }

    /// Adds the dataset `people` of 3,000 rows with a budget of (1, 1e-6).
    pub fn add_people(&self) {
        const SCHEMA: &str =
            "unit = \"row\"\n[columns.age]\nbounds = [0, 120]\n[columns.region]\ncategories = [\"north\", \"south\"]\n";
        let rows: String = (0..3000).map(|row| format!("{},{}\n", row % 90, ["north", "south"][row % 2])).collect();
        std::fs::write(self.path("people.csv"), format!("age,region\n{rows}")).unwrap();
        std::fs::write(self.path("people.toml"), SCHEMA).unwrap();
        self.done(&["dataset", "add", "people", "people.csv", "--schema", "people.toml", "--budget", "1,1e-6"]);
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
            .env_remove("TAXIMETER_DATA")
            .env_remove("TAXIMETER_CA")
            .env_remove("TAXIMETER_CONFIG")
            .env_remove("TAXIMETER_SERVER")
            .env_remove("TAXIMETER_TOKEN")
            .env_remove("TAXIMETER_CHECKPOINT_KEY")
            .env_remove("TAXIMETER_COSIGNERS")
            .env_remove("TAXIMETER_REQUIRE_COSIGNATURES");
        command.env("XDG_STATE_HOME", self.folder.path()).env("XDG_CONFIG_HOME", self.folder.path());
        if let Some(server) = self.server.as_ref().filter(|_| self.path("taximeter.db").exists()) {
            let (serving, token) = server.get_or_init(|| self.serve());
            command.env("TAXIMETER_SERVER", format!("http://{}", serving.address)).env("TAXIMETER_TOKEN", token);
        }
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

/// Checks that a text has all these parts.
#[track_caller]
pub fn check_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}
