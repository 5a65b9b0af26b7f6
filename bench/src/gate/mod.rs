//! Questions of every form through the gate, beside the bare engine that runs an aggregate of the same shape on the same data, in turns.

mod bare;
#[cfg(feature = "adbc")]
mod drivers;
#[cfg(feature = "adbc")]
mod duckdb;
mod forms;
mod people;
#[cfg(feature = "adbc")]
mod sail;
mod stopwatch;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    Answer, BadRows, CsvEngine, CsvForm, Data, Declaration, Gate, GateOutcome, Price, PrivacyUnit, PublicTable,
    Registration, Request, Rules, folder_beside,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use taximeter_testing::PrivatePostgres;

use self::bare::{BareEngine, BarePostgres, BareSqlite};
use self::forms::{ComparedForm, FORMS};
use self::stopwatch::Stopwatch;
use crate::table::{PrintedTable, TableColumn};

type Done<T> = Result<T, Box<dyn Error>>;

/// The arguments of the benchmark.
#[derive(Args)]
pub struct GateBench {
    /// One JSON document on standard output; the tables go to standard error
    #[arg(long)]
    json: bool,
    /// How many rows the data have
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(10_000..))]
    rows: u64,
    /// How often every question is asked, in turns; the fastest counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Ask only the questions that contain this text
    #[arg(long, default_value = "")]
    only: String,
    /// The engines to ask [default: all that are installed]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    engines: Vec<BenchEngine>,
    /// Compare the processor time of this process, for a machine that is busy with other work (Linux): for engines in this process, SQLite
    /// and DuckDB
    #[arg(long)]
    processor_time: bool,
}

/// An engine that is asked with and without the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchEngine {
    /// On a CSV file that was imported
    Sqlite,
    /// On a table
    Postgres,
    /// On a Parquet file
    Duckdb,
    /// On a Parquet file, over Flight SQL
    Sail,
}

impl BenchEngine {
    fn label(self) -> &'static str {
        match self {
            BenchEngine::Sqlite => "SQLite",
            BenchEngine::Postgres => "PostgreSQL",
            BenchEngine::Duckdb => "DuckDB",
            BenchEngine::Sail => "Sail",
        }
    }

    fn is_in_this_process(self) -> bool {
        matches!(self, BenchEngine::Sqlite | BenchEngine::Duckdb)
    }

    fn reads_in_place(self) -> bool {
        matches!(self, BenchEngine::Duckdb | BenchEngine::Sail)
    }

    /// The most that a question may take of the bare engine's time. A column store has no reason to take longer than the statement itself.
    fn limit(self, form: &ComparedForm) -> f64 {
        match self {
            BenchEngine::Sqlite | BenchEngine::Postgres => form.limit,
            BenchEngine::Duckdb | BenchEngine::Sail => 1.15,
        }
    }
}

/// The datasets of an engine. The first protects rows, the second people, where the engine can.
struct MeasuredDatasets {
    engine: BenchEngine,
    rows: &'static str,
    units: Option<&'static str>,
    /// Another dataset about the same people, where an engine can join two.
    diary: Option<&'static str>,
}

#[derive(Serialize)]
struct Report {
    rows: u64,
    measured: Vec<Measured>,
}

/// Something done through the gate and without it.
#[derive(Serialize)]
struct Measured {
    what: String,
    engine: &'static str,
    gate_seconds: f64,
    bare_seconds: f64,
    /// The bare engine where it clamps and puts values on their grid too.
    same_work_seconds: Option<f64>,
    ratio: f64,
    /// The most that is wanted.
    limit: f64,
}

