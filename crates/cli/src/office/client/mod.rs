//! A server that is asked over HTTP, with a token.

mod accounts;
mod address;
mod datasets;
mod exchange;
mod tokens;
mod trust;

use std::time::Duration;

use rustls::pki_types::CertificateDer;
use taximeter_ledger::AccountName;
use ureq::Agent;
use ureq::tls::{PemItem, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::Connector;

use self::address::Address;
use crate::ledger::variable;
use crate::output::Failure;

/// A server, and who one is for it.
pub struct Client {
    address: Address,
    /// `Bearer` and the token. It is never shown.
    authorization: String,
    agent: Agent,
}

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

impl Client {
    /// The server at a URL, with the token of the environment. Nothing is sent yet.
    pub fn connect(url: &str) -> Result<Client, Failure> {
        let address = Address::parse(url)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The token goes to the server that was named, and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("taximeter/", env!("CARGO_PKG_VERSION")));
        // What stays on this machine goes through no proxy, which would read the token.
        let config = if address.is_secure() { config } else { config.proxy(None) };
        let agent = match certificates()? {
            None => config.build().new_agent(),
            Some(connector) => Agent::with_parts(config.build(), connector, DefaultResolver::default()),
        };
        Ok(Client { address, authorization: format!("Bearer {}", token()?), agent })
    }
}

/// The token of the environment.
fn token() -> Result<String, Failure> {
    let missing = || {
        Failure::Usage(
            "a server wants to know who asks: put your token in the variable TAXIMETER_TOKEN. The person who runs the server \
             can create one with `taximeter token create`"
                .to_string(),
        )
    };
    let token = variable("TAXIMETER_TOKEN").ok_or_else(missing)?;
    match token.to_str().map(str::trim) {
        Some(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token.to_string()),
        _ => Err(Failure::Usage(
            "what is in TAXIMETER_TOKEN is not a token: it has characters that no token has; copy it again as a whole"
                .to_string(),
        )),
    }
}

/// How to connect with certificates of one's own; nothing, if the server has one that everybody trusts.
fn certificates() -> Result<Option<impl Connector>, Failure> {
    let Some(path) = variable("TAXIMETER_CA") else { return Ok(None) };
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!(
            "the certificates that TAXIMETER_CA names cannot be used: {}: {why}; name a file with certificates in PEM",
            path.display()
        ))
    };
    let text = std::fs::read(&path).map_err(|error| unusable(&error))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| unusable(&error))? {
            certificates.push(CertificateDer::from(certificate.der().to_vec()));
        }
    }
    match certificates.is_empty() {
        true => Err(unusable(&"there is no certificate in it")),
        false => Ok(Some(trust::connector(certificates).map_err(|error| unusable(&error))?)),
    }
}

/// A name as one part of a path.
fn part(name: &AccountName) -> String {
    // Names have no other character that a path could not have.
    name.as_str().replace('/', "%2F")
}
