//! Conditions: which rows count.

use dashu::rational::RBig;
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::super::predicate::{Comparison, LetterCase, Operand, Predicate};
use super::super::scalar::{Kind, NumericExpr};
use super::labels::Labelled;
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, lower_end, plain};
use super::scalar::{Typed, is_true};
use crate::error::Error;
use crate::schema::{ColumnType, Value};

impl Reader<'_> {
    /// Reads a condition. It calls itself as often as parentheses and NOTs are nested: chains of AND and OR, which the
    /// parser nests as deep as they are long, are unrolled first.
    pub(super) fn predicate(&self, expression: &Expr) -> Result<Predicate, Error> {
        match plain(expression) {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Ok(self.predicate(expr)?.negation()),
            chain @ Expr::BinaryOp { op: BinaryOperator::And, .. } => {
                Ok(Predicate::all(self.chain(chain, &BinaryOperator::And)?))
            }
            chain @ Expr::BinaryOp { op: BinaryOperator::Or, .. } => {
                Ok(Predicate::any(self.chain(chain, &BinaryOperator::Or)?))
            }
            other => self.condition(other),
        }
    }

    fn chain(&self, expression: &Expr, operator: &BinaryOperator) -> Result<Vec<Predicate>, Error> {
        let mut parts = Vec::new();
        let mut rest = expression;
        while let Expr::BinaryOp { left, op, right } = rest
            && op == operator
        {
            parts.push(right.as_ref());
            rest = left;
        }
        parts.push(rest);
        parts.into_iter().rev().map(|part| self.predicate(part)).collect()
    }

    fn condition(&self, expression: &Expr) -> Result<Predicate, Error> {
        self.count_condition(expression)?;
        match expression {
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::IsNull(inner) => self.null(inner, false),
            Expr::IsNotNull(inner) => self.null(inner, true),
            Expr::IsTrue(inner) => Ok(self.predicate(inner)?.is(Some(true), false)),
            Expr::IsNotTrue(inner) => Ok(self.predicate(inner)?.is(Some(true), true)),
            Expr::IsFalse(inner) => Ok(self.predicate(inner)?.is(Some(false), false)),
            Expr::IsNotFalse(inner) => Ok(self.predicate(inner)?.is(Some(false), true)),
            Expr::IsUnknown(inner) => Ok(self.predicate(inner)?.is(None, false)),
            Expr::IsNotUnknown(inner) => Ok(self.predicate(inner)?.is(None, true)),
            Expr::IsDistinctFrom(one, other) => Ok(self.same(one, other)?.negation()),
            Expr::IsNotDistinctFrom(one, other) => self.same(one, other),
            Expr::InList { expr, list, negated } => self.list(expression, expr, list, *negated),
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, *negated, LetterCase::AsWritten)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, *negated, LetterCase::Lower)
            }
            _ => match self.typed(expression)? {
                Typed::Truth(predicate) => Ok(predicate),
                Typed::Column(operand) if self.declared(operand.column).kind == ColumnType::Boolean => {
                    Ok(is_true(operand))
                }
                Typed::Literal(literal) if literal.boolean().is_some() => Ok(Predicate::Constant(literal.boolean())),
                Typed::Null => Ok(Predicate::Constant(None)),
                _ => Err(self.refusal(expression, "this is not true or false: compare it, as in age >= 18")),
            },
        }
    }

    /// Two sides compared with each other.
    pub(super) fn comparison(&self, left: &Expr, operator: &BinaryOperator, right: &Expr) -> Result<Predicate, Error> {
        let comparison = match operator {
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::NotEqual,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::LessOrEqual,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::GreaterOrEqual,
            _ => return Err(self.refusal(left, "conditions compare with =, <>, <, <=, > or >= only")),
        };
        if let Some(literal) = Literal::of(self, plain(right))
            && let Some(predicate) = self.compared_part(left, comparison, &literal)?
        {
            return Ok(predicate);
        }
        if let Some(literal) = Literal::of(self, plain(left))
            && let Some(predicate) = self.compared_part(right, comparison.flipped(), &literal)?
        {
            return Ok(predicate);
        }
        match (self.typed(left)?, self.typed(right)?) {
            (Typed::Null, _) | (_, Typed::Null) => {
                Err(self.refusal(right, "nothing equals NULL, not even NULL: write IS NULL or IS NOT NULL"))
            }
            (Typed::Column(operand), Typed::Literal(literal)) => self.compared(operand, comparison, &literal),
            (Typed::Literal(literal), Typed::Column(operand)) => self.compared(operand, comparison.flipped(), &literal),
            (Typed::Column(left), Typed::Column(right)) if self.is_text(left) && self.is_text(right) => {
                Ok(Predicate::Columns { left, comparison, right })
            }
            (Typed::Text(text), Typed::Literal(literal)) => self.compared_text(&text, comparison, &literal),
            (Typed::Literal(literal), Typed::Text(text)) => self.compared_text(&text, comparison.flipped(), &literal),
            (Typed::Column(operand), Typed::Steps(scalar)) if self.dated_value(operand, &scalar).is_some() => {
                self.compared_date(operand, comparison, &scalar)
            }
            (Typed::Steps(scalar), Typed::Column(operand)) if self.dated_value(operand, &scalar).is_some() => {
                self.compared_date(operand, comparison.flipped(), &scalar)
            }
            (Typed::Truth(predicate), Typed::Literal(literal)) | (Typed::Literal(literal), Typed::Truth(predicate))
                if literal.boolean().is_some() =>
            {
                match (comparison, literal.boolean()) {
                    (Comparison::Equal, Some(true)) | (Comparison::NotEqual, Some(false)) => Ok(predicate),
                    (Comparison::Equal, _) | (Comparison::NotEqual, _) => Ok(predicate.negation()),
                    _ => Err(literal.refusal("true and false are compared with = or <>")),
                }
            }
            _ => {
                let [left, right] = self.comparable(left, right)?;
                Ok(Predicate::Steps { left, comparison, right })
            }
        }
    }

    fn is_text(&self, operand: Operand) -> bool {
        self.declared(operand.column).kind == ColumnType::Text
    }

    fn compared(&self, operand: Operand, comparison: Comparison, literal: &Literal) -> Result<Predicate, Error> {
        let column = self.declared(operand.column);
        let (comparison, value) = match comparison {
            Comparison::Equal | Comparison::NotEqual => (comparison, literal.value(column)?),
            _ => literal.side(column, comparison)?,
        };
        Ok(Predicate::Compare { operand, comparison, value })
    }

    /// Text whose values are known, beside a literal.
    fn compared_text(&self, text: &Labelled, comparison: Comparison, literal: &Literal) -> Result<Predicate, Error> {
        match literal.text() {
            Some(other) => Ok(text.is(|text| comparison.holds(text.cmp(other)))),
            None => Err(literal.refusal("this is compared with text, in single quotes")),
        }
    }

    /// A date that is the same for every row as a value of a column: the column is compared with it as it is.
    fn dated_value(&self, operand: Operand, scalar: &NumericExpr) -> Option<Value> {
        let exact = scalar.as_constant()?;
        let whole = |exact: RBig| exact.is_int().then(|| i64::try_from(exact.numerator().clone()).ok()).flatten();
        match (self.declared(operand.column).kind, scalar.kind) {
            (ColumnType::Date, Kind::Date) => i32::try_from(whole(exact)?).ok().map(Value::Date),
            (ColumnType::Timestamp, Kind::Date) => whole(exact * RBig::from(86_400_000_000u64)).map(Value::Timestamp),
            (ColumnType::Timestamp, Kind::Timestamp) => whole(exact * RBig::from(1_000_000)).map(Value::Timestamp),
            _ => None,
        }
    }

    fn compared_date(
        &self,
        operand: Operand,
        comparison: Comparison,
        scalar: &NumericExpr,
    ) -> Result<Predicate, Error> {
        let value =
            self.dated_value(operand, scalar).filter(|value| value.check().is_ok()).ok_or_else(|| self.beyond())?;
        Ok(Predicate::Compare { operand, comparison, value })
    }

    fn null(&self, inner: &Expr, negated: bool) -> Result<Predicate, Error> {
        Ok(match self.typed(inner)? {
            Typed::Column(operand) => Predicate::IsNull { column: operand.column, negated },
            Typed::Truth(predicate) => predicate.is(None, negated),
            Typed::Null => Predicate::Constant(Some(!negated)),
            Typed::Literal(_) => Predicate::Constant(Some(negated)),
            Typed::Steps(scalar) | Typed::Text(Labelled { scalar, .. }) => Predicate::NullSteps { scalar, negated },
        })
    }

    /// `IS NOT DISTINCT FROM`: equal, or both null. Never unknown.
    fn same(&self, one: &Expr, other: &Expr) -> Result<Predicate, Error> {
        match (self.typed(one)?, self.typed(other)?) {
            (Typed::Null, _) => self.null(other, false),
            (_, Typed::Null) => self.null(one, false),
            _ => {
                let equal = self.comparison(one, &BinaryOperator::Eq, other)?.is(Some(true), false);
                let both = Predicate::all(vec![self.null(one, false)?, self.null(other, false)?]);
                Ok(Predicate::any(vec![equal, both]))
            }
        }
    }

    fn list(&self, expression: &Expr, inner: &Expr, list: &[Expr], negated: bool) -> Result<Predicate, Error> {
        let literals: Option<Vec<_>> = list.iter().map(|item| Literal::of(self, plain(item))).collect();
        if let (Typed::Column(operand), Some(literals)) = (self.typed(inner)?, literals)
            && !literals.is_empty()
        {
            list.iter().try_for_each(|item| self.count_literal(item))?;
            let column = self.declared(operand.column);
            let values = literals.iter().map(|literal| literal.value(column)).collect::<Result<_, Error>>()?;
            return Ok(Predicate::In { operand, values, negated });
        }
        if list.is_empty() {
            return Err(self.refusal(expression, "the list is empty: write at least one literal"));
        }
        let equal = list.iter().map(|item| {
            self.count_condition(item)?;
            self.comparison(inner, &BinaryOperator::Eq, item)
        });
        let any = Predicate::any(equal.collect::<Result<_, Error>>()?);
        Ok(if negated { any.negation() } else { any })
    }

    /// `x BETWEEN a AND b` is `x >= a AND x <= b`, and its negation `x < a OR x > b`: also where x is null, which makes all of them
    /// unknown. SYMMETRIC takes the ends in either order.
    fn between(&self, inner: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<Predicate, Error> {
        self.count_condition(inner)?;
        let (low, symmetric) = lower_end(low);
        let in_order = self.between_ends(inner, negated, low, high)?;
        if !symmetric {
            return Ok(in_order);
        }
        let reversed = self.between_ends(inner, negated, high, low)?;
        Ok(match negated {
            false => Predicate::any(vec![in_order, reversed]),
            true => Predicate::all(vec![in_order, reversed]),
        })
    }

    fn between_ends(&self, inner: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<Predicate, Error> {
        Ok(match negated {
            false => Predicate::all(vec![
                self.comparison(inner, &BinaryOperator::GtEq, low)?,
                self.comparison(inner, &BinaryOperator::LtEq, high)?,
            ]),
            true => Predicate::any(vec![
                self.comparison(inner, &BinaryOperator::Lt, low)?,
                self.comparison(inner, &BinaryOperator::Gt, high)?,
            ]),
        })
    }

    fn like(&self, inner: &Expr, pattern: &Expr, negated: bool, case: LetterCase) -> Result<Predicate, Error> {
        let operand = match self.typed(inner)? {
            Typed::Column(operand) if self.is_text(operand) => operand,
            Typed::Column(operand) => {
                let name = &self.declared(operand.column).name;
                return Err(
                    self.refusal(pattern, format!("{name:?} holds no text, and LIKE is for text: compare it with ="))
                );
            }
            Typed::Text(text) => {
                let pattern = self.pattern(pattern)?;
                return Ok(match case {
                    LetterCase::AsWritten => text.fits(&pattern, negated),
                    _ => text.in_small_letters().fits(&pattern.to_ascii_lowercase(), negated),
                });
            }
            _ => return Err(self.refusal(inner, "LIKE is for a column of text: write its name here")),
        };
        let pattern = self.pattern(pattern)?;
        Ok(match case {
            LetterCase::AsWritten => Predicate::Like { operand, pattern, negated },
            _ => {
                Predicate::Like { operand: Operand { case, ..operand }, pattern: pattern.to_ascii_lowercase(), negated }
            }
        })
    }

    /// A pattern that every engine reads in the same way, fast, and without failing on any row.
    fn pattern(&self, expression: &Expr) -> Result<String, Error> {
        let Some(literal) = Literal::of(self, plain(expression)) else {
            return Err(self.refusal(expression, "a pattern is text in single quotes"));
        };
        self.count_literal(expression)?;
        self.count_pattern(expression)?;
        let Some(pattern) = literal.text() else {
            return Err(literal.refusal("a pattern is text in single quotes"));
        };
        if pattern.len() > limits::PATTERN {
            return Err(literal.refusal(format!("the pattern is longer than {} bytes: shorten it", limits::PATTERN)));
        }
        if pattern.matches('%').count() > limits::WILDCARDS {
            return Err(literal.refusal(format!("the pattern has more than {} %: remove some", limits::WILDCARDS)));
        }
        if pattern.contains(['\\', '\0']) {
            let message =
                "the pattern has a backslash or a NUL, which engines read differently: write _ for that character";
            return Err(literal.refusal(message));
        }
        Ok(pattern.to_string())
    }
}
