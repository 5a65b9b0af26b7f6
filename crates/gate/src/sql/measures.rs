//! What is measured, in SQL: an aggregate, or what the embedded engine makes groups of.
//!
//! SQLite sorts all rows to group them, which takes many times as long as reading them. So a statement with groups only reads there: the
//! keys of every row, and for every measure what is counted or summed. The engine adds each row to the numbers of its group.

use super::{Dialect, Writer};
use crate::measure::{Measure, Quantity};
use crate::question::Query;
use crate::question::aggregate::Argument;
use crate::question::group::GroupKey;
use crate::question::predicate::Operand;
use crate::schema::Value;

/// How the engine makes groups of rows. A row without one of its keys belongs to no group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grouping {
    /// The values of every key that make a group; nothing where all do.
    pub(crate) values: Vec<Option<Vec<Value>>>,
    /// What is made of the columns behind the keys.
    pub(crate) folds: Vec<Fold>,
}

/// What a measure makes of a column. A null adds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// How many values there are.
    Count,
    /// How many different values there are.
    Distinct,
    /// The sum of whole numbers.
    Sum,
}

impl Writer<'_> {
    /// Leaves grouping to the engine where that is faster.
    pub(super) fn reading_rows(mut self) -> Self {
        self.folds = (self.target.dialect == Dialect::Sqlite).then(Vec::new);
        self
    }

    pub(super) fn measure(&mut self, Measure { quantity, filter }: &Measure) -> String {
        let (fold, folded) = self.folded(quantity);
        let filter = filter.as_ref().map(|filter| self.predicate(filter));
        if let Some(folds) = &mut self.folds {
            folds.push(fold);
            let folded = if folded == "*" { "1".to_string() } else { folded };
            return match filter {
                None => folded,
                Some(filter) => format!("CASE WHEN {filter} THEN {folded} END"),
            };
        }
        let measured = match fold {
            Fold::Count => format!("count({folded})"),
            Fold::Distinct => format!("count(DISTINCT {folded})"),
            Fold::Sum => self.sum(&folded),
        };
        match filter {
            None => measured,
            Some(filter) => format!("{measured} FILTER (WHERE {filter})"),
        }
    }

    /// What a measure makes of which column; `*` stands for rows.
    fn folded(&mut self, quantity: &Quantity) -> (Fold, String) {
        match quantity {
            Quantity::Rows => (Fold::Count, "*".to_string()),
            Quantity::NonNull(Argument::Column(at)) => (Fold::Count, self.column(*at)),
            Quantity::NonNull(Argument::Steps(scalar)) => (Fold::Count, self.scalar(scalar)),
            Quantity::Units => {
                let unit = self.target.schema.unit_column().expect("units are counted by their column");
                (Fold::Distinct, self.compared(Operand::plain(unit)))
            }
            Quantity::Distinct(Argument::Column(at)) => (Fold::Distinct, self.compared(Operand::plain(*at))),
            Quantity::Distinct(Argument::Steps(scalar)) => (Fold::Distinct, self.scalar(scalar)),
            Quantity::Sum(centred) => (Fold::Sum, self.centred(centred)),
            Quantity::Products(one, other) => {
                (Fold::Sum, format!("({}) * ({})", self.centred(one), self.centred(other)))
            }
        }
    }

    /// How the engine groups the rows of a query, if it does: by this number of keys.
    pub(super) fn grouping(&mut self, query: &Query, keys: usize) -> Option<Grouping> {
        let folds = self.folds.take()?;
        let values = |key: &GroupKey| match key {
            GroupKey::Column { column, values } if !self.is_public(*column) => Some(values.clone()),
            // All values that these may have are known to the question, or any value makes a group.
            GroupKey::Column { .. } | GroupKey::Steps { .. } | GroupKey::Open { .. } => None,
        };
        let mut values: Vec<_> = query.groups.iter().map(|group| values(&group.key)).collect();
        values.resize(keys, None);
        Some(Grouping { values, folds })
    }
}
