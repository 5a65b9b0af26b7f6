//! A question tried on made-up rows: what its answer would look like.

use maud::{Markup, html};
use taximeter_service::Problem;
use taximeter_service::words::{grouped, show_cost};

use super::answer::numbers;
use super::form;
use super::noise::noise;
use super::stored::{groups, series};
use crate::form_data::FormData;
use crate::visitor::Visitor;

/// The answer from made-up rows. Charges nothing and touches no data.
pub(super) async fn tried(visitor: &Visitor, fields: &FormData) -> Result<Markup, Problem> {
    let answer = visitor.caller.ask_dummy(form::request(fields)?, None).await?;
    let groups = groups(&answer.columns);
    Ok(html! {
        p.caution {
            strong { "Made up: " }
            "these numbers come from " (grouped(&answer.dummy_rows.to_string()))
            " made-up rows and say nothing about the data. Nothing was charged."
        }
        pre { code { (answer.question) } }
        p { "Asked of the data, it would cost " strong { (show_cost(&answer.cost)) } "." }
        @for step in &answer.post_processing { p.help { "Afterwards: " (step) "." } }
        @for series in &series(&answer.columns, &answer.rows) { (numbers(series, &groups)) }
        (noise("Within ±", answer.measured_parts()))
    })
}
