//! Two private tables, joined on the column of their unit.
//!
//! If m₁ and m₂ rows of a unit count at most, an inner join has at most m = m₁·m₂ rows of it. All of them come or go when the unit enters
//! or leaves one of the tables, or both at once; under substitute neighbours those of one unit go, and those of another one come. So all
//! sensitivities are those of one table with m rows a unit.
//!
//! A LEFT JOIN keeps the rows of the first table that have no counterpart. If a unit leaves the second table alone, its m₁·m₂ joined rows
//! go, and m₁ rows without a counterpart come: m = m₁·m₂ + m₁ rows change. If a unit takes another one's place there, this happens to both
//! of them, in opposite directions, which the formulas for substitute neighbours do not cover: that is refused.

use std::borrow::Cow;

use taximeter_ledger::{AccountName, Neighbours};

use super::{Query, Question};
use crate::schema::{PrivacyUnit, Schema};

/// Another dataset, which a question may join on the unit of both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PrivateTable {
    pub(crate) name: AccountName,
    pub(crate) schema: Schema,
}

/// Another dataset beside the rows: every row of a unit meets each of its rows there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PrivateJoin {
    pub(crate) table: AccountName,
    /// The place of its first column in [`Question::schema`].
    pub(crate) first: usize,
    /// The place of its unit there.
    pub(crate) unit: usize,
    /// Whether rows without a counterpart stay, with null in its columns: LEFT JOIN.
    pub(crate) keeps_all: bool,
    /// The most joined rows that one unit changes.
    pub(crate) rows_per_unit: u32,
}

impl PrivateJoin {
    /// The most joined rows that one unit changes, or why no number would do.
    pub(crate) fn rows_per_unit(own: &Schema, other: &PrivateTable, keeps_all: bool) -> Result<u32, String> {
        let name = &other.name;
        let (Some(unit), Some(other_unit)) = (own.unit_column(), other.schema.unit_column()) else {
            return Err(format!(
                "private tables can be joined only if both protect the same unit with a limit on its rows; the unit of this dataset or of \
                 {name} is a row. Ask about each table separately"
            ));
        };
        let (unit, other_unit) = (&own.columns[unit], &other.schema.columns[other_unit]);
        if !unit.name.eq_ignore_ascii_case(&other_unit.name) || own.neighbours != other.schema.neighbours {
            return Err(format!(
                "private tables can be joined only if both protect the same unit under the same neighbours; this dataset protects {:?} \
                 under {} neighbours, and {name} {:?} under {} neighbours. Ask about each table separately",
                unit.name,
                own.neighbours.name(),
                other_unit.name,
                other.schema.neighbours.name()
            ));
        }
        if unit.kind != other_unit.kind {
            return Err(format!(
                "the unit {:?} holds {} here and {} in {name}, so equal units cannot be matched for certain: ask the owner to register \
                 both with one type",
                unit.name, unit.kind, other_unit.kind
            ));
        }
        if keeps_all && own.neighbours == Neighbours::Substitute {
            return Err("LEFT JOIN requires add-remove neighbours: replacing one unit could change the joined rows of two; write JOIN"
                .to_string());
        }
        let there = u64::from(other.schema.rows_per_unit()) + u64::from(keeps_all);
        let rows = u64::from(own.rows_per_unit()) * there;
        u32::try_from(rows).ok().filter(|rows| *rows <= Schema::ROWS_PER_UNIT).ok_or_else(|| {
            format!(
                "one unit would count in up to {rows} joined rows, more than {}: ask the owner for smaller limits on the rows of a unit",
                Schema::ROWS_PER_UNIT
            )
        })
    }
}

impl Question {
    /// The other dataset that it joins, if any.
    pub(crate) fn private_join(&self) -> Option<&PrivateJoin> {
        self.all_queries().find_map(|query| query.private.as_ref())
    }
}

impl Query {
    /// What sensitivities follow from: the unit with the most of its rows that are asked, and the relation of neighbours.
    pub(crate) fn protected<'s>(&self, schema: &'s Schema) -> Cow<'s, Schema> {
        match (&self.private, &schema.unit) {
            (Some(join), PrivacyUnit::Column { column, .. }) => {
                let unit = PrivacyUnit::Column { column: column.clone(), max_rows_per_unit: join.rows_per_unit };
                Cow::Owned(Schema { unit, neighbours: schema.neighbours, columns: Vec::new() })
            }
            _ => Cow::Borrowed(schema),
        }
    }
}
