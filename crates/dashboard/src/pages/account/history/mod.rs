//! The history of an account, newest first, in pages, with a filter.

mod filter;
mod search;

use maud::{Markup, html};
use taximeter_gate::question_in_note;
use taximeter_ledger::AccountName;
use taximeter_service::timelines::Timeline;
use taximeter_service::words::{counted, show_costs, thousands};
use taximeter_service::{AccountDocument, Problem, RecordDocument};

use self::filter::{EVENTS, HistoryFilter};
use self::search::{HistoryPage, find};
use crate::display::{account_link, account_path, percent, reading, time};
use crate::form::{TextField, choice};
use crate::form_data::FormData;
use crate::table::DataTable;
use crate::visitor::Visitor;

/// The panel with one page of the history.
pub(super) async fn panel(
    visitor: &Visitor,
    account: &AccountDocument,
    timeline: Option<&Timeline>,
    asked: &FormData,
) -> Result<Markup, Problem> {
    let name = &account.account;
    let (filter, start) = HistoryFilter::read(asked)?;
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

/// The path of the history filtered by one principal.
pub(super) fn path_by(name: &AccountName, by: &str) -> String {
    HistoryFilter { by: Some(by.to_string()), ..HistoryFilter::default() }.path(name, None)
}

fn form(name: &AccountName, filter: &HistoryFilter, filled: &FormData) -> Markup {
    html! {
        details #history-filter open[filter.is_set()] {
            summary { "Filter" }
            form.filter method="get" action={ (account_path(name)) "#history" } {
                div.row {
                    (choice("what", "What", EVENTS, filter.what.as_deref(), ""))
                    (TextField::new("by", "By", filled))
                    (TextField::new("note", "Words in the note", filled))
                    (TextField::new("from", "From record", filled))
                    (TextField::new("to", "To record", filled))
                }
                div.actions {
                    button.quiet { "Filter" }
                    @if filter.is_set() { a href={ (account_path(name)) "#history" } { "Show everything" } }
                }
            }
        }
    }
}

fn table(name: &AccountName, part: &HistoryPage) -> Markup {
    let by = |record: &RecordDocument| match &record.by {
        Some(by) => html! { a href=(path_by(name, by.as_str())) { (by) } },
        None => html! { "–" },
    };
    let receipt = |record: &RecordDocument| {
        if record.waits_for_witnesses {
            return html! { "waits for witnesses" };
        }
        let path = format!("{}/receipts/{}.json", account_path(name), record.sequence);
        html! { a href=(path) download aria-label={ "receipt of record " (record.sequence) } { "JSON" } }
    };
    let left = |record: &RecordDocument| record.left.map_or_else(|| "–".to_string(), |left| percent(left.0));
    let caption = format!("What happened to {name}, newest first");
    let table = DataTable::new("History", &caption)
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

/// A note. For a question it shows the SQL, and in a detail the hash that binds the charge to it.
fn note(text: &str) -> Markup {
    match question_in_note(text) {
        Some((hash, question)) => html! {
            code { (question) }
            details { summary { "Hash" } code { (hash) } }
        },
        None => html! { (text) },
    }
}

/// The event of a record, with its amounts.
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

/// How far back this page goes, with links to other pages.
fn pages(name: &AccountName, filter: &HistoryFilter, part: &HistoryPage, is_later_page: bool) -> Markup {
    html! {
        @if filter.is_set() {
            p.help {
                @if part.records.is_empty() { "None of the " } @else { (thousands(part.records.len() as u64)) " of the " }
                (counted(part.looked, "record", "records")) " searched match. "
                @match part.next {
                    Some(next) => { "Record " (next) " and older ones were not searched yet." },
                    None => "That is all.",
                }
            }
        } @else if part.records.is_empty() {
            p.quiet-text { "There are no records." }
        }
        nav.actions aria-label="Pages of the history" {
            @if is_later_page { a.button.quiet href=(filter.path(name, None)) { "Newest" } }
            @if let Some(next) = part.next {
                a.button.quiet href=(filter.path(name, Some(next))) { @if filter.is_set() { "Search further back" } @else { "Older" } }
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
