//! `taximeter dataset list`, `show`, `check`, `refresh` and `log`.

use std::process::ExitCode;

use clap::Args;
use taximeter_gate::{Category, FailedQuestion};
use taximeter_ledger::AccountName;
use taximeter_service::{AccountDocument, CheckedDataset, DatasetDocument, SchemaDocument};

use crate::gate::GateArgs;
use crate::ledger::show::{Lines, account_lines, is_unknown, reading, share, to_the_second};
use crate::output::{Failure, thousands};
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

impl List {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let list = self.gate.office()?.datasets()?;
        let mut table = Table::new(&["dataset", ">version", ">rows", "unit", "neighbours", ">left", ">reading"]);
        for dataset in &list.0 {
            let account = dataset.account.as_ref();
            table.row([
                dataset.dataset.to_string(),
                dataset.version.to_string(),
                match (dataset.rows, &dataset.data) {
                    (Some(rows), _) => thousands(rows),
                    (None, Some(_)) => "live".to_string(),
                    (None, None) => "–".to_string(),
                },
                dataset.schema.privacy_unit()?.to_string(),
                dataset.schema.neighbours.name().to_string(),
                share(account.and_then(AccountDocument::left)),
                account.map_or("–".to_string(), |account| reading(account.reading, is_unknown(account))),
            ]);
        }
        self.gate.print(&list, || match list.0.is_empty() {
            true => "there are no datasets; `dataset add` makes one".to_string(),
            false => table.to_string(),
        })
    }
}

impl Show {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let dataset = self.gate.office()?.dataset(&AccountName::parse(&self.name)?)?;
        let mut lines = lines(&dataset)?;
        let analysts: Vec<&str> = dataset.analysts.iter().map(AccountName::as_str).collect();
        lines.add("analysts", if analysts.is_empty() { "none but the owner".to_string() } else { analysts.join(", ") });
        let account =
            dataset.account.as_ref().map_or(String::new(), |account| format!("\n\n{}", account_lines(account)));
        self.gate.print(&dataset, || format!("{lines}\n\n{}{account}", column_table(&dataset.schema)))
    }
}

impl Check {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let CheckedDataset(dataset) = self.gate.office()?.check(&AccountName::parse(&self.name)?)?;
        let protects = dataset
            .account
            .as_ref()
            .map_or(String::new(), |account| format!(", and its account protects {}", account.privacy()));
        let columns = dataset.schema.columns.len();
        self.gate.print(&dataset, || {
            let DatasetDocument { dataset, version, .. } = &dataset;
            format!("{dataset} is as it was registered: version {version}, {columns} columns{protects}")
        })
    }
}

impl Refresh {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let dataset = self.gate.office()?.refresh(&AccountName::parse(&self.name)?)?;
        let lines = lines(&dataset)?;
        self.gate.print(&dataset, || lines.to_string())
    }
}

impl Log {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let log = self.gate.office()?.log(self.limit)?;
        let mut table = Table::new(&["time (UTC)", "dataset", "key", "why there is no answer"]);
        for FailedQuestion { time, key, dataset, why } in log.0.clone() {
            table.row([to_the_second(&time.to_string()), dataset, key, why]);
        }
        self.gate.print(&log, || match log.0.is_empty() {
            true => "the log is empty".to_string(),
            false => table.to_string(),
        })
    }
}

/// What is said about rows that are not counted.
pub const LIVE: &str = "as many as there are when it is asked";

fn lines(dataset: &DatasetDocument) -> Result<Lines, Failure> {
    let mut lines = Lines::default();
    let registered = to_the_second(&dataset.registered);
    lines.add("dataset", format!("{}, version {} of {registered} UTC", dataset.dataset, dataset.version));
    // Whoever is not told where the data are is not told how many there are either.
    if let Some(data) = &dataset.data {
        lines.add("data", data);
        lines.add("rows", dataset.rows.map_or(LIVE.to_string(), thousands));
    }
    lines.add("unit", dataset.schema.privacy_unit()?);
    lines.add("neighbours", dataset.schema.neighbours.name());
    lines.add("timeout", format!("{} s a question", dataset.timeout_seconds));
    if let Some(least) = &dataset.min_epsilon {
        lines.add("floor", format!("a question costs at least ε = {}, or μ = {0}", least));
    }
    lines.add("reuse", if dataset.reuse { "earlier answers may be given again" } else { "not allowed" });
    Ok(lines)
}

/// The columns and what may be asked about them.
pub fn column_table(schema: &SchemaDocument) -> Table {
    let mut table = Table::new(&["column", "type", "bounds", "categories"]);
    for column in &schema.columns {
        let bounds = column.bounds.as_ref().zip(column.grid.as_ref());
        table.row([
            column.name.clone(),
            column.kind.map_or(String::new(), |kind| kind.to_string()),
            bounds.map_or("–".to_string(), |([low, high], grid)| format!("{low} to {high} in steps of {grid}")),
            column.categories.as_deref().map_or("–".to_string(), short_list),
        ]);
    }
    table
}

/// A few categories, and how many more there are.
fn short_list(categories: &[Category]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = categories.iter().take(SHOWN).map(ToString::to_string).collect();
    match categories.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
