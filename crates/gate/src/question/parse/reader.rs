//! What the parts of a question have in common: names, places, limits, and how much of a name is shown.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use sqlparser::ast::{CastKind, Expr, Ident, Spanned, TypedString};
use sqlparser::tokenizer::Location;

use super::super::private::PrivateJoin;
use super::super::scalar::{NumericExpr, TooLarge};
use super::super::{Join, Query, quoted};
use super::keywords;
use super::limits;
use super::scope::{SchemaView, Scope};
use super::tokens::QuestionTokens;
use crate::error::Error;
use crate::schema::{Column, Schema};

/// Reads syntax trees of one text against the columns that it may name.
pub(super) struct Reader<'a> {
    pub(super) tokens: &'a QuestionTokens,
    pub(super) view: &'a SchemaView<'a>,
    pub(super) dataset: &'a str,
    pub(super) schema: &'a Schema,
    /// The tables of the SELECTs that are being read: those of a sub-query last.
    pub(super) tables: RefCell<Vec<JoinedTables>>,
    literals: Cell<usize>,
    conditions: Cell<usize>,
    patterns: Cell<usize>,
    operators: Cell<usize>,
    levels: Cell<usize>,
    /// How often anything was looked at: what is nested is looked at several times.
    reads: Cell<usize>,
    /// What is counted already, and by which counter.
    counted: RefCell<HashSet<(*const Cell<usize>, *const Expr)>>,
    /// Sub-queries, in the order in which they are asked.
    pub(super) scalars: RefCell<Vec<Query>>,
}

/// The tables of a SELECT.
pub(super) struct JoinedTables {
    pub(super) scope: Scope,
    pub(super) joins: Vec<Join>,
    pub(super) private: Option<PrivateJoin>,
}

impl JoinedTables {
    pub(super) fn new(scope: Scope) -> JoinedTables {
        JoinedTables { scope, joins: Vec::new(), private: None }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(tokens: &'a QuestionTokens, view: &'a SchemaView<'a>) -> Reader<'a> {
        let none = || Cell::new(0);
        let (literals, conditions, patterns, operators, levels) = (none(), none(), none(), none(), none());
        let (dataset, schema, tables, scalars) = (view.dataset, &view.schema, RefCell::default(), RefCell::default());
        Reader {
            tokens,
            view,
            dataset,
            schema,
            tables,
            literals,
            conditions,
            patterns,
            operators,
            levels,
            reads: none(),
            counted: RefCell::default(),
            scalars,
        }
    }

    /// The columns that a name may mean.
    fn find_columns(&self, name: &Ident) -> Vec<usize> {
        let tables = self.tables.borrow();
        tables.last().map_or_else(Vec::new, |tables| tables.scope.unqualified(self.view, name))
    }

    /// The column of a name, if there is one: the first, where the name alone means several.
    pub(super) fn find_column(&self, name: &Ident) -> Option<usize> {
        self.find_columns(name).first().copied()
    }

    /// The column of a name.
    pub(super) fn column(&self, name: &Ident) -> Result<usize, Error> {
        if name.quote_style.is_none() && keywords::is_word(&name.value) {
            let message = format!(
                "{} is a word of the language, and something is missing before it; a column of that name is written in \
                 double quotes",
                shown(name)
            );
            return Err(self.refusal_at(name.span.start, message));
        }
        match self.find_columns(name).as_slice() {
            [at] => Ok(*at),
            [] => {
                let hint = match name.quote_style {
                    None => "",
                    Some(_) => " (names in quotes are told apart by case; text is written in single quotes)",
                };
                let message = format!("column {} not found{hint}; the columns are {}", shown(name), self.columns());
                Err(self.refusal_at(name.span.start, message))
            }
            _ => {
                let message = format!(
                    "several tables have a column {}: write the table before it, as in table.column",
                    shown(name)
                );
                Err(self.refusal_at(name.span.start, message))
            }
        }
    }

    /// The column that an expression is, if it is one.
    pub(super) fn as_column(&self, expression: &Expr) -> Option<Result<usize, Error>> {
        match expression {
            Expr::Identifier(name) => Some(self.column(name)),
            Expr::CompoundIdentifier(parts) => Some(self.qualified_column(parts)),
            _ => None,
        }
    }

    /// A column with the table before it.
    fn qualified_column(&self, parts: &[Ident]) -> Result<usize, Error> {
        let tables = self.tables.borrow();
        let ([table, column], Some(tables)) = (parts, tables.last()) else { return Err(self.unknown_table(parts)) };
        let found = tables.scope.table(table).ok_or_else(|| self.unknown_table(parts))?;
        found.column(self.view, column).ok_or_else(|| {
            let message = format!("the table {} has no column {}", shown(table), shown(column));
            self.refusal_at(column.span.start, message)
        })
    }

    fn unknown_table(&self, parts: &[Ident]) -> Error {
        let message = format!(
            "table {} not found: write a table of FROM or its alias, or only the column's name",
            shown(&parts[0])
        );
        self.refusal_at(parts[0].span.start, message)
    }

    /// What is declared about a column.
    pub(super) fn declared(&self, column: usize) -> &Column {
        &self.schema.columns[column]
    }

    /// A column with bounds.
    pub(super) fn bounded(&self, column: usize) -> Option<NumericExpr> {
        NumericExpr::column(column, self.declared(column))
    }

    /// The first columns, for messages.
    fn columns(&self) -> String {
        const SHOWN: usize = 20;
        let tables = self.tables.borrow();
        let places = tables.iter().last().into_iter().flat_map(|tables| &tables.scope.tables);
        let names: Vec<_> = places.flat_map(|table| table.columns.clone()).map(|at| self.declared(at).name()).collect();
        match names.len().saturating_sub(SHOWN) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names[..SHOWN].join(", ")),
        }
    }

