//! What conditions mean: true, false or unknown, for every row.

use std::cmp::Ordering;
use std::rc::Rc;

use dashu::rational::RBig;

use super::meaning::{Expression, Of, Row, Type, beside, beside_day};
use crate::question::predicate::Comparison;

#[derive(Clone)]
pub(crate) struct Condition {
    pub(crate) text: String,
    holds: Of<bool>,
}

impl Expression {
    /// A comparison. A column beside a literal counts as it is.
    pub(crate) fn compared(self, comparison: Comparison, other: Expression) -> Condition {
        let text = format!("{} {} {}", self.text, comparison.symbol(), other.text);
        let order: Of<Ordering> = match (self.column, &other.literal, other.column, &self.literal) {
            (Some(at), Some(literal), _, _) => {
                let literal = literal.clone();
                Rc::new(move |row| Some(beside(row[at].as_ref()?, &literal)))
            }
            (_, _, Some(at), Some(literal)) => {
                let literal = literal.clone();
                Rc::new(move |row| Some(beside(row[at].as_ref()?, &literal).reverse()))
            }
            _ => Rc::new(move |row| {
                let as_it_is = |column: &Expression, day: &Expression| {
                    column.column.and_then(|at| beside_day(row[at].as_ref()?, day))
                };
                if let Some(order) = as_it_is(&self, &other).or_else(|| as_it_is(&other, &self).map(Ordering::reverse))
                {
                    return Some(order);
                }
                let scale = |kind| RBig::from(if kind == Type::Date { 86_400 } else { 1 });
                let mixed = self.kind != other.kind && [self.kind, other.kind].contains(&Type::Time);
                let of = |side: &Expression| Some(side.value(row)? * if mixed { scale(side.kind) } else { RBig::ONE });
                Some(of(&self)?.cmp(&of(&other)?))
            }),
        };
        Condition::new(text, move |row| Some(comparison.holds(order(row)?)))
    }

    /// Whether `=` is answered: no whole number equals a fraction, which the gate says instead of counting nothing.
    pub(crate) fn may_equal(&self, other: &Expression) -> bool {
        let fraction = |one: &Expression, other: &Expression| {
            one.column.is_some() && one.kind == Type::Whole && other.literal.is_some() && !other.is_whole_literal()
        };
        !fraction(self, other) && !fraction(other, self)
    }

    pub(crate) fn null_test(self, negated: bool) -> Condition {
        let text = format!("{} IS {}NULL", self.text, if negated { "NOT " } else { "" });
        Condition::new(text, move |row| {
            let null = match self.column {
                Some(at) => row[at].is_none(),
                None => self.value(row).is_none(),
            };
            Some(null != negated)
        })
    }

    pub(crate) fn distinct_from(self, other: Expression, negated: bool) -> Condition {
        let text = format!("{} IS {}DISTINCT FROM {}", self.text, if negated { "NOT " } else { "" }, other.text);
        let equal = self.clone().compared(Comparison::Equal, other.clone());
        Condition::new(text, move |row| {
            let same = match (self.value(row), other.value(row)) {
                (None, None) => true,
                _ => equal.holds(row) == Some(true),
            };
            Some(same == negated)
        })
    }

    pub(crate) fn in_list(self, list: Vec<Expression>, negated: bool) -> Condition {
        let texts: Vec<&str> = list.iter().map(|item| item.text.as_str()).collect();
        let text = format!("{} {}IN ({})", self.text, if negated { "NOT " } else { "" }, texts.join(", "));
        let equal = list.into_iter().map(|item| self.clone().compared(Comparison::Equal, item)).collect();
        let any = Condition::joined(equal, "OR");
        Condition::new(text, move |row| any.holds(row).map(|holds| holds != negated))
    }

    pub(crate) fn between(self, low: Expression, high: Expression, negated: bool, symmetric: bool) -> Condition {
        let not = if negated { "NOT " } else { "" };
        let how = if symmetric { "SYMMETRIC " } else { "" };
        let text = format!("{} {not}BETWEEN {how}{} AND {}", self.text, low.text, high.text);
        let inside = |low: &Expression, high: &Expression| {
            let above = self.clone().compared(Comparison::GreaterOrEqual, low.clone());
            let below = self.clone().compared(Comparison::LessOrEqual, high.clone());
            Condition::joined(vec![above, below], "AND")
        };
        let mut ways = vec![inside(&low, &high)];
        if symmetric {
            ways.push(inside(&high, &low));
        }
        let any = Condition::joined(ways, "OR");
        Condition::new(text, move |row| any.holds(row).map(|holds| holds != negated))
    }
}

impl Condition {
    pub(crate) fn new(text: String, holds: impl Fn(&Row) -> Option<bool> + 'static) -> Condition {
        Condition { text, holds: Rc::new(holds) }
    }

    pub(crate) fn holds(&self, row: &Row) -> Option<bool> {
        (self.holds)(row)
    }

    /// AND or OR: what decides, decides; otherwise what is unknown leaves it unknown.
    pub(crate) fn joined(parts: Vec<Condition>, word: &'static str) -> Condition {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let text = format!("({})", texts.join(&format!(" {word} ")));
        let deciding = word == "OR";
        Condition::new(text, move |row| {
            let all: Vec<Option<bool>> = parts.iter().map(|part| part.holds(row)).collect();
            match () {
                () if all.contains(&Some(deciding)) => Some(deciding),
                () if all.contains(&None) => None,
                () => Some(!deciding),
            }
        })
    }

    pub(crate) fn negation(self) -> Condition {
        Condition::new(format!("(NOT {})", self.text), move |row| self.holds(row).map(|holds| !holds))
    }

    /// IS TRUE, IS FALSE or IS UNKNOWN.
    pub(crate) fn is(self, value: Option<bool>, negated: bool) -> Condition {
        let word = value.map_or("UNKNOWN", |value| if value { "TRUE" } else { "FALSE" });
        let text = format!("({}) IS {}{word}", self.text, if negated { "NOT " } else { "" });
        Condition::new(text, move |row| Some((self.holds(row) == value) != negated))
    }

    /// As a number: 1 or 0.
    pub(crate) fn number(self) -> Expression {
        let text = format!("({})", self.text);
        Expression::new(Type::Whole, text, move |row| self.holds(row).map(|holds| RBig::from(u8::from(holds))))
    }
}

/// Whether text fits a pattern: `%` is any text, `_` any character, and nothing is an escape.
pub(crate) fn fits(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| fits(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && fits(&text[1..], rest),
        [letter, rest @ ..] => text.first() == Some(letter) && fits(&text[1..], rest),
    }
}
