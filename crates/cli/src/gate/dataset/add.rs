//! `taximeter dataset add`: a CSV file, Parquet files or a PostgreSQL table, with a budget.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use taximeter_accounting::{FilterRule, Rounding};
use taximeter_gate::{BadRows, CsvEngine, CsvForm, Data, Registration, Rules};
use taximeter_ledger::AccountName;

use super::declaration::DeclarationArgs;
use super::driver::{DriverArgs, EngineName};
use super::registered;
use super::remote::RemoteArgs;
use super::show::SumForecast;
use crate::args::flag;
use crate::gate::GateArgs;
use crate::ledger::account_rules::AccountRulesArgs;
use crate::ledger::show::fixed_lines;
use crate::output::{Failure, print, usage, warn};

/// Register data with a budget, a new version of a dataset, or an analyst
///
/// A CSV file is imported into the embedded engine: types that are not declared are inferred from its first rows, an empty field is a
/// missing value, and rows that cannot be read are listed with their lines. Parquet files and a PostgreSQL table stay where they are.
/// The declaration is a file (--schema), flags, or both; a flag overrides the file. The declaration is public: derive it from general
/// knowledge, not from the rows.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
A schema:
  neighbours = \"add-remove\"        # or \"substitute\"
  unit = \"row\"                     # or { column = \"person\", max_rows_per_unit = 3 }

  [columns.income]
  type = \"real\"                    # integer, real, decimal, text, boolean, date or timestamp
  bounds = [0, 200000]             # for SUM and AVG: values are clamped to them
  grid = 0.5                       # and rounded to this grid

  [columns.region]
  categories = [\"north\", \"south\"]  # for GROUP BY: every one is answered

Examples:
  taximeter dataset add people people.csv --schema people.toml --budget 1,1e-6
  taximeter dataset add people people.csv --unit row --bounds age=0..120 --categories region=north,south --budget 1,1e-6
  taximeter dataset add visits visits.csv --unit person --max-rows-per-unit 3 --budget 1,1e-6
  taximeter dataset add flights --parquet 'lake/flights/*.parquet' --unit row --budget 1,1e-6
  taximeter dataset add orders --postgres postgres://owner@localhost/shop --table orders --unit row --budget 1,1e-6
  taximeter dataset add visits --adbc flightsql --uri grpc+tls://cluster:32010 --table lake.visits --unit row --budget 1,1e-6
  taximeter dataset add people --analyst alice --budget 0.5,1e-6
  taximeter dataset add people people-2026.csv --new-version"
)]
pub struct AddCommand {
    /// The name of the dataset, and of its account
    name: String,
    /// A CSV file with a header
    #[arg(conflicts_with_all = ["postgres", "parquet", "analyst"])]
    file: Option<PathBuf>,
    /// Leave the data in these Parquet files: a file, a folder, or a pattern in quotes; DuckDB reads them
    #[arg(long, value_name = "FILES", conflicts_with_all = ["postgres", "analyst"])]
    parquet: Option<String>,
    /// Leave the data in this PostgreSQL database; the URL, with its password, is stored in the gate's folder
    #[arg(long, value_name = "URL", requires = "table", conflicts_with = "analyst")]
    postgres: Option<String>,
    /// The table, with or without its schema
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["file", "parquet"])]
    table: Option<String>,
    /// Add an analyst to a dataset: an account below the dataset's, with its own budget
    #[arg(long, value_name = "NAME", conflicts_with_all = ["new_version", "skip_bad_rows", "allow_reuse", "timeout", "min_epsilon",
          "schema", "unit", "neighbours", "bounds", "categories", "types", "delimiter", "encoding", "na"])]
    analyst: Option<String>,
    /// A new version of an existing dataset, paid for by the same account; settings that are not given stay as they were
    #[arg(long)]
    new_version: bool,
    /// Import the rows that can be read, and list the others
    #[arg(long, conflicts_with_all = ["postgres", "parquet"])]
    skip_bad_rows: bool,
    /// Let analysts get their own earlier answer to the same question again at no cost
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_reuse: Option<bool>,
    /// How long a question may take, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// The smallest cost of a question: its epsilon, or its mu [default: any cost]
    #[arg(long, value_name = "EPSILON")]
    min_epsilon: Option<String>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    declaration: DeclarationArgs,
    #[command(flatten, next_help_heading = "The account")]
    rules: AccountRulesArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// How a CSV file is written.
#[derive(Args)]
#[command(next_help_heading = "The CSV file")]
struct FormArgs {
    /// The delimiter: one character, or the word tab [default: the one that is most frequent in the first line]
    #[arg(long, value_name = "SIGN", value_parser = delimiter, conflicts_with_all = ["postgres", "parquet"])]
    delimiter: Option<char>,
    /// The encoding, such as latin1 [default: utf-8, or the encoding of the byte order mark]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["postgres", "parquet"])]
    encoding: Option<String>,
    /// A text that means a missing value, besides an empty field (may be repeated)
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["postgres", "parquet"])]
    na: Vec<String>,
    /// The engine that the file is imported into [default: duckdb if it is found and there are many rows, otherwise sqlite]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["postgres", "parquet", "analyst"])]
    engine: Option<EngineName>,
}

