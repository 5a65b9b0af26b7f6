//! `taximeter drivers`: the drivers of ADBC on this machine.

use std::process::ExitCode;

use clap::Args;

use crate::output::Failure;

/// List the drivers that read Parquet files and other databases, and where they were looked for
///
/// A driver is a library that runs with all rights of this program. Its file and the folders above it must belong to you or to root, and
/// others must not be able to write to them. Drivers are looked for in the folders of TAXIMETER_DRIVERS, among the driver manifests of
/// ADBC, in the packages of npm and Python, and in the system's folders of libraries.
#[derive(Args)]
#[command(after_help = "Example: taximeter drivers")]
pub struct DriversCommand {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl DriversCommand {
    #[cfg(not(feature = "adbc"))]
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let _ = self.json;
        Err(crate::output::usage(
            "this program was built without drivers; build it with `cargo build --release --features adbc`",
        ))
    }

    #[cfg(feature = "adbc")]
    pub fn run(&self) -> Result<ExitCode, Failure> {
        use taximeter_engine_adbc::{Search, advice};

        use crate::output::print;
        use crate::table::TextTable;

        let search = Search::of_this_machine();
        let list = DriverList { drivers: search.drivers(), looked: search.folders() };
        print(self.json, &list, || {
            let mut table = TextTable::new(&["driver", "library", "state"]);
            for driver in &list.drivers {
                let state = driver.refused.clone().unwrap_or("can be used".to_string());
                table.row([driver.name.clone(), driver.library.display().to_string(), state]);
            }
            let mut text = if list.drivers.is_empty() { "no driver was found".to_string() } else { table.to_string() };
            if list.drivers.iter().all(|driver| driver.name != "duckdb") {
                text += &format!(
                    "\n\nduckdb, which reads Parquet files, was not found: {}",
                    advice("duckdb").unwrap_or_default()
                );
            }
            text += "\n\nlooked in:";
            for folder in &list.looked {
                text += &format!("\n  {}{}", folder.display(), if folder.is_dir() { "" } else { " (not there)" });
            }
            text
        })
    }
}

/// Drivers, and where they were looked for.
#[cfg(feature = "adbc")]
#[derive(serde::Serialize)]
struct DriverList {
    drivers: Vec<taximeter_engine_adbc::FoundDriver>,
    looked: Vec<std::path::PathBuf>,
}
