//! The process that takes orders for a browser, and the orders themselves: WebDriver, which is JSON over HTTP on loopback.

use std::cell::RefCell;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde_json::{Value, json};

use crate::http::HttpConnection;
use crate::watchdog::Watchdog;

/// A chromedriver that runs until this is dropped, or this process ends in any way: the script `driver.sh` sees to that.
pub(super) struct Driver {
    watchdog: Watchdog,
    address: SocketAddr,
    /// Kept open between orders; none after one that broke.
    connection: RefCell<Option<HttpConnection>>,
}

/// An order that was not carried out.
pub(super) struct DriverRefusal {
    /// WebDriver's name for what is wrong, such as `stale element reference`.
    pub(super) code: String,
    /// What is wrong.
    pub(super) message: String,
}

impl fmt::Display for DriverRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Driver {
    /// Starts the script, and waits until chromedriver listens.
    pub(super) fn start(program: &Path) -> Result<Driver, String> {
        let mut watchdog = Watchdog::start(include_str!("driver.sh"), program, None)?;
        let Ok(port) = watchdog.answer()?.parse::<u16>() else {
            return Err(format!("{} did not start; its log:\n{}", program.display(), watchdog.log().trim_end()));
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Driver { watchdog, address, connection: RefCell::default() })
    }

    /// Where everything of this browser is, until it ends.
    pub(super) fn folder(&self) -> &Path {
        self.watchdog.folder()
    }

    /// Gives an order and waits until it is carried out.
    pub(super) fn order(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DriverRefusal> {
        let broken = |message: String| DriverRefusal { code: "the browser is gone".to_string(), message };
        let body = body.map(Value::to_string);
        let mut kept = self.connection.borrow_mut();
        // Taken out: what broke in the middle of an answer is not used again.
        let connection = kept.take().map_or_else(|| HttpConnection::open(self.address, None), Ok);
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
        Err(DriverRefusal { code: text("error"), message })
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
        format!("chromedriver's log:\n{}", self.watchdog.log().trim_end())
    }
}
