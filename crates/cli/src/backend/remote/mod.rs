//! A server, used over HTTP with a token.

mod accounts;
mod address;
mod datasets;
mod exchange;
mod tokens;
mod trust;

use std::path::Path;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use taximeter_ledger::{AccountName, SendRequest};
use taximeter_service::witness::request_sender;
use ureq::Agent;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, DefaultConnector};

use self::address::Address;
use crate::config::{FoundSetting, Setting, SettingOrigin, variable};
use crate::output::{Failure, usage};

/// A server and the token of the caller.
pub struct Remote {
    address: Address,
    /// `Bearer` and the token. Never printed.
    authorization: String,
    agent: Agent,
}

/// The time limit to connect.
const CONNECT: Duration = Duration::from_secs(10);

impl Remote {
    /// The server at a URL, with the token from the environment. Sends nothing yet.
    pub fn connect(url: &str) -> Result<Remote, Failure> {
        let address = Address::parse(url)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The token is sent to the named server and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("taximeter/", env!("CARGO_PKG_VERSION")));
        // Unencrypted requests stay on this machine: a proxy could read the token.
        let config = if address.is_secure() { config } else { config.proxy(None) };
        let agent = match certificates()? {
            None => config.build().new_agent(),
            Some(connector) => Agent::with_parts(config.build(), connector, DefaultResolver::default()),
        };
        Ok(Remote { address, authorization: format!("Bearer {}", token()?), agent })
    }
}

/// Connections to witnesses, which stay open. Nothing secret is sent to them, and their answers are signed.
pub fn witness_requests() -> Result<SendRequest, Failure> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .user_agent(concat!("taximeter/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(match certificates()? {
        None => request_sender(config, DefaultConnector::default()),
        Some(connector) => request_sender(config, connector),
    })
}

/// The token from the environment, or from the file that the configuration names.
fn token() -> Result<String, Failure> {
    let missing = "the server needs a token: put yours in the variable TAXIMETER_TOKEN, or name a file with it as token_file in the \
                   configuration. The person who runs the server can create one with `taximeter token create`";
    let (token, from) = match (variable("TAXIMETER_TOKEN"), Setting::TokenFile.path()?) {
        (Some(token), _) => (token.into_string().unwrap_or_default(), "TAXIMETER_TOKEN".to_string()),
        (None, Some(path)) => (private_text(&path)?, path.display().to_string()),
        (None, None) => return Err(usage(missing)),
    };
    match token.trim() {
        token if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token.to_string()),
        _ => Err(usage(format!(
            "the value of {from} is not a token: it has other characters; copy the whole token again"
        ))),
    }
}

/// The text of a file that no other user may read.
fn private_text(path: &Path) -> Result<String, Failure> {
    let unusable = |why: String| usage(format!("the token file {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unusable(format!("it cannot be read: {error}")))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = path.metadata().map_err(|error| unusable(format!("it cannot be read: {error}")))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(unusable("other users can read it; run chmod 600 on it".to_string()));
        }
    }
    Ok(text)
}

/// The connector for the certificates in TAXIMETER_CA; none if the variable is not set.
fn certificates() -> Result<Option<impl Connector>, Failure> {
    let Some(FoundSetting { value: path, from }) = Setting::Ca.find()? else { return Ok(None) };
    let unusable = |why: &dyn std::fmt::Display| {
        usage(format!(
            "the certificates in {} cannot be used: {}: {why}; name a file with certificates in PEM",
            if matches!(from, SettingOrigin::Variable(_)) { from.to_string() } else { format!("ca of {from}") },
            path.display()
        ))
    };
    let items = CertificateDer::pem_file_iter(&path).and_then(|items| items.collect::<Result<Vec<_>, _>>());
    let certificates = items.map_err(|error| unusable(&error))?;
    match certificates.is_empty() {
        true => Err(unusable(&"it has no certificate")),
        false => Ok(Some(trust::connector(certificates).map_err(|error| unusable(&error))?)),
    }
}

/// A name as one segment of a path.
fn segment(name: &AccountName) -> String {
    // The slash is the only character of a name that must be escaped.
    name.as_str().replace('/', "%2F")
}
