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

mod conditions;
mod per_unit;
mod public;

use std::collections::BTreeSet;

use self::public::Form;
pub(crate) use self::public::TemporaryTable;
use crate::measure::{Centred, Measure, Quantity};
use crate::question::aggregate::Argument;
use crate::question::calendar::DatePart;
use crate::question::group::GroupKey;
use crate::question::predicate::{LetterCase, Operand, Predicate};
use crate::question::scalar::{Kind, Node, NumericExpr};
use crate::question::{Join, Query, commas, quoted};
use crate::schema::{ColumnType, Schema, Value};
use crate::steps::{steps_name, steps_of};

/// How an engine writes SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

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
        let mut writer = Writer::new(query, target);
        let (mut columns, keys) = writer.keys(query);
        let before = columns.len();
        columns.extend(measures.into_iter().map(|measure| writer.measure(measure)));
        let measures = columns.len() - before;
        writer.statement(query, &columns, keys, measures, None)
    }

    /// How many rows of every group have which value: the value, in steps, is the last key.
    pub(crate) fn histogram(query: &Query, of: &NumericExpr, filter: Option<&Predicate>, target: Target) -> Statement {
        let mut writer = Writer::new(query, target);
        let (mut columns, mut keys) = writer.keys(query);
        columns.push(writer.scalar(of));
        keys.push(ColumnType::Integer);
        columns.push("count(*)".to_string());
        let known = Predicate::NullSteps { scalar: of.clone(), negated: true };
        let condition = Predicate::all(std::iter::once(known).chain(filter.cloned()).collect());
        writer.statement(query, &columns, keys, 1, Some(&condition))
    }
}

/// What the dataset is called beside public tables.
const ROWS: &str = "\"rows\"";

