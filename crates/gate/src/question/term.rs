//! What is computed from the noisy numbers of an answer. It is free: nothing here touches the data.

use super::predicate::Comparison;
use super::window::WindowCall;

/// A number made of noisy ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    /// The value of a group, by its place in [`super::Query::groups`].
    Group(usize),
    /// An aggregate, by its place in [`super::Query::aggregates`].
    Aggregate(usize),
    /// The answer of a sub-query, by its place in [`super::Question::scalars`].
    Scalar(usize),
    Constant(f64),
    /// Text that is the same in every row.
    Label(String),
    Null,
    Sum(Box<Term>, Box<Term>),
    Difference(Box<Term>, Box<Term>),
    Product(Box<Term>, Box<Term>),
    /// Null where the divisor is 0.
    Quotient(Box<Term>, Box<Term>),
    Negative(Box<Term>),
    /// Rounded to decimal places, halves away from 0.
    Round(Box<Term>, i32),
    Floor(Box<Term>),
    Ceil(Box<Term>),
    Absolute(Box<Term>),
    /// Null below 0.
    SquareRoot(Box<Term>),
    Coalesce(Vec<Term>),
    NullIf(Box<Term>, Box<Term>),
    Least(Vec<Term>),
    Greatest(Vec<Term>),
    Case {
        branches: Vec<(Condition, Term)>,
        otherwise: Option<Box<Term>>,
    },
    /// A power, null where it is none.
    Power(Box<Term>, Box<Term>),
    /// e to the power of a number.
    Exponential(Box<Term>),
    /// The logarithm of a positive number; null of any other.
    Logarithm(Box<Term>, LogarithmBase),
    /// Something of several rows of the answer.
    Window(Box<WindowCall>),
}

/// Of which number a logarithm is the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogarithmBase {
    E,
    Two,
    Ten,
}

/// A condition on noisy numbers: unknown where one is null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Compare(Term, Comparison, Term),
    IsNull(Term),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

/// What the terms of a row are made of.
pub(crate) trait Known {
    fn group(&self, at: usize) -> Option<f64>;
    fn aggregate(&self, at: usize) -> Option<f64>;
    fn scalar(&self, at: usize) -> Option<f64>;
    /// The value of a window function.
    fn window(&self, window: &WindowCall) -> Option<f64>;
}

impl Term {
    /// Its value; nothing where it is null.
    pub(crate) fn value(&self, known: &impl Known) -> Option<f64> {
        let both = |one: &Term, other: &Term| Some((one.value(known)?, other.value(known)?));
        let value = match self {
            Term::Group(at) => known.group(*at)?,
            Term::Aggregate(at) => known.aggregate(*at)?,
            Term::Scalar(at) => known.scalar(*at)?,
            Term::Constant(value) => *value,
            Term::Label(_) | Term::Null => return None,
            Term::Sum(one, other) => both(one, other).map(|(one, other)| one + other)?,
            Term::Difference(one, other) => both(one, other).map(|(one, other)| one - other)?,
            Term::Product(one, other) => both(one, other).map(|(one, other)| one * other)?,
            Term::Quotient(one, other) => both(one, other).map(|(one, other)| one / other)?,
            Term::Negative(inner) => -inner.value(known)?,
            Term::Round(inner, places) => {
                let scale = 10f64.powi(*places);
                (inner.value(known)? * scale).round() / scale
            }
            Term::Floor(inner) => inner.value(known)?.floor(),
            Term::Ceil(inner) => inner.value(known)?.ceil(),
            Term::Absolute(inner) => inner.value(known)?.abs(),
            Term::SquareRoot(inner) => inner.value(known)?.sqrt(),
            Term::Coalesce(parts) => parts.iter().find_map(|part| part.value(known))?,
            Term::NullIf(one, other) => {
                let value = one.value(known)?;
                if other.value(known) == Some(value) {
                    return None;
                }
                value
            }
            Term::Least(parts) => parts.iter().filter_map(|part| part.value(known)).reduce(f64::min)?,
            Term::Greatest(parts) => parts.iter().filter_map(|part| part.value(known)).reduce(f64::max)?,
            Term::Case { branches, otherwise } => {
                let held = branches.iter().find(|(condition, _)| condition.holds(known) == Some(true));
                held.map(|(_, term)| term).or(otherwise.as_deref())?.value(known)?
            }
            Term::Power(one, other) => both(one, other).map(|(one, other)| core_math::pow(one, other))?,
            Term::Exponential(inner) => core_math::exp(inner.value(known)?),
            Term::Logarithm(inner, base) => {
                let value = inner.value(known).filter(|value| *value > 0.0)?;
                match base {
                    LogarithmBase::E => core_math::log(value),
                    LogarithmBase::Two => core_math::log2(value),
                    LogarithmBase::Ten => core_math::log10(value),
                }
            }
            Term::Window(window) => known.window(window)?,
        };
        value.is_finite().then_some(value)
    }

