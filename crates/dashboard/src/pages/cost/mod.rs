//! What would it cost? A cost on one or more accounts, quoted while it is filled in, and charged.

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

use self::form::CostForm;

pub(super) use self::form::payer;
use crate::Dashboard;
use crate::fields::Fields;
use crate::page::{Section, status, with_code};
use crate::visitor::{SCRIPT, Visitor};
use crate::words::account_path;

const TITLE: &str = "What would it cost?";

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/cost", get(show).post(charge)).route("/cost/quote", get(show).post(quote))
}

/// The form, with what the path fills in.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::from_query(query.as_deref());
    let (quote, failure) = quoted_or_wrong(&visitor, &fields).await;
    let content = content(&visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

/// The form as it was filled in, with its quote or what is wrong with it. To the script of the page, that alone.
async fn quote(visitor: Visitor, headers: HeaderMap, fields: Fields) -> Response {
    let (quote, failure) = quoted_or_wrong(&visitor, &fields).await;
    // To a script the words are the answer: what is half written is no failure.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Cost, TITLE, Ok(result(&quote)));
    }
    let content = content(&visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

async fn quoted_or_wrong(visitor: &Visitor, fields: &Fields) -> (Markup, Option<Problem>) {
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

/// A page with the status of what is wrong in it.
pub(super) fn with_status(mut response: Response, failure: Option<Problem>) -> Response {
    match failure.filter(|_| response.status().is_success()) {
        None => response,
        Some(failure) => {
            *response.status_mut() = status(&failure);
            with_code(response, failure.code)
        }
    }
}

/// What is wrong with what was filled in. It stands where the quote would, and is read out with it.
pub(super) fn wrong(failure: &Problem) -> Markup {
    html! { div.problem { p { strong { (failure.code.title()) } } p { (failure.detail) } } }
}

async fn content(
    visitor: &Visitor,
    fields: &Fields,
    key: Result<Key, Problem>,
    quote: Markup,
) -> Result<Markup, Problem> {
    let accounts = own_accounts(visitor).await?;
    let key = key?;
    Ok(html! {
        div.columns data-events="" {
            section.panel aria-labelledby="cost-heading" {
                h2 #cost-heading { "A cost" }
                @if accounts.is_empty() { p { "There is no account that you may charge. The owner of the data opens one." } }
                (form::form(visitor, &accounts, fields, &key))
                @if visitor.may(Action::Ask) {
                    p.help { "What a question would cost stands on the page " a href="/ask" { "Ask" } ", beside the question." }
                }
            }
            section.panel aria-labelledby="quote-heading" {
                h2 #quote-heading { "The quote" }
                div aria-live="polite" { (result(&quote)) }
            }
        }
    })
}

/// The accounts that may be charged.
async fn own_accounts(visitor: &Visitor) -> Result<Vec<AccountDocument>, Problem> {
    let mut list = visitor.caller.accounts().await?.accounts;
    list.retain(|account| visitor.caller.sight().owns(&account.account));
    Ok(list)
}

async fn quoted(visitor: &Visitor, fields: &Fields) -> Result<Markup, Problem> {
    if !CostForm::is_complete(fields) {
        return Ok(html! {
            p.quiet-text { "Enter a cost to see its effect. A quote charges nothing." }
        });
    }
    let CostForm { request, is_rounded } = CostForm::read(fields)?;
    let (named, cost): (Vec<AccountName>, _) = (request.accounts.clone(), request.costs[0].0);
    let quote = visitor.caller.quote(request).await?;
    let fill_in = quote.fits.as_ref().and_then(|fits| fits.first()).map(|cost| form::with_cost(fields, cost));
    Ok(html! {
        (quote::quoted(&quote, &named, fill_in.as_deref()))
        @if is_rounded { (quote::rounded_up(&cost)) }
    })
}

/// Charges what was filled in. Sent twice, it is charged once.
async fn charge(visitor: Visitor, fields: Fields) -> Response {
    match charged(&visitor, &fields).await {
        Ok((notice, account)) => visitor.done(notice, &account_path(&account)),
        Err(failure) => again(&visitor, &fields, sent_before(failure)).await,
    }
}

/// What to say about the charge, and the account to show.
async fn charged(visitor: &Visitor, fields: &Fields) -> Result<(String, AccountName), Problem> {
    let CostForm { request, .. } = CostForm::read(fields)?;
    let account = request.accounts[0].clone();
    let costs: Vec<_> = request.costs.iter().map(|cost| cost.0).collect();
    let named: Vec<String> = request.accounts.iter().map(ToString::to_string).collect();
    let charged = visitor.caller.charge(sent_key(fields)?, request).await?;
    let record = charged.sequence;
    let notice = match charged.outcome {
        Committed::Now => format!("Charged {} to {}: record {record}.", show_costs(&costs), named.join(", ")),
        Committed::Before => {
            format!("This had been charged before, as record {record}; nothing was charged again.")
        }
    };
    Ok((notice, account))
}

/// The key of a form that was sent.
pub(super) fn sent_key(fields: &Fields) -> Result<Key, Problem> {
    Ok(Key::parse("key", fields.required("key", "the key of the form")?)?)
}

/// The form again, with why it was not taken and what would be.
async fn again(visitor: &Visitor, fields: &Fields, failure: Problem) -> Response {
    let quote = match &failure.refusal {
        Some(refused) => {
            let fits = refused.fits.as_ref().and_then(|fits| fits.first());
            let fill_in = fits.map(|cost| form::with_cost(fields, cost));
            quote::refusal(refused, fill_in.as_deref())
        }
        None => html! { p.quiet-text { "Nothing is quoted: see above what is wrong." } },
    };
    match content(visitor, fields, next_key(&failure, fields), quote).await {
        Ok(content) => visitor.page_again(Section::Cost, TITLE, failure, content),
        Err(other) => visitor.page(Section::Cost, TITLE, Err(other)),
    }
}

/// The key of the form that is shown again: the same where asking again with it tells what came of it, and otherwise a new one.
pub(super) fn next_key(failure: &Problem, fields: &Fields) -> Result<Key, Problem> {
    let is_open = matches!(failure.code, Code::UnknownOutcome | Code::NoAnswer);
    match fields.get("key").filter(|_| is_open) {
        Some(key) => Ok(Key::parse("key", key)?),
        None => new_key(),
    }
}

/// A form that was sent before with something else in it, in words about forms.
pub(super) fn sent_before(failure: Problem) -> Problem {
    match failure.code {
        Code::KeyReused => Problem::new(
            Code::KeyReused,
            "this form was sent before with something else in it; nothing was charged now. Look at it again, and send it once more if \
             it is meant",
        ),
        _ => failure,
    }
}
