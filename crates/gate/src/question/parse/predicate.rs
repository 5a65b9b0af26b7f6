//! WHERE: which rows count.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::super::{Comparison, Predicate};
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, plain, shown};
use crate::error::Error;
use crate::schema::{ColumnType, Value};

/// Reads the condition of a question, counting what it is made of.
pub(super) struct Filter<'a> {
    reader: &'a Reader<'a>,
    literals: usize,
    conditions: usize,
    patterns: usize,
}

/// One side of a comparison.
enum Operand<'a> {
    Column(usize),
    Literal(Literal<'a>),
}

impl<'a> Filter<'a> {
    pub(super) fn new(reader: &'a Reader<'a>) -> Filter<'a> {
        Filter { reader, literals: 0, conditions: 0, patterns: 0 }
    }

    /// Reads a condition. It calls itself as often as parentheses and NOTs are nested: chains of AND and OR, which the
    /// parser nests as deep as they are long, are unrolled first.
    pub(super) fn read(&mut self, expression: &Expr) -> Result<Predicate, Error> {
        match plain(expression) {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Ok(negation(self.read(expr)?)),
            chain @ Expr::BinaryOp { left: _, op: BinaryOperator::And, right: _ } => {
                Ok(conjunction(self.chain(chain, &BinaryOperator::And)?))
            }
            chain @ Expr::BinaryOp { left: _, op: BinaryOperator::Or, right: _ } => {
                Ok(disjunction(self.chain(chain, &BinaryOperator::Or)?))
            }
            other => self.condition(other),
        }
    }

    fn chain(&mut self, expression: &Expr, operator: &BinaryOperator) -> Result<Vec<Predicate>, Error> {
        let mut parts = Vec::new();
        let mut rest = expression;
        while let Expr::BinaryOp { left, op, right } = rest
            && op == operator
        {
            parts.push(right.as_ref());
            rest = left;
        }
        parts.push(rest);
        parts.into_iter().rev().map(|part| self.read(part)).collect()
    }

    /// A condition on one column.
    fn condition(&mut self, expression: &Expr) -> Result<Predicate, Error> {
        self.count(expression)?;
        match expression {
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::Identifier(name) => {
                let column = self.reader.column(name)?;
                if self.reader.declared(column).kind != ColumnType::Boolean {
                    let message = format!("{} is not true or false: compare it with a literal", shown(name));
                    return Err(self.reader.refusal(expression, message));
                }
                Ok(Predicate::Compare { column, comparison: Comparison::Equal, value: Value::Boolean(true) })
            }
            Expr::IsNull(expr) => Ok(Predicate::IsNull { column: self.column(expr)?, negated: false }),
            Expr::IsNotNull(expr) => Ok(Predicate::IsNull { column: self.column(expr)?, negated: true }),
            Expr::InList { expr, list, negated } => {
                let column = self.column(expr)?;
                let kind = self.reader.declared(column);
                let values = list.iter().map(|item| self.literal(item)?.value(kind)).collect::<Result<_, Error>>()?;
                Ok(Predicate::In { column, values, negated: *negated })
            }
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                let column = self.column(expr)?;
                let pattern = self.pattern(column, pattern)?;
                Ok(Predicate::Like { column, pattern, negated: *negated })
            }
            _ => Err(self.reader.refusal(expression, "WHERE is made of conditions on columns, such as age >= 18")),
        }
    }

    fn count(&mut self, expression: &Expr) -> Result<(), Error> {
        self.conditions += 1;
        if self.conditions > limits::CONDITIONS {
            let message =
                format!("there are more than {} conditions: use IN, or ask something simpler", limits::CONDITIONS);
            return Err(self.reader.refusal(expression, message));
        }
        Ok(())
    }

    fn comparison(&mut self, left: &Expr, operator: &BinaryOperator, right: &Expr) -> Result<Predicate, Error> {
        let comparison = match operator {
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::NotEqual,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::LessOrEqual,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::GreaterOrEqual,
            _ => return Err(self.reader.refusal(left, "columns are compared with =, <>, <, <=, > or >= only")),
        };
        match (self.operand(left)?, self.operand(right)?) {
            (Operand::Column(column), Operand::Literal(literal)) => self.compared(column, comparison, &literal),
            (Operand::Literal(literal), Operand::Column(column)) => {
                self.compared(column, comparison.flipped(), &literal)
            }
            (Operand::Column(_), Operand::Column(_)) => {
                Err(self.reader.refusal(right, "a column is compared with a literal, not with another column"))
            }
            (Operand::Literal(_), Operand::Literal(_)) => {
                Err(self.reader.refusal(left, "a literal is compared with a column, not with another literal"))
            }
        }
    }

    fn compared(&self, column: usize, comparison: Comparison, literal: &Literal) -> Result<Predicate, Error> {
        let kind = self.reader.declared(column);
        let (comparison, value) = match comparison {
            Comparison::Equal | Comparison::NotEqual => (comparison, literal.value(kind)?),
            _ => literal.side(kind, comparison)?,
        };
        Ok(Predicate::Compare { column, comparison, value })
    }

    /// `x BETWEEN a AND b` is `x >= a AND x <= b`, and its negation `x < a OR x > b`: also where x is null, which makes all of them
    /// unknown.
    fn between(&mut self, expression: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<Predicate, Error> {
        self.count(expression)?;
        let column = self.column(expression)?;
        let (low, high) = (self.literal(low)?, self.literal(high)?);
        Ok(match negated {
            false => conjunction(vec![
                self.compared(column, Comparison::GreaterOrEqual, &low)?,
                self.compared(column, Comparison::LessOrEqual, &high)?,
            ]),
            true => disjunction(vec![
                self.compared(column, Comparison::Less, &low)?,
                self.compared(column, Comparison::Greater, &high)?,
            ]),
        })
    }

    /// A pattern that every engine reads in the same way, fast, and without failing on any row.
    fn pattern(&mut self, column: usize, expression: &Expr) -> Result<String, Error> {
        let column = self.reader.declared(column);
        let literal = self.literal(expression)?;
        if column.kind != ColumnType::Text {
            return Err(
                literal.refusal(format!("{:?} holds no text, and LIKE is for text: compare it with =", column.name))
            );
        }
        let Some(pattern) = literal.text() else {
            return Err(literal.refusal("a pattern is text in single quotes"));
        };
        self.patterns += 1;
        if self.patterns > limits::PATTERNS {
            return Err(
                literal.refusal(format!("there are more than {} LIKEs: ask something simpler", limits::PATTERNS))
            );
        }
        if pattern.len() > limits::PATTERN {
            return Err(literal.refusal(format!("the pattern is longer than {} bytes: shorten it", limits::PATTERN)));
        }
        if pattern.matches('%').count() > limits::WILDCARDS {
            return Err(literal.refusal(format!("the pattern has more than {} %: leave some out", limits::WILDCARDS)));
        }
        if pattern.contains(['\\', '\0']) {
            let message =
                "the pattern has a backslash or a NUL, which engines read differently: write _ for that character";
            return Err(literal.refusal(message));
        }
        Ok(pattern.to_string())
    }

    fn column(&self, expression: &Expr) -> Result<usize, Error> {
        match plain(expression) {
            Expr::Identifier(name) => self.reader.column(name),
            _ => Err(self.reader.refusal(expression, "this condition is about a column: write its name here")),
        }
    }

    fn literal<'e>(&mut self, expression: &'e Expr) -> Result<Literal<'e>, Error> {
        let Some(literal) = Literal::of(self.reader, expression) else {
            let message = "a literal is needed here: a number, text in single quotes, TRUE or FALSE";
            return Err(self.reader.refusal(expression, message));
        };
        self.literals += 1;
        if self.literals > limits::LITERALS {
            let message = format!("there are more than {} literals: ask something simpler", limits::LITERALS);
            return Err(literal.refusal(message));
        }
        Ok(literal)
    }

    fn operand<'e>(&mut self, expression: &'e Expr) -> Result<Operand<'e>, Error> {
        match plain(expression) {
            Expr::Identifier(name) => Ok(Operand::Column(self.reader.column(name)?)),
            Expr::Value(_) | Expr::UnaryOp { .. } => Ok(Operand::Literal(self.literal(expression)?)),
            _ => Err(self.reader.refusal(expression, "only a column and a literal are compared with each other")),
        }
    }
}

impl Comparison {
    /// The same comparison with its sides exchanged.
    fn flipped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }
}

/// The opposite. Twice not is nothing, in three-valued logic too.
pub(super) fn negation(predicate: Predicate) -> Predicate {
    match predicate {
        Predicate::Not(inner) => *inner,
        other => Predicate::Not(Box::new(other)),
    }
}

/// All of at least two, with those of its parts that are such themselves laid open.
pub(super) fn conjunction(parts: Vec<Predicate>) -> Predicate {
    let open = |part| match part {
        Predicate::And(parts) => parts,
        other => vec![other],
    };
    Predicate::And(parts.into_iter().flat_map(open).collect())
}

/// Any of at least two, with those of its parts that are such themselves laid open.
pub(super) fn disjunction(parts: Vec<Predicate>) -> Predicate {
    let open = |part| match part {
        Predicate::Or(parts) => parts,
        other => vec![other],
    };
    Predicate::Or(parts.into_iter().flat_map(open).collect())
}
