//! Questions tried on made-up rows: nothing is charged, and no data are touched.
//!
//! The rows follow from the declaration alone, and the noise from the question, so that the same question has the same made-up answer.
//! Everything else is what a real answer has: the plan, its noise, and the intervals.

mod rows;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use taximeter_accounting::Cost;
use taximeter_ledger::{AccountName, Computed};
use taximeter_noise::Randomness;

use self::rows::made_up_rows;
use crate::answer::{self, Noisy};
use crate::catalog::Catalog;
use crate::declaration::Declaration;
use crate::document::{AnswerColumn, Cell, JoinedVersion, MeasuredPart, each_once};
use crate::engine::{Embedded, Source};
use crate::error::Error;
use crate::plan::MISS;
use crate::request::{Prepared, Request};

/// The most values that are made up for one answer, so that it takes a few seconds at most.
const MOST_VALUES: usize = 1_000_000;

/// An answer to a question from rows that are made up. It says nothing about the data, and nothing was charged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DummyAnswer {
    /// Always true: all numbers are made up.
    pub dummy: bool,
    /// From how many made-up rows.
    pub dummy_rows: u32,
    /// The dataset.
    pub dataset: AccountName,
    /// The version of the dataset whose declaration it was made from.
    pub version: u32,
    /// The other dataset that the question joins, and its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinedVersion>,
    /// The question in one way of writing.
    pub question: String,
    /// What would be protected.
    pub protects: String,
    /// How often an interval holds the number without noise.
    pub confidence: Computed,
    /// The columns, each with how its noise was made.
    pub columns: Vec<AnswerColumn>,
    /// Numbers that would be paid for and that no column shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_parts: Vec<MeasuredPart>,
    /// The rows: a group's value, or a number with its interval.
    pub rows: Vec<Vec<Cell>>,
    /// What was done to the noisy numbers afterwards, in words.
    pub post_processing: Vec<String>,
    /// What the question would cost.
    pub cost: Cost,
}

impl DummyAnswer {
    /// The number of made-up rows, unless another is wanted.
    pub const ROWS: u32 = 1000;
    /// The most made-up rows.
    pub const MOST_ROWS: u32 = 100_000;

    /// The numbers with noise, each once.
    pub fn measured_parts(&self) -> Vec<&MeasuredPart> {
        each_once(&self.columns, &self.other_parts)
    }

    /// Answers a question from made-up rows. It gets the gate's records, and has no way to the data.
    pub fn new(catalog: &Catalog, request: &Request, rows: u32) -> Result<DummyAnswer, Error> {
        check(rows)?;
        let mut prepared = Prepared::new(catalog, request)?;
        let failed = |why: String| Error::input("question", format!("it cannot be tried on made-up rows: {why}"));
        let columns: usize = prepared.datasets().map(|dataset| dataset.schema.columns.len()).sum();
        let most = MOST_VALUES / columns.max(1);
        if rows as usize > most {
            let needs = format!("with {columns} columns there are at most {most} made-up rows");
            return Err(Error::value("number of rows", rows, needs));
        }
        // Which groups of a unit count is decided by a secret of the dataset, which is not for made-up rows.
        for limit in prepared.question.queries.iter_mut().filter_map(|query| query.group_limit.as_mut()) {
            limit.key = "made up".to_string();
        }
        let mut engine = Embedded::in_memory().map_err(failed)?;
        let other = prepared.joined.as_mut().map(|joined| &mut joined.dataset);
        for (dataset, is_joined) in [(Some(&mut prepared.dataset), false), (other, true)] {
            let Some(dataset) = dataset else { continue };
            engine.fill(&dataset.schema, is_joined, made_up_rows(&dataset.schema, rows)).map_err(failed)?;
            // From here on, the statements are those for the rows in memory.
            dataset.source = Source::Embedded { file: PathBuf::new() };
        }
        let Prepared { dataset, question, plan, .. } = &prepared;
        let until = Instant::now() + prepared.timeout();
        // The same question has the same noise: there is nothing to protect.
        let seed = blake3::hash(prepared.hash.as_bytes());
        let seed = u64::from_le_bytes(*seed.as_bytes().first_chunk().expect("a hash has 32 bytes"));
        let noisy =
            Noisy::drawn_from(Randomness::repeatable(seed), question, plan, prepared.clamp, |query, plan, asked| {
                prepared.statements(query, plan, asked).run(&mut engine, until)
            });
        let Noisy { rows: answered, post_processing } = noisy.map_err(failed)?;
        Ok(DummyAnswer {
            dummy: true,
            dummy_rows: rows,
            dataset: dataset.name.clone(),
            version: dataset.version,
            joined: prepared.joined(),
            question: prepared.canonical.clone(),
            protects: dataset.schema.privacy()?.to_string(),
            confidence: Computed(1.0 - MISS),
            columns: answer::columns(question, plan, &question.schema),
            other_parts: answer::other_parts(question, plan, &question.schema),
            rows: answered,
            post_processing,
            cost: plan.total,
        })
    }
}

/// Made-up rows of a declaration with all types, as the lines of a CSV file, the first with the names of the columns.
pub fn dummy_csv(declaration: &Declaration, rows: u32) -> Result<impl Iterator<Item = String> + use<>, Error> {
    check(rows)?;
    let schema = declaration.with_types()?;
    let names: Vec<String> = schema.columns().iter().map(|column| column.name().to_string()).collect();
    let values = made_up_rows(&schema, rows).map(|row| row.iter().map(|value| value.plain()).collect());
    Ok(std::iter::once(names).chain(values).map(|fields| line(&fields)))
}

fn check(rows: u32) -> Result<(), Error> {
    match (1..=DummyAnswer::MOST_ROWS).contains(&rows) {
        true => Ok(()),
        false => {
            let needs = format!("it must be between 1 and {}", DummyAnswer::MOST_ROWS);
            Err(Error::value("number of rows", rows, needs))
        }
    }
}

/// A line of a CSV file, with quotes where they are needed.
fn line(fields: &[String]) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(fields).expect("memory takes everything");
    let line = writer.into_inner().expect("memory takes everything");
    String::from_utf8(line).expect("fields are text")
}
