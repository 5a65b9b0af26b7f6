//! `taximeter dataset add`: a CSV file or a PostgreSQL table, with a budget.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::FilterRule;
use taximeter_gate::{
    BadRow, BadRows, Counted, Data, Declaration, Gate, PrivacyUnit, Registered, Registration, Rules, Schema,
};
use taximeter_ledger::{AccountName, Neighbours};

use super::show::{SchemaJson, column_table, rows_that_count};
use crate::gate::GateArgs;
use crate::ledger::account::rules::AccountRulesArgs;
use crate::ledger::document::AccountJson;
use crate::ledger::show::{Lines, fixed_lines, number};
use crate::output::{Failure, print_json, print_line, tell, thousands};
use crate::progress::Progress;

/// Register data with a budget, newer data of a dataset, or an analyst
///
/// A CSV file is imported into the embedded engine: types are found in its first rows unless they are declared, an empty field is
/// missing, and rows that cannot be read are listed with their lines. A PostgreSQL table stays where it is. The declaration is a file
/// (--schema), flags, or both; a flag goes before the file. What is declared is public: take it from what is known about the subject,
/// not from the rows.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
A schema:
  neighbours = \"add-remove\"        # or \"substitute\"
  unit = \"row\"                     # or { column = \"person\", max_rows_per_unit = 3 }

  [columns.income]
  type = \"real\"                    # integer, real, text or boolean
  bounds = [0, 200000]             # for SUM and AVG: values are clamped to them
  grid = 0.5                       # and put on this grid

  [columns.region]
  categories = [\"north\", \"south\"]  # for GROUP BY: every one is answered

Examples:
  taximeter dataset add people people.csv --schema people.toml --budget 1,1e-6
  taximeter dataset add people people.csv --bounds age=0..120 --categories region=north,south --budget 1,1e-6
  taximeter dataset add visits visits.csv --unit person --max-rows-per-unit 3 --budget 1,1e-6
  taximeter dataset add orders --postgres postgres://owner@localhost/shop --table orders --budget 1,1e-6
  taximeter dataset add people --analyst alice --budget 0.5,1e-6
  taximeter dataset add people people-2026.csv --new-version"
)]
pub struct Add {
    /// The name of the dataset, and of its account
    name: String,
    /// A CSV file with a header
    #[arg(conflicts_with_all = ["postgres", "analyst"])]
    file: Option<PathBuf>,
    /// Leave the data in this PostgreSQL database; a URL with a password is stored in the gate's folder
    #[arg(long, value_name = "URL", requires = "table", conflicts_with = "analyst")]
    postgres: Option<String>,
    /// The table, with or without its schema
    #[arg(long, value_name = "TABLE", requires = "postgres", conflicts_with = "file")]
    table: Option<String>,
    /// Add an analyst to a dataset: an account below the dataset's, with a budget of its own
    #[arg(long, value_name = "NAME", conflicts_with_all = ["new_version", "skip_bad_rows", "allow_reuse", "timeout", "schema", "unit",
          "neighbours", "bounds", "categories", "types"])]
    analyst: Option<String>,
    /// Newer data of a dataset that is there already, paid for by the same account; what is not said again stays as it was
    #[arg(long)]
    new_version: bool,
    /// Import the rows that can be read, and list the others
    #[arg(long, conflicts_with = "postgres")]
    skip_bad_rows: bool,
    /// Let analysts have their own earlier answer to the same question again at no cost
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_reuse: Option<bool>,
    /// How long a question may take, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    #[command(flatten)]
    declaration: DeclarationArgs,
    #[command(flatten, next_help_heading = "The account")]
    rules: AccountRulesArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// How long a question may take, unless it is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Args)]
#[command(next_help_heading = "The declaration")]
struct DeclarationArgs {
    /// A file with the declaration, in TOML
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Whose privacy is protected: row, or the column that names a unit
    #[arg(long, value_name = "row|COLUMN")]
    unit: Option<String>,
    /// The most rows of one unit that count
    #[arg(long, value_name = "ROWS", requires = "unit")]
    max_rows_per_unit: Option<u32>,
    /// When two datasets count as neighbours [default: add-remove]
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"])]
    neighbours: Option<String>,
    /// Bounds of a column, with or without a grid
    #[arg(long, value_name = "COLUMN=LOW..HIGH[/GRID]")]
    bounds: Vec<String>,
    /// Categories of a column
    #[arg(long, value_name = "COLUMN=A,B,…")]
    categories: Vec<String>,
    /// The type of a column: integer, real, text or boolean
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    dataset: &'a AccountName,
    version: u32,
    schema: SchemaJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportedJson>,
    left_out: Vec<[&'a str; 2]>,
    same_data: &'a [String],
    account: AccountJson<'a>,
}

#[derive(Serialize)]
struct ImportedJson {
    rows: u64,
    kept: u64,
    without_unit: u64,
    bad_rows: u64,
    first_bad_rows: Vec<BadRowJson>,
}

#[derive(Serialize)]
struct BadRowJson {
    line: u64,
    why: String,
}

#[derive(Serialize)]
struct AnalystJson<'a> {
    dataset: &'a AccountName,
    account: AccountJson<'a>,
}

