//! GROUP BY: keys whose values follow from the declaration or are named by WHERE, and columns of which nothing is known.

use dashu::rational::RBig;
use sqlparser::ast::{Expr, GroupByExpr, SelectItem, Value as Written};

use super::super::aggregate::Function;
use super::super::group::{Group, GroupKey};
use super::super::predicate::{Comparison, Operand, Predicate};
use super::super::scalar::{Kind, NumericExpr};
use super::contents::has_aggregate;
use super::labels::Labelled;
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, is_called, plain};
use super::scalar::Typed;
use crate::error::Error;
use crate::schema::{ColumnType, Value};

/// A key with the expression that it is written as.
pub(super) struct WrittenGroup<'e> {
    pub(super) expression: &'e Expr,
    pub(super) group: Group,
}

impl Reader<'_> {
    /// The keys that are grouped by.
    pub(super) fn groups<'e>(
        &self,
        group_by: &'e GroupByExpr,
        items: &'e [SelectItem],
        filter: Option<&Predicate>,
    ) -> Result<Vec<WrittenGroup<'e>>, Error> {
        let (expressions, modifiers): (Vec<&Expr>, _) = match group_by {
            GroupByExpr::Expressions(expressions, modifiers) => (expressions.iter().collect(), modifiers),
            // Everything that is shown and is no aggregate.
            GroupByExpr::All(modifiers) => {
                let key = |item: &'e SelectItem| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        (!has_aggregate(item) && Literal::of(self, plain(expr)).is_none()).then_some(expr)
                    }
                    _ => None,
                };
                (items.iter().filter_map(key).collect(), modifiers)
            }
        };
        if !modifiers.is_empty() {
            return Err(self.beyond());
        }
        let mut groups: Vec<WrittenGroup> = Vec::new();
        let mut cells = 1usize;
        for written in expressions {
            let expression = self.grouped(written, items)?;
            if groups.iter().any(|other| plain(other.expression) == expression) {
                return Err(self.refusal(written, format!("{expression} is grouped by already: leave it out")));
            }
            let group = Group { key: self.key_within(expression, filter)?, name: name_of(expression) };
            cells = cells.saturating_mul(group.values().map_or(1, |values| values.len()));
            if cells > limits::GROUPS {
                let message = format!(
                    "this makes {cells} groups, more than {}: group by fewer columns, or by coarser ones, such as FLOOR(x / 100) * 100",
                    limits::GROUPS
                );
                return Err(self.refusal(written, message));
            }
            groups.push(WrittenGroup { expression, group });
        }
        Ok(groups)
    }

    /// What a key stands for: itself, an alias of a column of the answer, or the place of one.
    fn grouped<'e>(&self, written: &'e Expr, items: &'e [SelectItem]) -> Result<&'e Expr, Error> {
        match plain(written) {
            Expr::Value(value) => {
                let place = match &value.value {
                    Written::Number(digits, false) => digits.parse::<usize>().ok(),
                    _ => None,
                };
                let item = place.and_then(|place| items.get(place.checked_sub(1)?));
                match item {
                    Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => Ok(plain(expr)),
                    _ => Err(self.refusal(written, format!("a place from 1 to {} is needed here", items.len()))),
                }
            }
            Expr::Identifier(name) if self.find_column(name).is_none() => {
                let alias = items.iter().find_map(|item| match item {
                    SelectItem::ExprWithAlias { expr, alias } if is_called(alias, &name.value) => Some(plain(expr)),
                    _ => None,
                });
                Ok(alias.unwrap_or(plain(written)))
            }
            other => Ok(other),
        }
    }

    /// A key without the values that the condition on the rows rules out, whatever the data are: by conditions on the key itself, and by
    /// the ranges of the columns that it is made of.
    fn key_within(&self, expression: &Expr, filter: Option<&Predicate>) -> Result<GroupKey, Error> {
        let mut key = self.key(expression, filter)?;
        if let Some(condition) = filter {
            key.leave_out_what_cannot_be(condition, &self.ranges(filter), limits::GROUPS);
        }
        Ok(key)
    }

    /// The values that columns with bounds have in rows for which a condition holds.
    fn ranges<'r>(&'r self, filter: Option<&'r Predicate>) -> impl Fn(usize) -> Option<[i64; 2]> + use<'r> {
        move |column| filter?.range(column, &self.bounded(column)?)
    }

    fn key(&self, expression: &Expr, filter: Option<&Predicate>) -> Result<GroupKey, Error> {
        if let Some(column) = self.as_column(expression) {
            return self.column_key(expression, column?, filter);
        }
        let text = |Labelled { scalar, labels }: Labelled| GroupKey::Steps {
            scalar,
            values: labels.into_iter().map(|(number, text)| (number, Value::Text(text))).collect(),
        };
        if !self.is_textual(expression)
            && let Some(choices) = self.choices(expression)?
        {
            return self.numbered(expression, choices).map(text);
        }
        match self.typed(expression)? {
            Typed::Text(labelled) => Ok(text(labelled)),
            Typed::Literal(_) | Typed::Null => {
                Err(self.refusal(expression, "a literal is the same for every row: group by a column"))
            }
            Typed::Truth(predicate) => Ok(truth_key(predicate)),
            _ => self.steps_key(expression, self.scalar(expression)?, filter),
        }
    }

    fn column_key(&self, expression: &Expr, at: usize, filter: Option<&Predicate>) -> Result<GroupKey, Error> {
        let column = self.declared(at);
        if self.is_unit(at) {
            let message = format!(
                "{:?} is what is protected, and single ones are never shown: count them with COUNT(DISTINCT {0})",
                column.name
            );
            return Err(self.refusal(expression, message));
        }
        if let Some(values) = &column.categories {
            return Ok(GroupKey::Column { column: at, values: values.clone() });
        }
        let named = filter.and_then(|filter| filter.named(at, limits::GROUPS));
        match (column.kind, self.bounded(at), named) {
            (ColumnType::Boolean, ..) => {
                Ok(GroupKey::Column { column: at, values: [false, true].map(Value::Boolean).into() })
            }
            // Few enough values follow from the bounds. On a coarse grid they are bins, which named values are not.
            (ColumnType::Integer | ColumnType::Date, Some(scalar), named)
                if (named.is_none() || scalar.grid > RBig::ONE)
                    && scalar.values_where(&self.ranges(filter), limits::GROUPS).is_some() =>
            {
                self.steps_key(expression, scalar, filter)
            }
            // WHERE leaves no other rows.
            (kind, _, Some(values)) if kind != ColumnType::Real => Ok(GroupKey::Column { column: at, values }),
            (ColumnType::Real | ColumnType::Decimal, ..) => {
                let message = format!(
                    "{:?} holds {} numbers, of which there are too many to group by: put them into bins, such as \
                     FLOOR({0:?} / 100) * 100",
                    column.name, column.kind
                );
                Err(self.refusal(expression, message))
            }
            _ => Ok(GroupKey::Open { column: at }),
        }
    }

    /// `MODE(…)`: of all values that it may have.
    pub(super) fn most_frequent(&self, expression: &Expr) -> Result<Function, Error> {
        match self.key(plain(expression), None)? {
            GroupKey::Steps { scalar, values } => Ok(Function::Mode { of: scalar, values }),
            GroupKey::Column { column, values } => {
                let number = |at: usize| NumericExpr::steps(at as i64, Kind::Integer, RBig::ONE);
                let branch = |(at, value): (usize, &Value)| {
                    let (operand, comparison) = (Operand::plain(column), Comparison::Equal);
                    (Predicate::Compare { operand, comparison, value: value.clone() }, number(at))
                };
                let branches = values.iter().enumerate().map(branch).collect();
                let of = self.fitting(expression, NumericExpr::case(branches, None))?;
                Ok(Function::Mode { of, values: (0..).zip(values).collect() })
            }
            GroupKey::Open { .. } => {
                let message = "the most frequent value is one of those that are known: ask the owner to declare the categories of this \
                               column, or count its values with GROUP BY, ORDER BY COUNT(*) DESC and LIMIT";
                Err(self.refusal(expression, message))
            }
        }
    }

    /// Whether a column tells units apart: the declared one, or a key that equals it.
    fn is_unit(&self, at: usize) -> bool {
        let Some(unit) = self.schema.unit_column() else { return false };
        let tables = self.tables.borrow();
        let Some(tables) = tables.last() else { return at == unit };
        let is_unit = |at: usize| at == unit || tables.private.as_ref().is_some_and(|join| join.unit == at);
        is_unit(at) || tables.joins.iter().any(|join| is_unit(join.on) && join.first + join.key == at)
    }

    fn steps_key(&self, expression: &Expr, scalar: NumericExpr, filter: Option<&Predicate>) -> Result<GroupKey, Error> {
        let Some(steps) = scalar.values_where(&self.ranges(filter), limits::GROUPS) else {
            let message = format!(
                "this has more than {} values by its bounds: put them into coarser bins, such as FLOOR(x / 100) * 100",
                limits::GROUPS
            );
            return Err(self.refusal(expression, message));
        };
        let values: Vec<(i64, Value)> = steps.into_iter().map(|steps| (steps, scalar.value(steps))).collect();
        // They ascend, so those that are shown as one number are neighbours: also 1 and 1.0.
        let twice = values.windows(2).find(|pair| pair[0].1.compare(&pair[1].1).is_eq());
        if let Some([(_, twice), _]) = twice {
            let message = format!("several of its values are shown as {twice}: round them, such as ROUND(x, 6)");
            return Err(self.refusal(expression, message));
        }
        Ok(GroupKey::Steps { scalar, values })
    }
}

/// True and false.
fn truth_key(predicate: Predicate) -> GroupKey {
    let values = [false, true].map(|truth| (i64::from(truth), Value::Boolean(truth))).into();
    GroupKey::Steps { scalar: NumericExpr::truth(predicate), values }
}

/// The name that a key has without an alias.
pub(super) fn name_of(expression: &Expr) -> String {
    match plain(expression) {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) if !parts.is_empty() => parts[parts.len() - 1].value.clone(),
        other => other.to_string(),
    }
}
