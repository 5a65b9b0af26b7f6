//! From an analyst's SQL to a question, or to the character where it stops being one.
//!
//! Two sieves, one after the other. *Tokens* are let through only if a question can be made of them: that is where
//! comments, casts, arithmetic, functions and every keyword that is not ours end, before the parser sees them, so that
//! what is left of its dialects is the little that we mean. *Syntax nodes* are then taken apart with every field named:
//! a part that a later version of the parser adds does not compile until someone has looked at it.

mod clauses;
mod keywords;
mod limits;
mod literal;
mod outputs;
mod predicate;
mod reader;
mod screen;
mod tokens;

#[cfg(test)]
mod tests;

use super::Question;
use crate::error::Error;
use crate::schema::Schema;

use reader::Reader;
use tokens::Tokens;

/// Reads a question about a dataset of this name, and checks it against the schema.
pub(super) fn parse(text: &str, dataset: &str, schema: &Schema) -> Result<Question, Error> {
    let tokens = Tokens::read(text)?.screened(dataset, schema)?;
    let query = tokens.query()?;
    Reader { tokens: &tokens, dataset, schema }.question(&query)
}
