//! The process that takes orders for a browser, and the orders themselves: WebDriver, which is JSON over HTTP on loopback.

use std::cell::RefCell;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::http::Connection;

/// A chromedriver that runs until this is dropped, or this process ends in any way: a small shell script, `driver.sh`, holds it and sees
/// the end of a pipe.
pub(super) struct Driver {
    process: Child,
    // Present until the driver is dropped; closing it is what ends the script.
    lifeline: Option<ChildStdin>,
    folder: PathBuf,
    address: SocketAddr,
    /// Kept open between orders; none after one that broke.
    connection: RefCell<Option<Connection>>,
}

/// An order that was not carried out.
pub(super) struct Refused {
    /// WebDriver's name for what is wrong, such as `stale element reference`.
    pub(super) code: String,
    /// What is wrong.
    pub(super) message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Driver {
    /// Starts the script, and waits until chromedriver listens.
    pub(super) fn start(program: &Path) -> Result<Driver, String> {
        let mut command = Command::new("sh");
        command.args(["-c", include_str!("driver.sh"), "taximeter-browser"]).arg(std::env::temp_dir()).arg(program);
        set_apart(&mut command);
        let mut process = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not inherited: whoever reads the output of the tests would have to wait for the script as well.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("a shell for the browser could not be started: {error}"))?;
        let (Some(lifeline), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both are piped");
        };
        let mut lines = BufReader::new(answers).lines().map_while(Result::ok);
        let folder = PathBuf::from(lines.next().unwrap_or_default());
        let port = lines.next().and_then(|port| port.parse::<u16>().ok());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or_default()));
        let driver = Driver { process, lifeline: Some(lifeline), folder, address, connection: RefCell::default() };
        match port {
            Some(_) => Ok(driver),
            None => Err(format!("{} did not start; {}", program.display(), driver.log())),
        }
    }

    /// Where everything of this browser is, until it ends.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives an order and waits until it is carried out.
    pub(super) fn order(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Refused> {
        let broken = |message: String| Refused { code: "the browser is gone".to_string(), message };
        let body = body.map(Value::to_string);
        let mut kept = self.connection.borrow_mut();
        // Taken out: what broke in the middle of an answer is not used again.
        let connection = kept.take().map_or_else(|| Connection::open(self.address, None), Ok);
        let answer = connection.and_then(|mut connection| {
            let response = connection.request(method, path, "", body.as_deref())?;
            *kept = Some(connection);
            Ok(response)
        });
        let response = answer.map_err(|error| broken(format!("{error}; {}", self.log())))?;
        let mut document: Value =
            serde_json::from_str(&response.body).map_err(|error| broken(format!("{error}: {}", response.body)))?;
        let value = document["value"].take();
        if response.status == 200 {
            return Ok(value);
        }
        let text = |name: &str| value[name].as_str().unwrap_or("unknown").trim_end().to_string();
        // The first lines are about what happened; then come the versions of the programs.
        let message =
            text("message").lines().take_while(|line| !line.starts_with("  (")).collect::<Vec<_>>().join("\n");
        Err(Refused { code: text("error"), message })
    }

    /// Opens a browser; the id of its session.
    pub(super) fn open_session(&self, capabilities: Value) -> Result<String, String> {
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let session = self.order("POST", "/session", Some(&body));
        let session =
            session.map_err(|refused| format!("the browser could not be started: {refused}; {}", self.log()))?;
        match session["sessionId"].as_str() {
            Some(id) => Ok(id.to_string()),
            None => Err(format!("chromedriver opened a session without an id: {session}")),
        }
    }

    fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        format!("chromedriver's log:\n{}", String::from_utf8_lossy(&log).trim_end())
    }
}

impl Drop for Driver {
    /// Returns when nothing is left of the browser.
    fn drop(&mut self) {
        self.lifeline = None;
        // The script is this process's own child; waiting for it fails only if somebody else did so before.
        let _ = self.process.wait();
    }
}

/// In a process group of its own, the script does not get the signals that a terminal or a runner of tests sends to a whole group.
#[cfg(unix)]
fn set_apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn set_apart(_: &mut Command) {}
