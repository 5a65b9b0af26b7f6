//! The page of an answer: its numbers as bars and as a table, their noise, and the charge.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use taximeter_gate::{AnswerDocument, PayingAccount};
use taximeter_service::words::{show_cost, show_scale};
use taximeter_service::{Code, OwnAnswer, Problem};

use super::bars::bars;
use super::noise::noise;
use super::stored::{AnswerPoint, Series, ShownEstimate, groups, series};
use crate::display;
use crate::extract::PathText;
use crate::gauge::gauge;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

const TITLE: &str = "Answer";

/// The most rows of a table; the document has all.
const MOST: usize = 500;

/// The path of an answer.
pub(super) fn path(key: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    // In a path a plus is a plus.
    format!("/answers/{}", encoded.replace('+', "%20"))
}

/// The visitor's own stored answer.
pub(super) async fn show(visitor: Visitor, PathText(key): PathText) -> Response {
    let content = async {
        let (asked, document) = answered(&visitor, &key).await?;
        Ok(content(&asked, &AnswerDocument::read(&document)?))
    };
    visitor.page(Section::Ask, TITLE, content.await)
}

/// The document, byte for byte as it was released.
pub(super) async fn download(visitor: Visitor, PathText(key): PathText) -> Response {
    match answered(&visitor, &key).await {
        Ok((_, document)) => {
            let headers = [
                (header::CONTENT_TYPE, "application/json"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"answer.json\""),
            ];
            (headers, document).into_response()
        }
        Err(failure) => visitor.page(Section::Ask, TITLE, Err(failure)),
    }
}

async fn answered(visitor: &Visitor, key: &str) -> Result<(OwnAnswer, String), Problem> {
    let mut asked = visitor.caller.own_answer_of(key).await?;
    match asked.document.take() {
        Some(document) => Ok((asked, document)),
        None => {
            let record = asked.sequence.map_or(String::new(), |sequence| format!(" (record {sequence})"));
            let detail = format!(
                "the question is charged{record}, and the charge stands, but there is no answer. The owner finds the reason in the log"
            );
            Err(Problem { sequence: asked.sequence, ..Problem::new(Code::NoAnswer, detail) })
        }
    }
}

fn content(asked: &OwnAnswer, answer: &AnswerDocument) -> Markup {
    let groups = groups(&answer.columns);
    html! {
        section.panel aria-labelledby="question-heading" {
            h2 #question-heading { "The question" }
            pre { code { (answer.question) } }
            dl.facts {
                dt { "Dataset" } dd { (answer.dataset) ", version " (answer.version) }
                @if let Some(time) = &asked.time { dt { "Asked" } dd { (display::time(time)) } }
                dt { "Protects" } dd { (answer.protects) }
            }
        }
        section.panel aria-labelledby="numbers-heading" {
            h2 #numbers-heading { "The answer" }
            p {
                "Every number has noise. In "
                (show_scale(answer.confidence.0 * 100.0))
                " of 100 answers the interval contains the number without noise. It does not say how well the data represent a population."
            }
            @for step in &answer.post_processing { p.help { "Afterwards: " (step) "." } }
            @for series in &series(&answer.columns, &answer.rows) { (numbers(series, &groups)) }
        }
        section.panel aria-labelledby="paid-heading" { (paid(asked, answer)) }
        section.panel aria-labelledby="noise-heading" {
            h2 #noise-heading { "The noise" }
            (noise("Within ±", answer.measured_parts()))
        }
        p { a.button href=(display::path_with("/ask", "dataset", answer.dataset.as_str())) { "Ask another question" } }
    }
}

/// One column of the answer: a single number, or groups as bars, and a table.
pub(super) fn numbers(series: &Series<'_>, groups: &[&str]) -> Markup {
    let name = &series.column.name;
    html! {
        h3 { (name) }
        @match series.points.as_slice() {
            [AnswerPoint { estimate: Some(estimate), .. }] if groups.is_empty() => {
                div.figures {
                    div { span.label { "Value" } span.value { (estimate.value.text) } }
                    div { span.label { "Within" } span.value { (estimate.within()) } }
                }
            }
            _ => {}
        }
        @if !series.has_no_bars { (bars(name, &series.points)) }
        (numbers_table(series, groups))
    }
}

