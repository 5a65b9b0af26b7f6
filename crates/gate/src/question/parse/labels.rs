//! Text with finitely many values: a whole number for each row, and the text that each number stands for.
//!
//! Text is put together, cut and compared here, on the values that follow from the declaration; an engine sees numbers alone, so all
//! engines give the same. Where a row has null or a value that is not declared, the text is null.

use std::collections::BTreeMap;

use dashu::rational::RBig;
use sqlparser::ast::{BinaryOperator, Expr, Function};

use super::super::predicate::{Comparison, Predicate};
use super::super::scalar::{Kind, Node, NumericExpr, TooLarge};
use super::formats::FormatStyle;
use super::literal::Literal;
use super::reader::{Reader, plain};
use super::text::Choices;
use crate::error::Error;
use crate::schema::{ColumnType, Value};

/// Text by its number.
pub(super) struct Labelled {
    /// The number of a row's text.
    pub(super) scalar: NumericExpr,
    /// The text of every number, in ascending order of the numbers; no two have the same.
    pub(super) labels: Vec<(i64, String)>,
}

/// The functions whose value is text, of texts whose values are known, each with how it is written.
const TEXT: [(&str, &str); 23] = [
    ("LEFT", "LEFT(column, 3)"),
    ("RIGHT", "RIGHT(column, 3)"),
    ("SUBSTR", "SUBSTR(column, 2, 3), where the places count from 1"),
    ("SUBSTRING", "SUBSTRING(column, 2, 3), where the places count from 1"),
    ("LOWER", "LOWER(column)"),
    ("UPPER", "UPPER(column)"),
    ("LCASE", "LCASE(column)"),
    ("UCASE", "UCASE(column)"),
    ("INITCAP", "INITCAP(column)"),
    ("TRIM", "TRIM(column), which removes blanks"),
    ("LTRIM", "LTRIM(column), which removes blanks"),
    ("RTRIM", "RTRIM(column), which removes blanks"),
    ("BTRIM", "BTRIM(column), which removes blanks"),
    ("REPLACE", "REPLACE(column, 'old', 'new')"),
    ("CONCAT", "CONCAT(column, 'text')"),
    ("NULLIF", "NULLIF(column, 'text')"),
    ("TO_CHAR", "TO_CHAR(date, 'YYYY-MM')"),
    ("STRFTIME", "STRFTIME('%Y-%m', date)"),
    ("DATE_FORMAT", "DATE_FORMAT(date, 'yyyy-MM')"),
    ("FORMAT_DATE", "FORMAT_DATE('%Y-%m', date)"),
    ("FORMAT", "FORMAT(date, 'yyyy-MM')"),
    ("DAYNAME", "DAYNAME(date)"),
    ("MONTHNAME", "MONTHNAME(date)"),
];

/// How a function of text is written.
fn form_of(name: &str) -> Option<&'static str> {
    TEXT.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
}

