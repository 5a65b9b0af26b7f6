//! The engines that drivers of ADBC speak to, on one Parquet file.

use std::path::Path;

use taximeter_gate::{Data, DriverChoice, Gate, PrivacyUnit};

use super::duckdb::BareDuckdb;
use super::forms::FORMS;
use super::sail::BareSail;
use super::{BenchEngine, Done, GateBench, Measured, MeasuredDatasets, unit};

impl GateBench {
    /// DuckDB and Sail, as far as they are installed. DuckDB writes the file for both.
    pub(super) fn measure_drivers(&self, gate: &Gate, folder: &Path, measured: &mut Vec<Measured>) -> Done<()> {
        if !self.asks(BenchEngine::Duckdb) && !self.asks(BenchEngine::Sail) {
            return Ok(());
        }
        let mut duckdb = match BareDuckdb::open() {
            Ok(duckdb) => duckdb,
            Err(why) => return self.leave_out("DuckDB, which also writes the file for Sail,", why),
        };
        let parquet = folder.join("people.parquet");
        self.print(&format!("writing {} rows to a Parquet file", self.rows));
        duckdb.write(self.rows, &parquet)?;
        if self.asks(BenchEngine::Duckdb) {
            let pattern = parquet.display().to_string();
            let data = || Data::Parquet { pattern: pattern.clone(), driver: DriverChoice::default() };
            self.register(gate, "rows-parquet", data(), PrivacyUnit::Row)?;
            // Choosing the rows of every person takes its time: it is done only for questions about it.
            let mut units = FORMS.iter().any(|form| form.of_units && form.question.contains(&self.only));
            if units && let Err(why) = self.register(gate, "units-parquet", data(), unit()) {
                self.print(&format!("questions about people as units are skipped: {why}"));
                units = false;
            }
            let units = units.then_some("units-parquet");
            let asked = MeasuredDatasets { engine: BenchEngine::Duckdb, rows: "rows-parquet", units, diary: None };
            self.ask(gate, &asked, &mut duckdb, measured)?;
        }
        // Its memory is for the server.
        drop(duckdb);
        if self.asks(BenchEngine::Sail) {
            let mut sail = match BareSail::start(&parquet, folder) {
                Ok(sail) => sail,
                Err(why) => return self.leave_out("Sail", why),
            };
            self.register(gate, "rows-sail", sail.data(), PrivacyUnit::Row)?;
            // Which rows of a person count cannot be written down on a cluster.
            let asked = MeasuredDatasets { engine: BenchEngine::Sail, rows: "rows-sail", units: None, diary: None };
            self.ask(gate, &asked, &mut sail, measured)?;
        }
        Ok(())
    }
}
