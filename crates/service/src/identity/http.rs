//! Requests to an issuer: over TLS or loopback, only to addresses that it publishes, with limits on time and size.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::Uri;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Error};

use super::keys::KeySet;
use crate::log::IssuerTrouble;
use crate::{Code, Problem};

/// How long one request to an issuer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer of an issuer that is read, in bytes.
const LONGEST_ANSWER: u64 = 256 * 1024;

/// The URL of an issuer, as its tokens write it.
#[derive(Clone, Debug)]
pub(super) struct IssuerUrl {
    url: String,
    is_encrypted: bool,
}

impl IssuerUrl {
    /// Reads a URL: `https`, or `http` on this machine.
    pub(super) fn parse(what: &str, text: &str) -> Result<IssuerUrl, Problem> {
        let wrong = |why: &str| {
            // The text before an @ may be a password.
            let shown = if text.contains('@') { "a URL with an @" } else { text };
            let detail = format!("{what} is {shown}: {why}; write for instance https://login.example.org");
            Problem::bad_request(detail)
        };
        match parts(text) {
            Some((is_encrypted, is_here)) if is_encrypted || is_here => {
                Ok(IssuerUrl { url: text.to_string(), is_encrypted })
            }
            Some(_) => Err(wrong("http:// is only for this machine; use https://")),
            None => Err(wrong("it must be a URL with https://, and without a name, a ? or a #")),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.url
    }

    /// A path below it.
    pub(super) fn with(&self, path: &str) -> String {
        format!("{}{path}", self.url.trim_end_matches('/'))
    }

    /// Whether an address that the issuer publishes is at least as well protected as the issuer itself.
    fn protects(&self, address: &str) -> bool {
        let is_allowed = |(is_encrypted, is_here)| is_encrypted || (is_here && !self.is_encrypted);
        // An address may have a query, which an issuer's own URL may not.
        parts(address.split('?').next().unwrap_or_default()).is_some_and(is_allowed)
    }
}

/// Whether a URL is encrypted, and whether it leads to this machine.
fn parts(text: &str) -> Option<(bool, bool)> {
    let uri: Uri = text.parse().ok()?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let is_encrypted = match uri.scheme_str()? {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let host = authority.host().trim_matches(['[', ']']);
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_plain = uri.query().is_none() && !text.contains('#') && !host.is_empty();
    is_plain.then_some((is_encrypted, is_here))
}

/// What an issuer publishes about itself (OpenID Connect Discovery 1.0).
#[derive(Deserialize)]
pub(super) struct IssuerMetadata {
    issuer: String,
    jwks_uri: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl IssuerMetadata {
    /// Whether a client's secret is sent in the body of a request. The default is a header.
    pub(super) fn takes_secret_in_body(&self) -> bool {
        let has = |methods: &[String], name: &str| methods.iter().any(|method| method == name);
        self.token_endpoint_auth_methods_supported
            .as_deref()
            .is_some_and(|methods| has(methods, "client_secret_post") && !has(methods, "client_secret_basic"))
    }

    /// The addresses must be as well protected as the issuer, and the document must name this issuer.
    fn check(&self, issuer: &IssuerUrl) -> Result<(), IssuerTrouble> {
        if self.issuer != issuer.as_str() {
            return Err(IssuerTrouble::OtherName);
        }
        let endpoints = self.authorization_endpoint.iter().chain(&self.token_endpoint);
        match endpoints.chain([&self.jwks_uri]).all(|address| issuer.protects(address)) {
            true => Ok(()),
            false => Err(IssuerTrouble::Unprotected),
        }
    }
}

/// The documents read from an issuer together.
pub(super) struct IssuerDocument {
    pub(super) metadata: IssuerMetadata,
    pub(super) keys: KeySet,
}

/// A client of one issuer. Its methods block, within a time limit.
#[derive(Clone)]
pub(super) struct IssuerClient {
    agent: Agent,
}

impl IssuerClient {
    /// A client that trusts public authorities, or only those in a file.
    pub(super) fn new(issuer: &IssuerUrl, authorities: Option<&Path>) -> Result<IssuerClient, Problem> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("taximeter/", env!("CARGO_PKG_VERSION")));
        if !issuer.is_encrypted {
            // Unencrypted requests stay on this machine.
            config = config.proxy(None);
        }
        if let Some(file) = authorities {
            config = config.tls_config(TlsConfig::builder().root_certs(roots(file)?).build());
        }
        Ok(IssuerClient { agent: config.build().new_agent() })
    }

    /// Reads what the issuer publishes: its addresses, then its keys.
    pub(super) fn read(&self, issuer: &IssuerUrl) -> Result<IssuerDocument, IssuerTrouble> {
        let metadata: IssuerMetadata = self.get(&issuer.with("/.well-known/openid-configuration"))?;
        metadata.check(issuer)?;
        let keys: Value = self.get(&metadata.jwks_uri)?;
        let keys = KeySet::parse(&keys).ok_or(IssuerTrouble::BadAnswer)?;
        Ok(IssuerDocument { metadata, keys })
    }

    fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, IssuerTrouble> {
        let (status, bytes) = read(self.agent.get(url).header("accept", "application/json").call()?)?;
        let document = (status == 200).then(|| serde_json::from_slice(&bytes).ok()).flatten();
        document.ok_or(IssuerTrouble::BadAnswer)
    }

    /// Sends a form; the answer has its status.
    pub(super) fn post(
        &self,
        url: &str,
        authorization: Option<String>,
        form: &[(&str, &str)],
    ) -> Result<(u16, Vec<u8>), IssuerTrouble> {
        let request = self.agent.post(url).header("accept", "application/json");
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        read(request.send_form(form.iter().copied())?)
    }
}

fn read(mut response: ureq::http::Response<Body>) -> Result<(u16, Vec<u8>), IssuerTrouble> {
    let bytes = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec()?;
    Ok((response.status().as_u16(), bytes))
}

impl From<Error> for IssuerTrouble {
    fn from(error: Error) -> IssuerTrouble {
        match &error {
            Error::Timeout(_) => IssuerTrouble::NoAnswer,
            Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) => IssuerTrouble::Untrusted,
            // rustls reports a failed handshake as an I/O error of this kind.
            Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => IssuerTrouble::Untrusted,
            Error::Io(_) | Error::HostNotFound | Error::ConnectionFailed => IssuerTrouble::Unreachable,
            Error::InvalidProxyUrl | Error::ConnectProxyFailed(_) => IssuerTrouble::Unreachable,
            _ => IssuerTrouble::BadAnswer,
        }
    }
}