    /// A refusal of something that begins at a place.
    pub(super) fn refusal_at(&self, location: Location, message: impl Into<String>) -> Error {
        Error::question(self.tokens.at(self.tokens.index(location)), message)
    }

    /// A refusal of an expression.
    pub(super) fn refusal(&self, expression: &Expr, message: impl Into<String>) -> Error {
        Error::question(self.start(expression), message)
    }

    /// A refusal of what the parser knows, the language does not, and the tokens did not show.
    pub(super) fn beyond(&self) -> Error {
        let example = format!("SELECT COUNT(*) FROM {} WHERE …", quoted(self.dataset));
        Error::question(1, format!("this kind of SELECT is not supported: write it as {example}"))
    }

    /// An expression whose range is known and small enough.
    pub(super) fn fitting(&self, expression: &Expr, made: Result<NumericExpr, TooLarge>) -> Result<NumericExpr, Error> {
        let scalar = made.map_err(|TooLarge::Range| {
            let message = "this may get too large for its number of digits: round the parts with ROUND first, or ask the owner for \
                           coarser grids";
            self.refusal(expression, message)
        })?;
        if scalar.weight() > limits::WEIGHT {
            return Err(self.refusal(expression, "this expression is too long: ask something simpler"));
        }
        Ok(scalar)
    }

    pub(super) fn count_literal(&self, expression: &Expr) -> Result<(), Error> {
        self.count(&self.literals, limits::LITERALS, expression, "literals: ask something simpler")
    }

    pub(super) fn count_condition(&self, expression: &Expr) -> Result<(), Error> {
        self.count(&self.conditions, limits::CONDITIONS, expression, "conditions: use IN, or ask something simpler")
    }

    pub(super) fn count_pattern(&self, expression: &Expr) -> Result<(), Error> {
        self.count(&self.patterns, limits::PATTERNS, expression, "LIKEs: ask something simpler")
    }

    pub(super) fn count_operator(&self, expression: &Expr) -> Result<(), Error> {
        self.count(&self.operators, limits::OPERATORS, expression, "operators and functions: ask something simpler")
    }

    /// Reads something that is one level deeper than what it is a part of.
    pub(super) fn deeper<T>(&self, expression: &Expr, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if self.levels.get() == limits::LEVELS {
            let message = format!("this is nested more than {} deep: ask something simpler", limits::LEVELS);
            return Err(self.refusal(expression, message));
        }
        self.levels.set(self.levels.get() + 1);
        let read = read();
        self.levels.set(self.levels.get() - 1);
        read
    }

