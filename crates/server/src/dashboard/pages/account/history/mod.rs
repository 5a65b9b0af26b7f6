//! What happened to an account, newest first, page by page, with a filter.

mod filter;
mod search;

use std::sync::Arc;

use maud::{Markup, html};
use taximeter_api::words::{show_costs, thousands};
use taximeter_api::{AccountDocument, RecordDocument};
use taximeter_ledger::AccountName;

pub(super) use self::filter::Asked;
use self::filter::{Filter, WHATS};
use self::search::{Part, find};
use crate::dashboard::table::{Head, cards};
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::{account_link, account_path, count, percent, reading, time};
use crate::failure::Failure;
use crate::state::State;
use crate::trails::Trail;

/// The panel with one page of the history.
pub(super) async fn panel(
    state: &Arc<State>,
    visitor: &Visitor,
    account: &AccountDocument,
    trail: Option<&Trail>,
    asked: Asked,
) -> Result<Markup, Failure> {
    let name = &account.account;
    let (filter, start) = asked.read()?;
    let part = find(state, visitor, account, trail, &filter, start).await?;
    Ok(html! {
        section.panel #history-panel aria-labelledby="history" {
            h2 #history { "History" }
            (form(name, &filter))
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

fn form(name: &AccountName, filter: &Filter) -> Markup {
    html! {
        details #history-filter open[filter.is_set()] {
            summary { "Filter" }
            form.filter method="get" action={ (account_path(name)) "#history" } {
                div.row {
                    div.field {
                        label for="what" { "What" }
                        select #what name="what" {
                            option value="" { "everything" }
                            @for (what, words) in WHATS {
                                option value=(what) selected[filter.what.as_deref() == Some(what)] { (words) }
                            }
                        }
                    }
                    (field("by", "By", filter.by.as_deref().unwrap_or_default()))
                    (field("note", "Words in the note", filter.note.as_deref().unwrap_or_default()))
                    (number("from", "From record", filter.from))
                    (number("to", "To record", filter.to))
                }
                div.actions {
                    button.quiet { "Show these" }
                    @if filter.is_set() { a href={ (account_path(name)) "#history" } { "Show everything" } }
                }
            }
        }
    }
}

fn field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field { label for=(name) { (label) } input id=(name) name=(name) value=(value) autocomplete="off" spellcheck="false"; }
    }
}

fn number(name: &str, label: &str, value: Option<u64>) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) name=(name) type="number" min="0" step="1" value=[value] autocomplete="off";
        }
    }
}

const HEADS: [Head<'_>; 8] = [
    Head::Number("Record"),
    Head::Text("Time"),
    Head::Text("What"),
    Head::Text("By"),
    Head::Text("Note"),
    Head::Number("Reading, ε"),
    Head::Number("Left"),
    Head::Text("Receipt"),
];

fn table(name: &AccountName, part: &Part) -> Markup {
    let rows = html! { @for record in &part.records { (line(name, record)) } };
    html! {
        @if !part.records.is_empty() {
            (cards("history", "History", &format!("What happened to {name}, newest first"), &HEADS, &rows))
        }
    }
}

fn line(name: &AccountName, record: &RecordDocument) -> Markup {
    let receipt = format!("{}/receipts/{}.json", account_path(name), record.sequence);
    html! {
        tr {
            th.number scope="row" data-label="Record" { (record.sequence) }
            td.whole data-label="Time" { (time(&record.time)) }
            td.wrap.whole data-label="What" { (what(name, record)) }
            td.wrap data-label="By" {
                @match &record.by {
                    Some(by) => a href=(path_by(name, by.as_str())) { (by) },
                    None => "–",
                }
            }
            td.wrap data-label="Note" { @if let Some(note) = &record.note { (note) } @else { "–" } }
            td.number data-label="Reading, ε" { (reading(record.reading.map(|reading| reading.0))) }
            td.number data-label="Left" { (record.left.map_or_else(|| "–".to_string(), |left| percent(left.0))) }
            td data-label="Receipt" { a href=(receipt) download aria-label={ "receipt of record " (record.sequence) } { "JSON" } }
        }
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
