//! Datasets: what may be asked about, what is declared, and for owners how data come in.

mod change;
mod dataset;
mod declare;
mod outcome;
mod register;

use std::sync::Arc;

use axum::Router;
use axum::extract::State as Shared;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_api::words::thousands;
use taximeter_api::{AccountDocument, DatasetDocument, FailedQuestionDocument, Role};
use taximeter_ledger::AccountName;

use crate::access::Action;
use crate::dashboard::gauge::gauge;
use crate::dashboard::page::Section;
use crate::dashboard::table::{Head, cards};
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::{account_link, time};
use crate::extract::Parameters;
use crate::failure::Failure;
use crate::routes::datasets::{self, LogParameters};
use crate::state::State;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/datasets", get(show))
        .route("/datasets/{name}", get(dataset::show))
        .route("/datasets/{name}/analysts", post(change::add_analyst))
        .route("/datasets/{name}/check", post(change::check))
        .route("/datasets/{name}/refresh", post(change::refresh))
        .route("/datasets/{name}/data", post(change::put_newer_data))
        // Not below /datasets, where every word may be the name of one.
        .route("/register", get(register::show_csv).post(register::register_csv))
        .route("/register/postgres", get(register::show_postgres).post(register::register_postgres))
}

async fn show(Shared(state): Shared<Arc<State>>, visitor: Visitor) -> Response {
    visitor.page(Section::Datasets, "Datasets", content(&state, &visitor).await)
}

async fn content(state: &Arc<State>, visitor: &Visitor) -> Result<Markup, Failure> {
    let list = datasets::list(Shared(Arc::clone(state)), visitor.caller.clone()).await?.0.0;
    Ok(html! {
        section.panel aria-labelledby="list" {
            h2 #list { "What may be asked about" }
            div #datasets data-live data-events="" {
                @if list.is_empty() { p { (nothing_yet(visitor)) } } @else { (table(visitor, &list)?) }
            }
            @if visitor.may(Action::ChangeDatasets) { p { a.button href="/register" { "Register a dataset" } } }
        }
        @if visitor.may(Action::ReadLog) { (log(state, visitor).await?) }
    })
}

fn nothing_yet(visitor: &Visitor) -> &'static str {
    match visitor.caller.token.role {
        Role::Analyst => "Your token is for no dataset; its owner can make one that is.",
        _ => "There are no datasets yet. An owner registers one: a CSV file, or a table of PostgreSQL.",
    }
}

fn table(visitor: &Visitor, list: &[DatasetDocument]) -> Result<Markup, Failure> {
    let names = ["Dataset", "Left of its budget", who_asks(visitor), "Protects", "Earlier answers"];
    let mut heads = names.map(Head::Text).to_vec();
    if visitor.is_owner() {
        heads.push(Head::Number("Rows that count"));
    }
    heads.extend([Head::Number("Version"), Head::Text("Registered")]);
    let lines = html! {
        @for dataset in list {
            tr {
                th scope="row" { a href=(path(&dataset.dataset)) { (dataset.dataset) } }
                td.whole data-label="Left of its budget" { (left(dataset.account.as_ref())) }
                td.whole data-label=(who_asks(visitor)) { (analysts(dataset)) }
                td.wrap data-label="Protects" { (dataset.schema.privacy_unit()?) ", " (dataset.schema.neighbours.name()) }
                td data-label="Earlier answers" { (if dataset.reuse { "given again at no cost" } else { "not given again" }) }
                @if visitor.is_owner() { td.number data-label="Rows that count" { (rows(dataset)) } }
                td.number data-label="Version" { (dataset.version) }
                td.whole data-label="Registered" { (time(&dataset.registered)) }
            }
        }
    };
    Ok(cards("", "Datasets", "Datasets by name", &heads, &lines))
}

/// The rows that count, for an owner.
fn rows(dataset: &DatasetDocument) -> String {
    dataset.rows.map_or_else(|| "as they are".to_string(), thousands)
}

/// What an account has left, if it may be seen.
fn left(account: Option<&AccountDocument>) -> Markup {
    match account {
        Some(account) => html! { (account_link(&account.account)) " " (gauge(&account.account, account.left())) },
        None => html! { span.quiet-text { "not shown to you" } },
    }
}

/// What the accounts below a dataset's are to whoever looks.
fn who_asks(visitor: &Visitor) -> &'static str {
    match visitor.caller.token.role {
        Role::Analyst => "Your accounts",
        _ => "Analysts",
    }
}

fn analysts(dataset: &DatasetDocument) -> Markup {
    html! {
        @if dataset.analysts.is_empty() { span.quiet-text { "none" } }
        @for (at, name) in dataset.analysts.iter().enumerate() { @if at > 0 { ", " } (account_link(name)) }
    }
}

/// The path of a dataset's page.
fn path(name: &AccountName) -> String {
    format!("/datasets/{}", name.as_str().replace('/', "%2F"))
}

/// The newest charged questions without an answer.
async fn log(state: &Arc<State>, visitor: &Visitor) -> Result<Markup, Failure> {
    let parameters = Parameters(LogParameters { limit: None });
    let lines = datasets::log(Shared(Arc::clone(state)), visitor.caller.clone(), parameters).await?.0.0;
    Ok(html! {
        section.panel aria-labelledby="log" {
            h2 #log { "Questions without an answer" }
            p.help {
                "What went wrong after a question was charged. Analysts learn only that there is no answer, since why may depend on the \
                 data: this list is for owners alone."
            }
            @if lines.is_empty() { p { "Every charged question has its answer." } } @else { (log_table(&lines)) }
        }
    })
}

fn log_table(lines: &[FailedQuestionDocument]) -> Markup {
    let heads = ["When", "Dataset", "Key of the charge", "What went wrong"].map(Head::Text);
    let rows = html! {
        @for line in lines {
            tr {
                td.whole data-label="When" { (time(&line.time)) }
                td.wrap data-label="Dataset" { (line.dataset) }
                td.wrap data-label="Key of the charge" { code { (line.key) } }
                td.wrap.whole data-label="What went wrong" { (line.why) }
            }
        }
    };
    cards("", "Questions without an answer", "Charged questions without an answer, newest first", &heads, &rows)
}
