//! `taximeter serve`: the ledger and the gate for a team, over HTTP.

use std::io::{IsTerminal, stderr};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use taximeter_gate::Gate;
use taximeter_server::{App, Listener, Tls, runtime};
use taximeter_service::{Code, Log, LogForm, Problem, Service, Settings, TokenPlace, Tokens};

use crate::config::Setting;
use crate::gate::GateArgs;
use crate::oidc::OidcArgs;
#[cfg(feature = "otlp")]
use crate::otlp::OtlpArgs;
use crate::output::{Failure, tell, usage};
use crate::signing::SigningArgs;

/// Serve the ledger and the gate to a team, over HTTP
///
/// Every user needs a token, which states who they are and what they may do: `taximeter token create` makes one, or an OpenID Connect
/// issuer (--oidc). /openapi.json describes the API for programs; the other commands use the server with --server URL.
///
/// By default the server listens only on this machine. On any other address, tokens must be encrypted: give a certificate (--tls-cert,
/// --tls-key), or use a proxy that has one (--behind-proxy).
///
/// After SIGTERM or Ctrl-C, the server answers all accepted requests and ends; a second signal ends it at once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter serve
  taximeter serve --ledger taximeter.db --listen 0.0.0.0:7070 --tls-cert server.pem --tls-key server.key
  taximeter serve --ledger postgres://taximeter@db/taximeter --listen 10.0.0.5:7070 --behind-proxy --tick 250ms
  taximeter serve --oidc https://login.example.org --audience taximeter --oidc-claims claims.toml --public-url https://budgets.example")]
pub struct ServeCommand {
    /// Create the ledger if there is none, as on the first start of a container. No ledger is created if the witness remembers one
    #[arg(long)]
    create: bool,
    /// The address to listen on [default: listen in the configuration, or 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// The certificate chain, in PEM; read again when the file changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy in front of the server encrypts, so that it may listen on any address without a certificate
    #[arg(long, conflicts_with = "tls_cert")]
    behind_proxy: bool,
    /// Release answers to questions at multiples of this time, such as 250ms, so that their timing reveals little; 0 for at once
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    tick: String,
    /// Verify the whole journal in the background at this interval, in hours; damage raises the alarm. 0 for never
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    verify_every: u32,
    /// A PostgreSQL server from which owners may register tables over the network, such as db.example.org or 10.0.0.7:5433 (may be
    /// repeated). The server of the ledger is always allowed
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_postgres: Vec<String>,
    /// The request log on standard error: one JSON document per line, text, or none [default: text at a terminal, json otherwise]
    #[arg(long, value_name = "FORM", value_parser = ["json", "text", "off"])]
    log: Option<String>,
    /// Keep a signed checkpoint at this interval, in minutes, if there is a key to sign with; 0 for never
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    checkpoint_every: u32,
    #[cfg(feature = "otlp")]
    #[command(flatten)]
    otlp: OtlpArgs,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    oidc: OidcArgs,
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// The largest number of requests of one token per second; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = Settings::default().requests_per_second)]
    requests_per_second: u32,
    /// The largest number of concurrent requests of one token, including event streams; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = Settings::default().requests_at_once)]
    requests_at_once: usize,
    /// The largest number of concurrent connections; others wait
    #[arg(long, value_name = "NUMBER", default_value_t = Settings::default().connections)]
    connections: usize,
    /// The largest request body, such as 256KiB
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    largest_body: String,
    /// The largest upload, such as 4GiB
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    largest_upload: String,
}

