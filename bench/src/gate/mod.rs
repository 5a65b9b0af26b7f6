//! Questions through the gate, beside the bare engine that runs the analyst's own SQL on the same data in the same run.

mod bare;
mod people;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    Data, Declaration, Gate, GateOutcome, Price, PrivacyUnit, Registration, Request, Rules, folder_beside,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};
use taximeter_testing::PrivatePostgres;

use self::bare::{BareEngine, BarePostgres, BareSqlite};
use crate::table::{Column, Table};

type Done<T> = Result<T, Box<dyn Error>>;

/// The arguments of the benchmark.
#[derive(Args)]
pub struct GateBench {
    /// One JSON document on standard output; the tables go to standard error
    #[arg(long)]
    json: bool,
    /// How many rows the data have
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// How often every question is asked, in turns; the fastest counts
    #[arg(long, default_value_t = 7)]
    turns: u32,
    /// Leave PostgreSQL out
    #[arg(long)]
    no_postgres: bool,
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
    ratio: f64,
    /// The most that is wanted.
    limit: f64,
}

/// Questions, and the most that they may take of the bare engine's time. A blank stands for the table.
const QUESTIONS: [(&str, f64); 4] = [
    ("SELECT COUNT(*) FROM _ WHERE age >= 65", 1.1),
    ("SELECT COUNT(*) FROM _ WHERE region = 'north' AND smoker = TRUE", 1.1),
    ("SELECT SUM(visits) FROM _", 1.7),
    ("SELECT SUM(income) FROM _ WHERE age >= 18", 1.7),
];

impl GateBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let measured = self.measure().map_err(|error| error.to_string())?;
        let mut table = Table::new([
            Column::Text("engine"),
            Column::Text("what"),
            Column::Number("gate"),
            Column::Number("bare"),
            Column::Number("ratio"),
            Column::Number("at most"),
            Column::Text(""),
        ]);
        for Measured { what, engine, gate_seconds, bare_seconds, ratio, limit } in &measured {
            table.row([
                engine.to_string(),
                what.clone(),
                format!("{gate_seconds:.3} s"),
                format!("{bare_seconds:.3} s"),
                format!("{ratio:.3}"),
                format!("{limit:.1}"),
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
        let folder = tempfile::tempdir()?;
        let csv = folder.path().join("people.csv");
        self.print(&format!("writing {} rows", self.rows));
        people::write_csv(&csv, self.rows)?;
        let ledger_file = folder.path().join("taximeter.db");
        let ledger =
            Ledger::open(&Location::File(ledger_file.clone()), Options { create: true, ..Options::default() })?;
        let gate = Gate::open(&folder_beside(&ledger_file), ledger)?;
        let mut measured = vec![self.import(&gate, folder.path(), &csv)?];
        let file = |name: &str| folder_beside(&ledger_file).join(format!("{name}.v1.db"));
        self.register(&gate, "units", Data::csv(csv.clone()), unit())?;
        for (dataset, label) in [("rows", "SQLite"), ("units", "SQLite, units")] {
            let mut bare = BareSqlite::open(&file(dataset))?;
            self.ask(&gate, dataset, label, &mut bare, "data", &mut measured)?;
        }
        if !self.no_postgres {
            let server = PrivatePostgres::start()?;
            let url = server.new_database()?;
            let mut bare = BarePostgres::connect(&url)?;
            self.print("copying the rows into PostgreSQL");
            bare.load("people", people::TABLE, &csv)?;
            let data = || Data::Postgres { url: url.clone(), table: "people".to_string() };
            for (dataset, label, unit) in
                [("rows-pg", "PostgreSQL", PrivacyUnit::Row), ("units-pg", "PostgreSQL, units", unit())]
            {
                self.register(&gate, dataset, data(), unit)?;
                self.ask(&gate, dataset, label, &mut bare, "people", &mut measured)?;
            }
        }
        Ok(measured)
    }

    /// Imports through the gate and by a bare loop, in turns.
    fn import(&self, gate: &Gate, folder: &Path, csv: &Path) -> Done<Measured> {
        let mut fastest = [f64::INFINITY; 2];
        for turn in 0..2 {
            let started = Instant::now();
            let target = folder.join("bare.db");
            bare::import(csv, &target)?;
            fastest[1] = fastest[1].min(started.elapsed().as_secs_f64());
            std::fs::remove_file(&target)?;
            let name = if turn == 0 { "rows" } else { "rows-again" };
            let started = Instant::now();
            let data = Data::csv(PathBuf::from(csv));
            self.register(gate, name, data, PrivacyUnit::Row)?;
            fastest[0] = fastest[0].min(started.elapsed().as_secs_f64());
        }
        Ok(self.measured("import of a CSV file".to_string(), "SQLite", fastest, 1.5))
    }

    fn register(&self, gate: &Gate, name: &str, data: Data, unit: PrivacyUnit) -> Done<()> {
        self.print(&format!("registering {name}"));
        let budget = Budget::parse("1000,1e-6")?;
        let mut declaration = Declaration::parse(people::SCHEMA)?;
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
        Ok(())
    }

    /// Asks every question through the gate and of the bare engine, in turns.
    fn ask(
        &self,
        gate: &Gate,
        dataset: &str,
        engine: &'static str,
        bare: &mut dyn BareEngine,
        table: &str,
        measured: &mut Vec<Measured>,
    ) -> Done<()> {
        let name = AccountName::parse(dataset)?;
        let price = Price::Epsilon(Amount::parse_exact("0.01")?);
        let of_units = dataset.starts_with("units").then_some(("SELECT COUNT(DISTINCT person) FROM _", 1.3));
        for (question, limit) in QUESTIONS.into_iter().chain(of_units) {
            let mut fastest = [f64::INFINITY; 2];
            for _ in 0..self.turns {
                let request = Request::new(&name, &question.replace('_', &format!("\"{dataset}\"")), price)?;
                let started = Instant::now();
                let GateOutcome::Answered(answer) = gate.ask(&request)? else {
                    return Err(format!("{question} was not answered").into());
                };
                fastest[0] = fastest[0].min(started.elapsed().as_secs_f64());
                let started = Instant::now();
                let exact = bare.run(&question.replace('_', table))?;
                fastest[1] = fastest[1].min(started.elapsed().as_secs_f64());
                check(question, answer.value(0, 0), exact)?;
            }
            let what = question.replace(" FROM _", "");
            measured.push(self.measured(what, engine, fastest, limit));
        }
        Ok(())
    }

    fn measured(&self, what: String, engine: &'static str, [gate, bare]: [f64; 2], limit: f64) -> Measured {
        Measured { what, engine, gate_seconds: gate, bare_seconds: bare, ratio: gate / bare, limit }
    }

    fn print(&self, text: &str) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }
}

/// Both must have computed the same, up to the noise: otherwise the times mean nothing.
fn check(question: &str, noisy: Option<f64>, exact: f64) -> Done<()> {
    // The largest noise has a scale of 2 · 200,000 / 0.01.
    let far = if question.contains("SUM") { 1e10 } else { 1e4 };
    match noisy {
        Some(noisy) if (noisy - exact).abs() < far => Ok(()),
        other => Err(format!("{question}: the gate says {other:?}, the bare engine {exact}").into()),
    }
}

/// Every person has two rows, and both count.
fn unit() -> PrivacyUnit {
    PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: 2 }
}
