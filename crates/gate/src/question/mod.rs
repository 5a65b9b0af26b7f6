//! The language of questions: what is left of an analyst's SQL once it is understood. Nothing else reaches an engine.

pub(crate) mod aggregate;
pub(crate) mod calendar;
pub(crate) mod group;
mod parse;
pub(crate) mod predicate;
pub(crate) mod scalar;
pub(crate) mod term;

use std::fmt::{Display, Write as _};

use self::aggregate::Aggregate;
use self::group::Group;
use self::predicate::Predicate;
use self::term::{Condition, Term};
use crate::schema::Schema;

/// A question that was understood: only columns of the schema, and literals of their types.
///
/// Columns are named by their place in the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The SELECTs whose rows are the answer, one after the other: more than one with UNION ALL. At least one.
    pub(crate) queries: Vec<Query>,
    /// Sub-queries, each with one number as its answer; they are asked first.
    pub(crate) scalars: Vec<Query>,
    /// How the noisy answer is sorted: outputs by their place.
    pub(crate) order: Vec<OrderKey>,
    /// How many rows of the noisy answer are left out at the beginning.
    pub(crate) offset: u64,
    /// How many rows of the noisy answer are shown.
    pub(crate) limit: Option<u64>,
    /// The question in one way of writing: the same for all ways to lay it out.
    pub(crate) canonical: String,
}

/// One SELECT.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    /// What is asked for, in the order of the answer's columns.
    pub(crate) outputs: Vec<Output>,
    /// The aggregates that the outputs and the condition on groups are made of, each once.
    pub(crate) aggregates: Vec<Aggregate>,
    /// Which rows count.
    pub(crate) filter: Option<Predicate>,
    pub(crate) groups: Vec<Group>,
    /// Which rows of the noisy answer are shown.
    pub(crate) having: Option<Condition>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// Its name in the answer: the alias, or the expression itself, such as `COUNT(*)`.
    pub(crate) name: String,
    /// As it is written.
    pub(crate) text: String,
    pub(crate) term: Term,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderKey {
    /// The place in [`Query::outputs`].
    pub(crate) output: usize,
    pub(crate) descending: bool,
}

impl Question {
    /// Reads a question about a dataset of this name, and checks it against the schema.
    pub fn parse(text: &str, dataset: &str, schema: &Schema) -> Result<Question, crate::Error> {
        parse::parse(text, dataset, schema)
    }

    /// Every SELECT, in the order in which they are asked: sub-queries first.
    pub(crate) fn all_queries(&self) -> impl Iterator<Item = &Query> {
        self.scalars.iter().chain(&self.queries)
    }

    /// The names of the answer's columns.
    pub(crate) fn outputs(&self) -> &[Output] {
        &self.queries[0].outputs
    }
}

impl Query {
    /// How many groups it has; nothing if that depends on the data.
    pub(crate) fn group_count(&self) -> Option<usize> {
        self.groups.iter().map(|group| group.values().map(|values| values.len())).product()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.groups.iter().any(Group::is_open)
    }
}

/// An identifier in double quotes, as every engine reads it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A list with commas.
pub(crate) fn commas(items: impl IntoIterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for (at, item) in items.into_iter().enumerate() {
        let _ = write!(text, "{}{item}", if at == 0 { "" } else { ", " });
    }
    text
}
