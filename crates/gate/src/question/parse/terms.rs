//! What is shown, sorted and chosen by: aggregates, keys of groups, and what is computed from them.

use std::cell::RefCell;

use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField, Expr, Function as Call, UnaryOperator,
    Value as WrittenValue,
};

use super::super::aggregate::{Aggregate, Function};
use super::super::predicate::Comparison;
use super::super::scalar::Kind;
use super::super::term::{Condition, LogarithmBase, Term};
use super::groups::WrittenGroup;
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, lower_end, plain};
use super::scalar::is_logical;
use crate::error::Error;

/// Reads the terms of one SELECT, and collects the aggregates that they are made of.
pub(super) struct Terms<'r, 'a, 'e> {
    pub(super) reader: &'r Reader<'a>,
    pub(super) groups: &'r [WrittenGroup<'e>],
    pub(super) aggregates: RefCell<Vec<Aggregate>>,
    /// What the columns of the answer are called, for ORDER BY and HAVING.
    pub(super) aliases: Vec<(String, &'e Expr)>,
}

impl<'e> Terms<'_, '_, 'e> {
    /// Reads a number that is made of noisy ones.
    pub(super) fn term(&self, expression: &Expr) -> Result<Term, Error> {
        let term = self.shown(expression)?;
        if let Term::Aggregate(at) = term
            && matches!(self.aggregates.borrow()[at].function, Function::Mode { .. })
        {
            return Err(self
                .reader
                .refusal(expression, "the most frequent value cannot be computed with: show it alone"));
        }
        match self.dated(&term) {
            None => Ok(term),
            Some(_) => {
                let message = "this is a date, and numbers are needed here: show it alone, compare it with a date, or subtract two";
                Err(self.reader.refusal(expression, message))
            }
        }
    }

    /// Reads what an answer may show: a number, or a date that is an aggregate.
    pub(super) fn shown(&self, expression: &Expr) -> Result<Term, Error> {
        self.reader.deeper(expression, || self.term_here(expression))
    }

    /// A column of the answer.
    pub(super) fn output(&self, expression: &Expr) -> Result<Term, Error> {
        match self.shown(expression)? {
            term @ Term::Scalar(_) if self.dated(&term).is_some() => {
                let message = "the date of a sub-query is not shown: ask for it in a SELECT of its own, or compare it";
                Err(self.reader.refusal(expression, message))
            }
            term => Ok(term),
        }
    }

    /// Whether a term is a date or a time, and which.
    fn dated(&self, term: &Term) -> Option<Kind> {
        let kind = match term {
            Term::Aggregate(at) => self.aggregates.borrow()[*at].kind(),
            Term::Scalar(at) => {
                let scalars = self.reader.scalars.borrow();
                match scalars[*at].outputs[0].term {
                    Term::Aggregate(place) => scalars[*at].aggregates[place].kind(),
                    _ => return None,
                }
            }
            _ => return None,
        };
        matches!(kind, Kind::Date | Kind::Timestamp).then_some(kind)
    }

