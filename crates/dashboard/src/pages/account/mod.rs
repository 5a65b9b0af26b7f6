//! The page of an account: its figures, chart, guarantees, spenders and history.

mod below;
mod close;
mod download;
mod history;
mod promise;
mod spending;

use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::{get, post};
use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Standing};
use taximeter_service::timelines::{Rate, Timeline};
use taximeter_service::words::thousands;
use taximeter_service::{AccountDocument, Action, Problem};

use crate::Dashboard;
use crate::chart::Chart;
use crate::display::{account_link, account_path, pace, path_with, reading, standing, time, until};
use crate::extract::PathName;
use crate::form_data::FormData;
use crate::gauge::gauge;
use crate::journal_note::journal_note;
use crate::page::Section;
use crate::visitor::Visitor;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/accounts/{name}", get(show))
        .route("/accounts/{name}/close", post(close::close))
        .route("/accounts/{name}/history.jsonl", get(download::history))
        .route("/accounts/{name}/receipts/{file}", get(download::receipt))
}

async fn show(visitor: Visitor, PathName(name): PathName, RawQuery(query): RawQuery) -> Response {
    let content = content(&visitor, &name, &FormData::from_query(query.as_deref())).await;
    visitor.page(Section::Accounts, name.as_str(), content)
}

async fn content(visitor: &Visitor, name: &AccountName, asked: &FormData) -> Result<Markup, Problem> {
    let account = visitor.caller.account(name).await?;
    let below = below::panel(visitor, name).await?;
    let past = match visitor.caller.sight().owns(name) {
        true => Some(past(visitor, &account, asked).await?),
        false => None,
    };
    let [meter, spending, history] = past.map_or_else(Default::default, |past| past.map(Some));
    Ok(html! {
        (path(visitor, name))
        (figures(visitor, &account))
        (meter.unwrap_or_default())
        div.columns { (promise::panel(&account)) (spending.unwrap_or_default()) }
        (below)
        (history.unwrap_or_default())
        @if visitor.may(Action::ChangeAccounts) && account.standing == Standing::Open { (close::form(visitor, name, "")) }
    })
}

/// The panels for visitors who own the account: the chart, the spenders, and the history.
async fn past(visitor: &Visitor, account: &AccountDocument, asked: &FormData) -> Result<[Markup; 3], Problem> {
    visitor.caller.follow_journal();
    let timeline = visitor.caller.timeline(&account.account);
    let history = history::panel(visitor, account, timeline.as_deref(), asked).await?;
    let is_behind = is_behind(account, timeline.as_deref());
    let timeline = timeline.unwrap_or_default();
    let points = timeline.curve().points();
    // The chart is not shown as empty while the journal is still being read.
    let is_read = account.charges == 0 || points.last().is_some_and(|newest| newest.charges > 0);
    let meter = html! {
        section.panel #meter data-live aria-labelledby="meter-title" {
            h2 #meter-title { "The meter" }
            (journal_note(visitor, is_behind))
            @if is_read {
                (Chart {
                    points: &points,
                    at_delta: account.odometer.at_delta,
                    has_budget: account.filter.is_some(),
                }.markup())
            }
        }
    };
    Ok([meter, spending::panel(account, &timeline), history])
}

/// Whether records about the account are not read yet.
pub(super) fn is_behind(account: &AccountDocument, timeline: Option<&Timeline>) -> bool {
    timeline.and_then(Timeline::newest).is_none_or(|newest| newest.sequence < account.newest_record)
}

/// The accounts above, with links to those that the visitor may see.
fn path(visitor: &Visitor, name: &AccountName) -> Markup {
    let above: Vec<AccountName> = name.path().filter_map(|above| AccountName::parse(above).ok()).collect();
    html! {
        nav.path aria-label="Accounts above" {
            ol {
                li { a href="/" { "Accounts" } }
                @for above in &above {
                    @let part = above.as_str().rsplit('/').next().unwrap_or_default();
                    @if above == name {
                        li aria-current="page" { (part) }
                    } @else if visitor.caller.sight().sees(above) {
                        li { a href=(account_path(above)) { (part) } }
                    } @else {
                        li { (part) }
                    }
                }
            }
        }
    }
}

fn figures(visitor: &Visitor, account: &AccountDocument) -> Markup {
    let name = &account.account;
    let timeline = visitor.caller.timeline(name);
    html! {
        section.panel #figures data-live data-events=(name) aria-label="Figures" {
            @if let Some(blocking) = account.blocked_by.as_ref().filter(|other| *other != name) {
                div.caution {
                    p {
                        "This account takes no charges: " (account_link(blocking)) " above it is "
                        (account.blocked_standing.map_or("not open", Standing::name)) "."
                    }
                }
            }
            div.figures {
                div.wide {
                    span.label { "Left of the budget" }
                    span.value { (gauge(name, account.left())) }
                }
                div {
                    span.label { "Reading, ε at δ = " (account.odometer.at_delta) }
                    span.value { (reading(account.reading.map(|reading| reading.0))) }
                }
                div { span.label { "Charges" } span.value { (thousands(account.charges)) } }
                div { span.label { "Standing" } span.value { (standing(account.standing)) } }
                (spending_rate(timeline.as_deref()))
            }
            @if let Some(why) = &account.reading_reason { p.help { "There is no bound: " (why) "." } }
            @if visitor.caller.sight().owns(name) {
                p { a.button.quiet href=(path_with("/cost", "account", name.as_str())) { "What would it cost?" } }
            }
        }
    }
}

fn spending_rate(timeline: Option<&Timeline>) -> Markup {
    let now = Timestamp::now();
    let Some(rate) = timeline.filter(|timeline| timeline.is_open()).and_then(|timeline| Rate::of(timeline, now)) else {
        return Markup::default();
    };
    html! {
        div { span.label { "Spending of the budget" } span.value.words { (pace(rate.per_second)) } }
        @if let Some(then) = rate.runs_out {
            div {
                span.label { "Runs out at this rate" }
                span.value.words { (until(now, then)) }
                span.label { (time(&then.to_string())) }
            }
        }
    }
}