impl Add {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let name = AccountName::parse(&self.name)?;
        match &self.analyst {
            Some(analyst) => self.add_analyst(&name, analyst),
            None => self.add_data(name),
        }
    }

    fn add_analyst(&self, dataset: &AccountName, analyst: &str) -> Result<ExitCode, Failure> {
        if !self.rules.are_given() {
            return Err(Failure::Usage(format!("{analyst} needs a budget; give for instance --budget 0.5,1e-6")));
        }
        // What is wrong with the flags is said before a ledger is opened.
        self.rules(FilterRule::Residue)?;
        let gate = self.gate.open()?;
        // The same rule as the dataset's, so that the analyst may ask whatever the dataset takes.
        let above = gate.ledger().account(dataset)?;
        let rule = above.filter().map_or(FilterRule::Residue, |filter| filter.spec().rule);
        let (filter, odometer) = self.rules.specs(rule)?;
        let name = gate.add_analyst(dataset, analyst, Rules { filter, odometer })?;
        let account = gate.ledger().account(&name)?;
        match self.gate.ledger.json {
            true => print_json(&AnalystJson { dataset, account: AccountJson::new(&account, None) })?,
            false => print_line(&format!(
                "{analyst} may ask about {dataset}: `ask {dataset} --by {analyst}` is paid by both accounts\n\n{}",
                fixed_lines(&account)
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn add_data(&self, name: AccountName) -> Result<ExitCode, Failure> {
        let (data, rules, timeout) = (self.data()?, self.rules(FilterRule::Residue)?, self.timeout()?);
        // What is wrong with a declaration is said before a ledger is made for it; that of newer data may be the one before.
        let declaration = if self.new_version { None } else { Some(self.declaration.declaration(None)?) };
        // A ledger is made for the root of a tree only.
        let gate = self.gate.open_or_make(rules.is_some() && name.parent().is_none())?;
        let before = if self.new_version { Some(gate.catalog().dataset(&name)?) } else { None };
        let registration = Registration {
            declaration: match declaration {
                Some(declaration) => declaration,
                None => self.declaration.declaration(before.as_ref().map(|before| &before.schema))?,
            },
            data,
            rules,
            new_version: self.new_version,
            reuse: self.allow_reuse.unwrap_or(before.as_ref().is_some_and(|before| before.reuse)),
            timeout: timeout.unwrap_or(before.map_or(DEFAULT_TIMEOUT, |before| before.timeout)),
            name,
        };
        let progress = Progress::new("importing");
        let registered =
            gate.register(&registration, &mut |done, all| progress.share(done as f64 / all.max(1) as f64))?;
        drop(progress);
        self.tell(&registered);
        self.print(&gate, &registered)
    }

    fn timeout(&self) -> Result<Option<Duration>, Failure> {
        let seconds = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| Failure::Usage(format!("--timeout {seconds}: {error}; give for instance 60")))
        };
        self.timeout.map(seconds).transpose()
    }

    fn data(&self) -> Result<Data, Failure> {
        let bad_rows = if self.skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
        match (&self.file, &self.postgres, &self.table) {
            (Some(path), None, _) => Ok(Data::Csv { path: path.clone(), bad_rows }),
            (None, Some(url), Some(table)) => Ok(Data::Postgres { url: url.clone(), table: table.clone() }),
            _ => Err(Failure::Usage(
                "the data are missing; give a CSV file, or --postgres URL --table TABLE".to_string(),
            )),
        }
    }

    fn rules(&self, default: FilterRule) -> Result<Option<Rules>, Failure> {
        if !self.rules.are_given() {
            return Ok(None);
        }
        let (filter, odometer) = self.rules.specs(default)?;
        Ok(Some(Rules { filter, odometer }))
    }

    /// What an owner should know beside the result.
    fn tell(&self, registered: &Registered) {
        let Registered { dataset, counted, bad, left_out, same_data, unchanged, not_dropped } = registered;
        for BadRow { line, why } in bad {
            tell(&format!("line {line}: {why}"));
        }
        if let Some(Counted { bad_rows, .. }) = counted
            && *bad_rows > 0
        {
            let (rows, are) = (number(*bad_rows, "row", "rows"), if *bad_rows == 1 { "is" } else { "are" });
            tell(&format!("warning: {rows} could not be read and {are} not imported"));
        }
        if let Some(Counted { kept: 0, .. }) = counted {
            tell("warning: no row counts, so that every answer is noise alone");
        }
        let columns = dataset.schema.columns().iter().filter(|_| self.file.is_some());
        for column in columns.filter(|column| column.name().parse::<f64>().is_ok()) {
            let name = column.name();
            tell(&format!(
                "warning: a column is called {name}; if the file has no header, put one before its first row and add it again with \
                 --new-version"
            ));
        }
        for (column, kind) in left_out {
            tell(&format!("note: the column {column} is of type {kind}, which cannot be asked about, and is left out"));
        }
        for other in same_data {
            tell(&format!(
                "warning: the same data are registered as {other}: what is learned through both adds up, so the people in them are \
                 protected by the sum of both budgets only"
            ));
        }
        if let Some(why) = not_dropped {
            tell(&format!("warning: the gate's table of the version before is still there; drop it by hand: {why}"));
        }
        if *unchanged {
            tell(&format!("warning: version {} has the same data as the one before", dataset.version));
        }
    }

    fn print(&self, gate: &Gate, registered: &Registered) -> Result<ExitCode, Failure> {
        let Registered { dataset, counted, bad, left_out, same_data, .. } = registered;
        let account = gate.ledger().account(&dataset.name)?;
        if self.gate.ledger.json {
            let imported = counted.map(|Counted { rows, kept, without_unit, bad_rows }| ImportedJson {
                rows,
                kept,
                without_unit,
                bad_rows,
                first_bad_rows: bad.iter().map(|row| BadRowJson { line: row.line, why: row.why.clone() }).collect(),
            });
            print_json(&Document {
                dataset: &dataset.name,
                version: dataset.version,
                schema: SchemaJson::new(&dataset.schema),
                imported,
                left_out: left_out.iter().map(|(column, kind)| [column.as_str(), kind.as_str()]).collect(),
                same_data,
                account: AccountJson::new(&account, None),
            })?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = Lines::default();
        lines.add("dataset", format!("{}, version {}", dataset.name, dataset.version));
        lines.add(
            "rows",
            match counted {
                Some(counted) => rows(counted, &dataset.schema),
                None => rows_that_count(dataset),
            },
        );
        lines.add("unit", dataset.schema.unit());
        let fixed = fixed_lines(&account);
        print_line(&format!("{lines}\n\n{}\n\n{fixed}", column_table(&dataset.schema)))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What came of the rows.
fn rows(counted: &Counted, schema: &Schema) -> String {
    let Counted { rows, kept, without_unit, bad_rows } = counted;
    if *schema.unit() == PrivacyUnit::Row && *bad_rows == 0 {
        return thousands(*rows);
    }
    if *schema.unit() == PrivacyUnit::Row {
        return format!(
            "{} of {}; left out: {} that cannot be read",
            thousands(*kept),
            thousands(*rows),
            thousands(*bad_rows)
        );
    }
    let surplus = rows.saturating_sub(kept + without_unit + bad_rows);
    format!(
        "{} of {}; left out: {} without a unit, {} beyond the most of a unit, {} that cannot be read",
        thousands(*kept),
        thousands(*rows),
        thousands(*without_unit),
        thousands(surplus),
        thousands(*bad_rows)
    )
}

impl DeclarationArgs {
    /// What was declared: a file, or else what was declared about the version before, and the flags on top of it.
    fn declaration(&self, before: Option<&Schema>) -> Result<Declaration, Failure> {
        let mut declaration = match &self.schema {
            Some(path) => Declaration::parse(&read(path)?)
                .map_err(|error| Failure::Usage(format!("the schema {}: {error}", path.display())))?,
            None => before.map_or_else(Declaration::default, Declaration::of),
        };
        match (self.unit.as_deref(), self.max_rows_per_unit) {
            (None, _) => {}
            (Some("row"), None) => declaration.unit = PrivacyUnit::Row,
            (Some("row"), Some(_)) => {
                return Err(Failure::Usage(
                    "--max-rows-per-unit goes with a column as the unit, not with row".to_string(),
                ));
            }
            (Some(column), Some(max_rows_per_unit)) => {
                declaration.unit = PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit };
            }
            (Some(column), None) => {
                return Err(Failure::Usage(format!(
                    "with --unit {column}, say how many rows of one {column} may count: --max-rows-per-unit 1"
                )));
            }
        }
        if let Some(name) = &self.neighbours {
            declaration.neighbours = Neighbours::from_name(name)?;
        }
        self.types.iter().try_for_each(|text| declaration.add_type(text))?;
        self.bounds.iter().try_for_each(|text| declaration.add_bounds(text))?;
        self.categories.iter().try_for_each(|text| declaration.add_categories(text))?;
        Ok(declaration)
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::Usage(format!("the schema {} cannot be read: {error}; name a file in TOML", path.display()))
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    if length > Declaration::LONGEST as u64 {
        return Err(unreadable(&format!("it has {length} bytes; at most {} are read", Declaration::LONGEST)));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}
