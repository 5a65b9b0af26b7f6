//! Conditions on parts of a text, as patterns: an engine looks for them in any text, whether its values are known or not.

use sqlparser::ast::Expr;

use super::super::predicate::{Comparison, Operand, Predicate};
use super::super::scalar::{Kind, NumericExpr};
use super::labels::{Labelled, renumbered};
use super::limits;
use super::literal::Literal;
use super::reader::{Reader, plain};
use super::scalar::Typed;
use crate::error::Error;
use crate::schema::{ColumnType, Value};

/// Where in a text something is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPlace {
    Start,
    End,
    Anywhere,
}

impl Reader<'_> {
    /// A part of a column's text, or its length, compared with a literal; nothing if it is anything else, or no pattern says it.
    pub(super) fn compared_part(
        &self,
        part: &Expr,
        comparison: Comparison,
        literal: &Literal,
    ) -> Result<Option<Predicate>, Error> {
        let (name, arguments): (String, Vec<&Expr>) = match plain(part) {
            Expr::Position { expr, r#in } => ("STRPOS".to_string(), vec![r#in, expr]),
            Expr::Function(function) => match self.arguments(part, function) {
                Ok(arguments) => (function.name.to_string(), arguments),
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        let whole =
            |at: usize| self.whole_literal(arguments[at], 1..=limits::PATTERN as i64).ok().map(|it| it as usize);
        match (name.as_str(), arguments.len(), literal.text(), literal.number()) {
            ("LEFT", 2, Some(text), _) => Ok(match (self.text_column(arguments[0])?, whole(1)) {
                (Some(operand), Some(count)) => self.equals_part(operand, comparison, text, 0, Some(count), part)?,
                _ => None,
            }),
            ("SUBSTR" | "SUBSTRING", 2 | 3, Some(text), _) => {
                let count = if arguments.len() == 3 { whole(2).map(Some) } else { Some(None) };
                Ok(match (self.text_column(arguments[0])?, whole(1), count) {
                    (Some(operand), Some(from), Some(count)) => {
                        self.equals_part(operand, comparison, text, from - 1, count, part)?
                    }
                    _ => None,
                })
            }
            ("RIGHT", 2, Some(text), _) => {
                let (Some(operand), Some(count)) = (self.text_column(arguments[0])?, whole(1)) else { return Ok(None) };
                match text.chars().count() == count {
                    true => self.equality(operand, comparison, format!("%{text}"), text, part),
                    false => self.equals_part(operand, comparison, text, 0, Some(count), part),
                }
            }
            ("LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" | "LEN", 1, _, Some(number)) => {
                match (self.text_column(arguments[0])?, number.to_integer()) {
                    (Some(operand), Some(length)) => self.has_length(operand, comparison, length, part),
                    _ => Ok(None),
                }
            }
            ("STRPOS" | "INSTR", 2, _, Some(number)) => {
                self.is_found(arguments[0], arguments[1], comparison, number.to_integer())
            }
            ("CHARINDEX" | "POSITION" | "LOCATE", 2, _, Some(number)) => {
                self.is_found(arguments[1], arguments[0], comparison, number.to_integer())
            }
            _ => Ok(None),
        }
    }

    /// A column of text, also in small or capital letters.
    fn text_column(&self, expression: &Expr) -> Result<Option<Operand>, Error> {
        let inner = plain(expression);
        if self.is_textual(inner) {
            return Ok(None);
        }
        match self.typed(inner)? {
            Typed::Column(operand) if self.declared(operand.column).kind == ColumnType::Text => Ok(Some(operand)),
            _ => Ok(None),
        }
    }

    /// Whether the characters of a text from a place on, some of them or all that follow, equal a literal.
    fn equals_part(
        &self,
        operand: Operand,
        comparison: Comparison,
        text: &str,
        from: usize,
        count: Option<usize>,
        part: &Expr,
    ) -> Result<Option<Predicate>, Error> {
        let length = text.chars().count();
        match count {
            // Nothing equals what is longer; unknown where there is no text.
            Some(count) if length > count => {
                let is = |comparison| Predicate::Compare { operand, comparison, value: Value::Text(text.to_string()) };
                let never = Predicate::all(vec![is(Comparison::Equal), is(Comparison::NotEqual)]);
                Ok(negated(comparison).map(|negated| if negated { never.negation() } else { never }))
            }
            Some(count) if length == count => {
                self.equality(operand, comparison, format!("{}{text}%", "_".repeat(from)), text, part)
            }
            // What is shorter than it could be is the end of the text. Of nothing there are several ways to be the end.
            _ if length == 0 && from > 0 => Ok(None),
            _ => self.equality(operand, comparison, format!("{}{text}", "_".repeat(from)), text, part),
        }
    }

    /// A pattern that holds or does not, of a literal that has no sign of patterns in it.
    fn equality(
        &self,
        operand: Operand,
        comparison: Comparison,
        pattern: String,
        text: &str,
        part: &Expr,
    ) -> Result<Option<Predicate>, Error> {
        match negated(comparison) {
            Some(negated) if is_plain(text) && pattern.len() <= limits::PATTERN => {
                self.count_pattern(part)?;
                Ok(Some(Predicate::Like { operand, pattern, negated }))
            }
            _ => Ok(None),
        }
    }

    fn has_length(
        &self,
        operand: Operand,
        comparison: Comparison,
        length: i64,
        part: &Expr,
    ) -> Result<Option<Predicate>, Error> {
        let (exact, least, negated) = match comparison {
            Comparison::Equal => (true, length, false),
            Comparison::NotEqual => (true, length, true),
            Comparison::GreaterOrEqual => (false, length, false),
            Comparison::Greater => (false, length.saturating_add(1), false),
            Comparison::Less => (false, length, true),
            Comparison::LessOrEqual => (false, length.saturating_add(1), true),
        };
        let Some(least) = usize::try_from(least).ok().filter(|least| *least < limits::PATTERN) else { return Ok(None) };
        self.count_pattern(part)?;
        let pattern = format!("{}{}", "_".repeat(least), if exact { "" } else { "%" });
        Ok(Some(Predicate::Like { operand, pattern, negated }))
    }

    /// Whether a text is found in another one: its place is above 0.
    fn is_found(
        &self,
        inside: &Expr,
        text: &Expr,
        comparison: Comparison,
        place: Option<i64>,
    ) -> Result<Option<Predicate>, Error> {
        let negated = match (comparison, place) {
            (Comparison::Greater | Comparison::NotEqual, Some(0)) | (Comparison::GreaterOrEqual, Some(1)) => false,
            (Comparison::Equal | Comparison::LessOrEqual, Some(0)) | (Comparison::Less, Some(1)) => true,
            _ => {
                let message =
                    "where a text is found is compared with 0: write POSITION('text' IN column) > 0, or LIKE '%text%'";
                return Err(self.refusal(inside, message));
            }
        };
        let found = self.has_text(inside, text, TextPlace::Anywhere)?;
        Ok(Some(if negated { found.negation() } else { found }))
    }

    /// `STARTS_WITH(text, 'start')` and the like.
    pub(super) fn has_text(&self, of: &Expr, text: &Expr, place: TextPlace) -> Result<Predicate, Error> {
        let wanted = Literal::of(self, plain(text)).and_then(|literal| literal.text().map(str::to_string));
        let Some(wanted) = wanted else { return Err(self.refusal(text, "this is text in single quotes")) };
        self.count_literal(text)?;
        let pattern = match place {
            TextPlace::Start => format!("{wanted}%"),
            TextPlace::End => format!("%{wanted}"),
            TextPlace::Anywhere => format!("%{wanted}%"),
        };
        if let Some(operand) = self.text_column(of)?
            && let Some(found) = self.equality(operand, Comparison::Equal, pattern, &wanted, of)?
        {
            return Ok(found);
        }
        let holds = |text: &str| match place {
            TextPlace::Start => text.starts_with(&wanted),
            TextPlace::End => text.ends_with(&wanted),
            TextPlace::Anywhere => text.contains(&wanted),
        };
        Ok(self.labelled(of)?.is(holds))
    }

    /// How long a text is, of those whose values are known.
    pub(super) fn length(&self, expression: &Expr, of: &Expr) -> Result<NumericExpr, Error> {
        let Labelled { scalar, labels } = self.labelled(of)?;
        let lengths: Vec<(i64, i64)> =
            labels.iter().map(|(number, text)| (*number, text.chars().count() as i64)).collect();
        let made = renumbered(scalar, &lengths);
        Ok(NumericExpr { kind: Kind::Integer, ..self.fitting(expression, made)? })
    }
}

impl Labelled {
    /// The same text in small letters, to look for a pattern in.
    pub(super) fn in_small_letters(&self) -> Labelled {
        let small = |(number, text): &(i64, String)| (*number, text.to_ascii_lowercase());
        Labelled { scalar: self.scalar.clone(), labels: self.labels.iter().map(small).collect() }
    }

    /// The condition that the text fits a pattern.
    pub(super) fn fits(&self, pattern: &str, negated: bool) -> Predicate {
        let pattern: Vec<char> = pattern.chars().collect();
        self.is(|text| fits(&text.chars().collect::<Vec<_>>(), &pattern) != negated)
    }
}

/// Whether = or <> is asked for; nothing for any other comparison.
fn negated(comparison: Comparison) -> Option<bool> {
    match comparison {
        Comparison::Equal => Some(false),
        Comparison::NotEqual => Some(true),
        _ => None,
    }
}

/// Whether no character of a text means something else in a pattern.
fn is_plain(text: &str) -> bool {
    !text.contains(['%', '_', '\\', '\0'])
}

/// Whether a text fits a pattern of LIKE.
fn fits(text: &[char], pattern: &[char]) -> bool {
    // Which ends of the text the pattern so far fits up to.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for sign in pattern {
        ends = match sign {
            '%' => {
                let mut found = false;
                ends.iter()
                    .map(|end| {
                        found |= end;
                        found
                    })
                    .collect()
            }
            sign => {
                let fits = |at: usize| at > 0 && ends[at - 1] && (*sign == '_' || text[at - 1] == *sign);
                (0..ends.len()).map(fits).collect()
            }
        };
    }
    ends[text.len()]
}
