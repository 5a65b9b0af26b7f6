//! The language of questions: what is left of an analyst's SQL once it is understood. Nothing else reaches an engine.

pub(crate) mod aggregate;
pub(crate) mod calendar;
mod clamped;
pub(crate) mod group;
mod parse;
pub(crate) mod predicate;
pub(crate) mod private;
pub(crate) mod scalar;
pub(crate) mod term;
pub(crate) mod window;

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use self::aggregate::Aggregate;
use self::group::{Group, GroupLimit};
use self::predicate::Predicate;
use self::private::{PrivateJoin, PrivateTable};
use self::term::{Condition, Term};
use self::window::WindowCall;
use crate::public::PublicTable;
use crate::schema::Schema;
use crate::sql::Dialect;

/// A question that was understood: only columns of the dataset and of public tables, and literals of their types.
///
/// Columns are named by their place in [`Question::schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The SELECTs whose rows are the answer, one after the other: more than one with UNION ALL. At least one.
    pub(crate) queries: Vec<Query>,
    /// Sub-queries, each with one number as its answer; they are asked first.
    pub(crate) scalars: Vec<Query>,
    /// How the noisy answer is sorted: outputs by their place.
    pub(crate) order: Vec<OrderKey>,
    /// How many of the last outputs are only sorted by, and not shown.
    pub(crate) hidden: usize,
    /// How many rows of the noisy answer are left out at the beginning.
    pub(crate) offset: u64,
    /// How many rows of the noisy answer are shown.
    pub(crate) limit: Option<u64>,
    /// The columns that it may name: those of the dataset, and behind them those of the tables that it joins.
    pub(crate) schema: Schema,
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
    /// The public tables that are joined, in this order.
    pub(crate) joins: Vec<Join>,
    /// The other dataset that is joined.
    pub(crate) private: Option<PrivateJoin>,
    /// Which rows count.
    pub(crate) filter: Option<Predicate>,
    pub(crate) groups: Vec<Group>,
    /// Whether a unit counts in some of them only.
    pub(crate) group_limit: Option<GroupLimit>,
    /// Which rows of the noisy answer are shown.
    pub(crate) having: Option<Condition>,
}

/// A public table beside every row.
///
/// The key is unique in the public table, so every row of the dataset stays one row or none, and the join changes no sensitivity: with
/// a key that is there twice, one row of the dataset would become two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Join {
    pub(crate) table: Arc<PublicTable>,
    /// The place of its first column in [`Question::schema`].
    pub(crate) first: usize,
    /// The column that the key equals: one of the dataset, or of a table that is joined before.
    pub(crate) on: usize,
    /// The key: a column of the table, counted from its first one.
    pub(crate) key: usize,
    /// Whether a key of whole numbers is compared as text, since the column holds text: codes such as 101.
    pub(crate) as_text: bool,
    /// Whether rows without a counterpart stay, with null in its columns: LEFT JOIN.
    pub(crate) keeps_all: bool,
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
        Question::parse_with(text, dataset, schema, &[], &[])
    }

    /// Reads a question that may join these public tables and these other datasets.
    pub(crate) fn parse_with(
        text: &str,
        dataset: &str,
        schema: &Schema,
        public: &[Arc<PublicTable>],
        private: &[Arc<PrivateTable>],
    ) -> Result<Question, crate::Error> {
        parse::parse(text, dataset, schema, public, private)
    }

    /// Lets a unit count in at most this many groups of every SELECT whose groups are not declared. Where a unit has no more rows than
    /// that, nothing changes.
    pub(crate) fn limit_groups(
        &mut self,
        most: u32,
        schema: &Schema,
        dialect: Dialect,
        key: &str,
    ) -> Result<(), crate::Error> {
        let wrong = |needs: &str| Err(crate::Error::value("maximum of groups per unit", most, needs));
        if most == 0 {
            return wrong("a unit counts in at least one group");
        }
        if schema.unit_column().is_none() {
            return wrong("a row is the unit of this dataset, and so in one group; omit the limit on groups");
        }
        if dialect.grammar().hash("").is_none() {
            return wrong("the engine of this dataset cannot choose groups; omit the limit on groups");
        }
        if !self.queries.iter().any(Query::is_open) {
            return wrong(
                "all groups of this question are declared or named, so their noise does not depend on the limit; omit the limit on groups",
            );
        }
        if self.queries.iter().any(|query| query.private.as_ref().is_some_and(|join| join.keeps_all)) {
            return wrong(
                "a unit that gains a counterpart in a LEFT JOIN may change groups; omit the limit on groups, or write JOIN",
            );
        }
        let more = |query: &Query| query.is_open() && most < query.protected(schema).rows_per_unit();
        for query in self.queries.iter_mut().filter(|query| more(query)) {
            query.group_limit = Some(GroupLimit { most, key: key.to_string() });
        }
        Ok(())
    }

    /// Every SELECT, in the order in which they are asked: sub-queries first.
    pub(crate) fn all_queries(&self) -> impl Iterator<Item = &Query> {
        self.scalars.iter().chain(&self.queries)
    }

    /// The public tables that it joins.
    pub(crate) fn public_tables(&self) -> impl Iterator<Item = &PublicTable> {
        self.all_queries().flat_map(|query| &query.joins).map(|join| join.table.as_ref())
    }

    /// How many columns the answer shows.
    pub(crate) fn shown(&self) -> usize {
        self.outputs().len() - self.hidden
    }

    /// The names of the answer's columns, and of what it is sorted by.
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

impl Query {
    /// The window functions of its columns and of the condition on them, each once.
    pub(crate) fn windows<'q>(&'q self) -> Vec<&'q WindowCall> {
        let mut windows: Vec<&WindowCall> = Vec::new();
        let mut see = |term: &'q Term| match term {
            Term::Window(window) if !windows.contains(&window.as_ref()) => windows.push(window.as_ref()),
            _ => {}
        };
        self.outputs.iter().for_each(|output| output.term.walk(&mut see));
        self.having.iter().for_each(|having| having.walk(&mut see));
        windows
    }
}

impl Join {
    /// Whether a column of the question is one of its table's.
    pub(crate) fn has(&self, column: usize) -> bool {
        (self.first..self.first + self.table.columns().len()).contains(&column)
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