impl GateBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let measured = self.measure().map_err(|error| error.to_string())?;
        let mut table = PrintedTable::new([
            TableColumn::Text("engine"),
            TableColumn::Text("what"),
            TableColumn::Number("gate"),
            TableColumn::Number("bare"),
            TableColumn::Number("same work"),
            TableColumn::Number("ratio"),
            TableColumn::Number("at most"),
            TableColumn::Text(""),
        ]);
        for Measured { what, engine, gate_seconds, bare_seconds, same_work_seconds, ratio, limit } in &measured {
            table.row([
                engine.to_string(),
                what.clone(),
                format!("{gate_seconds:.3} s"),
                format!("{bare_seconds:.3} s"),
                same_work_seconds.map_or(String::new(), |seconds| format!("{seconds:.3} s")),
                format!("{ratio:.3}"),
                format!("{limit}"),
                if ratio > limit { "slow".to_string() } else { String::new() },
            ]);
        }
        self.print(&table.to_string());
        if self.json {
            let report = Report { rows: self.rows, measured };
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn measure(&self) -> Done<Vec<Measured>> {
        let (folder, mut measured) = (tempfile::tempdir()?, Vec::new());
        if self.processor_time && self.engines.iter().any(|engine| !engine.is_in_this_process()) {
            return Err("--processor-time measures this process, without PostgreSQL and Sail; omit them".into());
        }
        let ledger_file = folder.path().join("taximeter.db");
        let ledger =
            Ledger::open(&Location::File(ledger_file.clone()), Options { create: true, ..Options::default() })?;
        let gate = Gate::open(&folder_beside(&ledger_file), ledger)?;
        add_areas(&gate, folder.path())?;
        let [csv, diary] = ["people.csv", "diary.csv"].map(|name| folder.path().join(name));
        if self.asks(BenchEngine::Sqlite) || self.asks(BenchEngine::Postgres) {
            self.print(&format!("writing {} rows to a CSV file", self.rows));
            people::write_csv(&csv, self.rows)?;
            people::write_diary(&diary, self.rows)?;
        }
        if self.asks(BenchEngine::Sqlite) {
            let bare_file = folder.path().join("bare.db");
            measured.push(self.import(&gate, &csv, &bare_file)?);
            bare::add_diary(&bare_file)?;
            self.register(&gate, "units", csv_file(&csv), unit())?;
            self.register_with(people::DIARY_SCHEMA, &gate, "diary", csv_file(&diary), unit())?;
            let asked = MeasuredDatasets {
                engine: BenchEngine::Sqlite,
                rows: "rows",
                units: Some("units"),
                diary: Some("diary"),
            };
            self.ask(&gate, &asked, &mut BareSqlite::open(&bare_file)?, &mut measured)?;
        }
        if self.asks(BenchEngine::Postgres) {
            let server = PrivatePostgres::start()?;
            let url = server.new_database()?;
            let mut bare = BarePostgres::connect(&url)?;
            self.print("copying the rows into PostgreSQL");
            bare.load(&csv)?;
            let data = |table: &str| Data::Postgres { url: url.clone(), table: table.to_string() };
            self.register(&gate, "rows-pg", data("people"), PrivacyUnit::Row)?;
            self.register(&gate, "units-pg", data("people"), unit())?;
            self.register_with(people::DIARY_SCHEMA, &gate, "diary-pg", data("diary"), unit())?;
            let asked = MeasuredDatasets {
                engine: BenchEngine::Postgres,
                rows: "rows-pg",
                units: Some("units-pg"),
                diary: Some("diary-pg"),
            };
            self.ask(&gate, &asked, &mut bare, &mut measured)?;
        }
        if csv.exists() {
            std::fs::remove_file(csv)?;
        }
        self.measure_drivers(&gate, folder.path(), &mut measured)?;
        Ok(measured)
    }

    #[cfg(not(feature = "adbc"))]
    fn measure_drivers(&self, _: &Gate, _: &Path, _: &mut Vec<Measured>) -> Done<()> {
        if !self.asks(BenchEngine::Duckdb) && !self.asks(BenchEngine::Sail) {
            return Ok(());
        }
        self.leave_out("DuckDB and Sail", "this program is built without the feature `adbc`".into())
    }

    /// Whether an engine is wanted, and can be measured.
    fn asks(&self, engine: BenchEngine) -> bool {
        match self.engines.as_slice() {
            [] => !self.processor_time || engine.is_in_this_process(),
            named => named.contains(&engine),
        }
    }

    /// Goes on without an engine that is not there, unless it was named.
    fn leave_out(&self, engine: &str, why: Box<dyn Error>) -> Done<()> {
        if !self.engines.is_empty() {
            return Err(format!("{engine} cannot be asked: {why}").into());
        }
        self.print(&format!("{engine} is skipped: {why}"));
        Ok(())
    }

    /// Imports through the gate and by a bare loop, in turns. Both leave their files.
    fn import(&self, gate: &Gate, csv: &Path, bare_file: &Path) -> Done<Measured> {
        let mut fastest = [f64::INFINITY; 2];
        for name in ["rows", "rows-again"] {
            if bare_file.exists() {
                std::fs::remove_file(bare_file)?;
            }
            let started = Stopwatch::start(self.processor_time);
            bare::import(csv, bare_file)?;
            fastest[1] = fastest[1].min(started.seconds());
            let started = Stopwatch::start(self.processor_time);
            self.register(gate, name, csv_file(csv), PrivacyUnit::Row)?;
            fastest[0] = fastest[0].min(started.seconds());
        }
        Ok(self.measured("import of a CSV file".to_string(), BenchEngine::Sqlite, fastest, 1.5))
    }

    fn register(&self, gate: &Gate, name: &str, data: Data, unit: PrivacyUnit) -> Done<()> {
        self.register_with(people::SCHEMA, gate, name, data, unit)
    }

    fn register_with(&self, schema: &str, gate: &Gate, name: &str, data: Data, unit: PrivacyUnit) -> Done<()> {
        let started = Stopwatch::start(self.processor_time);
        let budget = Budget::parse("100000,0.5")?.with_mechanism_delta(Amount::parse_exact("0.4")?)?;
        let mut declaration = Declaration::parse(schema)?;
        declaration.unit = Some(unit);
        let rules = Rules {
            filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
            odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
        };
        gate.register(
            &Registration {
                rules: Some(rules),
                timeout: Duration::from_secs(600),
                ..Registration::new(AccountName::parse(name)?, declaration, data)
            },
            &mut |_, _| {},
        )?;
        self.print(&format!("registering {name}: {:.1} s", started.seconds()));
        Ok(())
    }

    /// Asks every question through the gate and of the bare engine, in turns.
    fn ask(
        &self,
        gate: &Gate,
        asked: &MeasuredDatasets,
        bare: &mut dyn BareEngine,
        measured: &mut Vec<Measured>,
    ) -> Done<()> {
        let epsilon = Amount::parse_exact("1")?;
        for form in FORMS.iter().filter(|form| form.question.contains(&self.only)) {
            let Some(dataset) = (if form.of_units { asked.units } else { Some(asked.rows) }) else { continue };
            let name = AccountName::parse(dataset)?;
            let mut question = form.question.replace(" _", &format!(" \"{dataset}\""));
            if form.joins_diary {
                let Some(diary) = asked.diary else { continue };
                question = question.replace(" diary", &format!(" \"{diary}\""));
            }
            let price = match form.question.contains("GROUP BY city") {
                true => Price::Approximate { epsilon, delta: Amount::parse_exact("1e-6")? },
                false => Price::Epsilon(epsilon),
            };
            let is_sqlite = asked.engine == BenchEngine::Sqlite;
            let sql = form.bare_sqlite.filter(|_| is_sqlite).unwrap_or(form.bare).replace(" _", " people");
            // An engine that stores values on their grid does that work when a row is written.
            let same_work =
                form.same_work.filter(|_| asked.engine.reads_in_place()).map(|sql| sql.replace(" _", " people"));
            let mut same_work_seconds: Option<f64> = None;
            let mut fastest = [f64::INFINITY; 2];
            for turn in 0..self.turns {
                let request = Request::new(&name, &question, price)?;
                let started = Stopwatch::start(self.processor_time);
                let GateOutcome::Answered(answer) = gate.ask(&request)? else {
                    return Err(format!("{question} was not answered: {:?}", gate.catalog().failures(1)).into());
                };
                fastest[0] = fastest[0].min(started.seconds());
                let started = Stopwatch::start(self.processor_time);
                let exact = bare.run(&sql)?;
                fastest[1] = fastest[1].min(started.seconds());
                if let Some(sql) = &same_work {
                    let started = Stopwatch::start(self.processor_time);
                    bare.run(sql)?;
                    let seconds = started.seconds();
                    same_work_seconds = Some(same_work_seconds.map_or(seconds, |fastest| fastest.min(seconds)));
                }
                if turn == 0 && form.is_compared {
                    check(form, &answer, exact)?;
                }
            }
            let what = form.question.replace(" FROM _", "");
            self.print(&format!("{}, {what}: {:.3} s, {:.3} s", asked.engine.label(), fastest[0], fastest[1]));
            let limit = asked.engine.limit(form);
            measured.push(Measured { same_work_seconds, ..self.measured(what, asked.engine, fastest, limit) });
        }
        Ok(())
    }

    fn measured(&self, what: String, engine: BenchEngine, [gate, bare]: [f64; 2], limit: f64) -> Measured {
        let (engine, ratio) = (engine.label(), gate / bare);
        Measured { what, engine, gate_seconds: gate, bare_seconds: bare, same_work_seconds: None, ratio, limit }
    }

    fn print(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }
}

