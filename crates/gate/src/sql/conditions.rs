//! Conditions in SQL.

use super::Writer;
use crate::question::commas;
use crate::question::group::GroupKey;
use crate::question::predicate::{Comparison, Operand, Predicate};
use crate::schema::{ColumnType, Value};
use crate::steps::category_name;

impl Writer<'_> {
    /// The condition that a row belongs to a group.
    pub(super) fn is_in_a_group(&mut self, key: &GroupKey) -> String {
        match key {
            GroupKey::Column { column, .. } if self.is_public(*column) => {
                format!("{} IS NOT NULL", self.column(*column))
            }
            GroupKey::Column { column, values } if self.kind(*column) == ColumnType::Boolean && values.len() == 2 => {
                format!("{} IS NOT NULL", self.column(*column))
            }
            GroupKey::Column { column, values } if self.stores_categories(*column, values) => {
                self.own(&category_name(self.target.schema, *column))
            }
            GroupKey::Column { column, values } => {
                let condition = self.any_of(Operand::plain(*column), values, false);
                self.grammar().is_in_a_group(condition)
            }
            GroupKey::Steps { scalar, .. } => format!("{} IS NOT NULL", self.known(scalar)),
            GroupKey::Open { column } => format!("{} IS NOT NULL", self.column(*column)),
        }
    }

    /// Whether there is a column that says if another one has one of these values: all its categories.
    fn stores_categories(&self, column: usize, values: &[Value]) -> bool {
        let declared = &self.target.schema.columns[column];
        self.grammar().stores_categories()
            && declared.kind == ColumnType::Text
            && declared.categories.as_deref() == Some(values)
    }

    pub(super) fn any_of(&mut self, operand: Operand, values: &[Value], negated: bool) -> String {
        // An empty list is no SQL in PostgreSQL.
        if values.is_empty() {
            return if negated { "TRUE" } else { "FALSE" }.to_string();
        }
        let compared = self.compared(operand);
        let values: Vec<_> = values.iter().map(|value| self.literal(value)).collect();
        format!("{compared} {}IN ({})", not(negated), commas(values))
    }

    /// A condition. One that is a list is in parentheses.
    pub(super) fn predicate(&mut self, predicate: &Predicate) -> String {
        match predicate {
            Predicate::Constant(Some(true)) => "TRUE".to_string(),
            Predicate::Constant(Some(false)) => "FALSE".to_string(),
            Predicate::Constant(None) => self.grammar().null(ColumnType::Boolean),
            Predicate::Compare { operand, comparison, value } => {
                let value = self.literal(value);
                compare(&self.compared(*operand), *comparison, &value)
            }
            Predicate::Columns { left, comparison, right } => {
                compare(&self.compared(*left), *comparison, &self.compared(*right))
            }
            Predicate::In { operand, values, negated } => self.any_of(*operand, values, *negated),
            Predicate::Like { operand, pattern, negated } => {
                let text = self.compared(*operand);
                self.grammar().like(&text, not(*negated), pattern, &mut self.parameters)
            }
            Predicate::IsNull { column, negated } => format!("{} IS {}NULL", self.column(*column), not(*negated)),
            Predicate::Steps { left, comparison, right } => {
                compare(&self.scalar(left), *comparison, &self.scalar(right))
            }
            Predicate::NullSteps { scalar, negated } => format!("{} IS {}NULL", self.known(scalar), not(*negated)),
            Predicate::Is { inner, value, negated } => {
                let inner = self.predicate(inner);
                self.grammar().is(&inner, *value, not(*negated))
            }
            Predicate::And(parts) => self.joined(parts, " AND "),
            Predicate::Or(parts) => self.joined(parts, " OR "),
            Predicate::Not(inner) => format!("NOT ({})", self.predicate(inner)),
        }
    }

    fn joined(&mut self, parts: &[Predicate], word: &str) -> String {
        let parts: Vec<_> = parts.iter().map(|part| self.predicate(part)).collect();
        format!("({})", parts.join(word))
    }
}

fn compare(left: &str, comparison: Comparison, right: &str) -> String {
    format!("{left} {} {right}", comparison.symbol())
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}
