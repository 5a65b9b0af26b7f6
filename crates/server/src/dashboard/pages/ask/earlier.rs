//! One's own earlier answers, newest first.

use std::sync::Arc;

use maud::{Markup, html};
use serde::Deserialize;
use taximeter_accounting::Cost;
use taximeter_api::words::{show_cost, show_costs};

use super::answer;
use super::kept::{self, Asked};
use crate::dashboard::table::{Head, cards};
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::time;
use crate::failure::Failure;
use crate::state::State;

const HEADS: [&str; 5] = ["Asked", "Dataset", "Question", "Cost", "Answer"];

/// A table of earlier answers, with a link to those before them.
pub(super) async fn earlier(state: &Arc<State>, visitor: &Visitor, before: Option<&str>) -> Result<Markup, Failure> {
    let (answers, next) = kept::part(state, visitor, before).await?;
    let rows = html! { @for asked in &answers { (row(asked)) } };
    Ok(html! {
        div #earlier data-live {
            @if answers.is_empty() {
                p.quiet-text { @if before.is_some() { "There are none before these." } @else { "You have none yet." } }
            } @else {
                p.help { "Newest first. Looking at an answer again costs nothing." }
                (cards("", "Earlier answers", "Your earlier answers", &HEADS.map(Head::Text), &rows))
            }
            p.actions {
                @if before.is_some() { a href="/ask#earlier-heading" { "Newest" } }
                @if let Some(next) = next { a #more href=(more(&next)) { "Earlier ones" } }
            }
        }
    })
}

fn more(key: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("before", key).finish();
    format!("/ask?{query}#earlier-heading")
}

/// What a list tells about an answer.
#[derive(Deserialize)]
struct Brief {
    question: String,
    cost: Cost,
}

fn row(asked: &Asked) -> Markup {
    let brief = asked.document.as_ref().and_then(|document| serde_json::from_str::<Brief>(document).ok());
    let costs = asked.charge.as_ref().map(|charge| show_costs(charge.costs()));
    html! {
        tr {
            td.whole data-label="Asked" { @match &asked.time { Some(text) => (time(text)), None => "–" } }
            td.wrap data-label="Dataset" { (asked.dataset) }
            td.question.whole data-label="Question" { code { @match &brief { Some(brief) => (brief.question), None => (noted(asked)) } } }
            td.nowrap data-label="Cost" {
                @match (&brief, costs) {
                    (Some(brief), _) => (show_cost(&brief.cost)),
                    (None, Some(costs)) => (costs),
                    (None, None) => "–",
                }
            }
            td {
                @match asked.document {
                    Some(_) => a href=(answer::path(&asked.key)) aria-label={ "Answer to " (asked.key) } { "Answer" },
                    None => "charged, no answer",
                }
            }
        }
    }
}

/// As much of a question as the journal's note has.
fn noted(asked: &Asked) -> &str {
    let note = asked.charge.as_ref().and_then(|charge| charge.note()).map_or("–", |note| note.as_str());
    note.split_once(": ").map_or(note, |(_, question)| question)
}
