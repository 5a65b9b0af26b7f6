//! Drivers that are known by name: the file of the library, its entry point, and the packages that it comes in.

use std::env::consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS};

/// A driver by its name.
pub(crate) struct KnownDriver {
    pub(crate) name: &'static str,
    /// The library's name without what the system puts around it.
    library: &'static str,
    pub(crate) entry: &'static str,
    /// The folder in `node_modules`, before the system and the machine.
    npm: Option<&'static str>,
    /// The package of Python, and the folder that the library is in.
    python: Option<(&'static str, &'static str)>,
}

/// DuckDB's Python package is not looked for: its library is an extension of Python.
pub(crate) static KNOWN: [KnownDriver; 5] = [
    KnownDriver {
        name: "duckdb",
        library: "duckdb",
        entry: "duckdb_adbc_init",
        npm: Some("@duckdb/node-bindings"),
        python: None,
    },
    KnownDriver {
        name: "flightsql",
        library: "adbc_driver_flightsql",
        entry: "AdbcDriverInit",
        npm: None,
        python: Some(("adbc-driver-flightsql", "adbc_driver_flightsql")),
    },
    KnownDriver {
        name: "snowflake",
        library: "adbc_driver_snowflake",
        entry: "AdbcDriverInit",
        npm: None,
        python: Some(("adbc-driver-snowflake", "adbc_driver_snowflake")),
    },
    KnownDriver {
        name: "bigquery",
        library: "adbc_driver_bigquery",
        entry: "AdbcDriverInit",
        npm: None,
        python: Some(("adbc-driver-bigquery", "adbc_driver_bigquery")),
    },
    KnownDriver {
        name: "databricks",
        library: "adbc_driver_databricks",
        entry: "AdbcDriverInit",
        npm: None,
        python: None,
    },
];

impl KnownDriver {
    pub(crate) fn find(name: &str) -> Option<&'static KnownDriver> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// The file's name.
    pub(crate) fn file(&self) -> String {
        format!("{DLL_PREFIX}{}{DLL_SUFFIX}", self.library)
    }

    /// The package of npm for this machine.
    fn npm_package(&self) -> Option<String> {
        let system = match OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let machine = match ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        self.npm.map(|package| format!("{package}-{system}-{machine}"))
    }

    /// The folder in a folder of packages that the library is in.
    pub(crate) fn folders(&self) -> impl Iterator<Item = String> {
        self.npm_package().into_iter().chain(self.python.map(|(_, folder)| folder.to_string()))
    }
}

/// How a driver is installed, in one line, for a driver that is known.
pub fn advice(name: &str) -> Option<String> {
    let known = KnownDriver::find(name)?;
    let line = match (known.npm_package(), known.python, name) {
        (Some(package), _, _) => format!("cd ~ && npm install {package}"),
        (None, Some((package, _)), _) => format!("python3 -m pip install {package}"),
        // The tool that Columnar, who maintain this driver, give.
        (None, None, name) => format!("dbc install {name}"),
    };
    Some(format!("install it with: {line}"))
}