fn delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(character), None) => Ok(character),
        _ => Err("give one character, such as ;, or the word tab".to_string()),
    }
}

impl AddCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.name)?;
        match &self.analyst {
            Some(analyst) => self.add_analyst(&name, analyst),
            None => self.add_data(name),
        }
    }

    fn add_analyst(&self, dataset: &AccountName, analyst: &str) -> Result<ExitCode, Failure> {
        if !self.rules.are_given() {
            return Err(usage(format!("{analyst} needs a budget; give for instance --budget 0.5,1e-6")));
        }
        // Wrong flags are reported before a ledger is opened.
        self.rules()?;
        let backend = self.gate.backend()?;
        // The dataset's rule is the default, so that the analyst's account takes the same costs as the dataset.
        let above = backend.dataset(dataset)?.account.and_then(|account| account.filter);
        let rule = above.map_or(Ok(FilterRule::default()), |filter| FilterRule::from_name(&filter.rule))?;
        let (filter, odometer) = self.rules.specs(rule)?;
        let added = backend.add_analyst(dataset, analyst, Rules { filter, odometer })?;
        warn(&added.warnings);
        print(self.gate.ledger.json, &added, || {
            format!(
                "{analyst} may ask about {dataset}: `ask {dataset} --by {analyst}` is paid by both accounts\n\n{}",
                fixed_lines(&added.account)
            )
        })
    }

    fn add_data(&self, name: AccountName) -> Result<ExitCode, Failure> {
        let (data, rules) = (self.data()?, self.rules()?);
        let timeout = self.timeout.map(seconds).transpose()?;
        let min_epsilon =
            self.min_epsilon.as_ref().map(|text| flag("--min-epsilon", text, Rounding::Up)).transpose()?;
        // A wrong declaration is reported before a ledger is created. A new version may take it from the version before.
        let declaration = if self.new_version { None } else { Some(self.declaration.declaration(None)?) };
        // So is a file that is missing, is not a CSV file, or lacks a declared column.
        data.check(declaration.as_ref())?;
        let backend = self.gate.backend()?;
        let before = if self.new_version { Some(backend.dataset(&name)?) } else { None };
        let before_timeout =
            before.as_ref().map_or(Ok(Registration::TIMEOUT), |before| seconds(before.timeout_seconds))?;
        let registration = Registration {
            declaration: match declaration {
                Some(declaration) => declaration,
                None => self.declaration.declaration(before.as_ref().map(|before| &before.schema))?,
            },
            data,
            rules,
            new_version: self.new_version,
            min_epsilon: min_epsilon.or(before.as_ref().and_then(|before| before.min_epsilon)),
            reuse: self.allow_reuse.unwrap_or(before.is_some_and(|before| before.reuse)),
            timeout: timeout.unwrap_or(before_timeout),
            name,
        };
        let registered = backend.register(&registration)?;
        registered::tell_about(&registered, self.file.is_some());
        let text = registered::text(&registered)?;
        let sums = SumForecast::of(&registered.schema)?;
        print(self.gate.ledger.json, &sums.beside(&registered), || text)
    }

    fn data(&self) -> Result<Data, Failure> {
        let bad_rows = if self.skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
        let has_driver = self.parquet.is_some() || self.form.engine == Some(EngineName::Duckdb);
        let has_driver = has_driver || self.remote.adbc.is_some();
        if self.driver.is_given() && !has_driver {
            return Err(usage("--driver goes with --parquet, --adbc or --engine duckdb"));
        }
        if let (Some(service), Some(table)) = (self.remote.adbc, &self.table) {
            return self.remote.data(service, table, &self.driver);
        }
        match (&self.file, &self.parquet, &self.postgres, &self.table) {
            (Some(path), None, None, _) => {
                let FormArgs { delimiter, encoding, na, engine } = &self.form;
                let form = CsvForm { delimiter: *delimiter, encoding: encoding.clone(), missing: na.clone() };
                let engine = match engine {
                    None => CsvEngine::Automatic,
                    Some(EngineName::Sqlite) => CsvEngine::Sqlite,
                    Some(EngineName::Duckdb) => CsvEngine::Duckdb(self.driver.choice()),
                };
                Ok(Data::Csv { path: path.clone(), form, bad_rows, engine })
            }
            (None, Some(pattern), None, _) => {
                Ok(Data::Parquet { pattern: pattern.clone(), driver: self.driver.choice() })
            }
            (None, None, Some(url), Some(table)) => Ok(Data::Postgres { url: url.clone(), table: table.clone() }),
            _ => Err(usage(
                "the data are missing; give a CSV file, --parquet FILES, --postgres URL --table TABLE, or --adbc NAME --uri URI \
                 --table TABLE",
            )),
        }
    }

    fn rules(&self) -> Result<Option<Rules>, Failure> {
        if !self.rules.are_given() {
            return Ok(None);
        }
        let (filter, odometer) = self.rules.specs(FilterRule::default())?;
        Ok(Some(Rules { filter, odometer }))
    }
}

fn seconds(seconds: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| usage(format!("--timeout {seconds}: {error}; give for instance 60")))
}
