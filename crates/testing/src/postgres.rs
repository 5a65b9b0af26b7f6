//! A PostgreSQL server of one's own.

use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::certificates::Authority;
use crate::programs::find_programs;
use crate::query::query;
use crate::shared::new_database;
use crate::waiting::{BETWEEN_LOOKS, PATIENCE};
use crate::watchdog::{Watchdog, server_user};

/// A PostgreSQL server that belongs to this process: in a folder of its own, on a port of 127.0.0.1 that was free, with a password that
/// nobody else knows. It is as durable as PostgreSQL is by default, and never the machine's own server.
///
/// It is gone with its folder when this is dropped, and also when this process ends in any way, `kill -9` included, or forgets it in
/// a static. As root, it runs as the user `postgres`, or else `nobody`.
pub struct PrivatePostgres {
    watchdog: Mutex<Watchdog>,
    port: u16,
    password: String,
}

/// How many ports are tried: between looking for one and taking it, another process may take it.
const PORT_TRIES: usize = 10;

/// How many of the last lines of the log are put into an error.
const LOG_LINES: usize = 20;

impl PrivatePostgres {
    /// Makes a server and starts it; that takes about two seconds.
    pub fn start() -> Result<PrivatePostgres, String> {
        Self::start_at(std::iter::repeat_with(free_port).take(PORT_TRIES))
    }

    /// Makes a server that offers TLS, with a certificate for `localhost` and 127.0.0.1 from an authority of its own. It takes plain
    /// connections as well.
    pub fn start_with_tls() -> Result<PrivatePostgres, String> {
        let server = Self::start()?;
        let authority = Authority::new()?;
        let (certificate, key) = authority.certificate(&["localhost", "127.0.0.1"])?;
        for (name, text) in [("root.pem", authority.root()), ("server.pem", certificate), ("server.key", key)] {
            server.watchdog().write_file(name, &text)?;
        }
        // The paths are those in the data folder beside them.
        server.set("ssl_cert_file", "../server.pem")?;
        server.set("ssl_key_file", "../server.key")?;
        server.set("ssl", "on")?;
        Ok(server)
    }

    /// The file with the authority of a server that was [started with TLS](Self::start_with_tls).
    pub fn root_certificate(&self) -> PathBuf {
        self.watchdog().folder().join("root.pem")
    }

    /// The URL of a database on this server, whether it exists or not. `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://taximeter:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Makes an empty database with a name that no other has, and returns its URL.
    pub fn new_database(&self) -> Result<String, String> {
        new_database(&self.url("postgres")).map_err(|message| format!("{message}; {}", self.end_of_log()))
    }

    /// Stops the server as a crash does: no checkpoint, connections are cut. The files stay for [`start_again`](Self::start_again).
    pub fn stop_immediate(&self) -> Result<(), String> {
        self.watchdog().order("stop")
    }

    /// Starts the server again after [`stop_immediate`](Self::stop_immediate), on the same port, and waits until it takes connections.
    pub fn start_again(&self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.try_port(self.port) {
                Err(NotStarted::PortTaken(_)) if Instant::now() < deadline => std::thread::sleep(BETWEEN_LOOKS),
                result => return result.map_err(NotStarted::message),
            }
        }
    }

    /// Changes a setting for all connections to come, as an administrator would: in the server's files, which are then read again. If the
    /// server reads that setting only at its start, it is stopped as in a crash and started again.
    pub fn set(&self, setting: &str, value: &str) -> Result<(), String> {
        if !setting.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
            return Err(format!("{setting:?} is not the name of a setting; see PostgreSQL's view pg_settings"));
        }
        let read_at = || self.query("SELECT pg_conf_load_time()");
        let before = read_at()?;
        self.query(&format!("ALTER SYSTEM SET {setting} = '{}'", value.replace('\'', "''")))?;
        if self.query(&format!("SELECT context FROM pg_settings WHERE name = lower('{setting}')"))? == "postmaster" {
            self.stop_immediate()?;
            return self.start_again();
        }
        self.query("SELECT pg_reload_conf()")?;
        let deadline = Instant::now() + PATIENCE;
        while read_at()? == before {
            if Instant::now() >= deadline {
                return Err(format!(
                    "the private server did not read {setting} = {value:?} within {PATIENCE:?}; {}",
                    self.end_of_log()
                ));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// What the server has logged, for the message of a test that fails.
    pub fn log(&self) -> String {
        self.watchdog().log()
    }

    fn start_at(ports: impl Iterator<Item = Result<u16, String>>) -> Result<PrivatePostgres, String> {
        let programs = find_programs()?;
        let password = random()?;
        let mut watchdog = Watchdog::start(include_str!("watchdog.sh"), &programs, server_user()?)?;
        let made = watchdog.order(&format!("make {password}"));
        let mut server = PrivatePostgres { watchdog: Mutex::new(watchdog), port: 0, password };
        made.map_err(|message| format!("{message}; {}", server.end_of_log()))?;
        let mut last = "no port was free".to_string();
        for port in ports {
            server.port = port?;
            match server.try_port(server.port) {
                Ok(()) => return Ok(server),
                Err(NotStarted::PortTaken(message)) => last = message,
                Err(NotStarted::Otherwise(message)) => return Err(message),
            }
        }
        Err(last)
    }

    fn try_port(&self, port: u16) -> Result<(), NotStarted> {
        let before = self.log().len();
        let result = self.watchdog().order(&format!("start {port}"));
        result.map_err(|message| {
            let taken = self.log().get(before..).unwrap_or_default().contains("Address already in use");
            let message = format!("{message} on port {port}; {}", self.end_of_log());
            if taken { NotStarted::PortTaken(message) } else { NotStarted::Otherwise(message) }
        })
    }

    fn query(&self, statements: &str) -> Result<String, String> {
        query(&self.url("postgres"), statements).map_err(|message| format!("{message}; {}", self.end_of_log()))
    }

    fn end_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        format!("the end of its log:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
    }

    /// A test that panics in the middle of an order leaves the watchdog as good as before for the others.
    fn watchdog(&self) -> MutexGuard<'_, Watchdog> {
        self.watchdog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a server does not run.
enum NotStarted {
    PortTaken(String),
    Otherwise(String),
}

impl NotStarted {
    fn message(self) -> String {
        match self {
            NotStarted::PortTaken(message) | NotStarted::Otherwise(message) => message,
        }
    }
}

pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("no port of 127.0.0.1 can be had: {error}"))
}

/// 128 bits that cannot be guessed, in hexadecimal.
pub(crate) fn random() -> Result<String, String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| format!("/dev/urandom cannot be read: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(all(test, feature = "server-tests"))]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_was_taken_meanwhile_is_passed_over() {
        let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
        let server = PrivatePostgres::start_at([Ok(taken), free_port()].into_iter()).unwrap();
        assert_ne!(server.port, taken);
        assert_eq!(server.query("SHOW port").unwrap(), server.port.to_string());

        let message = PrivatePostgres::start_at([Ok(taken)].into_iter()).err().unwrap();
        assert!(message.contains(&format!("on port {taken}")), "{message}");
        assert!(message.contains("Address already in use"), "{message}");
    }
}
