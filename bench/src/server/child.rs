//! The server as a process of its own, so that its memory is its own and it can be killed.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Args;
use taximeter_gate::Gate;
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use taximeter_server::{App, Listener, runtime};
use taximeter_service::{Log, LogForm, Service, Settings, TokenPlace, Tokens};
use taximeter_service::{NewToken, Role};
use taximeter_testing::HttpConnection;

use crate::ledger::load::analyst;

/// The arguments of the process that serves.
#[derive(Args)]
pub struct Serve {
    /// The ledger
    ledger: String,
    /// A folder for the witness and the gate
    folder: PathBuf,
}

impl Serve {
    /// Serves until the end of the input.
    pub fn run(&self) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let location = Location::parse(&self.ledger).map_err(|error| text(&error))?;
        // As `taximeter serve` opens it.
        let options = Options { witness: Some(self.folder.join("witness")), overlap: false, ..Options::default() };
        let ledger = Ledger::open(&location, options).map_err(|error| text(&error))?;
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).map_err(|problem| problem.detail)?;
        let gate = Gate::open(&self.folder.join("gate"), ledger).map_err(|error| text(&error))?;
        // All connections have one token, and none is to be slowed down.
        let settings = Settings {
            requests_per_second: 0,
            requests_at_once: 0,
            streams: 2048,
            connections: 4096,
            ..Settings::default()
        };
        let service = Service::new(gate, tokens, Log::new(LogForm::Off), settings).map_err(|problem| problem.detail)?;
        let app = App::new(&service).map_err(|problem| problem.detail)?;
        let runtime = runtime().map_err(|error| text(&error))?;
        runtime.block_on(async {
            let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None).await;
            let listener = listener.map_err(|problem| problem.detail)?;
            println!("{}", listener.address());
            let end = async {
                let waiting =
                    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
                // However it ends, nobody wants the server any more.
                let _ = waiting.await;
            };
            listener.serve(app, end).await.map_err(|problem| problem.detail)
        })
    }
}

/// A server that runs, until it is dropped.
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts a server.
    pub fn start(location: &Location, url: Option<&str>, folder: &Path) -> Result<Server, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut process = Command::new(program)
            .arg("serve")
            .arg(url.map_or_else(|| location.to_string(), str::to_string))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server cannot be started: {error}"))?;
        let mut line = String::new();
        if let Some(output) = &mut process.stdout {
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().parse().map_err(|_| "the server did not start; its error is above".to_string())?;
        Ok(Server { process, address })
    }

    /// Kills it, as a machine that loses its power would.
    pub fn kill(mut self) -> Result<(), String> {
        self.process.kill().map_err(|error| error.to_string())
    }

    /// How many transactions it committed.
    pub fn commits(&self, token: &str) -> Result<f64, String> {
        let mut connection = HttpConnection::open(self.address, Some(token)).map_err(|error| error.to_string())?;
        let page = connection.request("GET", "/metrics", "", None).map_err(|error| error.to_string())?.body;
        let line = page.lines().find_map(|line| line.strip_prefix("taximeter_commit_seconds_count "));
        line.and_then(|count| count.parse().ok()).ok_or_else(|| format!("the metrics do not say it: {page}"))
    }

    /// What it holds in memory, in bytes.
    pub fn resident_bytes(&self) -> Result<f64, String> {
        crate::memory::resident_bytes(&self.process.id().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends it; a killed server is gone already.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The secret of a new owner's token.
pub fn owner(location: &Location, ledger: &Ledger) -> Result<String, String> {
    token(location, ledger, "bench", Role::Owner, Vec::new())
}

/// The secret of a new token for the analyst whose account it is.
pub fn analyst_of(account: &AccountName, location: &Location, ledger: &Ledger) -> Result<String, String> {
    token(location, ledger, analyst(account), Role::Analyst, vec![account.clone()])
}

fn token(
    location: &Location,
    ledger: &Ledger,
    principal: &str,
    role: Role,
    accounts: Vec<AccountName>,
) -> Result<String, String> {
    let tokens = Tokens::open(&TokenPlace::of(location), ledger.id()).map_err(|problem| problem.detail)?;
    let principal = principal.to_string();
    let new = NewToken { principal, role, accounts, datasets: Vec::new(), sees_above: false, expires: None };
    Ok(tokens.create(&new).map_err(|problem| problem.detail)?.secret)
}
