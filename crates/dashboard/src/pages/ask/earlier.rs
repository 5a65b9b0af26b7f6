//! One's own earlier answers, newest first.

use maud::{Markup, html};
use taximeter_gate::question_in_note;
use taximeter_ledger::Charge;
use taximeter_service::words::show_costs;
use taximeter_service::{AnswerDocument, OwnAnswer, Problem};

use super::answer;
use crate::table::Table;
use crate::visitor::Visitor;
use crate::words::time;

/// A table of earlier answers, with a link to those before them.
pub(super) async fn earlier(visitor: &Visitor, before: Option<&str>) -> Result<Markup, Problem> {
    let (answers, next) = visitor.caller.answers(before).await?;
    let table = Table::new("Earlier answers", "Your earlier answers")
        .column(
            "Asked",
            "whole",
            |asked: &OwnAnswer| html! { @match &asked.time { Some(text) => (time(text)), None => "–" } },
        )
        .column("Dataset", "wrap", |asked| html! { (asked.dataset) })
        .column("Question", "question whole", |asked| html! { code { (question(asked)) } })
        .column("Cost", "nowrap", |asked| html! { (asked.charge.as_ref().map_or("–".to_string(), paid)) })
        .column("Answer", "", |asked| match asked.document {
            Some(_) => html! { a href=(answer::path(&asked.key)) aria-label={ "Answer to " (asked.key) } { "Answer" } },
            None => html! { "charged, no answer" },
        });
    Ok(html! {
        div #earlier data-live {
            @if answers.is_empty() {
                p.quiet-text { @if before.is_some() { "There are none before these." } @else { "You have none yet." } }
            } @else {
                p.help { "Newest first. Looking at an answer again costs nothing." }
                (table.rows(&answers))
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

fn paid(charge: &Charge) -> String {
    show_costs(charge.costs())
}

/// The question: all of it if there is an answer, and otherwise as much as the journal's note has.
fn question(asked: &OwnAnswer) -> String {
    let answer = asked.document.as_ref().and_then(|document| AnswerDocument::read(document).ok());
    let note = asked.charge.as_ref().and_then(|charge| charge.note()).map_or("–", |note| note.as_str());
    answer.map_or_else(
        || question_in_note(note).map_or(note, |(_, question)| question).to_string(),
        |answer| answer.question,
    )
}
