//! Conditions on a row, with the three-valued logic of SQL. No part of one can fail on any row.

mod range;

use dashu::rational::RBig;

use super::scalar::{Node, NumericExpr};
use crate::schema::Value;

/// Which rows count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    /// The same for every row; nothing is unknown.
    Constant(Option<bool>),
    /// A column compared with a literal of the column's own type.
    Compare {
        operand: Operand,
        comparison: Comparison,
        value: Value,
    },
    /// Two columns of text compared with each other.
    Columns {
        left: Operand,
        comparison: Comparison,
        right: Operand,
    },
    /// `column IN (…)`, at least one literal, all of the column's own type.
    In {
        operand: Operand,
        values: Vec<Value>,
        negated: bool,
    },
    /// `column LIKE 'pattern'`, case-sensitive, no escapes; only on text.
    Like {
        operand: Operand,
        pattern: String,
        negated: bool,
    },
    /// `column IS NULL`.
    IsNull {
        column: usize,
        negated: bool,
    },
    /// Two expressions on one grid compared with each other.
    Steps {
        left: NumericExpr,
        comparison: Comparison,
        right: NumericExpr,
    },
    /// An expression that is null, or is not.
    NullSteps {
        scalar: NumericExpr,
        negated: bool,
    },
    /// `… IS TRUE`, `IS FALSE` or, without a value, `IS UNKNOWN`: never unknown itself.
    Is {
        inner: Box<Predicate>,
        value: Option<bool>,
        negated: bool,
    },
    /// At least two.
    And(Vec<Predicate>),
    /// At least two.
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
}

