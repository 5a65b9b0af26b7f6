//! `taximeter dataset list`, `show`, `check`, `refresh` and `log`.

use std::process::ExitCode;

use serde::Serialize;
use taximeter_accounting::Amount;
use taximeter_gate::{Category, ExpectedSum, FailedQuestion, noise_of_sums};
use taximeter_ledger::AccountName;
use taximeter_service::words::grouped;
use taximeter_service::{AccountDocument, CheckedDataset, DatasetDocument, SchemaDocument};

use super::{DatasetArgs, LogArgs, public};
use crate::gate::GateArgs;
use crate::key_values::KeyValues;
use crate::ledger::show::{account_lines, is_unknown, reading, share, to_the_second};
use crate::output::{Failure, print, thousands};
use crate::table::TextTable;

pub fn list(gate: &GateArgs) -> Result<ExitCode, Failure> {
    let backend = gate.backend()?;
    let (list, public) = (backend.datasets()?, backend.public_tables()?);
    let mut table = TextTable::new(&["dataset", ">version", ">rows", "unit", "neighbours", ">left", ">reading"]);
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
    print(gate.ledger.json, &list, || match list.0.is_empty() {
        true => "there are no datasets; `dataset add` makes one".to_string(),
        false if public.0.is_empty() => table.to_string(),
        false => format!("{table}\n\n{}", public::list_text(&public)),
    })
}

pub fn show(DatasetArgs { name, gate }: &DatasetArgs) -> Result<ExitCode, Failure> {
    let (backend, name) = (gate.backend()?, AccountName::parse(name)?);
    if let Some(table) = backend.public_tables()?.0.iter().find(|table| table.public_table == name) {
        return public::show(table, gate.ledger.json);
    }
    let dataset = backend.dataset(&name)?;
    let mut lines = lines(&dataset)?;
    let analysts: Vec<&str> = dataset.analysts.iter().map(AccountName::as_str).collect();
    lines.add("analysts", if analysts.is_empty() { "none but the owner".to_string() } else { analysts.join(", ") });
    let account = dataset.account.as_ref().map_or(String::new(), |account| format!("\n\n{}", account_lines(account)));
    let (sums, columns) = (SumForecast::of(&dataset.schema)?, column_table(&dataset.schema)?);
    print(gate.ledger.json, &sums.beside(&dataset), || format!("{lines}\n\n{columns}{account}"))
}

pub fn check(DatasetArgs { name, gate }: &DatasetArgs) -> Result<ExitCode, Failure> {
    let CheckedDataset(dataset) = gate.backend()?.check(&AccountName::parse(name)?)?;
    let account = dataset.account.as_ref();
    let protects = account.map_or(String::new(), |account| format!(", and its account protects {}", account.privacy()));
    let columns = dataset.schema.columns.len();
    print(gate.ledger.json, &dataset, || {
        format!("{name} is unchanged since it was registered: version {}, {columns} columns{protects}", dataset.version)
    })
}

pub fn refresh(DatasetArgs { name, gate }: &DatasetArgs) -> Result<ExitCode, Failure> {
    changed(&gate.backend()?.refresh(&AccountName::parse(name)?)?, gate.ledger.json)
}

/// A dataset whose data are new or elsewhere.
pub fn changed(dataset: &DatasetDocument, json: bool) -> Result<ExitCode, Failure> {
    let lines = lines(dataset)?;
    print(json, dataset, || lines.to_string())
}

pub fn log(LogArgs { limit, gate }: &LogArgs) -> Result<ExitCode, Failure> {
    let log = gate.backend()?.log(*limit)?;
    let mut table = TextTable::new(&["time (UTC)", "dataset", "key", "why there is no answer"]);
    for FailedQuestion { time, key, dataset, why } in log.0.clone() {
        table.row([to_the_second(&time.to_string()), dataset, key, why]);
    }
    print(gate.ledger.json, &log, || match log.0.is_empty() {
        true => "the log is empty".to_string(),
        false => table.to_string(),
    })
}

/// The number of rows of a table that stays in PostgreSQL.
pub const LIVE: &str = "counted when a question is asked";

fn lines(dataset: &DatasetDocument) -> Result<KeyValues, Failure> {
    let mut lines = KeyValues::default();
    let registered = to_the_second(&dataset.registered);
    lines.add("dataset", format!("{}, version {} of {registered} UTC", dataset.dataset, dataset.version));
    // A caller who may not see where the data are may not see how many there are either.
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

/// The columns with their declarations, and the noise that sums of them would have.
pub fn column_table(schema: &SchemaDocument) -> Result<TextTable, Failure> {
    let sums = SumForecast::of(schema)?;
    let heading = format!("SUM at ε = {}", sums.epsilon);
    let mut table = TextTable::new(&["column", "type", "bounds", &heading, "categories"]);
    for column in &schema.columns {
        table.row([
            column.name.clone(),
            column.kind.map_or(String::new(), |kind| kind.to_string()),
            column.describe_bounds().unwrap_or("–".to_string()),
            sums.of_column(&column.name)
                .map_or("–".to_string(), |sum| format!("± {}", grouped(sum.half_width.as_str()))),
            column.categories.as_deref().map_or("–".to_string(), short_list),
        ]);
    }
    Ok(table)
}

/// The noise on the sums of columns, as it follows from a declaration.
#[derive(Serialize)]
pub struct SumForecast {
    /// What is paid for each of them.
    epsilon: Amount,
    columns: Vec<ExpectedSum>,
}

/// A document with the noise on sums beside it.
#[derive(Serialize)]
pub struct DocumentWithSums<'a, D> {
    #[serde(flatten)]
    document: &'a D,
    sums: SumForecast,
}

impl SumForecast {
    /// What is paid for each: a price that an analyst may well offer.
    const EPSILON: &'static str = "0.1";

    pub fn of(schema: &SchemaDocument) -> Result<SumForecast, Failure> {
        let epsilon = Amount::parse_exact(SumForecast::EPSILON)?;
        Ok(SumForecast { epsilon, columns: noise_of_sums(&schema.declaration()?, epsilon)? })
    }

    /// The document of a dataset and these.
    pub fn beside<D>(self, document: &D) -> DocumentWithSums<'_, D> {
        DocumentWithSums { document, sums: self }
    }

    fn of_column(&self, name: &str) -> Option<&ExpectedSum> {
        self.columns.iter().find(|sum| sum.column == name)
    }
}

/// The first categories, and the number of the others.
fn short_list(categories: &[Category]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = categories.iter().take(SHOWN).map(ToString::to_string).collect();
    match categories.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
