use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::AdbcError;

/// How an owner names a driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DriverSpec {
    /// By its name, such as `duckdb` or `flightsql`: it is looked for.
    Name(String),
    /// By its library.
    Library {
        /// The file.
        path: PathBuf,
        /// The function that starts it; nothing for the usual name.
        entry: Option<String>,
    },
    /// By a driver manifest.
    Manifest(PathBuf),
}

impl DriverSpec {
    /// Reads what an owner wrote: a name, or the path of a library or of a manifest (`.toml`).
    pub fn parse(text: &str, entry: Option<String>) -> Result<DriverSpec, AdbcError> {
        let path = Path::new(text);
        if path.extension().is_some_and(|extension| extension == "toml") && entry.is_none() {
            return Ok(DriverSpec::Manifest(path.to_path_buf()));
        }
        if text.contains(std::path::is_separator) {
            return Ok(DriverSpec::Library { path: path.to_path_buf(), entry });
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        match (text, entry) {
            ("", _) => {
                Err(AdbcError::Spec("a driver has a name, such as duckdb, or the path of its library".to_string()))
            }
            (_, Some(entry)) => Err(AdbcError::Spec(format!(
                "the entry point {entry:?} goes with the path of a library, and {text:?} is a name"
            ))),
            (name, None) if name.chars().all(is_name) => Ok(DriverSpec::Name(name.to_string())),
            (name, None) => Err(AdbcError::Spec(format!(
                "{name:?} is not the name of a driver; write a name such as duckdb, or the path of its library"
            ))),
        }
    }
}

impl fmt::Display for DriverSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverSpec::Name(name) => write!(f, "{name}"),
            DriverSpec::Library { path, .. } | DriverSpec::Manifest(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_named_by_a_name_a_library_or_a_manifest() {
        let library = |path: &str, entry: Option<&str>| DriverSpec::Library {
            path: PathBuf::from(path),
            entry: entry.map(str::to_string),
        };
        for (text, entry, expected) in [
            ("duckdb", None, DriverSpec::Name("duckdb".to_string())),
            ("my_own-driver2", None, DriverSpec::Name("my_own-driver2".to_string())),
            ("/opt/libx.so", None, library("/opt/libx.so", None)),
            ("./libx.so", Some("XInit"), library("./libx.so", Some("XInit"))),
            ("x.toml", None, DriverSpec::Manifest(PathBuf::from("x.toml"))),
            ("/opt/x.toml", None, DriverSpec::Manifest(PathBuf::from("/opt/x.toml"))),
        ] {
            assert_eq!(DriverSpec::parse(text, entry.map(str::to_string)).unwrap(), expected, "{text}");
        }
        for (text, entry) in [("", None), ("duckdb", Some("Init")), ("duck db", None), ("libx.so", None), ("..", None)]
        {
            let error = DriverSpec::parse(text, entry.map(str::to_string)).unwrap_err();
            assert!(matches!(error, AdbcError::Spec(_)), "{text}: {error}");
        }
    }
}
