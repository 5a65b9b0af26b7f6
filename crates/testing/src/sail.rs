//! A Sail server of one's own: Spark's SQL over Flight SQL, with workers.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::postgres::free_port;
use crate::waiting::{BETWEEN_LOOKS, PATIENCE};

/// The variable with the program `sail`. `cargo xtask test` installs it and names it here.
pub const SAIL_VARIABLE: &str = "TAXIMETER_TEST_SAIL";

/// Starts the server and ends it when nothing can be read from standard input any more, however this process ended.
const KEEPER: &str = r#""$@" >"$SAIL_LOG" 2>&1 </dev/null & server=$!; echo $server; read -r _; kill -9 $server; wait"#;

/// A server on a port of 127.0.0.1, whose driver and workers talk to each other over loopback: `SAIL_MODE=local-cluster`, which has them
/// in one process. It is gone when this is dropped, and also when this process ends in any way.
pub struct PrivateSail {
    program: PathBuf,
    port: u16,
    workers: u32,
    log: PathBuf,
    keeper: Option<Keeper>,
}

struct Keeper {
    shell: Child,
    server: String,
}

impl PrivateSail {
    /// Starts a server with this number of workers, which logs into a folder.
    pub fn start(workers: u32, folder: &std::path::Path) -> Result<PrivateSail, String> {
        let program = std::env::var_os(SAIL_VARIABLE).map(PathBuf::from).ok_or_else(|| {
            format!("{SAIL_VARIABLE} must name the program `sail` of the Python package pysail; `cargo xtask test` installs it")
        })?;
        let mut sail = PrivateSail { program, port: free_port()?, workers, log: folder.join("sail.log"), keeper: None };
        sail.start_again()?;
        Ok(sail)
    }

    /// Where it is.
    pub fn uri(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// Starts it again on the same port after [`kill`](Self::kill), and waits until it takes connections. It remembers no tables.
    pub fn start_again(&mut self) -> Result<(), String> {
        let port = self.port.to_string();
        let mut shell = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&self.program)
            .args(["flight", "server", "--port", &port])
            .env("SAIL_LOG", &self.log)
            .env("SAIL_MODE", "local-cluster")
            .env("SAIL_CLUSTER__WORKER_INITIAL_COUNT", self.workers.to_string())
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("sh cannot be started: {error}"))?;
        let mut server = String::new();
        let output = shell.stdout.take().ok_or("the shell has no output")?;
        BufReader::new(output).read_line(&mut server).map_err(|error| format!("the shell says nothing: {error}"))?;
        self.keeper = Some(Keeper { shell, server: server.trim().to_string() });
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() >= deadline {
                return Err(format!(
                    "Sail does not listen on port {} after {PATIENCE:?}; its log:\n{}",
                    self.port,
                    self.log()
                ));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Kills the server and its workers, as a machine that fails does.
    pub fn kill(&mut self) {
        self.keeper = None;
    }

    /// Stops the server where it is, as a machine that hangs does, or lets it go on.
    pub fn freeze(&self, frozen: bool) -> Result<(), String> {
        let server = self.keeper.as_ref().map(|keeper| keeper.server.clone()).ok_or("the server is not running")?;
        let signal = if frozen { "-STOP" } else { "-CONT" };
        let status = Command::new("kill").args([signal, &server]).status();
        let done = status.map_err(|error| format!("kill cannot be started: {error}"))?.success();
        if done { Ok(()) } else { Err(format!("the server {server} is not there")) }
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        let mut text = String::new();
        let read = File::open(&self.log).and_then(|mut file| file.read_to_string(&mut text));
        read.map_or_else(|error| format!("there is no log: {error}"), |_| text)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It ends as soon as its input does; what is left to say is said by the test.
        let _ = self.shell.wait();
    }
}