impl ServeCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.gate.ledger.json {
            return Err(usage("serve prints no document; use `--log json` for a log in JSON"));
        }
        let (address, tls, settings) = (self.address()?, self.tls(), self.settings()?);
        let log = self.log();
        log.tell_panics();
        // These calls block, so they are made before the asynchronous runtime starts.
        let gate = self.gate.open_signed_by(self.signing.signing()?, self.create)?;
        let place = TokenPlace::of(gate.ledger().location());
        let tokens = Tokens::open(&place, gate.ledger().id())?;
        let is_without_tokens = tokens.list()?.is_empty();
        #[cfg(feature = "otlp")]
        let with_otlp = {
            let otlp = self.otlp.settings()?;
            move |app: App| otlp.map_or(Ok(app.clone()), |otlp| app.with_otlp(&otlp))
        };
        #[cfg(not(feature = "otlp"))]
        let with_otlp = Ok;
        serve(gate, tokens, log, settings, (address, tls), with_otlp, |listener| {
            tell(&format!("listening on {}://{}", listener.scheme(), listener.address()));
            if is_without_tokens {
                tell("there are no tokens yet; `taximeter token create NAME --role owner` makes the first");
            }
            Ok(())
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The address, if tokens are encrypted on the way to it or stay on this machine.
    fn address(&self) -> Result<SocketAddr, Failure> {
        let listen = match &self.listen {
            Some(listen) => Some(listen.clone()),
            None => Setting::Listen.text()?,
        };
        let text = listen.as_deref().unwrap_or("127.0.0.1:7070");
        let address: SocketAddr = text.parse().map_err(|_| {
            usage(format!(
                "--listen is {text:?}; write an IP address and a port, such as 127.0.0.1:7070, [::1]:7070, or 0.0.0.0:7070 for all"
            ))
        })?;
        if address.ip().is_loopback() || self.tls_cert.is_some() || self.behind_proxy {
            return Ok(address);
        }
        Err(usage(format!(
            "--listen {address} can be reached from other machines, and without encryption others could read tokens and answers. Give a \
             certificate with --tls-cert and --tls-key; or listen on 127.0.0.1; or, if a proxy in front of the server encrypts and only \
             the proxy can reach this address, give --behind-proxy"
        )))
    }

    fn tls(&self) -> Option<Tls> {
        let (certificate, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(Tls { certificate, key })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let Limits { requests_per_second, requests_at_once, connections, largest_body, largest_upload } = &self.limits;
        if !(1..=100_000).contains(connections) {
            return Err(usage(format!("--connections is {connections}; it must be between 1 and 100,000")));
        }
        let largest_body = size("--largest-body", largest_body)?;
        Ok(Settings {
            requests_per_second: *requests_per_second,
            requests_at_once: *requests_at_once,
            // Behind a proxy, all connections come from the proxy.
            connections_of_one: if self.behind_proxy { 0 } else { connections.div_ceil(4) },
            connections: *connections,
            largest_body: usize::try_from(largest_body).unwrap_or(usize::MAX),
            largest_upload: size("--largest-upload", largest_upload)?,
            tick: tick(&self.tick)?,
            verify_every: (self.verify_every > 0).then(|| Duration::from_secs(3600 * u64::from(self.verify_every))),
            checkpoint_every: (self.checkpoint_every > 0)
                .then(|| Duration::from_secs(60 * u64::from(self.checkpoint_every))),
            is_encrypted: self.tls_cert.is_some() || self.behind_proxy,
            is_behind_proxy: self.behind_proxy,
            postgres_hosts: self.allow_postgres.clone(),
            oidc: self.oidc.settings()?,
            ..Settings::default()
        })
    }

    fn log(&self) -> Log {
        let default = if stderr().is_terminal() { "text" } else { "json" };
        Log::new(match self.log.as_deref().unwrap_or(default) {
            "json" => LogForm::Json,
            "text" => LogForm::Text,
            _ => LogForm::Off,
        })
    }
}

/// Serves until a signal ends it, and blocks. `ready` is called once the server listens; its result is dropped at the end.
pub(crate) fn serve<T>(
    gate: Gate,
    tokens: Tokens,
    log: Log,
    settings: Settings,
    (address, tls): (SocketAddr, Option<Tls>),
    equip: impl FnOnce(App) -> Result<App, Problem>,
    ready: impl FnOnce(&Listener) -> Result<T, Failure>,
) -> Result<(), Failure> {
    let runtime = runtime().map_err(|error| Failure::Other(format!("the server cannot start its threads: {error}")))?;
    let listener = runtime.block_on(Listener::bind(address, tls))?;
    let inside = runtime.enter();
    let signals = Signals::new()?;
    let service = Service::new(gate, tokens, log, settings)?;
    drop(inside);
    let app = equip(App::new(&service)?)?;
    let kept = ready(&listener)?;
    let result = runtime.block_on(listener.serve(app, signals.first()));
    drop(kept);
    // Tasks that still run are not waited for: their callers are gone.
    runtime.shutdown_timeout(Duration::from_secs(1));
    // Database connections must not be dropped on a thread of the runtime, so this handle is dropped last.
    drop(service);
    Ok(result?)
}

/// Waits for the first signal that ends a server. Called within a runtime.
pub(crate) fn first_signal() -> Result<impl Future<Output = ()>, Problem> {
    Ok(Signals::new()?.first())
}

/// The signals that end the server.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Signals, Problem> {
        use tokio::signal::unix::{SignalKind, signal};
        let cannot = |error: std::io::Error| {
            Problem::new(Code::Storage, format!("the server cannot listen for the signals that end it: {error}"))
        };
        let signal = |kind: SignalKind| signal(kind).map_err(cannot);
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// On other systems, Ctrl-C ends the server.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Signals, Problem> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Signals {
    /// Waits for the first signal. The next one ends the process.
    async fn first(mut self) {
        self.next().await;
        tell("ending after all accepted requests are answered; another signal ends it at once");
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(1);
        });
    }
}

