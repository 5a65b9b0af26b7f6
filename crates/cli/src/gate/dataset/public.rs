//! `taximeter dataset public`: tables that everyone may know.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::AccountName;
use taximeter_service::{PublicColumnDocument, PublicTableDocument, PublicTableList};

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
    /// The name of the table; no dataset may have it
    name: Option<String>,
    /// A CSV file with a header, of at most 10,000 rows
    #[arg(requires = "name")]
    file: Option<PathBuf>,
    /// Replace the table of this name; questions that join it count as new questions from then on
    #[arg(long, requires = "file")]
    replace: bool,
    /// Remove the table
    #[arg(long, requires = "name", conflicts_with = "file")]
    remove: bool,
    #[command(flatten)]
    gate: GateArgs,
}

impl PublicCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let json = self.gate.ledger.json;
        let Some(name) = &self.name else { return self.list() };
        let name = AccountName::parse(name)?;
        match (&self.file, self.remove) {
            (Some(file), _) => show(&self.gate.backend()?.put_public_table(&name, file, self.replace)?, json),
            (None, true) => {
                let removed = self.gate.backend()?.remove_public_table(&name)?;
                print(json, &removed, || format!("the public table {name} is removed"))
            }
            (None, false) => Err(usage("the file is missing; give a CSV file, or --remove")),
        }
    }

    fn list(&self) -> Result<ExitCode, Failure> {
        let tables = self.gate.backend()?.public_tables()?;
        print(self.gate.ledger.json, &tables, || match tables.0.is_empty() {
            true => "there are no public tables; `dataset public NAME FILE` makes one".to_string(),
            false => list_text(&tables),
        })
    }
}

/// Prints a public table and its columns.
pub fn show(table: &PublicTableDocument, json: bool) -> Result<ExitCode, Failure> {
    print(json, table, || {
        let mut columns = TextTable::new(&["column", "type", ">values", "key"]);
        for PublicColumnDocument { name, kind, values, unique } in &table.columns {
            let key = if *unique { "yes" } else { "no" };
            columns.row([name.clone(), kind.name().to_string(), thousands(*values), key.to_string()]);
        }
        format!("{}, a public table of {} rows\n\n{columns}", table.public_table, thousands(table.rows))
    })
}

/// Public tables, one a line.
pub fn list_text(tables: &PublicTableList) -> String {
    let mut text = TextTable::new(&["public table", ">rows", "columns"]);
    for table in &tables.0 {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        text.row([table.public_table.to_string(), thousands(table.rows), columns.join(", ")]);
    }
    text.to_string()
}
