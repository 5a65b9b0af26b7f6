//! The pages of datasets: the list, each dataset, and for owners registration.

mod change;
mod dataset;
mod declare;
mod outcome;
mod register;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_gate::FailedQuestion;
use taximeter_ledger::AccountName;
use taximeter_service::words::thousands;
use taximeter_service::{AccountDocument, Action, DatasetDocument, Problem, Role};

use crate::Dashboard;
use crate::display::{account_link, time};
use crate::gauge::gauge;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/datasets", get(show))
        .route("/datasets/{name}", get(dataset::show))
        .route("/datasets/{name}/analysts", post(change::add_analyst))
        .route("/datasets/{name}/check", post(change::check))
        .route("/datasets/{name}/refresh", post(change::refresh))
        .route("/datasets/{name}/data", post(change::put_newer_data))
        // Not below /datasets, where any word may be the name of a dataset.
        .route("/register", get(register::show_csv).post(register::register_csv))
        .route("/register/postgres", get(register::show_postgres).post(register::register_postgres))
}

async fn show(visitor: Visitor) -> Response {
    visitor.page(Section::Datasets, "Datasets", content(&visitor).await)
}

async fn content(visitor: &Visitor) -> Result<Markup, Problem> {
    let list = visitor.caller.datasets().await?.0;
    Ok(html! {
        section.panel aria-labelledby="list" {
            h2 #list { "Datasets to ask about" }
            div #datasets data-live data-events="" {
                @if list.is_empty() { p { (nothing_yet(visitor)) } } @else { (table(visitor, &list)) }
            }
            @if visitor.may(Action::ChangeDatasets) { p { a.button href="/register" { "Register a dataset" } } }
        }
        @if visitor.may(Action::ReadLog) { (log(visitor).await?) }
    })
}

fn nothing_yet(visitor: &Visitor) -> &'static str {
    match visitor.caller.token().role {
        Role::Analyst => "Your token covers no dataset. Ask an owner for a token that does.",
        _ => "There are no datasets yet. An owner can register a CSV file or a PostgreSQL table.",
    }
}

fn table(visitor: &Visitor, list: &[DatasetDocument]) -> Markup {
    let mut table = DataTable::new("Datasets", "Datasets by name")
        .row_head(
            "Dataset",
            "",
            |dataset: &DatasetDocument| html! { a href=(path(&dataset.dataset)) { (dataset.dataset) } },
        )
        .column("Left of its budget", "whole", |dataset| left(dataset.account.as_ref()))
        .column(who_asks(visitor), "whole", analysts)
        .column("Protects", "wrap", |dataset| html! { (protects(dataset)) ", " (dataset.schema.neighbours.name()) })
        .column("Earlier answers", "", |dataset| {
            html! { (if dataset.reuse { "reused at no cost" } else { "not reused" }) }
        });
    if visitor.is_owner() {
        table = table.column("Rows that count", "number", |dataset| html! { (rows(dataset)) });
    }
    table
        .column("Version", "number", |dataset| html! { (dataset.version) })
        .column("Registered", "whole", |dataset| time(&dataset.registered))
        .rows(list)
}

/// The privacy unit.
fn protects(dataset: &DatasetDocument) -> String {
    dataset.schema.privacy_unit().map_or_else(|problem| problem.detail, |unit| unit.to_string())
}

/// The rows that count, for an owner.
fn rows(dataset: &DatasetDocument) -> String {
    dataset.rows.map_or_else(|| "as they are".to_string(), thousands)
}

/// What an account has left, if the visitor may see it.
fn left(account: Option<&AccountDocument>) -> Markup {
    match account {
        Some(account) => html! { (account_link(&account.account)) " " (gauge(&account.account, account.left())) },
        None => html! { span.quiet-text { "not shown to you" } },
    }
}

/// The heading for the accounts below a dataset's.
fn who_asks(visitor: &Visitor) -> &'static str {
    match visitor.caller.token().role {
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
async fn log(visitor: &Visitor) -> Result<Markup, Problem> {
    let lines = visitor.caller.failed_questions(None).await?.0;
    Ok(html! {
        section.panel aria-labelledby="log" {
            h2 #log { "Questions without an answer" }
            p.help {
                "Questions that failed after they were charged. The reason may depend on the data, so only owners see it; analysts learn \
                 that there is no answer."
            }
            @if lines.is_empty() { p { "Every charged question has an answer." } } @else { (log_table(&lines)) }
        }
    })
}

fn log_table(lines: &[FailedQuestion]) -> Markup {
    DataTable::new("Questions without an answer", "Charged questions without an answer, newest first")
        .column("When", "whole", |line: &FailedQuestion| time(&line.time.to_string()))
        .column("Dataset", "wrap", |line| html! { (line.dataset) })
        .column("Key of the charge", "wrap", |line| html! { code { (line.key) } })
        .column("Reason", "wrap whole", |line| html! { (line.why) })
        .rows(lines)
}
