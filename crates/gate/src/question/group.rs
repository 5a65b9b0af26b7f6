//! What an answer is grouped by: expressions whose values follow from the declaration or the question, or a column of which nothing is
//! known.

use super::predicate::Predicate;
use super::scalar::{ColumnRanges, NumericExpr};
use crate::schema::{ColumnType, Schema, Value};

/// What stands for a key in the rows of a total over all its values.
pub(crate) const ALL: &str = "(all)";

/// A key of the groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) key: GroupKey,
    /// Its name in the answer.
    pub(crate) name: String,
}

/// What the rows of a group have in common. Rows for which it is null belong to no group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupKey {
    /// A column with declared categories, or whose values WHERE names.
    Column { column: usize, values: Vec<Value> },
    /// An expression with finitely many values, each in steps and as it is shown.
    Steps { scalar: NumericExpr, values: Vec<(i64, Value)> },
    /// A column without either: only groups above a threshold are answered.
    Open { column: usize },
}

/// In how many groups the rows of one unit count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupLimit {
    pub(crate) most: u32,
    /// The key of the hash that chooses them.
    pub(crate) key: String,
}

impl Group {
    /// The values that are answered, whether a row has them or not; nothing if they are not known beforehand.
    pub(crate) fn values(&self) -> Option<Vec<&Value>> {
        self.key.values()
    }

    /// Whether its values are those that WHERE names: nothing is declared about its column.
    pub(crate) fn is_named(&self, schema: &Schema) -> bool {
        let GroupKey::Column { column, .. } = &self.key else { return false };
        let column = &schema.columns[*column];
        column.categories.is_none() && column.kind != ColumnType::Boolean
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.key, GroupKey::Open { .. })
    }
}

impl GroupKey {
    pub(crate) fn values(&self) -> Option<Vec<&Value>> {
        match self {
            GroupKey::Column { values, .. } => Some(values.iter().collect()),
            GroupKey::Steps { values, .. } => Some(values.iter().map(|(_, value)| value).collect()),
            GroupKey::Open { .. } => None,
        }
    }

    /// Leaves out the values for which a condition on all rows cannot hold, whatever the data are; and, if there are no more than `most` of
    /// them, the values that expressions do not have where columns have the ranges that the condition leaves.
    pub(crate) fn leave_out_what_cannot_be(&mut self, filter: &Predicate, ranges: &ColumnRanges, most: usize) {
        match self {
            GroupKey::Column { column, values } => {
                values.retain(|value| filter.decided(*column, value) != Some(false));
            }
            GroupKey::Steps { scalar, values } => {
                let attained = scalar.values_where(ranges, most);
                values.retain(|(steps, _)| {
                    filter.decided_steps(scalar, *steps) != Some(false)
                        && attained.as_ref().is_none_or(|attained| attained.contains(steps))
                });
            }
            GroupKey::Open { .. } => {}
        }
    }
}