fn numbers_table(series: &Series<'_>, groups: &[&str]) -> Markup {
    let name = series.column.name.as_str();
    let (label, caption) = (format!("Numbers of {name}"), format!("{name} with its interval"));
    let shown = |of: fn(&ShownEstimate) -> String| {
        let text = move |point: &AnswerPoint| point.estimate.as_ref().map_or_else(|| "too few rows".to_string(), of);
        move |point: &AnswerPoint| html! { (text(point)) }
    };
    let table = table_of_groups(&label, &caption, groups)
        .column(name, "number", shown(|estimate| estimate.value.text.clone()))
        .column("From", "number", shown(|estimate| estimate.end(0).to_string()))
        .column("To", "number", shown(|estimate| estimate.end(1).to_string()))
        .column("Within", "number", shown(ShownEstimate::within));
    html! {
        (table.rows(series.points.iter().take(MOST)))
        @if series.points.len() > MOST {
            p.help { "The first " (MOST) " of " (series.points.len()) " rows. The downloaded answer has all." }
        }
        (sums_and_counts(series, groups))
    }
}

/// A table of points that starts with the columns of their groups.
fn table_of_groups<'a>(label: &'a str, caption: &'a str, groups: &[&'a str]) -> DataTable<'a, AnswerPoint> {
    let table = DataTable::new(label, caption).class("numbers");
    groups.iter().enumerate().fold(table, |table, (at, group)| {
        table.row_head(group, "wrap", move |point: &AnswerPoint| html! { (point.group[at]) })
    })
}

/// The sums and counts of averages of too few rows.
fn sums_and_counts(series: &Series<'_>, groups: &[&str]) -> Markup {
    let is_known = |point: &&AnswerPoint| point.estimate.is_some() || point.sum_and_count.is_none();
    let unknown: Vec<&AnswerPoint> = series.points.iter().filter(|point| !is_known(point)).collect();
    let name = series.column.name.as_str();
    let (label, caption) = (format!("Sums and counts of {name}"), format!("The noisy sum and count of {name}"));
    let mut table = table_of_groups(&label, &caption, groups);
    for (head, at) in [("Sum", 0), ("Count", 1)] {
        let shown = move |of: fn(&ShownEstimate) -> &str| {
            move |point: &AnswerPoint| {
                html! { (point.sum_and_count.as_ref().map_or("not known", |parts| of(&parts[at]))) }
            }
        };
        table = table
            .column(head, "number", shown(|estimate| &estimate.value.text))
            .column("From", "number", shown(|estimate| estimate.end(0)))
            .column("To", "number", shown(|estimate| estimate.end(1)));
    }
    html! {
        @if !unknown.is_empty() {
            @if groups.is_empty() {
                p { "Too few rows to show the average with this noise. Its noisy sum and count are below." }
            } @else {
                p {
                    "Some groups have too few rows to show the average with this noise. Their noisy sums and counts are below."
                }
            }
            (table.rows(unknown.into_iter().take(MOST)))
        }
    }
}

/// The cost, the accounts that paid, and the receipt.
fn paid(asked: &OwnAnswer, answer: &AnswerDocument) -> Markup {
    html! {
        h2 #paid-heading { "What was paid" }
        div.figures { div { span.label { "Cost" } span.value { (show_cost(&answer.cost)) } } }
        p { "The accounts right after the charge:" }
        ol.quoted aria-label="Accounts that paid, from the root down" {
            @for account in &answer.accounts { li { (of_account(account)) } }
        }
        dl.facts {
            dt { "Record" } dd { (answer.receipt.sequence) }
            @if let Some(hash) = &answer.receipt.hash { dt { "Hash" } dd { code { (hash) } } }
            dt { "Key" } dd { code { (asked.key) } }
        }
        p { a.button.quiet download href={ (path(&asked.key)) "/answer.json" } { "Download the answer with its receipt" } }
    }
}

fn of_account(account: &PayingAccount) -> Markup {
    html! {
        p.head { (display::account_link(&account.account)) }
        p { (gauge(&account.account, account.left.map(|left| left.0))) }
        dl.facts {
            dt { "Reading, ε" } dd { (display::reading(account.reading.map(|reading| reading.0))) }
            dt { "Meaning" } dd { (account.guarantee) }
            @if let Some(guarantee) = &account.filter_guarantee { dt { "Budget" } dd { (guarantee) } }
        }
    }
}
