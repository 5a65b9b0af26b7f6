//! The address of a server. Without TLS, the server must be on this machine, so that the token is never sent in the clear.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

use crate::output::{Failure, usage};

/// The URL of a server, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    url: String,
    is_secure: bool,
}

impl Address {
    /// Reads a URL.
    pub fn parse(text: &str) -> Result<Address, Failure> {
        let wrong = |why: &str| {
            // The text before an @ may be a password.
            let shown = if text.contains('@') { "URL" } else { text };
            usage(format!(
                "the server {shown}: {why}; write for instance https://budgets.example or http://127.0.0.1:7070"
            ))
        };
        let url = text.trim().trim_end_matches('/');
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("it is not a URL: {error}")))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong("it is not a URL that starts with https:// or http://"));
        };
        if authority.as_str().contains('@') {
            return Err(wrong("it has a name or a password; use only the token in TAXIMETER_TOKEN"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(wrong("it has a ? or #; omit everything after the path"));
        }
        let is_secure = match scheme {
            "https" => true,
            "http" if is_on_this_machine(authority.host()) => false,
            "http" => {
                return Err(wrong(
                    "http:// would send your token in the clear and is only for this machine; use https://",
                ));
            }
            other => return Err(wrong(&format!("{other}:// is not supported"))),
        };
        Ok(Address { url: url.to_string(), is_secure })
    }

    /// The URL of a path, which starts with a slash.
    pub fn of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Whether requests are encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

fn is_on_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_encrypted_or_not_at_all() {
        for (text, url) in [
            ("https://budgets.example", "https://budgets.example/v1/me"),
            ("https://budgets.example:8443/team/", "https://budgets.example:8443/team/v1/me"),
            ("http://127.0.0.1:7070", "http://127.0.0.1:7070/v1/me"),
            ("http://localhost:7070/", "http://localhost:7070/v1/me"),
            ("http://[::1]:7070", "http://[::1]:7070/v1/me"),
        ] {
            let Ok(address) = Address::parse(text) else { panic!("{text}") };
            assert_eq!(address.of("/v1/me"), url);
            assert_eq!(address.is_secure(), text.starts_with("https"));
        }
        for (text, part) in [
            ("http://budgets.example", "in the clear"),
            ("http://127.0.0.1.example", "in the clear"),
            ("http://localhost.example:7070", "in the clear"),
            ("http://10.0.0.1", "in the clear"),
            ("http://[2001:db8::1]", "in the clear"),
            ("ftp://127.0.0.1", "ftp://"),
            ("127.0.0.1:7070", "not a URL"),
            ("budgets.example", "not a URL"),
            ("", "not a URL"),
            ("https://", "not a URL"),
            ("https://a b", "not a URL"),
            ("https://budgets.example?x=1", "a ? or #"),
            ("https://user:secret@budgets.example", "TAXIMETER_TOKEN"),
            ("http://127.0.0.1@budgets.example", "TAXIMETER_TOKEN"),
        ] {
            let Err(failure) = Address::parse(text) else { panic!("{text}") };
            assert!(failure.message().contains(part), "{text}: {}", failure.message());
            assert!(!failure.message().contains("secret"), "{}", failure.message());
        }
    }
}