impl Reader<'_> {
    /// Whether an expression is text that is chosen or computed, by how it is written.
    pub(super) fn is_textual(&self, expression: &Expr) -> bool {
        match plain(expression) {
            Expr::Case { conditions, else_result, .. } => {
                self.are_texts(conditions.iter().map(|when| &when.result).chain(else_result.as_deref()))
            }
            Expr::Function(function) => {
                let arguments = || self.arguments(expression, function).unwrap_or_default().into_iter();
                match function.name.to_string().as_str() {
                    "COALESCE" | "IFNULL" | "NVL" | "ISNULL" => self.are_texts(arguments()),
                    "IF" | "IIF" | "IFF" => self.are_texts(arguments().skip(1)),
                    _ => self.is_computed_text(expression),
                }
            }
            _ => self.is_computed_text(expression),
        }
    }

    /// Whether an expression puts text together or changes it.
    pub(super) fn is_computed_text(&self, expression: &Expr) -> bool {
        match plain(expression) {
            Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => true,
            Expr::Function(function) => {
                let arguments = || self.arguments(expression, function).unwrap_or_default();
                match function.name.to_string().as_str() {
                    // Of a column these are compared as they are, also where its values are not known.
                    "LOWER" | "UPPER" => arguments().iter().any(|argument| self.as_column(plain(argument)).is_none()),
                    "NULLIF" => arguments().first().is_some_and(|first| self.is_any_text(first)),
                    name => form_of(name).is_some(),
                }
            }
            _ => false,
        }
    }

    /// Whether several are text, as far as they are not null.
    fn are_texts<'e>(&self, expressions: impl Iterator<Item = &'e Expr>) -> bool {
        let mut known = expressions.filter(|one| plain(one).to_string() != "NULL").peekable();
        known.peek().is_some() && known.all(|one| self.is_any_text(one))
    }

    /// Whether an expression is text of any kind.
    fn is_any_text(&self, expression: &Expr) -> bool {
        let inner = plain(expression);
        let is_literal = || Literal::of(self, inner).is_some_and(|literal| literal.text().is_some());
        let is_column = || match self.as_column(inner) {
            Some(Ok(column)) => self.declared(column).kind == ColumnType::Text,
            _ => false,
        };
        self.is_textual(inner) || is_literal() || is_column()
    }

    /// Text whose values are known.
    pub(super) fn labelled(&self, expression: &Expr) -> Result<Labelled, Error> {
        self.deeper(expression, || self.labelled_here(expression))
    }

    fn labelled_here(&self, expression: &Expr) -> Result<Labelled, Error> {
        let inner = plain(expression);
        if let Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } = inner {
            self.count_operator(inner)?;
            return self.joined(expression, &[left, right]);
        }
        if let Expr::Function(function) = inner
            && let Some(labelled) = self.text_function(inner, function)?
        {
            return Ok(labelled);
        }
        match self.choices(inner)? {
            Some(choices) => self.numbered(expression, choices),
            None => {
                let message = "the values of this text are not known: build it from columns with declared categories, dates and literals";
                Err(self.refusal(expression, message))
            }
        }
    }

    /// Functions of text that change it.
    fn text_function(&self, expression: &Expr, function: &Function) -> Result<Option<Labelled>, Error> {
        let name = function.name.to_string();
        let Some(form) = form_of(&name) else { return Ok(None) };
        let arguments = self.arguments(expression, function)?;
        self.count_operator(expression)?;
        let changed = |of: &Expr, change: &dyn Fn(&str) -> String| {
            let labelled = self.labelled(of)?;
            self.changed(expression, labelled, change).map(Some)
        };
        let text = |of: &Expr| match Literal::of(self, plain(of)).and_then(|literal| literal.text().map(str::to_string))
        {
            Some(text) => Ok(text),
            None => Err(self.refusal(of, "this is text in single quotes")),
        };
        let places = |of: &Expr| self.whole_literal(of, 0..=1_000).map(|places| places as usize);
        match (name.as_str(), arguments.as_slice()) {
            ("LOWER" | "LCASE", [of]) => changed(of, &|text| text.to_ascii_lowercase()),
            ("UPPER" | "UCASE", [of]) => changed(of, &|text| text.to_ascii_uppercase()),
            ("INITCAP", [of]) => changed(of, &capitalised),
            ("TRIM" | "BTRIM", [of]) => changed(of, &|text| text.trim_matches(' ').to_string()),
            ("LTRIM", [of]) => changed(of, &|text| text.trim_start_matches(' ').to_string()),
            ("RTRIM", [of]) => changed(of, &|text| text.trim_end_matches(' ').to_string()),
            ("LEFT", [of, count]) => {
                let count = places(count)?;
                changed(of, &|text| text.chars().take(count).collect())
            }
            ("RIGHT", [of, count]) => {
                let count = places(count)?;
                changed(of, &|text| text.chars().skip(text.chars().count().saturating_sub(count)).collect())
            }
            ("SUBSTR" | "SUBSTRING", [of, from, rest @ ..]) if rest.len() <= 1 => {
                let from = self.whole_literal(from, 1..=1_000)? as usize - 1;
                let count = rest.first().map(|count| places(count)).transpose()?.unwrap_or(usize::MAX);
                changed(of, &|text| text.chars().skip(from).take(count).collect())
            }
            ("REPLACE", [of, from, to]) => {
                let (from, to) = (text(from)?, text(to)?);
                match from.is_empty() {
                    true => changed(of, &|text| text.to_string()),
                    false => changed(of, &|text| text.replace(&from, &to)),
                }
            }
            ("NULLIF", [of, other]) => {
                let (Labelled { scalar, labels }, other) = (self.labelled(of)?, text(other)?);
                let (same, labels): (Vec<_>, _) = labels.into_iter().partition(|(_, text)| *text == other);
                let missing = same.into_iter().map(|(number, _)| NumericExpr::steps(number, Kind::Integer, RBig::ONE));
                let scalar = missing.into_iter().try_fold(scalar, NumericExpr::null_if);
                Ok(Some(Labelled { scalar: self.fitting(expression, scalar)?, labels }))
            }
            ("CONCAT", [_, _, ..]) => self.joined(expression, &arguments).map(Some),
            ("TO_CHAR", [date, format]) => {
                self.formatted(expression, date, &text(format)?, FormatStyle::Template).map(Some)
            }
            ("DAYNAME", [date]) => self.formatted(expression, date, "Day", FormatStyle::Template).map(Some),
            ("MONTHNAME", [date]) => self.formatted(expression, date, "Month", FormatStyle::Template).map(Some),
            ("DATE_FORMAT" | "FORMAT", [date, format]) => {
                self.formatted(expression, date, &text(format)?, FormatStyle::Letters).map(Some)
            }
            ("STRFTIME" | "FORMAT_DATE", [one, other]) => {
                // SQLite and BigQuery have the format first, and DuckDB last.
                let is_format = Literal::of(self, plain(one)).is_some_and(|literal| literal.text().is_some());
                let (format, date) = if is_format { (one, other) } else { (other, one) };
                self.formatted(expression, date, &text(format)?, FormatStyle::Letters).map(Some)
            }
            _ => Err(self.refusal(expression, format!("{name} is not supported with these arguments: write {form}"))),
        }
    }

    /// Texts put together. Where one is missing, so is the whole.
    fn joined(&self, expression: &Expr, parts: &[&Expr]) -> Result<Labelled, Error> {
        let mut whole: Option<Labelled> = None;
        for part in parts {
            let part = self.labelled(part)?;
            whole = Some(match whole {
                None => part,
                Some(before) => self.together(expression, before, part)?,
            });
        }
        whole.ok_or_else(|| self.beyond())
    }

    fn together(&self, expression: &Expr, one: Labelled, other: Labelled) -> Result<Labelled, Error> {
        self.few(expression, one.labels.len().saturating_mul(other.labels.len()))?;
        let size = other.labels.last().map_or(1, |(number, _)| number + 1);
        let whole = |steps: i64| NumericExpr::steps(steps, Kind::Integer, RBig::ONE);
        let scalar = match (one.labels.as_slice(), other.labels.as_slice()) {
            ([_], _) if one.scalar.as_constant().is_some() => Ok(other.scalar.clone()),
            (_, [_]) if other.scalar.as_constant().is_some() => Ok(one.scalar.clone()),
            _ => {
                let places = one.scalar.clone().times(whole(size), Kind::Integer);
                places.and_then(|places| places.plus(other.scalar.clone(), Kind::Integer))
            }
        };
        // A literal has the number 0, and adds none.
        let number = |before: i64, behind: i64| match (one.scalar.as_constant(), other.scalar.as_constant()) {
            (Some(_), _) => behind,
            (_, Some(_)) => before,
            _ => before * size + behind,
        };
        let labels = one.labels.iter().flat_map(|(before, first)| {
            other.labels.iter().map(move |(behind, second)| (number(*before, *behind), format!("{first}{second}")))
        });
        let labels = labels.collect();
        self.relabelled(expression, self.fitting(expression, scalar)?, labels)
    }

    fn changed(
        &self,
        expression: &Expr,
        Labelled { scalar, labels }: Labelled,
        change: &dyn Fn(&str) -> String,
    ) -> Result<Labelled, Error> {
        let labels = labels.into_iter().map(|(number, text)| (number, change(&text))).collect();
        self.relabelled(expression, scalar, labels)
    }

    /// Text by its number, where several numbers may stand for the same text.
    pub(super) fn relabelled(
        &self,
        expression: &Expr,
        scalar: NumericExpr,
        labels: Vec<(i64, String)>,
    ) -> Result<Labelled, Error> {
        if let Some((_, long)) = labels.iter().find(|(_, text)| text.len() > Value::TEXT) {
            let message = format!("a text would have {} bytes, more than {}: shorten it", long.len(), Value::TEXT);
            return Err(self.refusal(expression, message));
        }
        let mut first: BTreeMap<&str, i64> = BTreeMap::new();
        let new: Vec<(i64, i64)> =
            labels.iter().map(|(number, text)| (*number, *first.entry(text).or_insert(*number))).collect();
        if new.iter().all(|(old, new)| old == new) {
            return Ok(Labelled { scalar, labels });
        }
        let kept =
            new.iter().zip(&labels).filter(|((old, new), _)| old == new).map(|(_, label)| label.clone()).collect();
        let scalar = self.fitting(expression, renumbered(scalar, &new))?;
        Ok(Labelled { scalar, labels: kept })
    }

    /// Text that conditions choose, by its number.
    pub(super) fn numbered(&self, expression: &Expr, choices: Choices) -> Result<Labelled, Error> {
        let mut labels: Vec<(i64, String)> = Vec::new();
        let mut number = |text: String| {
            let place = labels.iter().position(|(_, label)| *label == text).unwrap_or(labels.len());
            if place == labels.len() {
                labels.push((place as i64, text));
            }
            NumericExpr::steps(place as i64, Kind::Integer, RBig::ONE)
        };
        // A literal alone is chosen by nothing.
        if let [(Predicate::Constant(Some(true)), Some(text))] = choices.branches.as_slice() {
            return Ok(Labelled { scalar: number(text.clone()), labels });
        }
        let branches = choices.branches.into_iter();
        let branches = branches.map(|(condition, text)| (condition, text.map_or_else(NumericExpr::null, &mut number)));
        let scalar = self.fitting(expression, NumericExpr::case(branches.collect(), None))?;
        Ok(Labelled { scalar, labels })
    }
}