    fn term_here(&self, expression: &Expr) -> Result<Term, Error> {
        let inner = plain(expression);
        if let Some(at) = self.groups.iter().position(|group| plain(group.expression) == inner) {
            return Ok(Term::Group(at));
        }
        if let Some(literal) = Literal::of(self.reader, inner) {
            self.reader.count_literal(inner)?;
            return literal.number().map(|number| Term::Constant(number.to_f64())).ok_or_else(|| {
                literal.refusal("this is not a number: compute only with numbers, and choose groups with WHERE")
            });
        }
        self.reader.count_operator(inner)?;
        match inner {
            Expr::Value(value) if value.value == WrittenValue::Null => Ok(Term::Null),
            Expr::Function(call) if call.over.is_some() => self.window(inner, call),
            Expr::Function(call) if Reader::is_aggregate(call) => self.aggregate(inner, call),
            Expr::Function(call) => self.function(inner, call),
            // A condition on noisy numbers is 1 where it holds, and 0 where it does not.
            Expr::BinaryOp { op, .. } if is_logical(op) => {
                let condition = self.condition(inner)?;
                let branches = vec![
                    (condition.clone(), Term::Constant(1.0)),
                    (Condition::Not(Box::new(condition)), Term::Constant(0.0)),
                ];
                Ok(Term::Case { branches, otherwise: None })
            }
            Expr::BinaryOp { left, op, right } => self.arithmetic(inner, left, op, right),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(Term::Negative(Box::new(self.term(expr)?))),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.term(expr),
            Expr::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                Ok(Term::Floor(Box::new(self.term(expr)?)))
            }
            Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                Ok(Term::Ceil(Box::new(self.term(expr)?)))
            }
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, format: None } => {
                self.cast(inner, expr, data_type)
            }
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Extract { field: DateTimeField::Epoch, syntax: _, expr } => match plain(expr) {
                Expr::BinaryOp { left, op: BinaryOperator::Minus, right } => {
                    self.difference(inner, left, right, Kind::Timestamp)
                }
                _ => Err(self.reader.refusal(inner, "in an answer, EPOCH is the seconds between two times")),
            },
            Expr::Subquery(query) => Ok(Term::Scalar(self.reader.subquery(inner, query)?)),
            Expr::Identifier(name) => match self.alias(&name.value) {
                Some(aliased) if plain(aliased) != inner => self.shown(aliased),
                _ => Err(self.reader.column(name).err().unwrap_or_else(|| self.reader.not_grouped(inner, name))),
            },
            Expr::CompoundIdentifier(parts) => {
                let known = self.reader.as_column(inner).and_then(Result::err);
                Err(known.unwrap_or_else(|| self.reader.not_grouped(inner, &parts[parts.len() - 1])))
            }
            _ => {
                let message =
                    "this cannot be asked for: write aggregates, keys of GROUP BY, and what is computed from them";
                Err(self.reader.refusal(inner, message))
            }
        }
    }

    fn alias(&self, name: &str) -> Option<&'e Expr> {
        self.aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map(|(_, expression)| *expression)
    }

    fn aggregate(&self, expression: &Expr, call: &Call) -> Result<Term, Error> {
        let term = self.aggregate_alone(expression, call)?;
        match call.name.to_string().as_str() {
            "REGR_R2" => Ok(Term::Product(Box::new(term.clone()), Box::new(term))),
            _ => Ok(term),
        }
    }

    fn aggregate_alone(&self, expression: &Expr, call: &Call) -> Result<Term, Error> {
        let aggregate = self.reader.aggregate(expression, call)?;
        let mut aggregates = self.aggregates.borrow_mut();
        if let Some(at) = aggregates.iter().position(|other| *other == aggregate) {
            return Ok(Term::Aggregate(at));
        }
        if aggregates.len() == limits::AGGREGATES {
            let message =
                format!("a question has at most {} aggregates: ask the others separately", limits::AGGREGATES);
            return Err(self.reader.refusal(expression, message));
        }
        aggregates.push(aggregate);
        Ok(Term::Aggregate(aggregates.len() - 1))
    }

    fn function(&self, expression: &Expr, call: &Call) -> Result<Term, Error> {
        let name = call.name.to_string();
        let arguments = self.reader.arguments(expression, call)?;
        let boxed = |inner: &Expr| self.term(inner).map(Box::new);
        let several = || arguments.iter().map(|argument| self.term(argument)).collect::<Result<Vec<_>, Error>>();
        match (name.as_str(), arguments.as_slice()) {
            ("ROUND", [inner]) => Ok(Term::Round(boxed(inner)?, 0)),
            ("ROUND", [inner, places]) => {
                Ok(Term::Round(boxed(inner)?, self.reader.whole_literal(places, -15..=15)? as i32))
            }
            ("CEILING", [inner]) => Ok(Term::Ceil(boxed(inner)?)),
            ("ABS", [inner]) => Ok(Term::Absolute(boxed(inner)?)),
            ("POWER" | "POW", [inner, exponent]) => {
                let (base, exponent) = (self.term(inner)?, self.term(exponent)?);
                match exponent {
                    Term::Constant(times) if [1.0, 2.0, 3.0, 4.0].contains(&times) => {
                        let power = |power: Term, _| Term::Product(Box::new(power), Box::new(base.clone()));
                        Ok((1..times as usize).fold(base.clone(), power))
                    }
                    exponent => Ok(Term::Power(Box::new(base), Box::new(exponent))),
                }
            }
            ("EXP", [inner]) => Ok(Term::Exponential(boxed(inner)?)),
            ("LN", [inner]) => Ok(Term::Logarithm(boxed(inner)?, LogarithmBase::E)),
            // As in PostgreSQL, LOG is to the base of ten, and of two numbers to that of the first.
            ("LOG" | "LOG10", [inner]) => Ok(Term::Logarithm(boxed(inner)?, LogarithmBase::Ten)),
            ("LOG2", [inner]) => Ok(Term::Logarithm(boxed(inner)?, LogarithmBase::Two)),
            ("LOG", [base, inner]) => {
                let [base, inner] =
                    [boxed(base)?, boxed(inner)?].map(|one| Box::new(Term::Logarithm(one, LogarithmBase::E)));
                Ok(Term::Quotient(inner, base))
            }
            ("SQRT", [inner]) => Ok(Term::SquareRoot(boxed(inner)?)),
            ("COALESCE" | "IFNULL" | "NVL" | "ISNULL", [_, _, ..]) => Ok(Term::Coalesce(several()?)),
            ("LEAST", [_, _, ..]) => Ok(Term::Least(several()?)),
            ("GREATEST", [_, _, ..]) => Ok(Term::Greatest(several()?)),
            ("NULLIF", [one, other]) => Ok(Term::NullIf(boxed(one)?, boxed(other)?)),
            ("SAFE_DIVIDE", [one, other]) => Ok(Term::Quotient(boxed(one)?, boxed(other)?)),
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!(
                    "{shown}(…) is not supported here: it is neither an aggregate nor one of ROUND, FLOOR, CEIL, ABS, SQRT, LN, LOG, \
                     EXP, POWER, COALESCE, NULLIF, LEAST and GREATEST of aggregates, nor in GROUP BY"
                );
                Err(self.reader.refusal(expression, message))
            }
        }
    }

    fn arithmetic(
        &self,
        expression: &Expr,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
    ) -> Result<Term, Error> {
        let term = match operator {
            BinaryOperator::Plus => Term::Sum,
            BinaryOperator::Minus => Term::Difference,
            BinaryOperator::Multiply => Term::Product,
            BinaryOperator::Divide => Term::Quotient,
            _ => {
                return Err(self.reader.refusal(
                    expression,
                    "noisy numbers are combined with + - * and /: other operators are not supported here",
                ));
            }
        };
        if *operator == BinaryOperator::Minus && self.dated(&self.shown(left)?) == Some(Kind::Date) {
            return self.difference(expression, left, right, Kind::Date);
        }
        Ok(term(Box::new(self.term(left)?), Box::new(self.term(right)?)))
    }

    /// The days between two dates, or the seconds between two times.
    fn difference(&self, expression: &Expr, left: &Expr, right: &Expr, kind: Kind) -> Result<Term, Error> {
        let [left, right] = [self.shown(left)?, self.shown(right)?];
        match [&left, &right].iter().all(|side| self.dated(side) == Some(kind)) {
            true => Ok(Term::Difference(Box::new(left), Box::new(right))),
            false => Err(self.reader.refusal(expression, "a date is subtracted from a date, and a time from a time")),
        }
    }

    /// Two sides of a comparison: text beside a date is a date.
    fn sides(&self, left: &Expr, right: &Expr) -> Result<[Term; 2], Error> {
        let kind = |one: &Expr| match Literal::of(self.reader, plain(one)) {
            Some(_) => Ok(None),
            None => match plain(one) {
                Expr::TypedString(_) => Ok(None),
                one => self.shown(one).map(|term| self.dated(&term)),
            },
        };
        let Some(kind) = kind(left)?.or(kind(right)?) else { return Ok([self.term(left)?, self.term(right)?]) };
        let side = |one: &Expr| match self.reader.dated_literal(one, kind)? {
            Some(number) => Ok(Term::Constant(number)),
            None => match self.shown(one)? {
                term if self.dated(&term) == Some(kind) => Ok(term),
                _ => Err(self.reader.refusal(one, "a date is compared with a date, such as DATE '2024-02-29'")),
            },
        };
        Ok([side(left)?, side(right)?])
    }

    fn cast(&self, expression: &Expr, inner: &Expr, to: &DataType) -> Result<Term, Error> {
        let term = self.term(inner)?;
        match to {
            DataType::Int(None) | DataType::Integer(None) | DataType::BigInt(None) => {
                Ok(Term::Round(Box::new(term), 0))
            }
            DataType::Real
            | DataType::Float(_)
            | DataType::Float8
            | DataType::Double(_)
            | DataType::DoublePrecision => Ok(term),
            DataType::Numeric(info) | DataType::Decimal(info) => Ok(match self.reader.scale(expression, info)? {
                Some(places) => Term::Round(Box::new(term), places as i32),
                None => term,
            }),
            _ => Err(self.reader.refusal(expression, "answers are numbers: omit the cast")),
        }
    }

    fn case(&self, operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> Result<Term, Error> {
        let branch = |CaseWhen { condition, result }: &CaseWhen| {
            let condition = match operand {
                None => self.condition(condition)?,
                Some(operand) => Condition::Compare(self.term(operand)?, Comparison::Equal, self.term(condition)?),
            };
            Ok((condition, self.term(result)?))
        };
        let branches = conditions.iter().map(branch).collect::<Result<_, Error>>()?;
        Ok(Term::Case { branches, otherwise: otherwise.map(|term| self.term(term).map(Box::new)).transpose()? })
    }

    /// A condition on noisy numbers.
    pub(super) fn condition(&self, expression: &Expr) -> Result<Condition, Error> {
        self.reader.deeper(expression, || self.condition_here(expression))
    }

    fn condition_here(&self, expression: &Expr) -> Result<Condition, Error> {
        let inner = plain(expression);
        self.reader.count_condition(inner)?;
        let compare = |left: &Expr, comparison, right: &Expr| {
            let [left, right] = self.sides(left, right)?;
            Ok(Condition::Compare(left, comparison, right))
        };
        match inner {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Ok(Condition::Not(Box::new(self.condition(expr)?))),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And => Ok(Condition::And(vec![self.condition(left)?, self.condition(right)?])),
                BinaryOperator::Or => Ok(Condition::Or(vec![self.condition(left)?, self.condition(right)?])),
                BinaryOperator::Eq => compare(left, Comparison::Equal, right),
                BinaryOperator::NotEq => compare(left, Comparison::NotEqual, right),
                BinaryOperator::Lt => compare(left, Comparison::Less, right),
                BinaryOperator::LtEq => compare(left, Comparison::LessOrEqual, right),
                BinaryOperator::Gt => compare(left, Comparison::Greater, right),
                BinaryOperator::GtEq => compare(left, Comparison::GreaterOrEqual, right),
                _ => Err(self.reader.refusal(inner, "conditions on answers compare numbers, such as COUNT(*) > 100")),
            },
            Expr::Between { expr, negated, low, high } => {
                let (low, symmetric) = lower_end(low);
                let between = |low: &Expr, high: &Expr| -> Result<Condition, Error> {
                    Ok(Condition::And(vec![
                        compare(expr, Comparison::GreaterOrEqual, low)?,
                        compare(expr, Comparison::LessOrEqual, high)?,
                    ]))
                };
                let between = match symmetric {
                    false => between(low, high)?,
                    true => Condition::Or(vec![between(low, high)?, between(high, low)?]),
                };
                Ok(if *negated { Condition::Not(Box::new(between)) } else { between })
            }
            Expr::IsNull(inner) => Ok(Condition::IsNull(self.term(inner)?)),
            Expr::IsNotNull(inner) => Ok(Condition::Not(Box::new(Condition::IsNull(self.term(inner)?)))),
            _ => Err(self.reader.refusal(inner, "conditions on answers compare numbers, such as COUNT(*) > 100")),
        }
    }
}