    /// Counts an expression once, however often it is looked at.
    fn count(&self, counter: &Cell<usize>, most: usize, expression: &Expr, what: &str) -> Result<(), Error> {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() > limits::READS {
            return Err(self.refusal(expression, "this is too complicated: ask something simpler"));
        }
        if !self.counted.borrow_mut().insert((std::ptr::from_ref(counter), std::ptr::from_ref(expression))) {
            return Ok(());
        }
        counter.set(counter.get() + 1);
        match counter.get() > most {
            true => Err(self.refusal(expression, format!("there are more than {most} {what}"))),
            false => Ok(()),
        }
    }

    /// The character where an expression begins: the parser knows that of names and literals, and they are preceded by
    /// as many tokens as there are signs, NOTs and parentheses around them.
    pub(super) fn start(&self, expression: &Expr) -> usize {
        let (mut inner, mut before) = (expression, 0);
        let location = loop {
            inner = match inner {
                Expr::Nested(nested)
                | Expr::UnaryOp { op: _, expr: nested }
                | Expr::Prefixed { prefix: _, value: nested } => {
                    before += 1;
                    nested
                }
                Expr::Tuple(parts) if !parts.is_empty() => {
                    before += 1;
                    &parts[0]
                }
                // What is called or converted is preceded by the word and a parenthesis.
                Expr::Floor { expr: nested, .. }
                | Expr::Ceil { expr: nested, .. }
                | Expr::Cast { kind: CastKind::Cast, expr: nested, .. } => {
                    before += 2;
                    nested
                }
                // POSITION ( text IN …, and INTERVAL text.
                Expr::Position { expr: nested, .. } => {
                    before += 2;
                    nested
                }
                Expr::Interval(interval) => {
                    before += 1;
                    &interval.value
                }
                // EXTRACT ( field FROM.
                Expr::Extract { expr: nested, .. } => {
                    before += 4;
                    nested
                }
                Expr::BinaryOp { left, .. } | Expr::Cast { expr: left, .. } => left,
                Expr::IsNull(left)
                | Expr::IsNotNull(left)
                | Expr::IsTrue(left)
                | Expr::IsNotTrue(left)
                | Expr::IsFalse(left)
                | Expr::IsNotFalse(left)
                | Expr::IsUnknown(left)
                | Expr::IsNotUnknown(left)
                | Expr::IsDistinctFrom(left, _)
                | Expr::IsNotDistinctFrom(left, _) => left,
                Expr::InList { expr: left, .. }
                | Expr::InSubquery { expr: left, .. }
                | Expr::Between { expr: left, .. }
                | Expr::Like { expr: left, .. }
                | Expr::ILike { expr: left, .. } => left,
                Expr::TypedString(TypedString { data_type, value, .. }) => {
                    before += data_type.to_string().split_whitespace().count();
                    break value.span().start;
                }
                Expr::Subquery(query) => {
                    before += 1;
                    break query.span().start;
                }
                other => break other.span().start,
            };
        };
        if location.line == 0 {
            return 1;
        }
        self.tokens.at(self.tokens.index(location).saturating_sub(before))
    }
}

/// Whether a name of the question is this one: in any case of its letters, or exactly if it is in quotes.
pub(super) fn is_called(name: &Ident, other: &str) -> bool {
    match name.quote_style {
        None => name.value.eq_ignore_ascii_case(other),
        Some(_) => name.value == other,
    }
}

/// A name of the question, for messages.
pub(super) fn shown(name: &Ident) -> String {
    let start: String = name.value.chars().take(40).collect();
    let more = if start.len() < name.value.len() { "…" } else { "" };
    format!("{start:?}{more}")
}

/// An expression without the parentheses around it.
pub(super) fn plain(expression: &Expr) -> &Expr {
    let mut inner = expression;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    inner
}

/// The lower end of BETWEEN, and whether SYMMETRIC stands before it.
pub(super) fn lower_end(low: &Expr) -> (&Expr, bool) {
    match low {
        Expr::Prefixed { prefix: _, value } => (value, true),
        low => (low, false),
    }
}
