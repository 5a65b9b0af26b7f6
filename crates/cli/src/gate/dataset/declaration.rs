//! What an owner declares about data: a file, flags, or both.

use std::path::{Path, PathBuf};

use clap::Args;
use taximeter_gate::{Declaration, PrivacyUnit};
use taximeter_ledger::Neighbours;
use taximeter_service::SchemaDocument;

use crate::output::{Failure, in_flag, usage};

/// What is declared about a dataset.
#[derive(Args)]
#[command(next_help_heading = "The declaration")]
pub struct DeclarationArgs {
    /// A file with the declaration, in TOML
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The unit whose privacy is protected: row if every row is about a different person, otherwise the column that identifies the person
    #[arg(long, value_name = "row|COLUMN")]
    unit: Option<String>,
    /// The largest number of rows of one unit that count
    #[arg(long, value_name = "ROWS", requires = "unit")]
    max_rows_per_unit: Option<u32>,
    /// When two datasets are neighbours [default: add-remove]
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"])]
    neighbours: Option<String>,
    /// Bounds of a column, with or without a grid
    #[arg(long, value_name = "COLUMN=LOW..HIGH[/GRID]")]
    bounds: Vec<String>,
    /// Categories of a column
    #[arg(long, value_name = "COLUMN=A,B,…")]
    categories: Vec<String>,
    /// The type of a column: integer, real, decimal, text, boolean, date or timestamp
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<String>,
}

impl DeclarationArgs {
    /// The declaration: the file, or without one that of the version before, with the flags on top.
    pub fn declaration(&self, before: Option<&SchemaDocument>) -> Result<Declaration, Failure> {
        let mut declaration = match &self.schema {
            Some(path) => {
                Declaration::parse(&read(path)?).map_err(in_flag(&format!("the schema {}", path.display())))?
            }
            None => before.map_or_else(|| Ok(Declaration::default()), SchemaDocument::declaration)?,
        };
        if let (None, Some(before)) = (&declaration.unit, before) {
            declaration.unit = Some(before.privacy_unit()?);
        }
        match (self.unit.as_deref(), self.max_rows_per_unit) {
            (None, _) => {}
            (Some("row"), None) => declaration.unit = Some(PrivacyUnit::Row),
            (Some("row"), Some(_)) => {
                return Err(usage("--max-rows-per-unit needs a column as the unit; with --unit row, omit it"));
            }
            (Some(column), Some(max_rows_per_unit)) => {
                declaration.unit = Some(PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit });
            }
            (Some(column), None) => {
                return Err(usage(format!(
                    "with --unit {column}, limit the rows of one {column}, for instance --max-rows-per-unit 1"
                )));
            }
        }
        if declaration.unit.is_none() {
            return Err(usage(
                "give the unit whose privacy is protected: --unit row if every row is about a different person, or --unit COLUMN \
                 --max-rows-per-unit ROWS with the column that identifies the person",
            ));
        }
        if let Some(name) = &self.neighbours {
            declaration.neighbours = Neighbours::from_name(name)?;
        }
        for (flag, values) in [("--type", &self.types), ("--bounds", &self.bounds), ("--categories", &self.categories)]
        {
            if let Some(column) = Declaration::column_given_twice(values) {
                return Err(usage(format!("{flag} is given twice for the column {column}; give it once")));
            }
        }
        self.types.iter().try_for_each(|text| declaration.add_type(text))?;
        self.bounds.iter().try_for_each(|text| declaration.add_bounds(text))?;
        self.categories.iter().try_for_each(|text| declaration.add_categories(text))?;
        Ok(declaration)
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        usage(format!("the schema {} cannot be read: {error}; name a TOML file", path.display()))
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    if length > Declaration::LONGEST as u64 {
        return Err(unreadable(&format!("it has {length} bytes; at most {} are read", Declaration::LONGEST)));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}
