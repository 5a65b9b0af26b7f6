//! The list of databases that an owner may register data from over the network.
//!
//! Without a list, the holder of an owner's token could make the server probe every address and port of its network.

use taximeter_gate::{Error, ErrorKind};
use taximeter_ledger::Location;
use taximeter_postgres::PostgresAddress;
use tokio_postgres::config::Host;

use crate::log::LogEvent;
use crate::service::Service;
use crate::{Code, Problem};

/// A URL may only name servers on the list, or the ledger's own server.
pub(crate) fn require_listed(service: &Service, url: &str) -> Result<(), Problem> {
    let listed = &service.settings.postgres_hosts;
    let own = match service.ledger().location() {
        Location::Postgres(url) => servers(url)?,
        Location::File(_) => Vec::new(),
    };
    let is_listed = |server: &DatabaseServer| {
        own.contains(server) || listed.iter().any(|entry| *entry == server.host || *entry == server.with_port())
    };
    match servers(url)?.iter().find(|server| !is_listed(server)) {
        None => Ok(()),
        Some(server) => Err(Problem {
            parameter: Some("url".to_string()),
            ..Problem::new(
                Code::Forbidden,
                format!(
                    "this server does not connect to {}: it is not in its list of PostgreSQL servers; its operator can add it",
                    server.with_port()
                ),
            )
        }),
    }
}

/// An error of a database. Only the server's log gets its details.
pub(crate) fn unreached(service: &Service, error: Error) -> Problem {
    match error.kind() {
        ErrorKind::Storage(why) => {
            service.log.write(LogEvent::DatabaseFailed { why: why.clone() });
            let detail = "the database cannot be used from here: check its URL, that it runs, and that it accepts this server; the \
                          server's log has the reason";
            Problem { parameter: Some("url".to_string()), ..Problem::bad_request(detail) }
        }
        _ => error.into(),
    }
}

/// A PostgreSQL server, as a URL names it.
#[derive(PartialEq, Eq)]
struct DatabaseServer {
    host: String,
    port: u16,
}

impl DatabaseServer {
    fn with_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// The servers that a URL names, with the addresses that it gives for them.
fn servers(url: &str) -> Result<Vec<DatabaseServer>, Problem> {
    const PORT: u16 = 5432;
    let address = PostgresAddress::parse(url).map_err(taximeter_ledger::Error::from)?;
    let config = address.config();
    let names = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
    let named = names.enumerate().chain(addresses.enumerate());
    Ok(named.map(|(at, host)| DatabaseServer { host, port: port(at) }).collect())
}
