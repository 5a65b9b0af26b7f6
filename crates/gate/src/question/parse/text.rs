//! Text with finitely many values, to group by: literals chosen by CASE, declared categories, and what stands for null.

use sqlparser::ast::{CaseWhen, Expr, Value as Written};

use super::super::predicate::{Comparison, LetterCase, Operand, Predicate};
use super::super::scalar::NumericExpr;
use super::labels::Labelled;
use super::reader::{Reader, plain};
use super::scalar::Typed;
use crate::error::Error;
use crate::schema::{ColumnType, Value};

/// What text is by the first condition that holds; null where that says so, or where none holds.
pub(super) struct Choices {
    pub(super) branches: Vec<(Predicate, Option<String>)>,
    /// Whether a branch is always taken.
    total: bool,
}

impl Reader<'_> {
    /// Reads text whose values are known; nothing if the expression is not of text.
    pub(super) fn choices(&self, expression: &Expr) -> Result<Option<Choices>, Error> {
        match plain(expression) {
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                let branches = conditions.iter().map(|CaseWhen { condition, result }| (condition, result));
                self.chosen(operand.as_deref(), branches.collect(), else_result.as_deref())
            }
            Expr::Function(function) => match function.name.to_string().as_str() {
                "COALESCE" | "IFNULL" | "NVL" | "ISNULL" => self.first_known(&self.arguments(expression, function)?),
                "IF" | "IIF" | "IFF" => match self.arguments(expression, function)?.as_slice() {
                    [condition, then, otherwise] => self.chosen(None, vec![(condition, then)], Some(otherwise)),
                    _ => Ok(None),
                },
                _ => self.choices_of(expression),
            },
            _ => self.choices_of(expression),
        }
    }

    /// A literal, or a column with categories; and text that is computed from such.
    fn choices_of(&self, expression: &Expr) -> Result<Option<Choices>, Error> {
        match plain(expression) {
            other if self.is_computed_text(other) => {
                let Labelled { scalar, labels } = self.labelled(other)?;
                let branch = |(number, text): (i64, String)| {
                    let right = NumericExpr::steps(number, scalar.kind, scalar.grid.clone());
                    (Predicate::Steps { left: scalar.clone(), comparison: Comparison::Equal, right }, Some(text))
                };
                Ok(Some(Choices { branches: labels.into_iter().map(branch).collect(), total: false }))
            }
            other => match self.typed(other) {
                Ok(Typed::Literal(literal)) => Ok(literal.text().map(|text| Choices {
                    branches: vec![(Predicate::Constant(Some(true)), Some(text.to_string()))],
                    total: true,
                })),
                Ok(Typed::Column(operand)) if self.declared(operand.column).kind == ColumnType::Text => {
                    self.categories(expression, operand).map(Some)
                }
                _ => Ok(None),
            },
        }
    }

    fn categories(&self, expression: &Expr, operand: Operand) -> Result<Choices, Error> {
        let column = self.declared(operand.column);
        let Some(categories) = &column.categories else {
            let message = format!(
                "the column {:?} has no declared categories, so its values are not known: ask the owner to declare them, or group \
                 by the column itself",
                column.name
            );
            return Err(self.refusal(expression, message));
        };
        let branch = |category: &Value| {
            let Value::Text(text) = category else { unreachable!("the column is of text") };
            let shown = match operand.case {
                LetterCase::AsWritten => text.clone(),
                LetterCase::Lower => text.to_ascii_lowercase(),
                LetterCase::Upper => text.to_ascii_uppercase(),
            };
            let operand = Operand::plain(operand.column);
            (Predicate::Compare { operand, comparison: Comparison::Equal, value: category.clone() }, Some(shown))
        };
        Ok(Choices { branches: categories.iter().map(branch).collect(), total: false })
    }

    fn chosen(
        &self,
        operand: Option<&Expr>,
        branches: Vec<(&Expr, &Expr)>,
        otherwise: Option<&Expr>,
    ) -> Result<Option<Choices>, Error> {
        let mut all = Choices { branches: Vec::new(), total: false };
        let always = || Ok(Predicate::Constant(Some(true)));
        let results = branches.into_iter().map(|(condition, result)| (Some(condition), result));
        for (condition, result) in results.chain(otherwise.map(|otherwise| (None, otherwise))) {
            let inner = match plain(result) {
                Expr::Value(value) if value.value == Written::Null => Choices { branches: Vec::new(), total: false },
                result => match self.deeper(result, || self.choices(result))? {
                    Some(inner) => inner,
                    None => return Ok(None),
                },
            };
            let condition = condition.map_or_else(always, |condition| self.branch(operand, condition))?;
            let within = |inner: Predicate| match inner {
                Predicate::Constant(Some(true)) => condition.clone(),
                inner => Predicate::all(vec![condition.clone(), inner]),
            };
            all.branches.extend(inner.branches.into_iter().map(|(predicate, text)| (within(predicate), text)));
            if !inner.total {
                all.branches.push((condition, None));
            }
        }
        all.total = otherwise.is_some();
        Ok(Some(all))
    }

    fn first_known(&self, arguments: &[&Expr]) -> Result<Option<Choices>, Error> {
        let mut all = Choices { branches: Vec::new(), total: false };
        for argument in arguments {
            // A value that is not among the categories is not null: what comes after must not stand for it.
            if !self.is_textual(argument)
                && let Ok(Typed::Column(operand)) = self.typed(argument)
                && self.declared(operand.column).kind == ColumnType::Text
            {
                let known = self.categories(argument, operand)?;
                all.branches.extend(known.branches);
                all.branches.push((Predicate::IsNull { column: operand.column, negated: true }, None));
                continue;
            }
            let Some(inner) = self.choices(argument)? else { return Ok(None) };
            all.total = inner.total;
            all.branches.extend(inner.branches.into_iter().filter(|(_, text)| text.is_some()));
        }
        Ok(Some(all))
    }
}
