//! From an analyst's SQL to a question, or to the character where it stops being one.
//!
//! Three steps. *Tokens* are let through only if a question can be made of them, so that what is left of the parser's dialects is what
//! we mean. *Names* are then written in one way, so that equal expressions are equal trees. *Syntax nodes* are taken apart with
//! every field named: a part that a later version of the parser adds does not compile until someone has looked at it.

mod aggregates;
mod clauses;
mod contents;
mod division;
mod formats;
mod functions;
mod groupings;
mod groups;
mod inline;
mod joins;
mod keywords;
mod labels;
mod limits;
mod literal;
mod named_windows;
mod names;
mod patterns;
mod places;
mod predicate;
mod reader;
mod scalar;
mod scope;
mod screen;
mod sorting;
mod spans;
mod terms;
mod text;
mod tokens;
mod walk;
mod windows;
mod written;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::Question;
use super::private::PrivateTable;
use crate::error::Error;
use crate::public::PublicTable;
use crate::schema::Schema;

use reader::Reader;
use scope::SchemaView;
use tokens::QuestionTokens;

/// Reads a question about a dataset of this name that may join public tables and other datasets, and checks it against the schema.
pub(super) fn parse(
    text: &str,
    dataset: &str,
    schema: &Schema,
    public: &[Arc<PublicTable>],
    private: &[Arc<PrivateTable>],
) -> Result<Question, Error> {
    let mut view = SchemaView::new(dataset, schema, public, private);
    let tokens = QuestionTokens::read(text)?.screened(dataset, &|word| view.is_name(word))?;
    let query = named_windows::written_out(tokens.query()?, &tokens)?;
    let query = inline::inlined(query, &tokens, &|name| view.is_table(name))?;
    let query = names::written_in_one_way(query, &mut view);
    let reader = Reader::new(&tokens, &view);
    let mut question = reader.question(&query)?;
    question.canonical = written::written(&query);
    Ok(question)
}