/// A number with a unit, such as 250ms.
fn with_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, text[digits..].trim_start()))
}

fn tick(text: &str) -> Result<Option<Duration>, Failure> {
    if text == "0" {
        return Ok(None);
    }
    let time = with_unit(text).and_then(|(number, unit)| match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    });
    match time {
        Some(time) if (Duration::from_millis(1)..=Duration::from_secs(60)).contains(&time) => Ok(Some(time)),
        _ => {
            Err(usage(format!("--tick is {text:?}; write a time from 1ms to 60s, such as 250ms or 1s, or 0 for none")))
        }
    }
}

fn size(flag: &str, text: &str) -> Result<u64, Failure> {
    let bytes = with_unit(text).and_then(|(number, unit)| {
        let scale = match unit {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            "TiB" => 40,
            _ => return None,
        };
        number.checked_mul(1 << scale)
    });
    match bytes {
        Some(bytes @ 1..) => Ok(bytes),
        _ => Err(usage(format!("{flag} is {text:?}; write a size such as 65536, 256KiB, 10MiB or 4GiB"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        serve: ServeCommand,
    }

    fn settings(arguments: &[&str]) -> Settings {
        let arguments = <Arguments as clap::Parser>::try_parse_from([&["serve"], arguments].concat()).unwrap();
        arguments.serve.settings().unwrap_or_else(|failure| panic!("{}", failure.message()))
    }

    #[test]
    fn answers_are_released_every_50_ms_and_the_journal_is_verified_daily_unless_it_is_said() {
        let (said, all) = (settings(&[]), Settings::default());
        assert_eq!((said.tick, said.verify_every), (all.tick, all.verify_every), "a demo has the same");
        assert_eq!(said.tick, Some(Duration::from_millis(50)));
        assert_eq!(said.verify_every, Some(Duration::from_secs(86_400)));
        let never = settings(&["--tick", "0", "--verify-every", "0"]);
        assert_eq!((never.tick, never.verify_every), (None, None));
        assert_eq!(settings(&["--verify-every", "2"]).verify_every, Some(Duration::from_secs(7200)));
    }

    #[test]
    fn times_and_sizes_have_units() {
        for (text, expected) in [
            ("250ms", Some(250)),
            ("1s", Some(1000)),
            ("60 s", Some(60_000)),
            ("1ms", Some(1)),
            ("0ms", None),
            ("61s", None),
            ("250", None),
            ("1m", None),
            ("-1s", None),
            ("ms", None),
            ("99999999999999999999s", None),
            ("", None),
        ] {
            assert_eq!(tick(text).ok().flatten().map(|time| time.as_millis()), expected, "{text}");
        }
        for (text, expected) in [
            ("65536", Some(65_536)),
            ("256KiB", Some(262_144)),
            ("4GiB", Some(4 << 30)),
            ("1 MiB", Some(1 << 20)),
            ("0", None),
            ("1kb", None),
            ("KiB", None),
            ("99999999TiB", None),
        ] {
            assert_eq!(size("--largest-body", text).ok(), expected, "{text}");
        }
    }
}
