//! What happened to an account, newest first, page by page, with a filter.

mod filter;
mod search;

use maud::{Markup, html};
use taximeter_gate::question_in_note;
use taximeter_ledger::AccountName;
use taximeter_service::timelines::Timeline;
use taximeter_service::words::{show_costs, thousands};
use taximeter_service::{AccountDocument, Problem, RecordDocument};

use self::filter::{Filter, WHATS};
use self::search::{Part, find};
use crate::fields::Fields;
use crate::form::{Input, choice};
use crate::table::Table;
use crate::visitor::Visitor;
use crate::words::{account_link, account_path, count, percent, reading, time};

/// The panel with one page of the history.
pub(super) async fn panel(
    visitor: &Visitor,
    account: &AccountDocument,
    timeline: Option<&Timeline>,
    asked: &Fields,
) -> Result<Markup, Problem> {
    let name = &account.account;
    let (filter, start) = Filter::read(asked)?;
    let part = find(visitor, account, timeline, &filter, start).await?;
    Ok(html! {
        section.panel #history-panel aria-labelledby="history" {
            h2 #history { "History" }
            (form(name, &filter, asked))
            div #records data-live {
                (table(name, &part))
                (pages(name, &filter, &part, start.is_some()))
            }
            p { a href={ (account_path(name)) "/history.jsonl" } { "Download the whole history" } " as lines of JSON" }
        }
    })
}

/// The path of the history of what somebody did.
pub(super) fn path_by(name: &AccountName, by: &str) -> String {
    Filter { by: Some(by.to_string()), ..Filter::default() }.path(name, None)
}

fn form(name: &AccountName, filter: &Filter, filled: &Fields) -> Markup {
    html! {
        details #history-filter open[filter.is_set()] {
            summary { "Filter" }
            form.filter method="get" action={ (account_path(name)) "#history" } {
                div.row {
                    (choice("what", "What", WHATS, filter.what.as_deref(), ""))
                    (Input::new("by", "By", filled))
                    (Input::new("note", "Words in the note", filled))
                    (Input::new("from", "From record", filled))
                    (Input::new("to", "To record", filled))
                }
                div.actions {
                    button.quiet { "Show these" }
                    @if filter.is_set() { a href={ (account_path(name)) "#history" } { "Show everything" } }
                }
            }
        }
    }
}

fn table(name: &AccountName, part: &Part) -> Markup {
    let by = |record: &RecordDocument| match &record.by {
        Some(by) => html! { a href=(path_by(name, by.as_str())) { (by) } },
        None => html! { "–" },
    };
    let receipt = |record: &RecordDocument| {
        let path = format!("{}/receipts/{}.json", account_path(name), record.sequence);
        html! { a href=(path) download aria-label={ "receipt of record " (record.sequence) } { "JSON" } }
    };
    let left = |record: &RecordDocument| record.left.map_or_else(|| "–".to_string(), |left| percent(left.0));
    let caption = format!("What happened to {name}, newest first");
    let table = Table::new("History", &caption)
        .class("history cards")
        .row_head("Record", "number", |record: &RecordDocument| html! { (record.sequence) })
        .column("Time", "whole", |record| time(&record.time))
        .column("What", "wrap whole", |record| what(name, record))
        .column("By", "wrap", by)
        .column("Note", "wrap", |record| note(record.note.as_ref().map_or("–", |note| note.as_str())))
        .column("Reading, ε", "number", |record| html! { (reading(record.reading.map(|reading| reading.0))) })
        .column("Left", "number", |record| html! { (left(record)) })
        .column("Receipt", "", receipt);
    html! { @if !part.records.is_empty() { (table.rows(&part.records)) } }
}

/// A note. Of a question it shows the SQL, with the hash that ties the charge to it behind a detail.
fn note(text: &str) -> Markup {
    match question_in_note(text) {
        Some((hash, question)) => html! {
            code { (question) }
            details { summary { "Hash" } code { (hash) } }
        },
        None => html! { (text) },
    }
}

/// What a record says that happened, with what was asked for.
fn what(name: &AccountName, record: &RecordDocument) -> Markup {
    let others: Vec<&AccountName> = record.accounts.iter().filter(|account| *account != name).collect();
    html! {
        strong { (record.what) }
        @if let Some(budget) = record.budget.as_ref() {
            ", budget ε = " (budget.epsilon) ", δ = " (budget.delta)
            @if let Some(rule) = &record.rule { ", filter " (rule) }
        }
        @if !record.costs.is_empty() { " of " (show_costs(&record.costs)) }
        @if !others.is_empty() {
            " on "
            @for (at, account) in others.iter().enumerate() { @if at > 0 { ", " } (account_link(account)) }
        }
    }
}

/// How far back this page goes, and where to go on.
fn pages(name: &AccountName, filter: &Filter, part: &Part, is_later_page: bool) -> Markup {
    html! {
        @if filter.is_set() {
            p.help {
                @if part.records.is_empty() { "None of the " } @else { (thousands(part.records.len() as u64)) " of the " }
                (count(part.looked, "record")) " that were looked at match. "
                @match part.next {
                    Some(next) => { "Number " (next) " and older ones were not looked at yet." },
                    None => "That is all.",
                }
            }
        } @else if part.records.is_empty() {
            p.quiet-text { "Nothing happened to it yet." }
        }
        nav.actions aria-label="Pages of the history" {
            @if is_later_page { a.button.quiet href=(filter.path(name, None)) { "Newest" } }
            @if let Some(next) = part.next {
                a.button.quiet href=(filter.path(name, Some(next))) { @if filter.is_set() { "Look further back" } @else { "Older" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_its_sql_and_its_hash_behind_a_detail() {
        let hash = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            (
                format!("question {hash}: SELECT COUNT(*) FROM t WHERE a < 3"),
                format!(
                    "<code>SELECT COUNT(*) FROM t WHERE a &lt; 3</code>\
                     <details><summary>Hash</summary><code>{hash}</code></details>"
                ),
            ),
            ("question 17: why?".to_string(), "question 17: why?".to_string()),
            ("mean income".to_string(), "mean income".to_string()),
        ] {
            assert_eq!(note(&text).into_string(), expected);
        }
    }
}
