//! `taximeter dataset list`, `show`, `check`, `refresh` and `log`.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_gate::{Column, Dataset, PrivacyUnit, Registered, Schema, Value};
use taximeter_ledger::{Account, AccountName, Neighbours, Reader};

use crate::gate::GateArgs;
use crate::ledger::document::AccountJson;
use crate::ledger::show::{Lines, account_lines, blocked_by, reading, share, to_the_second};
use crate::output::{Failure, print_json, print_line, tell, thousands};
use crate::table::Table;

/// List the datasets
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset list")]
pub struct List {
    #[command(flatten)]
    gate: GateArgs,
}

/// Show a dataset, its columns and its account
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset show people")]
pub struct Show {
    /// The dataset
    name: String,
    #[command(flatten)]
    gate: GateArgs,
}

/// Check that the data are where they were and are what was declared; looks at no rows
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset check people")]
pub struct Check {
    /// The dataset
    name: String,
    #[command(flatten)]
    gate: GateArgs,
}

/// Choose the rows of every unit anew from a PostgreSQL table, as a new version
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset refresh orders")]
pub struct Refresh {
    /// The dataset
    name: String,
    #[command(flatten)]
    gate: GateArgs,
}

/// Show why charged questions have no answer: for the owner alone, since it may depend on the data
#[derive(Args)]
#[command(after_help = "Example: taximeter dataset log --limit 5")]
pub struct Log {
    /// The most lines, newest first
    #[arg(long, default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Serialize)]
struct DatasetJson<'a> {
    dataset: &'a AccountName,
    version: u32,
    registered: String,
    rows: Option<u64>,
    reuse: bool,
    timeout_seconds: f64,
    data: String,
    schema: SchemaJson<'a>,
    account: Option<AccountJson<'a>>,
    analysts: Vec<&'a AccountName>,
}

/// What an owner declared, as JSON.
#[derive(Serialize)]
pub struct SchemaJson<'a> {
    unit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_rows_per_unit: Option<u32>,
    neighbours: Neighbours,
    columns: Vec<ColumnJson<'a>>,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    categories: Option<Vec<serde_json::Value>>,
}

impl<'a> SchemaJson<'a> {
    pub fn new(schema: &'a Schema) -> SchemaJson<'a> {
        let (unit, max_rows_per_unit) = match schema.unit() {
            PrivacyUnit::Row => ("row".to_string(), None),
            PrivacyUnit::Column { column, max_rows_per_unit } => (column.clone(), Some(*max_rows_per_unit)),
        };
        let column = |column: &'a Column| ColumnJson {
            name: column.name(),
            kind: column.kind().to_string(),
            bounds: column.bounds().map(|bounds| [bounds.low().to_string(), bounds.high().to_string()]),
            grid: column.bounds().map(|bounds| bounds.grid().to_string()),
            categories: column.categories().map(|categories| categories.iter().map(Value::json).collect()),
        };
        let columns = schema.columns().iter().map(column).collect();
        SchemaJson { unit, max_rows_per_unit, neighbours: schema.neighbours(), columns }
    }
}

/// The columns and what may be asked about them.
pub fn column_table(schema: &Schema) -> Table {
    let mut table = Table::new(&["column", "type", "bounds", "categories"]);
    for column in schema.columns() {
        table.row([
            column.name().to_string(),
            column.kind().to_string(),
            column.bounds().map_or("–".to_string(), |bounds| bounds.to_string()),
            column.categories().map_or("–".to_string(), short_list),
        ]);
    }
    table
}

