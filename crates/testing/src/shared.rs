//! One PostgreSQL server for many tests.

use std::sync::OnceLock;

use crate::postgres::{PrivatePostgres, random};
use crate::query::query;

/// The variable with the URL of a server that is running already, with its database `postgres`. `cargo xtask test` starts one server for
/// all tests and names it here, since every test is a process of its own there.
pub const POSTGRES_VARIABLE: &str = "TAXIMETER_TEST_POSTGRES";

/// A server that many tests use at once, each with [databases](Self::new_database) of its own. It cannot be stopped or set up
/// differently; a test that wants that [starts](PrivatePostgres::start) another.
pub struct SharedPostgres {
    /// The URL of the database `postgres`.
    url: String,
    /// The server, if it is this process's own.
    _server: Option<PrivatePostgres>,
}

impl PrivatePostgres {
    /// The server that tests share: the one that [`POSTGRES_VARIABLE`] names, or else one that is started when it is first asked for and
    /// goes with this process.
    ///
    /// # Panics
    ///
    /// If it cannot be started; the message says why.
    pub fn shared() -> &'static SharedPostgres {
        static SHARED: OnceLock<SharedPostgres> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var(POSTGRES_VARIABLE) {
            Ok(url) => SharedPostgres { url, _server: None },
            Err(_) => {
                let server = PrivatePostgres::start().unwrap_or_else(|message| panic!("{message}"));
                SharedPostgres { url: server.url("postgres"), _server: Some(server) }
            }
        })
    }
}

impl SharedPostgres {
    /// The URL of a database on this server, whether it exists or not. `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        at(&self.url, database)
    }

    /// Makes an empty database with a name that no other has, and returns its URL.
    pub fn new_database(&self) -> Result<String, String> {
        new_database(&self.url)
    }
}

/// Makes an empty database beside another one, and returns its URL.
pub(crate) fn new_database(other: &str) -> Result<String, String> {
    // Random: tests in other processes make databases on the same server.
    let database = format!("test_{}", random()?);
    query(other, &format!("CREATE DATABASE {database} TEMPLATE template0"))?;
    Ok(at(other, &database))
}

/// The URL of another database of the same server.
fn at(url: &str, database: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap_or((url, ""));
    format!("{server}/{database}")
}