/// Both must have computed the same, up to the noise: otherwise the times mean nothing.
fn check(form: &ComparedForm, answer: &Answer, exact: f64) -> Done<()> {
    let document: serde_json::Value = serde_json::from_str(&answer.document)?;
    let rows = document["rows"].as_array().map_or(0, Vec::len);
    let noisy: f64 = (0..rows).filter_map(|row| answer.value(row, 0)).sum();
    match (noisy - exact).abs() <= 0.02 * exact.abs() + 1000.0 {
        true => Ok(()),
        false => Err(format!("{}: the gate says {noisy}, the bare engine {exact}", form.question).into()),
    }
}

/// A file for SQLite, whatever other engines there are.
fn csv_file(path: &Path) -> Data {
    let (form, bad_rows) = (CsvForm::default(), BadRows::default());
    Data::Csv { path: path.to_path_buf(), form, bad_rows, engine: CsvEngine::Sqlite }
}

/// Adds the public table to the gate.
fn add_areas(gate: &Gate, folder: &Path) -> Done<()> {
    let csv = folder.join("areas.csv");
    let rows = people::AREAS.map(|(region, country)| format!("{region},{country}\n"));
    std::fs::write(&csv, format!("region,country\n{}", rows.concat()))?;
    let table = PublicTable::from_csv(AccountName::parse("areas")?, &csv, &CsvForm::default())?;
    Ok(gate.catalog().put_public_table(&table, false)?)
}

/// Every person has two rows, and both count.
fn unit() -> PrivacyUnit {
    PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 2 }
}
