//! The visitor's own earlier answers, newest first.

use maud::{Markup, html};
use taximeter_gate::question_in_note;
use taximeter_ledger::Charge;
use taximeter_service::words::show_costs;
use taximeter_service::{AnswerDocument, OwnAnswer, Problem};

use super::answer;
use crate::display::{path_with, time};
use crate::table::DataTable;
use crate::visitor::Visitor;

/// A page of earlier answers, with a link to the next page.
pub(super) async fn earlier(visitor: &Visitor, before: Option<&str>) -> Result<Markup, Problem> {
    let (answers, next) = visitor.caller.answers(before).await?;
    let table = DataTable::new("Earlier answers", "Your earlier answers")
        .column(
            "Asked",
            "whole",
            |asked: &OwnAnswer| html! { @match &asked.time { Some(text) => (time(text)), None => "–" } },
        )
        .column("Dataset", "wrap", |asked| html! { (asked.dataset) })
        .column("Question", "question whole", |asked| html! { code { (question(asked)) } })
        .column("Cost", "nowrap", |asked| html! { (asked.charge.as_ref().map_or("–".to_string(), paid)) })
        .column("Answer", "", |asked| match asked.document {
            None if asked.waits_for_witnesses => html! { "waits for witnesses" },
            Some(_) => html! { a href=(answer::path(&asked.key)) aria-label={ "Answer to " (asked.key) } { "Answer" } },
            None => html! { "charged, no answer" },
        });
    Ok(html! {
        div #earlier data-live {
            @if answers.is_empty() {
                p.quiet-text { @if before.is_some() { "There are no earlier answers." } @else { "You have none yet." } }
            } @else {
                p.help { "Newest first. Viewing an answer again costs nothing." }
                (table.rows(&answers))
            }
            p.actions {
                @if before.is_some() { a href="/ask#earlier-heading" { "Newest" } }
                @if let Some(next) = next {
                    a #more href={ (path_with("/ask", "before", &next)) "#earlier-heading" } { "Earlier ones" }
                }
            }
        }
    })
}

fn paid(charge: &Charge) -> String {
    show_costs(charge.costs())
}

/// The question: in full if there is an answer, and otherwise the part in the journal's note.
fn question(asked: &OwnAnswer) -> String {
    let answer = asked.document.as_ref().and_then(|document| AnswerDocument::read(document).ok());
    let note = asked.charge.as_ref().and_then(|charge| charge.note()).map_or("–", |note| note.as_str());
    answer.map_or_else(
        || question_in_note(note).map_or(note, |(_, question)| question).to_string(),
        |answer| answer.question,
    )
}
