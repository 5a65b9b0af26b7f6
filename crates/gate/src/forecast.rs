//! What a count costs before there is a dataset.

use taximeter_accounting::Cost;
use taximeter_ledger::Neighbours;

use crate::error::Error;
use crate::number::Number;
use crate::plan::{NoiseKind, Plan, Price, Weights};
use crate::question::Question;
use crate::schema::{Column, ColumnType, PrivacyUnit, Schema};

/// The cost of a count whose 95% interval is at most ± a width, where this number of rows of a unit may count: what the same question
/// about a dataset would cost.
pub fn cost_of_count(width: Number, noise: NoiseKind, rows_per_unit: u32) -> Result<Cost, Error> {
    const NAME: &str = "rows";
    let unit = PrivacyUnit::Column { column: NAME.to_string(), max_rows_per_unit: rows_per_unit };
    let schema = Schema::new(unit, Neighbours::AddRemove, vec![Column::new(NAME, ColumnType::Integer, None, None)?])?;
    let question = Question::parse("SELECT COUNT(*) FROM rows", NAME, &schema)?;
    let weights = Weights::new(&Default::default(), &question)?;
    Ok(Plan::new(&question, &schema, Price::Error { width, noise }, &weights)?.total)
}
