//! Where a PostgreSQL database is: reading its URL, and showing it without its password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::tls::TlsMode;

/// A PostgreSQL database that can be connected to. It is shown without its password.
#[derive(Clone)]
pub struct PostgresAddress {
    config: Config,
    tls: TlsMode,
    /// The URL as it may be shown.
    shown: String,
}

/// A URL that cannot be used: why, without its password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the URL {shown} {why}")]
pub struct AddressError {
    shown: String,
    why: &'static str,
}

/// How long a host may take to be reached, unless the URL says.
const REACH: Duration = Duration::from_secs(10);

impl PostgresAddress {
    /// Reads a URL such as `postgres://user:password@host:port/database?sslmode=verify-full`. It must name a host.
    pub fn parse(url: &str) -> Result<PostgresAddress, AddressError> {
        let (url, options) = TlsOptions::split(url);
        let shown = show(&url);
        let wrong = |why: &'static str| AddressError { shown: shown.clone(), why };
        // Not what the library says about it, which may quote a part of a password.
        let mut config: Config = url.parse().map_err(|_| wrong(MALFORMED))?;
        let addresses = config.get_hostaddrs().to_vec();
        if config.get_hosts().is_empty() {
            if addresses.is_empty() {
                return Err(wrong("names no host; the form is postgres://user:password@host:port/database"));
            }
            // A certificate is checked by the host.
            for address in addresses {
                config.host(address.to_string());
            }
        }
        if config.get_application_name().is_none() {
            config.application_name("taximeter");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(REACH);
        }
        let tls = options.mode(is_local(&config)).map_err(wrong)?;
        config.ssl_mode(tls.ssl_mode());
        Ok(PostgresAddress { config, tls, shown })
    }

    /// How to connect, with the password: never to be shown.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn tls(&self) -> &TlsMode {
        &self.tls
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

const MALFORMED: &str = "cannot be used: it is malformed, or has an option or a value that is not known; the form is \
     postgres://user:password@host:port/database, with special characters of the password written as %40 for @, %2F for /, and so on";

/// What a URL says about encryption. The library knows neither `verify-full` nor files of roots.
#[derive(Default)]
struct TlsOptions {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl TlsOptions {
    /// Takes them out of a URL.
    fn split(url: &str) -> (String, TlsOptions) {
        let mut options = TlsOptions::default();
        let Some((place, all)) = url.split_once('?') else { return (url.to_string(), options) };
        let is_other = |option: &&str| {
            let Some((name, value)) = option.split_once('=') else { return true };
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match &*percent_decode_str(name).decode_utf8_lossy() {
                "sslmode" => options.mode = Some(value),
                "sslrootcert" => options.roots = Some(value.into()),
                _ => return true,
            }
            false
        };
        let others: Vec<&str> = all.split('&').filter(is_other).collect();
        match others.as_slice() {
            [] => (place.to_string(), options),
            others => (format!("{place}?{}", others.join("&")), options),
        }
    }

    /// What they ask for. Without a mode, a connection that leaves the machine is encrypted: falling back to plain text, as libpq
    /// does, would send a password to anyone who stands in front of the server.
    fn mode(self, is_local: bool) -> Result<TlsMode, &'static str> {
        let mode = match (self.mode.as_deref(), is_local) {
            (Some("verify-full"), _) => return Ok(TlsMode::VerifyFull(self.roots)),
            (Some("disable"), _) | (None, true) => TlsMode::Disable,
            (Some("prefer"), _) => TlsMode::Prefer,
            (Some("require"), _) | (None, false) => TlsMode::Require,
            (Some(_), _) => {
                return Err("has an unknown sslmode; use disable, prefer, require or verify-full");
            }
        };
        match self.roots {
            None => Ok(mode),
            Some(_) => Err("has sslrootcert, which works only with sslmode=verify-full; add that"),
        }
    }
}

/// Whether a connection stays on this machine. An address beside a name is where it goes.
fn is_local(config: &Config) -> bool {
    let is_loopback = |name: &str| {
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => is_loopback(name),
            #[cfg(unix)]
            Host::Unix(_) => true,
        }),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// A URL without its password, whether it can be used or not.
pub fn without_password(url: &str) -> String {
    show(&TlsOptions::split(url).0)
}

/// A URL to show: made of what was understood, so that nothing else can slip in. What is in doubt is hidden.
fn show(url: &str) -> String {
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

    fn tls(url: &str) -> TlsMode {
        PostgresAddress::parse(url).unwrap().tls
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_the_url_says_otherwise() {
        for local in ["127.0.0.1", "127.8.0.1:5433", "[::1]", "localhost", "%2Fvar%2Frun", "localhost,127.0.0.1"] {
            assert_eq!(tls(&format!("postgres://{local}/books")), TlsMode::Disable, "{local}");
        }
        for remote in ["db", "10.0.0.1", "localhost.example.org", "localhost,db", "[::2]", "0.0.0.0"] {
            assert_eq!(tls(&format!("postgres://{remote}/books")), TlsMode::Require, "{remote}");
            assert_eq!(tls(&format!("postgres://{remote}/books?sslmode=disable")), TlsMode::Disable, "{remote}");
        }
        // The address beside a name is where the connection goes.
        assert_eq!(tls("postgres://db/books?hostaddr=127.0.0.1"), TlsMode::Disable);
        assert_eq!(tls("postgres://localhost/books?hostaddr=10.0.0.1"), TlsMode::Require);
    }

    #[test]
    fn a_mode_is_read_and_kept_from_the_library() {
        let url = |options: &str| format!("postgres://ann:secret@db/books?{options}");
        let full = |file: &str| TlsMode::VerifyFull(Some(file.into()));
        for (options, mode) in [
            ("sslmode=prefer", TlsMode::Prefer),
            ("application_name=x&sslmode=require&connect_timeout=3", TlsMode::Require),
            ("sslmode=verify-full", TlsMode::VerifyFull(None)),
            ("sslmode=verify-full&sslrootcert=/etc/root.pem", full("/etc/root.pem")),
            ("sslrootcert=%2Fetc%2Fmy%20root.pem&sslmode=verify%2Dfull", full("/etc/my root.pem")),
        ] {
            assert_eq!(tls(&url(options)), mode, "{options}");
        }
        let config = PostgresAddress::parse(&url("sslmode=require&connect_timeout=3")).unwrap().config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(without_password(&url("sslmode=verify-full")), "postgres://ann@db/books");
    }

    #[test]
    fn a_mode_that_is_not_known_and_roots_that_would_not_be_used_are_refused() {
        for (options, why) in [
            ("sslmode=verify-ca", "disable, prefer, require or verify-full"),
            ("sslmode=secret", "disable, prefer, require or verify-full"),
            ("sslmode=", "disable, prefer, require or verify-full"),
            ("sslmode=require&sslrootcert=secret", "only with sslmode=verify-full"),
            ("sslrootcert=secret", "only with sslmode=verify-full"),
        ] {
            let error = PostgresAddress::parse(&format!("postgres://ann:secret@db/books?{options}")).err().unwrap();
            assert!(error.to_string().contains(why), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let error = PostgresAddress::parse("postgres:///books").err().unwrap();
        assert!(error.to_string().contains("names no host"), "{error}");
    }

    #[test]
    fn an_address_alone_is_its_own_host_name() {
        let address = PostgresAddress::parse("postgres:///books?hostaddr=10.0.0.1").unwrap();
        assert_eq!(address.config().get_hosts(), [Host::Tcp("10.0.0.1".to_string())]);
    }
}
