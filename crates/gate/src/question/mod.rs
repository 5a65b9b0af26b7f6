//! The language of questions: what is left of an analyst's SQL once it is understood. Nothing else reaches an engine.

mod parse;

use std::fmt::{Display, Write as _};

use crate::schema::{Schema, Value};

/// A question that was understood: only columns of the schema, and literals of their types.
///
/// Columns are named by their place in the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is asked for, in the order of the answer's columns; at least one aggregate.
    pub(crate) outputs: Vec<Output>,
    /// Which rows count.
    pub(crate) filter: Option<Predicate>,
    /// The columns that it is grouped by, each with declared categories.
    pub(crate) groups: Vec<usize>,
    /// How the noisy answer is sorted: outputs by their place.
    pub(crate) order: Vec<OrderKey>,
    /// How many rows of the noisy answer are shown.
    pub(crate) limit: Option<u64>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// Its name in the answer: the alias, or the column or aggregate itself, such as `COUNT(*)`.
    pub(crate) name: String,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The value of a grouped column, by its place in [`Question::groups`].
    Group(usize),
    /// A noisy number.
    Aggregate(Aggregate),
}

/// What is counted or summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// `COUNT(*)`.
    Rows,
    /// `COUNT(column)`: rows where it is not null.
    NonNull(usize),
    /// `COUNT(DISTINCT unit)`; only with a unit column.
    Units,
    /// `SUM(column)`; only with declared bounds.
    Sum(usize),
    /// `AVG(column)`; only with declared bounds.
    Average(usize),
}

/// Which rows count, with the three-valued logic of SQL. No part of it can fail on any row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    /// A column compared with a literal of the column's own type.
    Compare {
        column: usize,
        comparison: Comparison,
        value: Value,
    },
    /// `column IN (…)`, at least one literal, all of the column's own type.
    In {
        column: usize,
        values: Vec<Value>,
        negated: bool,
    },
    /// `column LIKE 'pattern'`, case-sensitive, no escapes; only on text.
    Like {
        column: usize,
        pattern: String,
        negated: bool,
    },
    /// `column IS NULL`.
    IsNull {
        column: usize,
        negated: bool,
    },
    /// At least two.
    And(Vec<Predicate>),
    /// At least two.
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderKey {
    /// The place in [`Question::outputs`].
    pub(crate) output: usize,
    pub(crate) descending: bool,
}

impl Comparison {
    /// Every one.
    #[cfg(test)]
    pub(crate) const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl Question {
    /// Reads a question about a dataset of this name, and checks it against the schema.
    pub fn parse(text: &str, dataset: &str, schema: &Schema) -> Result<Question, crate::Error> {
        parse::parse(text, dataset, schema)
    }

    /// The question in one way of writing: two questions that are the same are written the same.
    pub(crate) fn canonical(&self, dataset: &str, schema: &Schema) -> String {
        let column = |at: usize| quoted(&schema.columns[at].name);
        let outputs = self.outputs.iter().map(|output| {
            let content = match output.content {
                Content::Group(at) => column(self.groups[at]),
                Content::Aggregate(aggregate) => aggregate.canonical(schema),
            };
            format!("{content} AS {}", quoted(&output.name))
        });
        let mut text = format!("SELECT {} FROM {}", commas(outputs), quoted(dataset));
        if let Some(filter) = &self.filter {
            text += &format!(" WHERE {}", filter.canonical(schema));
        }
        if !self.groups.is_empty() {
            text += &format!(" GROUP BY {}", commas(self.groups.iter().map(|at| column(*at))));
        }
        if !self.order.is_empty() {
            let key = |key: &OrderKey| format!("{}{}", key.output + 1, if key.descending { " DESC" } else { "" });
            text += &format!(" ORDER BY {}", commas(self.order.iter().map(key)));
        }
        if let Some(limit) = self.limit {
            let _ = write!(text, " LIMIT {limit}");
        }
        text
    }
}

impl Aggregate {
    pub(crate) fn canonical(self, schema: &Schema) -> String {
        self.written(schema, quoted)
    }

    /// As a question writes it, with the names of columns written so.
    fn written(self, schema: &Schema, name: impl Fn(&str) -> String) -> String {
        let column = |at: usize| name(&schema.columns[at].name);
        match self {
            Aggregate::Rows => "COUNT(*)".to_string(),
            Aggregate::NonNull(at) => format!("COUNT({})", column(at)),
            Aggregate::Units => {
                format!("COUNT(DISTINCT {})", column(schema.unit_column().expect("units are counted by their column")))
            }
            Aggregate::Sum(at) => format!("SUM({})", column(at)),
            Aggregate::Average(at) => format!("AVG({})", column(at)),
        }
    }
}

impl Predicate {
    fn canonical(&self, schema: &Schema) -> String {
        let column = |at: usize| quoted(&schema.columns[at].name);
        let not = |negated: bool| if negated { "NOT " } else { "" };
        let parts = |parts: &[Predicate], word: &str| {
            let parts: Vec<_> = parts.iter().map(|part| part.canonical(schema)).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Predicate::Compare { column: at, comparison, value } => {
                format!("{} {} {value}", column(*at), comparison.symbol())
            }
            Predicate::In { column: at, values, negated } => {
                format!("{} {}IN ({})", column(*at), not(*negated), commas(values))
            }
            Predicate::Like { column: at, pattern, negated } => {
                format!("{} {}LIKE '{}'", column(*at), not(*negated), pattern.replace('\'', "''"))
            }
            Predicate::IsNull { column: at, negated } => format!("{} IS {}NULL", column(*at), not(*negated)),
            Predicate::And(all) => parts(all, " AND "),
            Predicate::Or(any) => parts(any, " OR "),
            // These have their own parentheses.
            Predicate::Not(inner) if matches!(**inner, Predicate::And(_) | Predicate::Or(_)) => {
                format!("NOT {}", inner.canonical(schema))
            }
            Predicate::Not(inner) => format!("NOT ({})", inner.canonical(schema)),
        }
    }
}

/// An identifier in double quotes, as both engines read it.
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