/// A column as it is, or in small or capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) column: usize,
    /// Only for text, and only of the letters of ASCII: engines differ about others.
    pub(crate) case: LetterCase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LetterCase {
    AsWritten,
    Lower,
    Upper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operand {
    pub(crate) fn plain(column: usize) -> Operand {
        Operand { column, case: LetterCase::AsWritten }
    }
}

impl Predicate {
    /// The opposite. Twice not is nothing, in three-valued logic too.
    pub(crate) fn negation(self) -> Predicate {
        match self {
            Predicate::Not(inner) => *inner,
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// All of them; those that are such lists themselves are laid open.
    pub(crate) fn all(parts: Vec<Predicate>) -> Predicate {
        let open = |part| match part {
            Predicate::And(parts) => parts,
            other => vec![other],
        };
        Predicate::of(parts.into_iter().flat_map(open).collect(), true, Predicate::And)
    }

    /// Any of them; those that are such lists themselves are laid open.
    pub(crate) fn any(parts: Vec<Predicate>) -> Predicate {
        let open = |part| match part {
            Predicate::Or(parts) => parts,
            other => vec![other],
        };
        Predicate::of(parts.into_iter().flat_map(open).collect(), false, Predicate::Or)
    }

    fn of(mut parts: Vec<Predicate>, empty: bool, list: impl Fn(Vec<Predicate>) -> Predicate) -> Predicate {
        match parts.len() {
            0 => Predicate::Constant(Some(empty)),
            1 => parts.remove(0),
            _ => list(parts),
        }
    }

    /// Whether it holds for all rows with this value in a column, or for none; nothing if that depends on other columns.
    pub(crate) fn decided(&self, column: usize, value: &Value) -> Option<bool> {
        let own = |operand: &Operand| *operand == Operand::plain(column);
        self.decided_by(&|part| match part {
            Predicate::Compare { operand, comparison, value: other } if own(operand) => {
                Some(comparison.holds(value.compare(other)))
            }
            Predicate::In { operand, values, negated } if own(operand) => Some(values.contains(value) != *negated),
            Predicate::IsNull { column: other, negated } if *other == column => Some(*negated),
            _ => None,
        })
    }

    /// The same of an expression with a number of steps: only comparisons of that expression itself tell.
    pub(crate) fn decided_steps(&self, scalar: &NumericExpr, steps: i64) -> Option<bool> {
        // On a finer grid it is the same.
        let value = |side: &NumericExpr| match &side.node {
            _ if side == scalar => Some(scalar.grid.clone() * RBig::from(steps)),
            Node::Times(inner, _) if **inner == *scalar => Some(scalar.grid.clone() * RBig::from(steps)),
            _ => side.as_constant(),
        };
        self.decided_by(&|part| match part {
            Predicate::Steps { left, comparison, right } => Some(comparison.holds(value(left)?.cmp(&value(right)?))),
            Predicate::NullSteps { scalar: other, negated } if other == scalar => Some(*negated),
            _ => None,
        })
    }

    /// Whether it holds, by what is known of its parts.
    fn decided_by(&self, known: &dyn Fn(&Predicate) -> Option<bool>) -> Option<bool> {
        match self {
            Predicate::Constant(constant) => *constant,
            Predicate::And(parts) => {
                let mut decided = parts.iter().map(|part| part.decided_by(known));
                if decided.clone().any(|part| part == Some(false)) {
                    return Some(false);
                }
                decided.all(|part| part == Some(true)).then_some(true)
            }
            Predicate::Or(parts) => {
                let mut decided = parts.iter().map(|part| part.decided_by(known));
                if decided.clone().any(|part| part == Some(true)) {
                    return Some(true);
                }
                decided.all(|part| part == Some(false)).then_some(false)
            }
            Predicate::Not(inner) => inner.decided_by(known).map(|holds| !holds),
            part => known(part),
        }
    }

    /// The values of a column with which it can hold, in order, where the condition itself names them: at most this number. Null is
    /// never among them. Values that another part of the condition rules out may be.
    pub(crate) fn named(&self, column: usize, most: usize) -> Option<Vec<Value>> {
        let own = |operand: &Operand| *operand == Operand::plain(column);
        let mut values = match self {
            Predicate::Constant(Some(false) | None) => Vec::new(),
            Predicate::Compare { operand, comparison: Comparison::Equal, value } if own(operand) => vec![value.clone()],
            Predicate::In { operand, values, negated: false } if own(operand) => values.clone(),
            Predicate::Is { inner, value: Some(true), negated: false } => inner.named(column, most)?,
            Predicate::And(parts) => {
                let lists = parts.iter().filter_map(|part| part.named(column, most));
                lists.chain(between(parts, column, most)).min_by_key(Vec::len)?
            }
            Predicate::Or(parts) => parts.iter().try_fold(Vec::new(), |mut all, part| {
                all.extend(part.named(column, most)?);
                in_order(&mut all);
                (all.len() <= most).then_some(all)
            })?,
            _ => return None,
        };
        in_order(&mut values);
        (values.len() <= most).then_some(values)
    }

    /// How large it gets in an engine.
    pub(crate) fn weight(&self) -> u64 {
        let inner = match self {
            Predicate::Constant(_)
            | Predicate::Compare { .. }
            | Predicate::Columns { .. }
            | Predicate::In { .. }
            | Predicate::Like { .. }
            | Predicate::IsNull { .. } => 0,
            Predicate::Steps { left, comparison: _, right } => left.weight().saturating_add(right.weight()),
            Predicate::NullSteps { scalar, negated: _ } => scalar.weight(),
            Predicate::Is { inner, .. } | Predicate::Not(inner) => inner.weight(),
            Predicate::And(parts) | Predicate::Or(parts) => {
                parts.iter().map(Predicate::weight).fold(0, u64::saturating_add)
            }
        };
        inner.saturating_add(1)
    }

    /// `… IS TRUE`, `IS FALSE` or `IS UNKNOWN`.
    pub(crate) fn is(self, value: Option<bool>, negated: bool) -> Predicate {
        Predicate::Is { inner: Box::new(self), value, negated }
    }
}

/// The whole numbers or days between the ends that the parts of an AND name. The ends are among them, also where < leaves them out.
fn between(parts: &[Predicate], column: usize, most: usize) -> Option<Vec<Value>> {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let ends = |wanted: [Comparison; 2]| {
        parts.iter().filter_map(move |part| match part {
            Predicate::Compare { operand, comparison, value }
                if *operand == Operand::plain(column) && wanted.contains(comparison) =>
            {
                Some(value)
            }
            _ => None,
        })
    };
    let low = ends([Greater, GreaterOrEqual]).max_by(|one, other| one.compare(other))?;
    let high = ends([Less, LessOrEqual]).min_by(|one, other| one.compare(other))?;
    match (low, high) {
        (Value::Integer(low), Value::Integer(high)) if i128::from(*high) - i128::from(*low) < most as i128 => {
            Some((*low..=*high).map(Value::Integer).collect())
        }
        (Value::Date(low), Value::Date(high)) if i64::from(*high) - i64::from(*low) < most as i64 => {
            Some((*low..=*high).map(Value::Date).collect())
        }
        _ => None,
    }
}

fn in_order(values: &mut Vec<Value>) {
    values.sort_by(Value::compare);
    values.dedup();
}

impl Comparison {
    /// Every one.
    #[cfg(test)]
    pub(crate) const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// The same comparison with its sides exchanged.
    pub(crate) fn flipped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }

    /// Whether it holds between two numbers.
    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}