struct Writer<'a> {
    target: Target<'a>,
    joins: &'a [Join],
    /// Columns of public tables that are used, and how.
    used: BTreeSet<(usize, Form)>,
    parameters: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(query: &'a Query, target: Target<'a>) -> Writer<'a> {
        Writer { target, joins: &query.joins, used: BTreeSet::new(), parameters: Vec::new() }
    }

    fn statement(
        mut self,
        query: &Query,
        columns: &[String],
        keys: Vec<ColumnType>,
        measures: usize,
        condition: Option<&Predicate>,
    ) -> Statement {
        let mut conditions = Vec::new();
        for group in &query.groups {
            // Rows outside the values of a key are left out here, not by the reader of the answer.
            conditions.push(match &group.key {
                GroupKey::Column { column, .. } if self.is_public(*column) => {
                    format!("{} IS NOT NULL", self.column(*column))
                }
                GroupKey::Column { column, values } => self.any_of(Operand::plain(*column), values, false),
                GroupKey::Steps { scalar, .. } => format!("{} IS NOT NULL", self.scalar(scalar)),
                GroupKey::Open { column } => format!("{} IS NOT NULL", self.column(*column)),
            });
        }
        conditions.extend(query.filter.iter().chain(condition).map(|filter| self.predicate(filter)));
        let mut table = self.target.table.to_string();
        if let Some(limit) = &query.group_limit {
            let (groups, all) = (&columns[..query.groups.len()], conditions.join(" AND "));
            let (chosen, is_chosen) = self.limited(query, limit, groups, &all);
            table = chosen;
            conditions = vec![is_chosen];
        }
        let from = self.source(&table);
        let (tables, with) = self.public_tables();
        let mut sql = format!("{with}SELECT {} FROM {from}", commas(columns));
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        if !keys.is_empty() {
            sql += &format!(" GROUP BY {}", commas(1..=keys.len()));
        }
        Statement { tables, sql, parameters: self.parameters, keys, measures }
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
        match self.joins {
            [] => quoted(name),
            _ => format!("{ROWS}.{}", quoted(name)),
        }
    }

    /// A column as it is compared. The database's own collations may depend on the machine.
    fn compared(&mut self, Operand { column, case }: Operand) -> String {
        let plain = match (self.target.dialect, self.kind(column)) {
            (Dialect::Postgres, ColumnType::Text) => format!("{} COLLATE \"C\"", self.column(column)),
            _ => self.column(column),
        };
        match case {
            LetterCase::AsWritten => plain,
            LetterCase::Lower => format!("lower({plain})"),
            LetterCase::Upper => format!("upper({plain})"),
        }
    }

    /// A column as it is grouped by.
    fn grouped(&mut self, at: usize) -> String {
        match (self.target.dialect, self.kind(at)) {
            (Dialect::Postgres, ColumnType::Integer) => format!("{}::int8", self.column(at)),
            (Dialect::Postgres, ColumnType::Text) => format!("{}::text COLLATE \"C\"", self.column(at)),
            // 1.5 and 1.50 are the same group; as text, since a number has any number of digits.
            (Dialect::Postgres, ColumnType::Decimal) => format!("trim_scale({})::text", self.column(at)),
            _ => self.column(at),
        }
    }

    /// A literal, as a parameter.
    fn parameter(&mut self, value: Value) -> String {
        let kind = value.kind();
        self.parameters.push(value);
        let number = self.parameters.len();
        match self.target.dialect {
            Dialect::Sqlite => format!("?{number}"),
            Dialect::Postgres => {
                let name = match kind {
                    ColumnType::Integer => "int8",
                    ColumnType::Real => "float8",
                    ColumnType::Text => "text",
                    ColumnType::Boolean => "bool",
                    ColumnType::Date => "date",
                    ColumnType::Timestamp => "timestamp",
                    // Literals have few digits: the cast cannot fail.
                    ColumnType::Decimal => "text::numeric",
                };
                format!("${number}::{name}")
            }
        }
    }

    fn measure(&mut self, Measure { quantity, filter }: &Measure) -> String {
        let counted = |argument: &Argument, writer: &mut Self| match argument {
            Argument::Column(at) => writer.compared(Operand::plain(*at)),
            Argument::Steps(scalar) => writer.scalar(scalar),
        };
        let measured = match quantity {
            Quantity::Rows | Quantity::Clamped => "count(*)".to_string(),
            Quantity::NonNull(Argument::Column(at)) => format!("count({})", self.column(*at)),
            Quantity::NonNull(argument) => format!("count({})", counted(argument, self)),
            Quantity::Units => {
                let unit = self.target.schema.unit_column().expect("units are counted by their column");
                format!("count(DISTINCT {})", self.compared(Operand::plain(unit)))
            }
            Quantity::Distinct(argument) => format!("count(DISTINCT {})", counted(argument, self)),
            Quantity::Sum(centred) => {
                let term = self.centred(centred);
                self.sum(&term)
            }
            Quantity::Products(one, other) => {
                let term = format!("({}) * ({})", self.centred(one), self.centred(other));
                self.sum(&term)
            }
        };
        match filter {
            None => measured,
            Some(filter) => format!("{measured} FILTER (WHERE {})", self.predicate(filter)),
        }
    }

    fn centred(&mut self, Centred { scalar, centre }: &Centred) -> String {
        let steps = self.scalar(scalar);
        if *centre == 0 { steps } else { format!("{steps} - ({centre})") }
    }

    /// What is summed is within 32 bits. There the sum of 32-bit integers is a 64-bit one; that of 64-bit ones is a slow decimal number.
    fn sum(&self, term: &str) -> String {
        match self.target.dialect {
            Dialect::Sqlite => format!("sum({term})"),
            Dialect::Postgres => format!("sum(({term})::int4)"),
        }
    }

    fn constant(&self, steps: i64) -> String {
        match self.target.dialect {
            Dialect::Sqlite if steps < 0 => format!("({steps})"),
            Dialect::Sqlite => steps.to_string(),
            // In 64 bits from the beginning.
            Dialect::Postgres => format!("({steps})::int8"),
        }
    }

    /// A number in steps: a whole one of 64 bits. Everything that has an operator is in parentheses.
    fn scalar(&mut self, scalar: &NumericExpr) -> String {
        match &scalar.node {
            Node::Column(at) if self.is_public(*at) => self.public(*at, Form::Steps),
            Node::Column(at) => match self.target.dialect {
                Dialect::Sqlite => self.own(&steps_name(self.target.schema, *at)),
                Dialect::Postgres => {
                    let column = self.column(*at);
                    format!("({})::int8", steps_of(&self.target.schema.columns[*at], column, self.target.dialect))
                }
            },
            Node::Constant(steps) => self.constant(*steps),
            Node::Asked(at) => self.asked(*at, scalar),
            Node::Null => self.null(),
            Node::Truth(predicate) => {
                let truth = self.predicate(predicate);
                match self.target.dialect {
                    Dialect::Sqlite => format!("({truth})"),
                    Dialect::Postgres => format!("(({truth})::int4)::int8"),
                }
            }
            Node::Sum(one, other) => format!("({} + {})", self.scalar(one), self.scalar(other)),
            Node::Product(one, other) => format!("({} * {})", self.scalar(one), self.scalar(other)),
            Node::Negative(inner) => format!("(- {})", self.scalar(inner)),
            Node::Absolute(inner) => format!("abs({})", self.scalar(inner)),
            Node::Times(inner, times) => format!("({} * {})", self.scalar(inner), self.constant(*times)),
            Node::Floor(inner, by) => self.floor(inner, *by),
            // Both divide whole numbers towards 0.
            Node::Truncated(inner, by) => format!("({} / {})", self.scalar(inner), self.constant(*by)),
            Node::Remainder(inner, by) => format!("({} % {})", self.scalar(inner), self.constant(*by)),
            Node::Rounded(inner, by) => self.rounded(inner, *by),
            Node::Least(parts) => self.extreme(parts, "min", "least"),
            Node::Greatest(parts) => self.extreme(parts, "max", "greatest"),
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
            Node::Calendar(part, days) => self.calendar(*part, days),
        }
    }

    fn null(&self) -> String {
        match self.target.dialect {
            Dialect::Sqlite => "NULL".to_string(),
            Dialect::Postgres => "NULL::int8".to_string(),
        }
    }

    /// The answer of a sub-query, in steps; null where there is none, or none yet.
    fn asked(&self, at: usize, scalar: &NumericExpr) -> String {
        let answer = self.target.asked.get(at).copied().flatten();
        let steps = answer.map(|answer| (answer / scalar.grid.to_f64().value()).round());
        match steps.filter(|steps| steps.is_finite()) {
            Some(steps) => self.constant((steps as i64).clamp(scalar.low, scalar.high)),
            None => self.null(),
        }
    }

    fn list(&mut self, parts: &[NumericExpr]) -> String {
        commas(parts.iter().map(|part| self.scalar(part)).collect::<Vec<_>>())
    }

    /// ⌊v/d⌋ = (v − k·d)/d + k with k = ⌊low/d⌋: what is divided is not negative, and so rounded down.
    fn floor(&mut self, inner: &NumericExpr, by: i64) -> String {
        let least = inner.low.div_euclid(by);
        let value = self.scalar(inner);
        match least {
            0 => format!("({value} / {})", self.constant(by)),
            _ => {
                let shift = self.constant(least.saturating_mul(by));
                format!("(({value} - {shift}) / {} + {})", self.constant(by), self.constant(least))
            }
        }
    }

    /// Halves away from 0: (2·v + d)/(2·d) where v is not negative, and its mirror where it is.
    fn rounded(&mut self, inner: &NumericExpr, by: i64) -> String {
        let value = self.scalar(inner);
        let (by, twice) = (self.constant(by), self.constant(2 * by));
        match (inner.low >= 0, inner.high <= 0) {
            (true, _) => format!("((2 * {value} + {by}) / {twice})"),
            (_, true) => format!("((2 * {value} - {by}) / {twice})"),
            _ => format!("((2 * {value} + CASE WHEN {value} < 0 THEN - {by} ELSE {by} END) / {twice})"),
        }
    }

    /// The least or the greatest of those that are not null.
    fn extreme(&mut self, parts: &[NumericExpr], sqlite: &str, postgres: &str) -> String {
        match self.target.dialect {
            Dialect::Postgres => format!("{postgres}({})", self.list(parts)),
            // That of two, of which one is null, is null there.
            Dialect::Sqlite => {
                let parts: Vec<_> = parts.iter().map(|part| self.scalar(part)).collect();
                let pair = |one: String, other: String| format!("coalesce({sqlite}({one}, {other}), {one}, {other})");
                parts.into_iter().reduce(pair).unwrap_or_else(|| "NULL".to_string())
            }
        }
    }

    fn calendar(&mut self, part: DatePart, days: &NumericExpr) -> String {
        let days = self.scalar(days);
        match self.target.dialect {
            Dialect::Sqlite => format!("{}({days})", part.function()),
            Dialect::Postgres => {
                let date = format!("(DATE '1970-01-01' + ({days})::int4)");
                match part.kind() {
                    Kind::Date => {
                        let start = format!("date_trunc('{}', {date}::timestamp)::date", part.name());
                        format!("({start} - DATE '1970-01-01')::int8")
                    }
                    _ => format!("extract({} FROM {date})::int8", part.name()),
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