impl Labelled {
    /// The condition that the text is one of some of its values: unknown where there is none.
    pub(super) fn is(&self, holds: impl Fn(&str) -> bool) -> Predicate {
        let step = |steps: i64| NumericExpr::steps(steps, self.scalar.kind, self.scalar.grid.clone());
        let compare =
            |comparison, number: i64| Predicate::Steps { left: self.scalar.clone(), comparison, right: step(number) };
        let mut runs: Vec<[i64; 2]> = Vec::new();
        let mut goes_on = false;
        for (number, text) in &self.labels {
            let held = holds(text);
            match runs.last_mut() {
                Some(run) if held && goes_on => run[1] = *number,
                _ if held => runs.push([*number, *number]),
                _ => {}
            }
            goes_on = held;
        }
        let known = || compare(Comparison::GreaterOrEqual, self.scalar.low);
        let run = |[first, last]: [i64; 2]| match first == last {
            true => compare(Comparison::Equal, first),
            false => {
                Predicate::all(vec![compare(Comparison::GreaterOrEqual, first), compare(Comparison::LessOrEqual, last)])
            }
        };
        match runs.as_slice() {
            // Of no value it is false, and of no known value unknown.
            [] => known().negation(),
            [[first, last]]
                if [self.labels.first(), self.labels.last()].map(|end| end.map(|(number, _)| number))
                    == [Some(first), Some(last)] =>
            {
                known()
            }
            _ => Predicate::any(runs.into_iter().map(run).collect()),
        }
    }
}

