//! What would it cost? A cost on one or more accounts, quoted while it is filled in, and charged.

mod form;
mod kinds;
pub(super) mod quote;

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{RawQuery, State as Shared};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use taximeter_api::words::show_costs;
use taximeter_api::{AccountDocument, Charged, ChargedOutcome, Code};
use taximeter_ledger::{AccountName, Key};

use self::form::Asked;
use crate::access::Action;
use crate::dashboard::fields::Fields;
use crate::dashboard::page::{Section, with_code};
use crate::dashboard::visitor::{SCRIPT, Visitor};
use crate::dashboard::words::account_path;
use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::routes::{accounts, charges};
use crate::state::State;

const TITLE: &str = "What would it cost?";

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new().route("/cost", get(show).post(charge)).route("/cost/quote", get(show).post(quote))
}

/// The form, with what the path fills in.
async fn show(Shared(state): Shared<Arc<State>>, visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = from_query(query.as_deref());
    let (quote, failure) = quoted_or_wrong(&state, &visitor, &fields).await;
    let content = content(&state, &visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

/// What stands behind the question mark, as if it had been filled in.
pub(super) fn from_query(query: Option<&str>) -> Fields {
    Fields::new(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
}

/// The form as it was filled in, with its quote or what is wrong with it. To the script of the page, that alone.
async fn quote(Shared(state): Shared<Arc<State>>, visitor: Visitor, headers: HeaderMap, fields: Fields) -> Response {
    let (quote, failure) = quoted_or_wrong(&state, &visitor, &fields).await;
    // To a script the words are the answer: what is half written is no failure.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Cost, TITLE, Ok(result(&quote)));
    }
    let content = content(&state, &visitor, &fields, new_key(), quote).await;
    with_status(visitor.page(Section::Cost, TITLE, content), failure)
}

async fn quoted_or_wrong(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> (Markup, Option<Failure>) {
    match quoted(state, visitor, fields).await {
        Ok(quote) => (quote, None),
        Err(failure) => {
            let failure = failure.told_to(visitor.is_owner());
            (wrong(&failure), Some(failure))
        }
    }
}

/// The key of a new form.
pub(super) fn new_key() -> Result<Key, Failure> {
    Ok(Key::generate()?)
}

/// The part that changes while a cost is filled in.
fn result(quote: &Markup) -> Markup {
    html! { div #quote { (quote) } }
}

/// A page with the status of what is wrong in it.
pub(super) fn with_status(mut response: Response, failure: Option<Failure>) -> Response {
    match failure.filter(|_| response.status().is_success()) {
        None => response,
        Some(failure) => {
            *response.status_mut() = failure.status();
            with_code(response, failure.0.code)
        }
    }
}

/// What is wrong with what was filled in. It stands where the quote would, and is read out with it.
pub(super) fn wrong(failure: &Failure) -> Markup {
    html! { div.problem { p { strong { (failure.0.code.title()) } } p { (failure.0.detail) } } }
}

async fn content(
    state: &Arc<State>,
    visitor: &Visitor,
    fields: &Fields,
    key: Result<Key, Failure>,
    quote: Markup,
) -> Result<Markup, Failure> {
    let accounts = own_accounts(state, visitor).await?;
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
async fn own_accounts(state: &Arc<State>, visitor: &Visitor) -> Result<Vec<AccountDocument>, Failure> {
    let mut list = accounts::list(Shared(Arc::clone(state)), visitor.caller.clone()).await?.0.accounts;
    list.retain(|account| visitor.caller.sight.owns(&account.account));
    Ok(list)
}

async fn quoted(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> Result<Markup, Failure> {
    if !Asked::is_complete(fields) {
        return Ok(html! {
            p.quiet-text { "Fill in a cost, and here stands what would come of it. A quote charges nothing." }
        });
    }
    let Asked { request, is_rounded } = Asked::read(fields)?;
    let (named, cost): (Vec<AccountName>, _) = (request.accounts.clone(), request.costs[0].0);
    let quote = charges::quote(Shared(Arc::clone(state)), visitor.caller.clone(), Body(request)).await?.0;
    let fill_in = quote.fits.as_ref().and_then(|fits| fits.first()).map(|cost| form::with_cost(fields, cost));
    Ok(html! {
        (quote::quoted(&quote, &named, fill_in.as_deref()))
        @if is_rounded { (quote::rounded_up(&cost)) }
    })
}

/// Charges what was filled in. Sent twice, it is charged once.
async fn charge(Shared(state): Shared<Arc<State>>, visitor: Visitor, fields: Fields) -> Response {
    match charged(&state, &visitor, &fields).await {
        Ok((charged, account)) => {
            let notice = match charged.outcome {
                ChargedOutcome::Charged => format!("Charged {}: record {}.", charged.what, charged.sequence),
                ChargedOutcome::Replayed => {
                    format!("This had been charged before, as record {}; nothing was charged again.", charged.sequence)
                }
            };
            state.sessions.leave_notice(&visitor.session(), notice);
            Redirect::to(&account_path(&account)).into_response()
        }
        Err(failure) => again(&state, &visitor, &fields, sent_before(failure)).await,
    }
}

/// A charge that is on the ledger, as far as a notice tells it.
struct Done {
    outcome: ChargedOutcome,
    what: String,
    sequence: u64,
}

async fn charged(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> Result<(Done, AccountName), Failure> {
    let key = Key::parse("key", fields.required("key", "the key of the form")?)?;
    let Asked { request, .. } = Asked::read(fields)?;
    let account = request.accounts[0].clone();
    let costs: Vec<_> = request.costs.iter().map(|cost| cost.0).collect();
    let named: Vec<String> = request.accounts.iter().map(ToString::to_string).collect();
    let (caller, key) = (visitor.caller.clone(), IdempotencyKey(key));
    let response = charges::charge(Shared(Arc::clone(state)), caller, key, Body(request)).await?;
    let charged: Charged = document(response).await?;
    let what = format!("{} to {}", show_costs(&costs), named.join(", "));
    Ok((Done { outcome: charged.outcome, what, sequence: charged.sequence }, account))
}

/// The document that one of the API's handlers answered with.
pub(super) async fn document<T: serde::de::DeserializeOwned>(response: Response) -> Result<T, Failure> {
    // What was done is done; the same key tells.
    let unknown = |error: String| Failure::new(Code::UnknownOutcome, error);
    let bytes = to_bytes(response.into_body(), usize::MAX).await.map_err(|error| unknown(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unknown(error.to_string()))
}

/// The form again, with why it was not taken and what would be.
async fn again(state: &Arc<State>, visitor: &Visitor, fields: &Fields, failure: Failure) -> Response {
    let quote = match &failure.0.refusal {
        Some(refused) => {
            let fits = refused.fits.as_ref().and_then(|fits| fits.first());
            let fill_in = fits.map(|cost| form::with_cost(fields, cost));
            quote::refusal(refused, fill_in.as_deref())
        }
        None => html! { p.quiet-text { "Nothing is quoted: see above what is wrong." } },
    };
    match content(state, visitor, fields, next_key(&failure, fields), quote).await {
        Ok(content) => visitor.page_again(Section::Cost, TITLE, failure, content),
        Err(other) => visitor.page(Section::Cost, TITLE, Err(other)),
    }
}

/// The key of the form that is shown again: the same where asking again with it tells what came of it, and otherwise a new one.
pub(super) fn next_key(failure: &Failure, fields: &Fields) -> Result<Key, Failure> {
    let is_open = matches!(failure.0.code, Code::UnknownOutcome | Code::NoAnswer);
    match fields.get("key").filter(|_| is_open) {
        Some(key) => Ok(Key::parse("key", key)?),
        None => new_key(),
    }
}

/// A form that was sent before with something else in it, in words about forms.
pub(super) fn sent_before(failure: Failure) -> Failure {
    match failure.0.code {
        Code::KeyReused => Failure::new(
            Code::KeyReused,
            "this form was sent before with something else in it; nothing was charged now. Look at it again, and send it once more if \
             it is meant",
        ),
        _ => failure,
    }
}
