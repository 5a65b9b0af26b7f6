//! Groups that the embedded engine makes of rows.
//!
//! SQLite sorts all rows to group them, which takes many times as long as reading them. So a statement with groups only reads there: the
//! keys of every row, and for every measure what is counted or summed. The engine adds each row to the numbers of its group.

use super::Writer;
use super::dialect::SqlAggregate;
use crate::question::Query;
use crate::question::group::GroupKey;
use crate::schema::Value;

/// How the engine makes groups of rows. A row without one of its keys belongs to no group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grouping {
    /// The values of every key that make a group; nothing where all do.
    pub(crate) values: Vec<Option<Vec<Value>>>,
    /// What is made of the columns behind the keys. A null adds nothing.
    pub(crate) aggregates: Vec<SqlAggregate>,
}

impl Writer<'_> {
    /// Leaves the groups to the engine, where it makes them itself. Where a unit counts in some of its groups only, the statement says in
    /// which, and groups.
    pub(super) fn grouping_rows(mut self, query: &Query) -> Self {
        self.aggregates = (self.grammar().engine_groups() && query.group_limit.is_none()).then(Vec::new);
        self
    }

    /// What is read for a measure: a column, or 1 for every row, where its condition holds.
    pub(super) fn read(term: &str, filter: Option<&str>) -> String {
        let term = if term == "*" { "1" } else { term };
        filter.map_or(term.to_string(), |filter| format!("CASE WHEN {filter} THEN {term} END"))
    }

    /// How the engine groups the rows of a query, if it does: by this number of keys.
    pub(super) fn grouping(&mut self, query: &Query, keys: usize) -> Option<Grouping> {
        let aggregates = self.aggregates.take()?;
        let values = |key: &GroupKey| match key {
            GroupKey::Column { column, values } if !self.is_public(*column) => Some(values.clone()),
            // All values that these may have are known to the question, or any value makes a group.
            GroupKey::Column { .. } | GroupKey::Steps { .. } | GroupKey::Open { .. } => None,
        };
        let mut values: Vec<_> = query.groups.iter().map(|group| values(&group.key)).collect();
        values.resize(keys, None);
        Some(Grouping { values, aggregates })
    }
}