/// The authorities in a file, in PEM.
fn roots(file: &Path) -> Result<RootCerts, Problem> {
    let cannot = |why: &dyn std::fmt::Display| {
        let detail = format!("the issuer's authorities in {} cannot be used: {why}", file.display());
        Problem::new(Code::Storage, detail)
    };
    let bytes = std::fs::read(file).map_err(|error| cannot(&error))?;
    let items: Vec<PemItem<'static>> = parse_pem(&bytes).collect::<Result<_, _>>().map_err(|error| cannot(&error))?;
    let certificate = |item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    };
    let certificates: Vec<_> = items.into_iter().filter_map(certificate).collect();
    match certificates.is_empty() {
        true => Err(cannot(&"it has no certificate in PEM")),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_encrypted_or_on_this_machine() {
        for (url, is_fine) in [
            ("https://login.example.org", true),
            ("https://login.example.org/realms/a/", true),
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080", true),
            ("http://[::1]:8080/a", true),
            ("http://login.example.org", false),
            ("http://127.0.0.1.example.org", false),
            ("http://127.0.0.1@login.example.org", false),
            ("https://user:word@login.example.org", false),
            ("https://login.example.org/?a=b", false),
            ("https://login.example.org/#a", false),
            ("ftp://127.0.0.1", false),
            ("login.example.org", false),
            ("", false),
        ] {
            let parsed = IssuerUrl::parse("the issuer", url);
            assert_eq!(parsed.is_ok(), is_fine, "{url}");
            assert!(!parsed.is_err_and(|problem| problem.detail.contains("word")), "a password is not repeated");
        }
    }

    #[test]
    fn what_an_issuer_publishes_is_its_own_and_as_well_protected_as_itself() {
        let metadata = |issuer: &str, jwks: &str| IssuerMetadata {
            issuer: issuer.to_string(),
            jwks_uri: jwks.to_string(),
            authorization_endpoint: Some("https://login.example.org/authorize?tenant=a".to_string()),
            token_endpoint: None,
            token_endpoint_auth_methods_supported: None,
        };
        let secure = IssuerUrl::parse("the issuer", "https://login.example.org").unwrap();
        let local = IssuerUrl::parse("the issuer", "http://127.0.0.1:1").unwrap();
        for (issuer, name, jwks, expected) in [
            (&secure, "https://login.example.org", "https://keys.example.org/", Ok(())),
            (&secure, "https://login.example.org/", "https://keys.example.org/", Err(IssuerTrouble::OtherName)),
            (&secure, "https://login.example.org", "http://127.0.0.1/keys", Err(IssuerTrouble::Unprotected)),
            (&secure, "https://login.example.org", "file:///etc/passwd", Err(IssuerTrouble::Unprotected)),
            (&local, "http://127.0.0.1:1", "http://127.0.0.1:1/keys", Ok(())),
            (&local, "http://127.0.0.1:1", "http://10.0.0.1/keys", Err(IssuerTrouble::Unprotected)),
        ] {
            assert_eq!(metadata(name, jwks).check(issuer), expected, "{name} {jwks}");
        }
    }
}
