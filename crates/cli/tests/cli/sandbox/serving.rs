//! The program itself as a server, on a port of this machine that was free.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use taximeter_testing::{HttpConnection, wait_until};

use super::Sandbox;

/// A server that runs, until it is dropped.
pub struct Serving {
    process: Child,
    pub address: SocketAddr,
    told: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Serving {
    /// Starts a server on the sandbox's ledger, and waits until it listens.
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Serving {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("taximeter"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        command.current_dir(sandbox.folder.path()).env("XDG_STATE_HOME", sandbox.folder.path());
        for name in ["TAXIMETER_WITNESS", "TAXIMETER_DATA", "TAXIMETER_SERVER", "TAXIMETER_TOKEN", "TAXIMETER_LEDGER"] {
            command.env_remove(name);
        }
        if let Some(ledger) = &sandbox.ledger {
            command.env("TAXIMETER_LEDGER", ledger);
        }
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the server starts");
        let mut errors = BufReader::new(process.stderr.take().expect("it is piped"));
        let mut before = String::new();
        let address = loop {
            let start = before.len();
            assert_ne!(errors.read_line(&mut before).unwrap(), 0, "the server ended before it listened: {before}");
            if let Some((_, rest)) =
                before[start..].split_once("listening on ").and_then(|(_, url)| url.split_once("://"))
            {
                break rest.trim_end().parse().expect("an address");
            }
        };
        let told = Arc::new(Mutex::new(before));
        // Its log is read to the end, so that it never waits for a reader.
        let reader = std::thread::spawn({
            let told = Arc::clone(&told);
            move || {
                for line in errors.lines().map_while(Result::ok) {
                    let mut told = told.lock().unwrap();
                    told.push_str(&line);
                    told.push('\n');
                }
            }
        });
        Serving { process, address, told, reader: Some(reader) }
    }

    pub fn connect(&self, token: &str) -> HttpConnection {
        HttpConnection::open(self.address, Some(token)).expect("the server takes connections")
    }

    /// The status of a list of accounts.
    pub fn status(&self, token: &str) -> u16 {
        self.connect(token).request("GET", "/v1/accounts", "", None).expect("an answer").status
    }

    /// Waits until a token gets a status.
    pub fn becomes(&self, token: &str, status: u16) {
        wait_until(&format!("the status is {status}"), || self.status(token) == status);
    }

    /// As a machine that loses its power would.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends it a signal such as `-TERM`, and waits until it ends; the exit code.
    pub fn signal(&mut self, signal: &str) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }

    /// Waits until it ends by itself; the exit code.
    pub fn ends(&mut self) -> Option<i32> {
        wait_until("the server ends", || self.process.try_wait().unwrap().is_some());
        self.process.wait().unwrap().code()
    }

    /// Waits until it has told something.
    pub fn tells(&self, text: &str) {
        wait_until(&format!("it tells {text:?}"), || self.told.lock().unwrap().contains(text));
    }

    /// Waits until it says that it is ready, or that it is not; what it says.
    pub fn is_ready(&self, ready: bool) -> String {
        let status = if ready { 200 } else { 503 };
        let mut body = String::new();
        wait_until(&format!("/readyz says {status}"), || {
            let answer = HttpConnection::open(self.address, None)
                .and_then(|mut connection| connection.request("GET", "/readyz", "", None));
            body = answer.as_ref().map(|answer| answer.body.clone()).unwrap_or_default();
            answer.is_ok_and(|answer| answer.status == status)
        });
        body
    }

    /// All that it told, once it has ended.
    pub fn told(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.told.lock().unwrap().clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
