//! Signing in with a token, and signing out.

mod issuer;
mod pending;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_service::{Code, Issuer, Problem, TokenDocument};

use crate::Dashboard;
use crate::cookies::TicketCookie;
use crate::form_data::{FORM_KEY, FormData};
use crate::page::{ProblemPage, outside, problem, status, with_code};
use crate::sessions::Ticket;
use crate::visitor::{Theme, Visitor, origin_address, own_path};

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/sign-in", get(show).post(sign_in)).route("/sign-out", post(sign_out)).merge(issuer::routes())
}

async fn show(State(state): State<Dashboard>, headers: HeaderMap, uri: Uri) -> Result<Response, ProblemPage> {
    let query = FormData::from_query(uri.query());
    ask_for_token(&state, &headers, StatusCode::OK, own_path(query.get("to")), None).map_err(ProblemPage)
}

/// The form, with a sign-in cookie for a browser without one.
fn ask_for_token(
    state: &Dashboard,
    headers: &HeaderMap,
    status: StatusCode,
    to: &str,
    failure: Option<&Problem>,
) -> Result<Response, Problem> {
    let ticket = match TicketCookie::SignIn.ticket(headers, &state.service.settings) {
        Some(ticket) => ticket,
        None => Ticket::generate()?,
    };
    let issuer = state.service.issuer.as_deref().filter(|issuer| issuer.signs_in());
    let content = form(&state.sessions.form_key(&ticket), to, issuer, failure);
    let mut response = outside(Theme::of(headers), status, "Sign in", content);
    response.headers_mut().insert(header::SET_COOKIE, TicketCookie::SignIn.set(&state.service.settings, &ticket));
    Ok(response)
}

fn form(form_key: &str, to: &str, issuer: Option<&Issuer>, failure: Option<&Problem>) -> Markup {
    html! {
        @if let Some(failure) = failure { (problem(failure)) }
        @if let Some(issuer) = issuer {
            // A link and not a form: a form of ours may not lead to another site.
            @let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
            p { a.button href=(format!("/sign-in/issuer?{query}")) { "Sign in with " (issuer.name()) } }
            p.help { "Or with a token of this server:" }
        }
        form.stacked method="post" action="/sign-in" {
            input type="hidden" name=(FORM_KEY) value=(form_key);
            input type="hidden" name="to" value=(to);
            label for="token" { "Your token" }
            input #token name="token" type="password" required autofocus autocomplete="off" spellcheck="false"
                placeholder="txm_…" aria-describedby="token-help";
            p.help #token-help {
                "The owner of the data makes it, with " code { "taximeter token create" } " or on the page Tokens. The browser does not \
                 store it: it keeps only a session, which ends when you sign out."
            }
            button { "Sign in" }
        }
    }
}

async fn sign_in(State(state): State<Dashboard>, request: Request) -> Response {
    let headers = request.headers().clone();
    let from = origin_address(&headers, request.extensions().get(), &state.service.settings);
    let fields = match FormData::read(request, &state, TicketCookie::SignIn).await {
        Ok(fields) => fields,
        Err(failure) => return again(&state, &headers, "/", failure),
    };
    let to = own_path(fields.get("to"));
    if !state.attempts.take(from, Instant::now()) {
        let failure = Problem::new(
            Code::TooManyRequests,
            "too many wrong tokens were sent from your address; wait a minute, and copy the whole token",
        );
        return again(&state, &headers, to, failure);
    }
    let Some(token) = fields.get("token").and_then(|secret| state.service.tokens.find(secret)) else {
        let failure = Problem::new(
            Code::Unauthorized,
            "the token is not known, has expired, or was revoked; ask the owner for a new one",
        );
        return again(&state, &headers, to, failure);
    };
    state.attempts.forgive(from);
    match begin(&state, &headers, token) {
        Ok(cookies) => (cookies, Redirect::to(to)).into_response(),
        Err(problem) => again(&state, &headers, to, problem),
    }
}

/// Begins a session, and returns its cookies. Sign-in always issues a new ticket, against session fixation.
fn begin(
    state: &Dashboard,
    headers: &HeaderMap,
    token: Arc<TokenDocument>,
) -> Result<AppendHeaders<[(HeaderName, HeaderValue); 2]>, Problem> {
    let settings = &state.service.settings;
    if let Some(old) = TicketCookie::Session.ticket(headers, settings) {
        state.sessions.end(&old.id());
    }
    let ticket = state.sessions.begin(token, Instant::now())?;
    let (session, sign_in) = (TicketCookie::Session.set(settings, &ticket), TicketCookie::SignIn.clear(settings));
    Ok(AppendHeaders([(header::SET_COOKIE, session), (header::SET_COOKIE, sign_in)]))
}

fn again(state: &Dashboard, headers: &HeaderMap, to: &str, failure: Problem) -> Response {
    let code = failure.code;
    let response = ask_for_token(state, headers, status(&failure), to, Some(&failure));
    with_code(response.unwrap_or_else(|problem| ProblemPage(problem).into_response()), code)
}

async fn sign_out(State(state): State<Dashboard>, visitor: Visitor, _: FormData) -> Response {
    state.sessions.end(&visitor.session());
    ([(header::SET_COOKIE, TicketCookie::Session.clear(&state.service.settings))], Redirect::to("/sign-in"))
        .into_response()
}
