//! The page of an answer: its numbers as bars and as a table, the noise on them, and what was paid.

use std::sync::Arc;

use axum::extract::State as Shared;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use taximeter_api::words::show_cost;
use taximeter_api::{Code, Problem};

use super::bars::bars;
use super::kept::{self, Asked};
use super::stored::{Estimate, Paid, Part, Point, Series, Stored, grouped, scale};
use crate::dashboard::gauge::gauge;
use crate::dashboard::page::Section;
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words;
use crate::extract::Segment;
use crate::failure::Failure;
use crate::state::State;

const TITLE: &str = "Answer";

/// The most rows of a table; the document has all.
const MOST: usize = 500;

/// The path of an answer.
pub(super) fn path(key: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    // In a path a plus is a plus.
    format!("/answers/{}", encoded.replace('+', "%20"))
}

/// One's own stored answer.
pub(super) async fn show(Shared(state): Shared<Arc<State>>, visitor: Visitor, Segment(key): Segment) -> Response {
    let content = match answered(&state, &visitor, &key).await {
        Ok((asked, document)) => Stored::read(&document).map(|stored| content(&asked, &stored)),
        Err(failure) => Err(failure),
    };
    visitor.page(Section::Ask, TITLE, content)
}

/// The document, byte for byte as it was released.
pub(super) async fn download(Shared(state): Shared<Arc<State>>, visitor: Visitor, Segment(key): Segment) -> Response {
    match answered(&state, &visitor, &key).await {
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

async fn answered(state: &Arc<State>, visitor: &Visitor, key: &str) -> Result<(Asked, String), Failure> {
    let mut asked = kept::find(state, visitor, key).await?;
    match asked.document.take() {
        Some(document) => Ok((asked, document)),
        None => {
            let record = asked.sequence.map_or(String::new(), |sequence| format!(" (record {sequence})"));
            let detail = format!(
                "it is charged{record}, and the charge stands, but there is no answer. The owner finds the reason in the log"
            );
            Err(Failure(Box::new(Problem { sequence: asked.sequence, ..Problem::new(Code::NoAnswer, detail) })))
        }
    }
}

fn content(asked: &Asked, stored: &Stored) -> Markup {
    let groups = stored.groups();
    html! {
        section.panel aria-labelledby="question-heading" {
            h2 #question-heading { "The question" }
            pre { code { (stored.question) } }
            dl.facts {
                dt { "Dataset" } dd { (stored.dataset) ", version " (stored.version) }
                @if let Some(time) = &asked.time { dt { "Asked" } dd { (words::time(time)) } }
                dt { "Protects" } dd { (stored.protects) }
            }
        }
        section.panel aria-labelledby="numbers-heading" {
            h2 #numbers-heading { "The answer" }
            p {
                "Every number has noise on it. In " (percent(stored.confidence.0)) " of 100 answers the interval holds the number \
                 without its noise. It says nothing about how well the data stand for anything else."
            }
            @for step in &stored.post_processing { p.help { "Afterwards: " (step) "." } }
            @for series in &stored.series() { (numbers(series, &groups)) }
        }
        section.panel aria-labelledby="paid-heading" { (paid(asked, stored)) }
        section.panel aria-labelledby="noise-heading" {
            h2 #noise-heading { "The noise" }
            (noise(stored))
        }
        p { a.button href={ "/ask?" (dataset_query(stored)) } { "Ask another question" } }
    }
}

/// A share as so many of a hundred.
fn percent(share: f64) -> String {
    scale(share * 100.0)
}

fn dataset_query(stored: &Stored) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("dataset", stored.dataset.as_str()).finish()
}

/// One column of the answer: a single number in large, or groups as bars, and a table.
fn numbers(series: &Series<'_>, groups: &[&str]) -> Markup {
    let name = &series.column.name;
    html! {
        h3 { (name) }
        @match series.points.as_slice() {
            [Point { estimate: Some(Estimate { value, half_width, .. }), .. }] if groups.is_empty() => {
                div.figures { div { span.label { "Value" } span.value { (value.text) } } div { span.label { "Within" } span.value { "± " (half_width) } } }
            }
            _ => {}
        }
        (bars(name, &series.points))
        (table(series, groups))
    }
}

fn table(series: &Series<'_>, groups: &[&str]) -> Markup {
    let name = &series.column.name;
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Numbers of " (name) } {
            table {
                caption.hidden-text { (name) " with its interval" }
                thead {
                    tr {
                        @for group in groups { th scope="col" { (group) } }
                        th.number scope="col" { (name) }
                        th.number scope="col" { "From" }
                        th.number scope="col" { "To" }
                        th.number scope="col" { "Half width" }
                    }
                }
                tbody { @for point in series.points.iter().take(MOST) { (row(point)) } }
            }
        }
        @if series.points.len() > MOST {
            p.help { "The first " (MOST) " of " (series.points.len()) " rows. The document has all." }
        }
    }
}