/// A few categories, and how many more there are.
fn short_list(categories: &[Value]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = categories.iter().take(SHOWN).map(ToString::to_string).collect();
    match categories.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl List {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (catalog, reader) = self.gate.look()?;
        let datasets = catalog.datasets()?;
        if self.gate.ledger.json {
            let documents: Vec<_> = datasets.iter().map(|dataset| document(dataset, &datasets, &reader)).collect();
            print_json(&documents)?;
            return Ok(ExitCode::SUCCESS);
        }
        if datasets.is_empty() {
            print_line("there are no datasets; `dataset add` makes one")?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(&["dataset", ">version", ">rows", "unit", "neighbours", ">left", ">reading"]);
        for dataset in &datasets {
            let account = reader.account(&dataset.name).ok();
            table.row([
                dataset.name.to_string(),
                dataset.version.to_string(),
                dataset.rows.map_or("live".to_string(), thousands),
                dataset.schema.unit().to_string(),
                dataset.schema.neighbours().name().to_string(),
                share(account.and_then(|account| account.left())),
                account.map_or("–".to_string(), |account| reading(account.reading(), false)),
            ]);
        }
        print_line(&table.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Show {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (catalog, reader) = self.gate.look()?;
        let dataset = catalog.dataset(&AccountName::parse(&self.name)?)?;
        let datasets = catalog.datasets()?;
        if self.gate.ledger.json {
            print_json(&document(&dataset, &datasets, &reader))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = lines(&dataset);
        let accounts = reader.accounts().iter().map(Account::name);
        let analysts = analysts(&datasets, &dataset.name, accounts).into_iter().map(AccountName::as_str);
        let analysts: Vec<&str> = analysts.collect();
        lines.add("analysts", if analysts.is_empty() { "none but the owner".to_string() } else { analysts.join(", ") });
        let account = reader.account(&dataset.name)?;
        let account = account_lines(account, blocked_by(account, |name| reader.account(name).ok()));
        print_line(&format!("{lines}\n\n{}\n\n{account}", column_table(&dataset.schema)))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Check {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (catalog, reader) = self.gate.look()?;
        let dataset = catalog.check(&AccountName::parse(&self.name)?, &reader)?;
        match self.gate.ledger.json {
            true => print_json(&document(&dataset, &catalog.datasets()?, &reader))?,
            false => print_line(&format!(
                "{} is as it was registered: version {}, {} columns, and its account protects {}",
                dataset.name,
                dataset.version,
                dataset.schema.columns().len(),
                dataset.schema.privacy()?
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Refresh {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let gate = self.gate.open()?;
        let Registered { dataset, not_dropped, .. } = gate.refresh(&AccountName::parse(&self.name)?)?;
        if let Some(why) = not_dropped {
            tell(&format!("warning: the gate's table of the version before is still there; drop it by hand: {why}"));
        }
        match self.gate.ledger.json {
            true => print_json(&document(&dataset, &gate.catalog().datasets()?, &gate.ledger().reader()?))?,
            false => print_line(&lines(&dataset).to_string())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize)]
struct FailureJson {
    time: String,
    key: String,
    dataset: String,
    why: String,
}

impl Log {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (catalog, _) = self.gate.look()?;
        let failures = catalog.failures(self.limit)?.into_iter().map(|failure| FailureJson {
            time: failure.time.to_string(),
            key: failure.key,
            dataset: failure.dataset,
            why: failure.why,
        });
        let failures: Vec<FailureJson> = failures.collect();
        if self.gate.ledger.json {
            print_json(&failures)?;
            return Ok(ExitCode::SUCCESS);
        }
        if failures.is_empty() {
            print_line("the log is empty")?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(&["time (UTC)", "dataset", "key", "why there is no answer"]);
        for FailureJson { time, key, dataset, why } in failures {
            table.row([to_the_second(&time), dataset, key, why]);
        }
        print_line(&table.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The rows that count.
pub fn rows_that_count(dataset: &Dataset) -> String {
    dataset.rows.map_or("as many as there are when it is asked".to_string(), thousands)
}

fn lines(dataset: &Dataset) -> Lines {
    let mut lines = Lines::default();
    let registered = to_the_second(&dataset.registered.to_string());
    lines.add("dataset", format!("{}, version {} of {registered} UTC", dataset.name, dataset.version));
    lines.add("data", dataset.data());
    lines.add("rows", rows_that_count(dataset));
    lines.add("unit", dataset.schema.unit());
    lines.add("neighbours", dataset.schema.neighbours().name());
    lines.add("timeout", format!("{} s a question", dataset.timeout.as_secs_f64()));
    lines.add("reuse", if dataset.reuse { "earlier answers may be given again" } else { "not allowed" });
    lines
}

fn document<'a>(dataset: &'a Dataset, datasets: &[Dataset], reader: &'a Reader) -> DatasetJson<'a> {
    let accounts = reader.accounts().iter().map(Account::name);
    DatasetJson {
        dataset: &dataset.name,
        version: dataset.version,
        registered: dataset.registered.to_string(),
        rows: dataset.rows,
        reuse: dataset.reuse,
        timeout_seconds: dataset.timeout.as_secs_f64(),
        data: dataset.data(),
        schema: SchemaJson::new(&dataset.schema),
        account: reader.account(&dataset.name).ok().map(|account| AccountJson::new(account, None)),
        analysts: analysts(datasets, &dataset.name, accounts),
    }
}

/// The accounts right below a dataset's, but for those of other datasets.
pub fn analysts<'a>(
    datasets: &[Dataset],
    dataset: &AccountName,
    accounts: impl Iterator<Item = &'a AccountName>,
) -> Vec<&'a AccountName> {
    let is_dataset = |name: &AccountName| datasets.iter().any(|other| other.name == *name);
    accounts.filter(|name| name.parent().as_ref() == Some(dataset) && !is_dataset(name)).collect()
}
