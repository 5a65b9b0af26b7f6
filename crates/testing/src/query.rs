//! Asking a server something, without a client library.

use std::process::{Command, Stdio};

use crate::programs::find_programs;
use crate::waiting::PATIENCE;

/// Runs statements on the server at a URL as [`PrivatePostgres`](crate::PrivatePostgres) makes them, and returns the rows: one a line,
/// columns separated by `|`.
///
/// This starts PostgreSQL's `psql` each time: for setting up and looking at a database, not for measuring.
pub fn query(url: &str, statements: &str) -> Result<String, String> {
    let (target, password) = without_password(url)?;
    let mut psql = Command::new(find_programs()?.join("psql"));
    without_postgres_settings(&mut psql);
    let output = psql
        .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"])
        .args(["--dbname", &target, "--command", statements])
        .env("PGPASSWORD", password)
        .env("PGCONNECT_TIMEOUT", PATIENCE.as_secs().to_string())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("psql could not be started: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("PostgreSQL refused {statements:?}: {}", message.trim_end()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}

/// Everybody on the machine can read the arguments of a program, but not its environment.
fn without_password(url: &str) -> Result<(String, String), String> {
    let parts = || {
        let (who, place) = url.strip_prefix("postgres://")?.split_once('@')?;
        let (user, password) = who.split_once(':')?;
        Some((format!("postgres://{user}@{place}"), password.to_string()))
    };
    parts().ok_or_else(|| format!("the URL {url:?} is not of the form postgres://user:password@host:port/database"))
}

/// A variable like `PGPORT` or `PGOPTIONS` is meant for another server than a private one.
pub fn without_postgres_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_taken_out_of_the_url() {
        let (target, password) = without_password("postgres://olga:secret@127.0.0.1:5000/books").unwrap();
        assert_eq!((target.as_str(), password.as_str()), ("postgres://olga@127.0.0.1:5000/books", "secret"));
        for url in ["", "books", "postgres://olga@127.0.0.1/books", "sqlite:books"] {
            assert!(query(url, "SELECT 1").unwrap_err().contains(&format!("{url:?}")));
        }
    }
}