fn row(point: &Point) -> Markup {
    html! {
        tr {
            @for group in &point.group { th.wrap scope="row" { (group) } }
            @match &point.estimate {
                Some(Estimate { value, interval: [low, high], half_width }) => {
                    td.number { strong { (value.text) } }
                    td.number { (low.text) }
                    td.number { (high.text) }
                    td.number { "± " (half_width) }
                }
                None => td colspan="4" { "Nothing can be said: with so few rows the count may be 0." }
            }
        }
    }
}

/// What was paid, by whom, and the receipt.
fn paid(asked: &Asked, stored: &Stored) -> Markup {
    html! {
        h2 #paid-heading { "What was paid" }
        div.figures { div { span.label { "Cost" } span.value { (show_cost(&stored.cost)) } } }
        p { "The meter right after it:" }
        ol.quoted aria-label="Accounts that paid, from the root down" {
            @for account in &stored.accounts { li { (of_account(account)) } }
        }
        dl.facts {
            dt { "Record" } dd { (stored.receipt.sequence) }
            @if let Some(hash) = &stored.receipt.hash { dt { "Hash" } dd { code { (hash) } } }
            dt { "Key" } dd { code { (asked.key) } }
        }
        p { a.button.quiet download href={ (path(&asked.key)) "/answer.json" } { "Download the answer with its receipt" } }
    }
}

fn of_account(account: &Paid) -> Markup {
    html! {
        p.head { (words::account_link(&account.account)) }
        p { (gauge(&account.account, account.left.map(|left| left.0))) }
        dl.facts {
            dt { "Reading, ε" } dd { (words::reading(account.reading.map(|reading| reading.0))) }
            dt { "It means" } dd { (account.guarantee) }
            @if let Some(guarantee) = &account.filter_guarantee { dt { "Budget" } dd { (guarantee) } }
        }
    }
}

/// How the noise on each number was made.
fn noise(stored: &Stored) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Noise" {
            table {
                caption.hidden-text { "The noise, in the units of the answer" }
                thead {
                    tr {
                        th scope="col" { "Computed" }
                        th scope="col" { "Noise" }
                        th.number scope="col" { "Scale" }
                        th.number scope="col" { "Sensitivity" }
                        th.number scope="col" { "Within ±" }
                        th scope="col" { "Cost" }
                    }
                }
                tbody { @for part in stored.columns.iter().flat_map(|column| &column.parts) { (part_row(part)) } }
            }
        }
    }
}

fn part_row(part: &Part) -> Markup {
    html! {
        tr {
            th.wrap scope="row" { (part.measure) }
            td { (part.noise.replace('-', " ")) }
            td.number { (scale(part.scale.0)) }
            td.number { (scale(part.sensitivity.0)) }
            td.number { (grouped(&part.half_width.to_string())) }
            td.nowrap { (show_cost(&part.cost)) }
        }
    }
}
