//! What the parts of a question have in common: names, places, and how much of a name is shown.

use sqlparser::ast::{Expr, Ident, ObjectNamePart};
use sqlparser::tokenizer::Location;

use super::super::quoted;
use super::keywords;
use super::tokens::Tokens;
use crate::error::Error;
use crate::schema::{Column, Schema};

/// Reads syntax trees of one text against one schema.
pub(super) struct Reader<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) dataset: &'a str,
    pub(super) schema: &'a Schema,
}

impl Reader<'_> {
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
        let found = self.schema.columns.iter().position(|column| is_called(name, &column.name));
        found.ok_or_else(|| {
            let hint = match name.quote_style {
                None => "",
                Some(_) => " (names in quotes are told apart by case; text is written in single quotes)",
            };
            let message = format!("there is no column {}{hint}; the columns are {}", shown(name), self.columns());
            self.refusal_at(name.span.start, message)
        })
    }

    /// What is declared about a column.
    pub(super) fn declared(&self, column: usize) -> &Column {
        &self.schema.columns[column]
    }

    /// The first columns, for messages.
    fn columns(&self) -> String {
        const SHOWN: usize = 20;
        let names: Vec<_> = self.schema.columns.iter().take(SHOWN).map(|column| column.name.as_str()).collect();
        match self.schema.columns.len().saturating_sub(SHOWN) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
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
        Error::question(1, format!("this kind of SELECT is not answered: write it as {example}"))
    }

    /// The character where an expression begins: the parser knows that of names and literals, and they are preceded by
    /// as many tokens as there are signs, NOTs and parentheses around them.
    pub(super) fn start(&self, expression: &Expr) -> usize {
        let (mut inner, mut before) = (expression, 0);
        let location = loop {
            inner = match inner {
                Expr::Nested(nested) | Expr::UnaryOp { op: _, expr: nested } => {
                    before += 1;
                    nested
                }
                Expr::Tuple(parts) if !parts.is_empty() => {
                    before += 1;
                    &parts[0]
                }
                Expr::BinaryOp { left, op: _, right: _ } => left,
                Expr::IsNull(left) | Expr::IsNotNull(left) => left,
                Expr::InList { expr: left, list: _, negated: _ }
                | Expr::Between { expr: left, negated: _, low: _, high: _ }
                | Expr::Like { expr: left, negated: _, any: _, pattern: _, escape_char: _ } => left,
                Expr::Identifier(name) => break name.span.start,
                Expr::Value(value) => break value.span.start,
                Expr::Function(function) => match function.name.0.first() {
                    Some(ObjectNamePart::Identifier(name)) => break name.span.start,
                    _ => return 1,
                },
                _ => return 1,
            };
        };
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