/// Text of digits as the number that it says: null where there is no text. Nothing if one text is no number.
pub(super) fn as_numbers(Labelled { scalar, labels }: &Labelled) -> Option<Result<NumericExpr, TooLarge>> {
    // More digits than this would not fit the ranges of expressions.
    let number = |text: &str| text.trim_matches(' ').parse::<i32>().ok().map(i64::from);
    let new = labels.iter().map(|(old, text)| Some((*old, number(text)?))).collect::<Option<Vec<_>>>()?;
    if scalar.grid == RBig::ONE && new.iter().all(|(old, new)| old == new) {
        return Some(Ok(NumericExpr { kind: Kind::Integer, ..scalar.clone() }));
    }
    let whole = |steps: i64| NumericExpr::steps(steps, Kind::Integer, RBig::ONE);
    let branches = new.into_iter().map(|(old, new)| {
        let old = NumericExpr::steps(old, scalar.kind, scalar.grid.clone());
        (Predicate::Steps { left: scalar.clone(), comparison: Comparison::Equal, right: old }, whole(new))
    });
    Some(NumericExpr::case(branches.collect(), None))
}

/// The same with other numbers: where the numbers are those of a CASE, it has the new ones.
pub(super) fn renumbered(scalar: NumericExpr, new: &[(i64, i64)]) -> Result<NumericExpr, TooLarge> {
    let number = |old: i64| new.iter().find(|(number, _)| *number == old).map_or(old, |(_, new)| *new);
    let whole = |steps: i64| NumericExpr::steps(steps, Kind::Integer, RBig::ONE);
    if let Node::Case { branches, otherwise: None } = &scalar.node
        && branches.iter().all(|(_, value)| matches!(value.node, Node::Constant(_) | Node::Null))
    {
        let branch = |(condition, value): &(Predicate, NumericExpr)| match value.node {
            Node::Constant(old) => (condition.clone(), whole(number(old))),
            _ => (condition.clone(), value.clone()),
        };
        return NumericExpr::case(branches.iter().map(branch).collect(), None);
    }
    let changed = new.iter().filter(|(old, new)| old != new).map(|(old, new)| {
        let equal = Predicate::Steps { left: scalar.clone(), comparison: Comparison::Equal, right: whole(*old) };
        (equal, whole(*new))
    });
    NumericExpr::case(changed.collect(), Some(scalar.clone()))
}

/// Words with a capital first, as INITCAP has them.
fn capitalised(text: &str) -> String {
    let mut inside = false;
    let letter = |letter: char| {
        let changed = if inside { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() };
        inside = letter.is_alphanumeric();
        changed
    };
    text.chars().map(letter).collect()
}
