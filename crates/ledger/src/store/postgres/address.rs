//! Where a PostgreSQL database is: reading its URL, and showing it without its password.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::Error;

/// A PostgreSQL database that can be connected to. It is shown without its password.
#[derive(Clone)]
pub struct PostgresAddress {
    config: Config,
    /// The URL as it may be shown.
    shown: String,
}

/// How long a host may take to be reached, unless the URL says.
const REACH: Duration = Duration::from_secs(10);

impl PostgresAddress {
    /// Reads a URL such as `postgres://user:password@host:port/database`. One that asks for encryption is an error, as is one
    /// without a host.
    pub fn parse(url: &str) -> Result<PostgresAddress, Error> {
        let shown = without_password(url);
        let mut config: Config = url.parse().map_err(|_| malformed(url, &shown))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(no_tls(&shown));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(Error::input(format!(
                "the URL {shown} names no host; the form is postgres://user:password@host:port/database"
            )));
        }
        if config.get_application_name().is_none() {
            config.application_name("taximeter");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(REACH);
        }
        Ok(PostgresAddress { config, shown })
    }

    /// How to connect, with the password: never to be shown.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Not what the library says about it, which may quote a part of a password.
fn malformed(url: &str, shown: &str) -> Error {
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    let mut modes = options.filter_map(|option| option.strip_prefix("sslmode="));
    match modes.any(|mode| !["disable", "prefer"].contains(&mode)) {
        true => no_tls(shown),
        false => Error::input(format!(
            "the URL {shown} cannot be used: it is malformed, or has an option or a value that is not known; the form is \
                 postgres://user:password@host:port/database, with special characters of the password written as %40 for @, %2F for /, \
                 and so on"
        )),
    }
}

fn no_tls(shown: &str) -> Error {
    Error::input(format!(
        "the URL {shown} asks for an encrypted connection with sslmode, which this program cannot make yet; use sslmode=disable \
         where the network can be trusted, a Unix socket, or a tunnel"
    ))
}

/// A URL to show: made of what was understood, so that nothing else can slip in. What is in doubt is hidden.
pub(in crate::store) fn without_password(url: &str) -> String {
    const HIDDEN: &str = "postgres://***";
    // Where a password has a / or an @ that should have been escaped, nobody can say where it ends.
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    if after_scheme.rsplit_once('@').is_some_and(|(who, _)| who.contains(['@', '/', '?'])) {
        return HIDDEN.to_string();
    }
    let Ok(config) = url.parse::<Config>() else { return HIDDEN.to_string() };
    let user = config.get_user().map_or(String::new(), |user| format!("{}@", plain(user)));
    let port = |at: usize| match config.get_ports() {
        [] => 5432,
        [port] => *port,
        ports => ports.get(at).copied().unwrap_or(5432),
    };
    let host = |(at, host): (usize, &Host)| match (host, port(at)) {
        (Host::Tcp(name), 5432) => plain(name),
        (Host::Tcp(name), port) => format!("{}:{port}", plain(name)),
        #[cfg(unix)]
        (Host::Unix(path), _) => plain(&path.to_string_lossy()).replace('/', "%2F"),
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    let database = config.get_dbname().map_or(String::new(), |database| format!("/{}", plain(database)));
    format!("postgres://{user}{}{database}", hosts.join(","))
}

/// A name with nothing in it that a name seldom has.
fn plain(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/'));
    if is_plain { name.to_string() } else { "***".to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://ann:secret@db.example.org:5433/books", "postgres://ann@db.example.org:5433/books"),
            ("postgresql://ann:se%40cret@db/books?sslmode=disable", "postgres://ann@db/books"),
            ("postgres://ann:secret@db", "postgres://ann@db"),
            ("postgres://db/books?user=ann&password=secret", "postgres://ann@db/books"),
            ("postgres://one:5433,two:5434/books?password=secret", "postgres://one:5433,two:5434/books"),
            ("postgres://ann:secret@%2Fvar%2Frun/books", "postgres://ann@%2Fvar%2Frun/books"),
            ("postgres:///books?host=db&password=secret", "postgres://db/books"),
            ("postgres://db/books?options=-c%20x%3Dsecret", "postgres://db/books"),
        ] {
            assert_eq!(without_password(url), shown);
            assert!(PostgresAddress::parse(url).is_ok());
        }
    }

    #[test]
    fn what_is_in_doubt_is_hidden() {
        for url in [
            "postgres://ann:se@secret@db/books",
            "postgres://ann:se/secret@db/books",
            "postgres://ann:p@db?secret=x@db/books",
            "postgres://db/books?password=p@secret",
            "postgres://ann:secret",
            "postgres://ann:secret/books",
            "postgres://db:5432:secret/books",
            "postgres://db/books?secret",
            "postgres://db/books?secret=x",
            "postgres://db/books?pass=secret",
            "postgres://[secret/books",
            "postgres://ann:x@db/books?connect_timeout=secret",
            "postgres://ann:x@db/books?sslmode=secret",
            "ann:secret",
        ] {
            assert_eq!(without_password(url), "postgres://***", "{url}");
            if let Err(error) = PostgresAddress::parse(url) {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        }
        for url in ["postgres://ann%20secret@db/books", "postgres://[secret@db/books"] {
            assert_eq!(without_password(url), "postgres://***@db/books");
        }
    }

    #[test]
    fn encryption_cannot_be_asked_for() {
        for mode in ["require", "verify-ca", "verify-full"] {
            let error =
                PostgresAddress::parse(&format!("postgres://ann:secret@db/books?sslmode={mode}")).err().unwrap();
            assert!(error.is_input() && error.to_string().contains("sslmode=disable"), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let error = PostgresAddress::parse("postgres:///books").err().unwrap();
        assert!(error.to_string().contains("names no host"), "{error}");
    }
}