    /// Whether the answer of a sub-query is a part of it.
    pub(crate) fn has_scalar(&self) -> bool {
        let mut found = false;
        self.walk(&mut |term| found |= matches!(term, Term::Scalar(_)));
        found
    }

    /// Calls a function with every term that this one is made of, itself included.
    pub(crate) fn walk<'a>(&'a self, see: &mut impl FnMut(&'a Term)) {
        see(self);
        match self {
            Term::Group(_) | Term::Aggregate(_) | Term::Scalar(_) | Term::Constant(_) => {}
            Term::Label(_) | Term::Null => {}
            Term::Sum(one, other)
            | Term::Difference(one, other)
            | Term::Product(one, other)
            | Term::Quotient(one, other)
            | Term::Power(one, other)
            | Term::NullIf(one, other) => {
                one.walk(see);
                other.walk(see);
            }
            Term::Negative(inner)
            | Term::Round(inner, _)
            | Term::Floor(inner)
            | Term::Ceil(inner)
            | Term::Absolute(inner)
            | Term::SquareRoot(inner)
            | Term::Exponential(inner)
            | Term::Logarithm(inner, _) => inner.walk(see),
            Term::Window(window) => window.terms().for_each(|term| term.walk(see)),
            Term::Coalesce(parts) | Term::Least(parts) | Term::Greatest(parts) => {
                parts.iter().for_each(|part| part.walk(see));
            }
            Term::Case { branches, otherwise } => {
                for (condition, term) in branches {
                    condition.walk(see);
                    term.walk(see);
                }
                if let Some(term) = otherwise {
                    term.walk(see);
                }
            }
        }
    }
}

impl Condition {
    /// Whether it holds; nothing where that is unknown.
    pub(crate) fn holds(&self, known: &impl Known) -> Option<bool> {
        match self {
            Condition::Compare(one, comparison, other) => {
                let ordering = one.value(known)?.partial_cmp(&other.value(known)?)?;
                Some(comparison.holds(ordering))
            }
            Condition::IsNull(term) => Some(term.value(known).is_none()),
            Condition::And(parts) => logical(parts.iter().map(|part| part.holds(known)), false),
            Condition::Or(parts) => logical(parts.iter().map(|part| part.holds(known)), true),
            Condition::Not(inner) => inner.holds(known).map(|holds| !holds),
        }
    }

    /// Calls a function with every term of it.
    pub(crate) fn walk<'a>(&'a self, see: &mut impl FnMut(&'a Term)) {
        match self {
            Condition::Compare(one, _, other) => {
                one.walk(see);
                other.walk(see);
            }
            Condition::IsNull(term) => term.walk(see),
            Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| part.walk(see)),
            Condition::Not(inner) => inner.walk(see),
        }
    }
}

/// One part with the deciding value decides; otherwise an unknown part leaves it unknown.
fn logical(parts: impl Iterator<Item = Option<bool>>, deciding: bool) -> Option<bool> {
    let mut result = Some(!deciding);
    for part in parts {
        match part {
            Some(value) if value == deciding => return Some(deciding),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}
