//! `taximeter dataset public`: tables that everyone may know.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_gate::{CsvForm, PublicTable};
use taximeter_ledger::AccountName;

use crate::gate::GateArgs;
use crate::output::{Failure, print, thousands, usage};
use crate::table::TextTable;

/// Register a public table, which questions may join to a dataset; without a name, list them
///
/// Codes and names, calendars, regions: a table that everyone may know, from a CSV file with a header. It has no budget. A question joins
/// it by JOIN or LEFT JOIN on a key that no two of its rows share, and uses its columns like those of the dataset; the groups of a
/// column are its values. Never register data about the people of a dataset: nothing in a public table is protected.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter dataset public airlines airlines.csv
  taximeter dataset public airlines airlines-2026.csv --replace
  taximeter dataset public airlines --remove
  taximeter dataset public
  taximeter ask flights \"SELECT a.name, COUNT(*) FROM flights f JOIN airlines a ON f.carrier = a.code GROUP BY a.name\" --epsilon 0.1")]
pub struct PublicCommand {
    /// The name of the table, which no dataset has
    name: Option<String>,
    /// A CSV file with a header, of at most 10,000 rows
    #[arg(requires = "name")]
    file: Option<PathBuf>,
    /// Take the place of the table of this name; questions that joined it are other questions from then on
    #[arg(long, requires = "file")]
    replace: bool,
    /// Remove the table
    #[arg(long, requires = "name", conflicts_with = "file")]
    remove: bool,
    #[command(flatten)]
    gate: GateArgs,
}

/// A public table, for programs.
#[derive(Serialize)]
pub struct PublicTableDocument {
    public_table: AccountName,
    rows: usize,
    columns: Vec<PublicColumnDocument>,
    hash: String,
}

#[derive(Serialize)]
struct PublicColumnDocument {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// How many different values it has.
    values: usize,
    /// Whether it can be a key.
    unique: bool,
}

impl PublicCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let json = self.gate.ledger.json;
        let Some(name) = &self.name else { return self.list() };
        let name = AccountName::parse(name)?;
        match (&self.file, self.remove) {
            (Some(file), _) => {
                let table = PublicTable::from_csv(name, file, &CsvForm::default())?;
                self.gate.backend()?.put_public_table(&table, self.replace)?;
                show(&table, json)
            }
            (None, true) => {
                self.gate.backend()?.remove_public_table(&name)?;
                print(json, &serde_json::json!({ "removed": name }), || format!("the public table {name} is removed"))
            }
            (None, false) => Err(usage("the file is missing; give a CSV file, or --remove")),
        }
    }

    fn list(&self) -> Result<ExitCode, Failure> {
        let tables = self.gate.backend()?.public_tables()?;
        let documents: Vec<PublicTableDocument> = tables.iter().map(PublicTableDocument::new).collect();
        print(self.gate.ledger.json, &documents, || match tables.is_empty() {
            true => "there are no public tables; `dataset public NAME FILE` makes one".to_string(),
            false => list_text(&tables),
        })
    }
}

impl PublicTableDocument {
    fn new(table: &PublicTable) -> PublicTableDocument {
        let column = |column: &taximeter_gate::Column| {
            let values = column.categories().map_or(0, <[_]>::len);
            let (name, kind) = (column.name().to_string(), column.kind().name());
            PublicColumnDocument { unique: table.is_key(&name), name, kind, values }
        };
        PublicTableDocument {
            public_table: table.name().clone(),
            rows: table.row_count(),
            columns: table.columns().iter().map(column).collect(),
            hash: table.hash().to_string(),
        }
    }
}

/// Prints a public table and its columns.
pub fn show(table: &PublicTable, json: bool) -> Result<ExitCode, Failure> {
    let document = PublicTableDocument::new(table);
    print(json, &document, || {
        let mut columns = TextTable::new(&["column", "type", ">values", "key"]);
        for PublicColumnDocument { name, kind, values, unique } in &document.columns {
            let key = if *unique { "yes" } else { "no" };
            columns.row([name.clone(), kind.to_string(), thousands(*values as u64), key.to_string()]);
        }
        format!("{}, a public table of {} rows\n\n{columns}", document.public_table, thousands(document.rows as u64))
    })
}

/// Public tables, one a line.
pub fn list_text(tables: &[PublicTable]) -> String {
    let mut text = TextTable::new(&["public table", ">rows", "columns"]);
    for table in tables {
        let columns: Vec<&str> = table.columns().iter().map(taximeter_gate::Column::name).collect();
        text.row([table.name().to_string(), thousands(table.row_count() as u64), columns.join(", ")]);
    }
    text.to_string()
}
