//! The SQL that engines run: written here and nowhere else.
//!
//! Every expression is one that cannot fail on any row: comparisons of a column with a parameter of its own type, LIKE with a short
//! pattern, IS NULL, and arithmetic of whole numbers whose ranges are known, on columns that are clamped first. The embedded engine
//! computes the clamped columns when a row is written.
//!
//! All engines give the same answer: text is compared by its bytes, `_` in a pattern is one character, nothing in it is an escape,
//! and −0 equals 0. The exception is NaN, which only PostgreSQL can store: there it is a number above every other, infinity
//! included, and equal to itself. It is not null, `x > 5` finds it, and a sum takes it for the upper bound. To treat it as
//! null, store null.

#[cfg(feature = "adbc")]
mod canary;
mod conditions;
mod dialect;
mod divided;
mod grouping;
mod per_unit;
mod private;
mod public;
mod sums;

use std::collections::BTreeSet;

use dashu::rational::RBig;

#[cfg(feature = "adbc")]
pub(crate) use self::canary::{Canary, canaries};
pub(crate) use self::dialect::{Clamped, Dialect, SqlAggregate};
use self::dialect::{Extreme, Grammar};
pub(crate) use self::grouping::Grouping;
pub(crate) use self::private::{PrivateRows, joined_rows, with_own_names};
use self::public::Form;
pub(crate) use self::public::TemporaryTable;
use crate::measure::{Measure, Quantity};
use crate::question::aggregate::Argument;
use crate::question::group::GroupKey;
use crate::question::predicate::{Operand, Predicate};
use crate::question::scalar::{Node, NumericExpr};
use crate::question::{Join, Query, commas};
use crate::schema::{ColumnType, Schema, Value};
use crate::steps::{date_name, steps_name, steps_of};

/// A statement that is ready to run: group columns first, then measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    /// Tables that it needs beside the data.
    pub(crate) tables: Vec<TemporaryTable>,
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Value>,
    /// The types of the group columns.
    pub(crate) keys: Vec<ColumnType>,
    /// How many measures follow them. Each is a 64-bit integer; null means 0.
    pub(crate) measures: usize,
    /// How the engine groups the rows, where the statement does not.
    pub(crate) grouping: Option<Grouping>,
}

/// Where data are and how SQL is written there.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) dialect: Dialect,
    /// An identifier that is already quoted.
    pub(crate) table: &'a str,
    /// The answers of the sub-queries that were asked before.
    pub(crate) asked: &'a [Option<f64>],
}

impl Statement {
    /// The measures of every group of a query.
    pub(crate) fn measuring<'m>(
        query: &Query,
        measures: impl IntoIterator<Item = &'m Measure>,
        target: Target,
    ) -> Statement {
        let writer = Writer::new(query, target);
        let mut writer = if query.groups.is_empty() { writer } else { writer.grouping_rows(query) };
        let (mut columns, keys) = writer.keys(query);
        let measures: Vec<&Measure> = measures.into_iter().collect();
        // A condition that all measures have is one of the rows, unless it would leave out groups.
        let first = measures.first().and_then(|first| first.filter.as_ref());
        let shared = first.filter(|first| measures.iter().all(|measure| measure.filter.as_ref() == Some(*first)));
        let shared = shared.filter(|_| query.groups.is_empty());
        columns.extend(measures.iter().map(|measure| match shared {
            Some(_) => writer.measure(&measure.quantity, None),
            None => writer.measure(&measure.quantity, measure.filter.as_ref()),
        }));
        writer.statement(query, &columns, keys, measures.len(), shared)
    }

    /// How many rows of every group have which value: the value, in steps, is the last key.
    pub(crate) fn histogram(query: &Query, of: &NumericExpr, filter: Option<&Predicate>, target: Target) -> Statement {
        let mut writer = Writer::new(query, target).grouping_rows(query);
        let (mut columns, mut keys) = writer.keys(query);
        columns.push(writer.scalar(of));
        keys.push(ColumnType::Integer);
        columns.push(writer.measure(&Quantity::Rows, None));
        // A row without a key belongs to no group, where the engine groups.
        let known = writer.aggregates.is_none().then(|| Predicate::NullSteps { scalar: of.clone(), negated: true });
        let condition = Predicate::all(known.into_iter().chain(filter.cloned()).collect());
        writer.statement(query, &columns, keys, 1, Some(&condition))
    }
}

