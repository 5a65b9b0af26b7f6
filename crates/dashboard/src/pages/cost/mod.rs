//! The page of a charge: a cost on one or more accounts, quoted as it is entered.

mod form;
mod kinds;
pub(super) mod quote;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::words::show_costs;
use taximeter_service::{AccountDocument, Action, Code, Committed, Problem};

use self::form::CostRequest;

pub(super) use self::form::payer;
use crate::Dashboard;
use crate::display::account_path;
use crate::form_data::FormData;
use crate::page::{Section, status, with_code};
use crate::visitor::{SCRIPT, Visitor};

const TITLE: &str = "What would it cost?";

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/cost", get(show).post(charge)).route("/cost/quote", get(show).post(quote))
}

/// The form, with the values in the path.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = FormData::from_query(query.as_deref());
    let (quote, failure) = quoted_or_wrong(&visitor, &fields).await;
    let content = content(&visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

/// The form as it was filled in, with its quote or the problem. The page's script gets the quote alone.
async fn quote(visitor: Visitor, headers: HeaderMap, fields: FormData) -> Response {
    let (quote, failure) = quoted_or_wrong(&visitor, &fields).await;
    // For a script, an incomplete form is not an error.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Cost, TITLE, Ok(result(&quote)));
    }
    let content = content(&visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

async fn quoted_or_wrong(visitor: &Visitor, fields: &FormData) -> (Markup, Option<Problem>) {
    match quoted(visitor, fields).await {
        Ok(quote) => (quote, None),
        Err(failure) => (wrong(&failure), Some(failure)),
    }
}

/// The key of a new form.
pub(super) fn new_key() -> Result<Key, Problem> {
    Ok(Key::generate()?)
}

/// The part that changes while a cost is filled in.
fn result(quote: &Markup) -> Markup {
    html! { div #quote { (quote) } }
}

/// The response, with the status of the problem that it shows.
pub(super) fn with_status(mut response: Response, failure: Option<Problem>) -> Response {
    match failure.filter(|_| response.status().is_success()) {
        None => response,
        Some(failure) => {
            *response.status_mut() = status(&failure);
            with_code(response, failure.code)
        }
    }
}

/// A problem in the place of the quote, so that screen readers announce it.
pub(super) fn wrong(failure: &Problem) -> Markup {
    html! { div.problem { p { strong { (failure.code.title()) } } p { (failure.detail) } } }
}

async fn content(
    visitor: &Visitor,
    fields: &FormData,
    key: Result<Key, Problem>,
    quote: Markup,
) -> Result<Markup, Problem> {
    let accounts = own_accounts(visitor).await?;
    let key = key?;
    Ok(html! {
        div.columns data-events="" {
            section.panel aria-labelledby="cost-heading" {
                h2 #cost-heading { "A cost" }
                @if accounts.is_empty() { p { "You have no account to charge. Ask the owner of the data to open one." } }
                (form::form(visitor, &accounts, fields, &key))
                @if visitor.may(Action::Ask) {
                    p.help { "The cost of a question is shown on the page " a href="/ask" { "Ask" } ", below the question." }
                }
            }
            section.panel aria-labelledby="quote-heading" {
                h2 #quote-heading { "The quote" }
                div aria-live="polite" { (result(&quote)) }
            }
        }
    })
}

/// The accounts that the visitor may charge.
async fn own_accounts(visitor: &Visitor) -> Result<Vec<AccountDocument>, Problem> {
    let mut list = visitor.caller.accounts().await?.accounts;
    list.retain(|account| visitor.caller.sight().owns(&account.account));
    Ok(list)
}

async fn quoted(visitor: &Visitor, fields: &FormData) -> Result<Markup, Problem> {
    if !CostRequest::is_complete(fields) {
        return Ok(html! {
            p.quiet-text { "Enter a cost to see its effect. A quote charges nothing." }
        });
    }
    let CostRequest { request, is_rounded } = CostRequest::read(fields)?;
    let (named, cost): (Vec<AccountName>, _) = (request.accounts.clone(), request.costs[0].0);
    let quote = visitor.caller.quote(request).await?;
    let fill_in = quote.fits.as_ref().and_then(|fits| fits.first()).map(|cost| form::with_cost(fields, cost));
    Ok(html! {
        (quote::quoted(&quote, &named, fill_in.as_deref()))
        @if is_rounded { (quote::rounded_up(&cost)) }
    })
}

/// Charges the cost. A form that is sent twice is charged once.
async fn charge(visitor: Visitor, fields: FormData) -> Response {
    match charged(&visitor, &fields).await {
        Ok((notice, account)) => visitor.done(notice, &account_path(&account)),
        Err(failure) => again(&visitor, &fields, sent_before(failure)).await,
    }
}

/// The notice about the charge, and the account to show.
async fn charged(visitor: &Visitor, fields: &FormData) -> Result<(String, AccountName), Problem> {
    let CostRequest { request, .. } = CostRequest::read(fields)?;
    let account = request.accounts[0].clone();
    let costs: Vec<_> = request.costs.iter().map(|cost| cost.0).collect();
    let named: Vec<String> = request.accounts.iter().map(ToString::to_string).collect();
    let charged = visitor.caller.charge(sent_key(fields)?, request).await?;
    let record = charged.sequence;
    let notice = match charged.outcome {
        Committed::Now => format!("Charged {} to {}: record {record}.", show_costs(&costs), named.join(", ")),
        Committed::Before => {
            format!("This was charged before, as record {record}; nothing was charged again.")
        }
    };
    Ok((notice, account))
}

/// The key of a form that was sent.
pub(super) fn sent_key(fields: &FormData) -> Result<Key, Problem> {
    Ok(Key::parse("key", fields.required("key", "the key of the form")?)?)
}

/// The form again, with the problem and the largest cost that fits.
async fn again(visitor: &Visitor, fields: &FormData, failure: Problem) -> Response {
    let quote = match &failure.refusal {
        Some(refused) => {
            let fits = refused.fits.as_ref().and_then(|fits| fits.first());
            let fill_in = fits.map(|cost| form::with_cost(fields, cost));
            quote::refusal(refused, fill_in.as_deref())
        }
        None => html! { p.quiet-text { "No quote: see the problem above." } },
    };
    let content = content(visitor, fields, next_key(&failure, fields), quote).await;
    visitor.page_again(Section::Cost, TITLE, failure, content)
}

/// The key of the form that is shown again: the same if a retry with it tells the outcome, and otherwise a new one.
pub(super) fn next_key(failure: &Problem, fields: &FormData) -> Result<Key, Problem> {
    let is_open = matches!(failure.code, Code::UnknownOutcome | Code::NoAnswer);
    match fields.get("key").filter(|_| is_open) {
        Some(key) => Ok(Key::parse("key", key)?),
        None => new_key(),
    }
}

/// The problem of a reused key, in terms of forms.
pub(super) fn sent_before(failure: Problem) -> Problem {
    match failure.code {
        Code::KeyReused => Problem::new(
            Code::KeyReused,
            "this form was sent before with other values; nothing was charged now. Check it, and send it again if it is right",
        ),
        _ => failure,
    }
}
