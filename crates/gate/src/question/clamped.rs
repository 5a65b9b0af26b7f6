//! Rows whose values are clamped: how many there are says whether bounds bias an answer.

use std::collections::BTreeSet;

use super::aggregate::{Aggregate, Function};
use super::predicate::{Comparison, Operand, Predicate};
use super::scalar::{Node, NumericExpr};
use super::term::Term;
use super::{Output, Query, Question};
use crate::error::Error;
use crate::number::Number;
use crate::schema::{Column, ColumnType, Schema, Value};

/// The column of the answer that has them.
const NAME: &str = "clamped rows";

impl Question {
    /// Adds a column with the number of rows of which a value that is summed or sorted lies outside of its declared bounds. Columns of
    /// public tables are never clamped.
    pub(crate) fn count_clamped(&mut self) -> Result<(), Error> {
        if self.outputs().iter().any(|output| output.name.eq_ignore_ascii_case(NAME)) {
            return Err(Error::value(
                "column of the answer",
                NAME,
                "clamped rows are counted under this name; rename it",
            ));
        }
        let conditions: Vec<Option<Predicate>> = self.queries.iter().map(|query| query.clamped(&self.schema)).collect();
        if conditions.iter().all(Option::is_none) {
            let message =
                "nothing is summed, averaged or sorted, so no value is clamped: omit the count of clamped rows";
            return Err(Error::input("question", message));
        }
        let shown = self.shown();
        for (query, condition) in self.queries.iter_mut().zip(conditions) {
            let term = match condition {
                None => Term::Constant(0.0),
                Some(condition) => {
                    query.aggregates.push(Aggregate { function: Function::Clamped, filter: Some(condition) });
                    Term::Aggregate(query.aggregates.len() - 1)
                }
            };
            query.outputs.insert(shown, Output { name: NAME.to_string(), text: NAME.to_string(), term });
        }
        // What is only sorted by comes behind it.
        self.order.iter_mut().filter(|key| key.output >= shown).for_each(|key| key.output += 1);
        Ok(())
    }
}

impl Query {
    /// For which rows an aggregate sees a clamped value.
    fn clamped(&self, schema: &Schema) -> Option<Predicate> {
        let any = self.aggregates.iter().filter_map(|Aggregate { function, filter }| {
            let mut columns = BTreeSet::new();
            let scalars: Vec<&NumericExpr> = match function {
                Function::Sum(of) | Function::Average(of) => vec![of],
                Function::Spread { of, .. } | Function::Quantile { of, .. } => vec![of],
                Function::Pair { y, x, .. } => vec![y, x],
                Function::Rows
                | Function::NonNull(_)
                | Function::Units
                | Function::Distinct(_)
                | Function::Clamped
                | Function::Mode { .. } => Vec::new(),
            };
            scalars.into_iter().for_each(|scalar| scalar.columns(&mut columns));
            let own = columns.into_iter().filter(|at| !self.joins.iter().any(|join| join.has(*at)));
            let outside: Vec<Predicate> = own.flat_map(|at| outside(at, &schema.columns[at])).collect();
            let outside = (!outside.is_empty()).then(|| Predicate::any(outside))?;
            Some(Predicate::all(filter.iter().cloned().chain([outside]).collect()))
        });
        let any: Vec<Predicate> = any.collect();
        (!any.is_empty()).then(|| Predicate::any(any))
    }
}

/// Below the lower bound, and above the upper one.
fn outside(at: usize, column: &Column) -> Vec<Predicate> {
    let Some(bounds) = &column.bounds else { return Vec::new() };
    let end = |comparison, end: Number| {
        let value = match column.kind {
            ColumnType::Integer => Value::Integer(end.floor()),
            ColumnType::Real => Value::Real(end.to_f64()),
            ColumnType::Decimal => Value::Decimal(end),
            ColumnType::Date => Value::Date(i32::try_from(end.floor()).ok()?),
            ColumnType::Timestamp => Value::Timestamp(end.floor().saturating_mul(1_000_000)),
            ColumnType::Text | ColumnType::Boolean => return None,
        };
        Some(Predicate::Compare { operand: Operand::plain(at), comparison, value })
    };
    [end(Comparison::Less, bounds.low()), end(Comparison::Greater, bounds.high())].into_iter().flatten().collect()
}

impl NumericExpr {
    /// The columns that are clamped to compute it.
    fn columns(&self, found: &mut BTreeSet<usize>) {
        match &self.node {
            Node::Column(at) => {
                found.insert(*at);
            }
            Node::Constant(_) | Node::Null | Node::Subquery(..) => {}
            Node::Truth(predicate) => predicate.columns(found),
            Node::Sum(one, other)
            | Node::Product(one, other)
            | Node::NullIf(one, other)
            | Node::Quotient { one, other, .. } => {
                one.columns(found);
                other.columns(found);
            }
            Node::Negative(inner)
            | Node::Absolute(inner)
            | Node::Times(inner, _)
            | Node::Floor(inner, _)
            | Node::Truncated(inner, _)
            | Node::Rounded(inner, _)
            | Node::Remainder(inner, _)
            | Node::Calendar(_, inner) => inner.columns(found),
            Node::Least(parts) | Node::Greatest(parts) | Node::Coalesce(parts) => {
                parts.iter().for_each(|part| part.columns(found));
            }
            Node::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.columns(found);
                    value.columns(found);
                }
                if let Some(value) = otherwise {
                    value.columns(found);
                }
            }
        }
    }
}

impl Predicate {
    /// The columns that are clamped to decide it: a plain comparison sees the value as it is.
    fn columns(&self, found: &mut BTreeSet<usize>) {
        match self {
            Predicate::Constant(_)
            | Predicate::Compare { .. }
            | Predicate::Columns { .. }
            | Predicate::In { .. }
            | Predicate::Like { .. }
            | Predicate::IsNull { .. } => {}
            Predicate::Steps { left, comparison: _, right } => {
                left.columns(found);
                right.columns(found);
            }
            Predicate::NullSteps { scalar, negated: _ } => scalar.columns(found),
            Predicate::Is { inner, .. } | Predicate::Not(inner) => inner.columns(found),
            Predicate::And(parts) | Predicate::Or(parts) => parts.iter().for_each(|part| part.columns(found)),
        }
    }
}
