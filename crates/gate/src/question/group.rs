//! What an answer is grouped by: expressions whose values follow from the declaration, or a column of which nothing is declared.

use super::predicate::Predicate;
use super::scalar::NumericExpr;
use crate::schema::Value;

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
    /// A column with declared categories.
    Column { column: usize, values: Vec<Value> },
    /// An expression with finitely many values, each in steps and as it is shown.
    Steps { scalar: NumericExpr, values: Vec<(i64, Value)> },
    /// A column without categories: only groups above a threshold are answered.
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
        match &self.key {
            GroupKey::Column { values, .. } => Some(values.iter().collect()),
            GroupKey::Steps { values, .. } => Some(values.iter().map(|(_, value)| value).collect()),
            GroupKey::Open { .. } => None,
        }
    }

    /// Leaves out the values for which a condition on all rows cannot hold, whatever the data are.
    pub(crate) fn leave_out_what_cannot_be(&mut self, filter: &Predicate) {
        if let GroupKey::Column { column, values } = &mut self.key {
            values.retain(|value| filter.decided(*column, value) != Some(false));
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.key, GroupKey::Open { .. })
    }
}
