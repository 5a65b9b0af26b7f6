//! Signing in with a token, and out again.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_service::Code;

use crate::dashboard::cookies::Cookie;
use crate::dashboard::fields::{FORM_KEY, Fields};
use crate::dashboard::page::{outside, problem, with_code};
use crate::dashboard::sessions::Ticket;
use crate::dashboard::visitor::{Theme, Visitor, origin_address, own_path};
use crate::failure::Failure;
use crate::state::State;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new().route("/sign-in", get(show).post(sign_in)).route("/sign-out", post(sign_out))
}

async fn show(Shared(state): Shared<Arc<State>>, headers: HeaderMap, uri: Uri) -> Result<Response, Failure> {
    let query = uri.query().unwrap_or_default().as_bytes();
    let to = form_urlencoded::parse(query).find(|(name, _)| name == "to").map(|(_, to)| to);
    ask_for_token(&state, &headers, StatusCode::OK, own_path(to.as_deref()), None)
}

/// The form. Whoever has no ticket for the door yet gets one.
fn ask_for_token(
    state: &State,
    headers: &HeaderMap,
    status: StatusCode,
    to: &str,
    failure: Option<&Failure>,
) -> Result<Response, Failure> {
    let ticket = match Cookie::Door.ticket(headers, &state.settings) {
        Some(ticket) => ticket,
        None => Ticket::generate()?,
    };
    let content = form(&state.sessions.form_key(&ticket), to, failure);
    let mut response = outside(Theme::of(headers), status, "Sign in", content);
    response.headers_mut().insert(header::SET_COOKIE, Cookie::Door.set(&state.settings, &ticket));
    Ok(response)
}

fn form(form_key: &str, to: &str, failure: Option<&Failure>) -> Markup {
    html! {
        @if let Some(failure) = failure { (problem(failure)) }
        form.stacked method="post" action="/sign-in" {
            input type="hidden" name=(FORM_KEY) value=(form_key);
            input type="hidden" name="to" value=(to);
            label for="token" { "Your token" }
            input #token name="token" type="password" required autofocus autocomplete="off" spellcheck="false"
                placeholder="txm_…" aria-describedby="token-help";
            p.help #token-help {
                "The owner of the data makes it, with " code { "taximeter token create" } " or on the page Tokens. It stays \
                 on the server's side of this form: the browser keeps only a session, which ends when you sign out."
            }
            button { "Sign in" }
        }
    }
}

async fn sign_in(Shared(state): Shared<Arc<State>>, request: Request) -> Response {
    let headers = request.headers().clone();
    let from = origin_address(&headers, request.extensions().get(), &state.settings);
    let fields = match Fields::read(request, &state, Cookie::Door).await {
        Ok(fields) => fields,
        Err(failure) => return again(&state, &headers, "/", failure),
    };
    let to = own_path(fields.get("to"));
    if !state.attempts.take(from, Instant::now()) {
        let failure = Failure::new(
            Code::TooManyRequests,
            "too many wrong tokens came from here; wait a minute, and copy the token as a whole",
        );
        return again(&state, &headers, to, failure);
    }
    let Some(token) = fields.get("token").and_then(|secret| state.tokens.find(secret)) else {
        let failure = Failure::new(
            Code::Unauthorized,
            "the token is not known, has expired, or was revoked; ask the owner for a new one",
        );
        return again(&state, &headers, to, failure);
    };
    state.attempts.forgive(from);
    // Whoever knew the ticket before does not know the new one.
    if let Some(old) = Cookie::Session.ticket(&headers, &state.settings) {
        state.sessions.end(&old.id());
    }
    match state.sessions.begin(token, Instant::now()) {
        Ok(ticket) => {
            let (session, door) = (Cookie::Session.set(&state.settings, &ticket), Cookie::Door.clear(&state.settings));
            let cookies = AppendHeaders([(header::SET_COOKIE, session), (header::SET_COOKIE, door)]);
            (cookies, Redirect::to(to)).into_response()
        }
        Err(problem) => again(&state, &headers, to, problem.into()),
    }
}

fn again(state: &State, headers: &HeaderMap, to: &str, failure: Failure) -> Response {
    let failure = failure.told_to(false);
    let code = failure.0.code;
    let response = ask_for_token(state, headers, failure.status(), to, Some(&failure));
    with_code(response.unwrap_or_else(IntoResponse::into_response), code)
}

async fn sign_out(Shared(state): Shared<Arc<State>>, visitor: Visitor, _: Fields) -> Response {
    state.sessions.end(&visitor.session());
    ([(header::SET_COOKIE, Cookie::Session.clear(&state.settings))], Redirect::to("/sign-in")).into_response()
}
