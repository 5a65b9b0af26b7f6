//! Signing in with an issuer: the browser is sent there, and comes back with a code.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::get;
use taximeter_service::{Code, Issuer, Problem, TokenDocument};

use super::pending::PendingSignIn;
use super::{again, begin};
use crate::Dashboard;
use crate::cookies::TicketCookie;
use crate::form_data::{FormData, not_ours};
use crate::visitor::{Rejected, origin_address, own_path};

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/sign-in/issuer", get(start)).route("/sign-in/callback", get(come_back))
}

/// Sends the browser to the issuer.
async fn start(State(state): State<Dashboard>, headers: HeaderMap, uri: Uri) -> Response {
    let query = FormData::from_query(uri.query());
    let to = own_path(query.get("to"));
    match issuer_url(&state, to).await {
        Ok((url, pending)) => {
            let cookie = TicketCookie::Issuer.set(&state.service.settings, pending);
            ([(header::SET_COOKIE, cookie)], Redirect::to(&url)).into_response()
        }
        Err(failure) => again(&state, &headers, to, failure),
    }
}

async fn issuer_url(state: &Dashboard, to: &str) -> Result<(String, PendingSignIn), Problem> {
    let pending = PendingSignIn::begin(to, state.service.tokens.now())?;
    let url = issuer(state)?.authorization_url(&pending.request(&state.sessions)).await?;
    Ok((url, pending))
}

fn issuer(state: &Dashboard) -> Result<&Arc<Issuer>, Problem> {
    let no_issuer = || Problem::new(Code::NotFound, "people sign in with a token here");
    state.service.issuer.as_ref().filter(|issuer| issuer.signs_in()).ok_or_else(no_issuer)
}

/// The browser is back from the issuer. A sign-in is tried once: its cookie is removed in any case.
async fn come_back(State(state): State<Dashboard>, request: Request) -> Response {
    let (settings, headers) = (&state.service.settings, request.headers());
    let from = origin_address(headers, request.extensions().get(), settings);
    let now = state.service.tokens.now();
    let pending = TicketCookie::Issuer.value(headers, settings).and_then(|value| PendingSignIn::parse(&value, now));
    let to = pending.as_ref().map_or("/", PendingSignIn::to);
    let failed = Problem::new(Code::TooManyRequests, "too many sign-ins from your address failed; wait a minute");
    let result = match state.attempts.take(from, Instant::now()) {
        false => Err(failed),
        true => {
            let query = FormData::from_query(request.uri().query());
            identify(&state, pending.as_ref(), &query).await
        }
    };
    let response = match result.and_then(|token| begin(&state, headers, token)) {
        Ok(cookies) => {
            state.attempts.forgive(from);
            // The issuer's site sent the browser here, so it sends the session's cookie only from a page of ours.
            (cookies, Rejected::Reload(to.to_string())).into_response()
        }
        Err(failure) => again(&state, headers, to, failure),
    };
    (AppendHeaders([(header::SET_COOKIE, TicketCookie::Issuer.clear(settings))]), response).into_response()
}

async fn identify(
    state: &Dashboard,
    pending: Option<&PendingSignIn>,
    query: &FormData,
) -> Result<Arc<TokenDocument>, Problem> {
    let issuer = issuer(state)?;
    let is_own =
        |pending: &&PendingSignIn| query.get("state").is_some_and(|given| pending.is_state(&state.sessions, given));
    let pending = pending.filter(is_own).ok_or_else(|| {
        not_ours("this sign-in was not started in this browser, was used before, or took longer than ten minutes; start again")
    })?;
    let refused = || Problem::new(Code::Unauthorized, format!("{} did not sign you in; start again", issuer.name()));
    // An issuer may say who it is, so that its answer cannot be taken for that of another (RFC 9207).
    if query.get("iss").is_some_and(|name| name != issuer.url()) {
        return Err(refused());
    }
    // The words of an error are not shown: anyone can write them into a link.
    let code = query.get("code").filter(|_| query.get("error").is_none()).ok_or_else(refused)?;
    issuer.redeem(code, &pending.request(&state.sessions), state.service.tokens.now()).await
}
