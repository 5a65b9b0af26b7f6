//! `taximeter dataset suggest-bounds`: bounds of a column, from a noisy histogram that is paid for.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::Rounding;
use taximeter_gate::{AnswerDocument, ColumnType, Price, SuggestedBounds};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{QuestionOutcome, QuestionRequest};

use crate::args::flag;
use crate::gate::GateArgs;
use crate::gate::ask::print_outcome;
use crate::output::{Failure, print, usage};

#[derive(Args)]
pub struct SuggestArgs {
    /// The dataset
    name: String,
    /// The column, which holds integer, real or decimal numbers
    #[arg(long)]
    column: String,
    /// What is paid for the histogram
    #[arg(long)]
    epsilon: String,
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Serialize)]
struct SuggestedDocument {
    column: String,
    /// Null if no bucket surely has rows.
    bounds: Option<SuggestedBounds>,
    key: String,
}

pub fn run(SuggestArgs { name, column, epsilon, gate }: &SuggestArgs) -> Result<ExitCode, Failure> {
    let (backend, dataset) = (gate.backend()?, AccountName::parse(name)?);
    let declared = backend.dataset(&dataset)?.schema;
    let Some(found) = declared.columns.iter().find(|other| other.name.eq_ignore_ascii_case(column)) else {
        let names: Vec<&str> = declared.columns.iter().map(|column| column.name.as_str()).collect();
        return Err(usage(format!("column {column:?} not found; the columns are {}", names.join(", "))));
    };
    // A dataset that is registered has all its types.
    let kind = found.kind.unwrap_or(ColumnType::Text);
    let request = QuestionRequest {
        question: SuggestedBounds::question(name, &found.name, kind)?,
        dataset,
        price: Price::Epsilon(flag("--epsilon", epsilon, Rounding::Up)?),
        weights: Default::default(),
        clamp: false,
        max_groups_per_unit: None,
        count_clamped: false,
        account: None,
        joined_account: None,
        reuse: false,
    };
    let key = Key::generate()?;
    let document = match backend.ask(&request, None, &key)? {
        QuestionOutcome::Answered { document, .. } => document,
        other => return print_outcome(other, &key, gate.ledger.json),
    };
    let bounds = SuggestedBounds::from_answer(&AnswerDocument::read(&document)?, kind);
    let suggested = SuggestedDocument { column: found.name.clone(), bounds, key: key.to_string() };
    print(gate.ledger.json, &suggested, || text(&suggested, epsilon))
}

fn text(SuggestedDocument { column, bounds, .. }: &SuggestedDocument, epsilon: &str) -> String {
    match bounds {
        Some(bounds) => format!(
            "{column}: nearly all values are from {} to {}; declare them with --bounds {column}={bounds} and --new-version",
            bounds.low, bounds.high
        ),
        None => format!("{column}: the noise is larger than every bucket; use an epsilon above {epsilon}"),
    }
}