/// What the dataset is called beside public tables.
const ROWS: &str = "rows";

struct Writer<'a> {
    target: Target<'a>,
    joins: &'a [Join],
    /// Columns of public tables that are used, and how.
    used: BTreeSet<(usize, Form)>,
    parameters: Vec<Value>,
    /// Whether public tables may be functions. Where the groups of a unit are chosen first, they are not.
    may_look_up: bool,
    /// What the engine makes of the columns that it reads, where it groups the rows.
    aggregates: Option<Vec<SqlAggregate>>,
}

impl<'a> Writer<'a> {
    fn new(query: &'a Query, target: Target<'a>) -> Writer<'a> {
        let may_look_up = query.group_limit.is_none();
        let (used, parameters) = (BTreeSet::new(), Vec::new());
        Writer { target, joins: &query.joins, used, parameters, may_look_up, aggregates: None }
    }

    fn grammar(&self) -> &'static dyn Grammar {
        self.target.dialect.grammar()
    }

    fn statement(
        mut self,
        query: &Query,
        columns: &[String],
        keys: Vec<ColumnType>,
        measures: usize,
        condition: Option<&Predicate>,
    ) -> Statement {
        // Rows outside the values of a key are left out by the engine, not by the reader of the answer.
        let groups = if self.aggregates.is_some() { &[] } else { query.groups.as_slice() };
        let mut conditions: Vec<String> = groups.iter().map(|group| self.is_in_a_group(&group.key)).collect();
        conditions.extend(self.counterparts());
        conditions.extend(query.filter.iter().map(|filter| self.predicate(filter)));
        let mut table = self.target.table.to_string();
        if let Some(limit) = &query.group_limit {
            // Groups are chosen before any other condition, so that all statements of a question choose the same.
            let (groups, all) = (&columns[..query.groups.len()], conditions.join(" AND "));
            let (chosen, is_chosen) = self.limited(query, limit, groups, &all);
            table = chosen;
            conditions = vec![is_chosen];
        }
        conditions.extend(condition.map(|condition| self.predicate(condition)));
        let from = self.source(&table);
        let (tables, with) = self.public_tables();
        let mut sql = format!("{with}SELECT {} FROM {from}", commas(columns));
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        let grouping = self.grouping(query, keys.len());
        if !keys.is_empty() && grouping.is_none() {
            sql += &format!(" GROUP BY {}", commas(1..=keys.len()));
        }
        Statement { tables, sql, parameters: self.parameters, keys, measures, grouping }
    }

    /// The keys of the groups, and their types.
    fn keys(&mut self, query: &Query) -> (Vec<String>, Vec<ColumnType>) {
        let key = |group: &crate::question::group::Group| match &group.key {
            GroupKey::Column { column, .. } | GroupKey::Open { column } => (self.grouped(*column), self.kind(*column)),
            GroupKey::Steps { scalar, .. } => (self.scalar(scalar), ColumnType::Integer),
        };
        query.groups.iter().map(key).unzip()
    }

    fn column(&mut self, at: usize) -> String {
        match self.is_public(at) {
            true => self.public(at, Form::Plain),
            false => self.own(&self.target.schema.columns[at].name),
        }
    }

    /// A column of the dataset, with its table where there are others.
    fn own(&self, name: &str) -> String {
        let name = self.grammar().name(name);
        match self.joins {
            [] => name,
            _ => format!("{}.{name}", self.grammar().name(ROWS)),
        }
    }

    /// A column as it is compared.
    fn compared(&mut self, Operand { column, case }: Operand) -> String {
        let plain = self.column(column);
        self.grammar().letters(self.grammar().compared(plain, self.kind(column)), case)
    }

    /// A column as its different values are counted.
    fn distinct(&mut self, at: usize) -> String {
        let plain = self.column(at);
        self.grammar().distinct(plain, self.kind(at))
    }

    /// A column as it is grouped by.
    fn grouped(&mut self, at: usize) -> String {
        let plain = self.column(at);
        self.grammar().grouped(plain, self.kind(at))
    }

    fn literal(&mut self, value: &Value) -> String {
        self.grammar().literal(value, &mut self.parameters)
    }

    fn measure(&mut self, quantity: &Quantity, filter: Option<&Predicate>) -> String {
        let counted = |argument: &Argument, writer: &mut Self| match argument {
            Argument::Column(at) => writer.distinct(*at),
            Argument::Steps(scalar) => writer.scalar(scalar),
        };
        let (aggregate, term) = match quantity {
            Quantity::Rows | Quantity::Clamped => (SqlAggregate::Count, "*".to_string()),
            Quantity::NonNull(Argument::Column(at)) => (SqlAggregate::Count, self.column(*at)),
            Quantity::NonNull(argument) => (SqlAggregate::Count, counted(argument, self)),
            Quantity::Units => {
                let unit = self.target.schema.unit_column().expect("units are counted by their column");
                (SqlAggregate::CountDistinct, self.distinct(unit))
            }
            Quantity::Distinct(argument) => (SqlAggregate::CountDistinct, counted(argument, self)),
            Quantity::Sum(centred) => match self.sum(centred, filter) {
                Some(sum) => return sum,
                None => (SqlAggregate::Sum, self.centred(centred)),
            },
            Quantity::Products(one, other) => {
                (SqlAggregate::Sum, format!("({}) * ({})", self.centred(one), self.centred(other)))
            }
        };
        let filter = filter.map(|filter| self.predicate(filter));
        match &mut self.aggregates {
            Some(aggregates) => {
                aggregates.push(aggregate);
                Writer::read(&term, filter.as_deref())
            }
            None => self.grammar().aggregate(aggregate, &term, quantity.reach(), filter.as_deref()),
        }
    }

    fn constant(&self, steps: i64) -> String {
        self.grammar().integer(steps)
    }

    /// A number in steps: a whole one of 64 bits. Everything that has an operator is in parentheses.
    fn scalar(&mut self, scalar: &NumericExpr) -> String {
        match &scalar.node {
            Node::Column(at) if self.is_public(*at) => self.public(*at, Form::Steps),
            Node::Column(at) if self.grammar().stores_steps() => {
                let steps = self.own(&steps_name(self.target.schema, *at));
                self.grammar().stored_steps(steps, self.kind(*at))
            }
            Node::Column(at) => {
                let column = self.column(*at);
                self.grammar().wide(&steps_of(&self.target.schema.columns[*at], column, self.target.dialect))
            }
            Node::Constant(steps) => self.constant(*steps),
            Node::Subquery(at, grid) => self.subquery(*at, grid, [scalar.low, scalar.high]),
            Node::Null => self.grammar().null(ColumnType::Integer),
            Node::Truth(predicate) => {
                let truth = self.predicate(predicate);
                self.grammar().truth(&truth)
            }
            Node::Sum(one, other) => format!("({} + {})", self.scalar(one), self.scalar(other)),
            Node::Product(one, other) => format!("({} * {})", self.scalar(one), self.scalar(other)),
            Node::Negative(inner) => format!("(- {})", self.scalar(inner)),
            Node::Absolute(inner) => format!("abs({})", self.scalar(inner)),
            Node::Times(inner, times) => format!("({} * {})", self.scalar(inner), self.constant(*times)),
            Node::Floor(inner, by) => self.floor(inner, *by),
            Node::Truncated(inner, by) => {
                let value = self.scalar(inner);
                self.quotient(&value, *by)
            }
            Node::Remainder(inner, by) => {
                let value = self.scalar(inner);
                format!("({})", self.grammar().remainder(&value, &self.constant(*by)))
            }
            Node::Rounded(inner, by) => self.rounded(inner, *by),
            Node::Quotient { one, other, nearest } => self.divided(one, other, *nearest),
            Node::Least(parts) => self.extreme(parts, Extreme::Least),
            Node::Greatest(parts) => self.extreme(parts, Extreme::Greatest),
            Node::Coalesce(parts) => format!("coalesce({})", self.list(parts)),
            Node::NullIf(one, other) => format!("nullif({}, {})", self.scalar(one), self.scalar(other)),
            Node::Case { branches, otherwise } => {
                let mut text = "CASE".to_string();
                for (condition, value) in branches {
                    text += &format!(" WHEN {} THEN {}", self.predicate(condition), self.scalar(value));
                }
                if let Some(value) = otherwise {
                    text += &format!(" ELSE {}", self.scalar(value));
                }
                format!("({text} END)")
            }
            Node::Calendar(part, days) => {
                let of_date = self.date(days).and_then(|date| self.grammar().calendar_of_date(*part, &date));
                of_date.unwrap_or_else(|| {
                    let days = self.scalar(days);
                    self.grammar().calendar(*part, &days)
                })
            }
        }
    }

    /// What is null where a number is: its column, if it is made of one that way.
    fn known(&mut self, scalar: &NumericExpr) -> String {
        match &scalar.node {
            Node::Column(at) if !self.is_public(*at) => self.column(*at),
            Node::Floor(inner, _) | Node::Rounded(inner, _) | Node::Times(inner, _) | Node::Negative(inner) => {
                self.known(inner)
            }
            Node::Calendar(_, inner) => self.known(inner),
            _ => self.scalar(scalar),
        }
    }

    /// The column of dates that days are of, where it has one beside it.
    fn date(&self, days: &NumericExpr) -> Option<String> {
        let Node::Column(at) = days.node else { return None };
        let is_date = !self.is_public(at) && self.kind(at) == ColumnType::Date;
        is_date.then(|| self.own(&date_name(self.target.schema, at)))
    }

    /// The answer of a sub-query, in steps; null where there is none. Before it is asked, the statement is only shown.
    fn subquery(&self, at: usize, grid: &RBig, [low, high]: [i64; 2]) -> String {
        let Some(answer) = self.target.asked.get(at) else {
            return format!("/* the answer of sub-query {} */ {}", at + 1, self.grammar().null(ColumnType::Integer));
        };
        let steps = answer.map(|answer| (answer / grid.to_f64().value()).round());
        match steps.filter(|steps| steps.is_finite()) {
            Some(steps) => self.constant((steps as i64).clamp(low, high)),
            None => self.grammar().null(ColumnType::Integer),
        }
    }

    fn list(&mut self, parts: &[NumericExpr]) -> String {
        commas(parts.iter().map(|part| self.scalar(part)).collect::<Vec<_>>())
    }

    /// Towards 0.
    fn quotient(&self, value: &str, by: i64) -> String {
        format!("({})", self.grammar().quotient(value, &self.constant(by)))
    }

    /// ⌊v/d⌋ = (v − k·d)/d + k with k = ⌊low/d⌋: what is divided is not negative, and so rounded down.
    fn floor(&mut self, inner: &NumericExpr, by: i64) -> String {
        let least = inner.low.div_euclid(by);
        let value = self.scalar(inner);
        match least {
            0 => self.quotient(&value, by),
            _ => {
                let above = format!("({value} - {})", self.constant(least.saturating_mul(by)));
                format!("({} + {})", self.quotient(&above, by), self.constant(least))
            }
        }
    }

    /// Halves away from 0: (2·v + d)/(2·d) where v is not negative, and its mirror where it is.
    fn rounded(&mut self, inner: &NumericExpr, by: i64) -> String {
        let value = self.scalar(inner);
        let half = self.constant(by);
        let twice = match (inner.low >= 0, inner.high <= 0) {
            (true, _) => format!("(2 * {value} + {half})"),
            (_, true) => format!("(2 * {value} - {half})"),
            _ => format!("(2 * {value} + CASE WHEN {value} < 0 THEN - {half} ELSE {half} END)"),
        };
        self.quotient(&twice, 2 * by)
    }

    /// The least or the greatest of those that are not null.
    fn extreme(&mut self, parts: &[NumericExpr], extreme: Extreme) -> String {
        let parts = parts.iter().map(|part| self.scalar(part)).collect();
        self.grammar().extreme(parts, extreme)
    }
}

#[cfg(test)]
pub(crate) mod tests;
