//! Names, passwords and tokens for a server: read when a session is opened, and written down nowhere.

use std::fs;
use std::path::Path;

use crate::engine::driver_source::{RemoteService, RemoteTable};
use crate::error::Error;

/// The environment's variables, and what they are for.
const TOKEN: &str = "TAXIMETER_ADBC_TOKEN";
const USERNAME: &str = "TAXIMETER_ADBC_USERNAME";
const PASSWORD: &str = "TAXIMETER_ADBC_PASSWORD";

/// Options of a driver that are secret: those of the owner's file, or else of the environment.
pub(super) fn secrets(table: &RemoteTable) -> Result<Vec<(String, String)>, Error> {
    match &table.credentials {
        Some(path) => of_file(path),
        None => Ok(of_environment(table.service, |name| std::env::var(name).ok())),
    }
}

fn of_environment(service: RemoteService, variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let token = |token: String| match service {
        RemoteService::Flightsql => ("adbc.flight.sql.authorization_header".to_string(), format!("Bearer {token}")),
        RemoteService::Snowflake => ("adbc.snowflake.sql.client_option.auth_token".to_string(), token),
        RemoteService::Bigquery => ("adbc.bigquery.sql.auth_credentials".to_string(), token),
        RemoteService::Databricks => ("databricks.access_token".to_string(), token),
    };
    let plain = |option: &str, name| variable(name).map(|value| (option.to_string(), value));
    let all = [variable(TOKEN).map(token), plain("username", USERNAME), plain("password", PASSWORD)];
    all.into_iter().flatten().collect()
}

/// A file of options in TOML, which no one but its owner may read. Nothing in it is repeated in an error.
fn of_file(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let shown = path.display();
    let cannot = |why: &str| Error::storage(format!("the credentials in {shown} cannot be used: {why}"));
    if is_open_to_others(path).map_err(|error| cannot(&error.to_string()))? {
        return Err(cannot("other users can read the file; run chmod 600 on it"));
    }
    let text = fs::read_to_string(path).map_err(|error| cannot(&error.to_string()))?;
    let form = "it must have lines such as username = \"reader\", each an option of the driver";
    let options: toml::Table = text.parse().map_err(|_| cannot(form))?;
    let option = |(name, value): (String, toml::Value)| match value {
        toml::Value::String(value) => Ok((name, value)),
        _ => Err(cannot(form)),
    };
    options.into_iter().map(option).collect()
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

/// Elsewhere the folder says who may read it.
#[cfg(not(unix))]
fn is_open_to_others(path: &Path) -> std::io::Result<bool> {
    fs::metadata(path).map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_the_environment_becomes_the_header_of_flight_sql() {
        let variable = |name: &str| (name == TOKEN).then(|| "s3cret".to_string());
        let options = of_environment(RemoteService::Flightsql, variable);
        assert_eq!(options, [("adbc.flight.sql.authorization_header".to_string(), "Bearer s3cret".to_string())]);
        assert_eq!(of_environment(RemoteService::Flightsql, |_| None), []);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_credentials_is_its_owners_alone_and_is_not_repeated_in_errors() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        let mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        fs::write(file.path(), "username = \"reader\"\npassword = \"s3cret\"\n").unwrap();
        mode(0o640);
        let error = of_file(file.path()).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && !error.contains("s3cret"), "{error}");
        mode(0o600);
        let options = of_file(file.path()).unwrap();
        assert_eq!(
            options,
            [("password", "s3cret"), ("username", "reader")].map(|(a, b)| (a.to_string(), b.to_string()))
        );
        for wrong in ["password = s3cret", "password = 5", "[s3cret"] {
            fs::write(file.path(), wrong).unwrap();
            let error = of_file(file.path()).unwrap_err().to_string();
            assert!(error.contains("lines such as") && !error.contains("s3cret"), "{error}");
        }
        assert!(of_file(Path::new("/nowhere/credentials")).is_err());
    }
}
