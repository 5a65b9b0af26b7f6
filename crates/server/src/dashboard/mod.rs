//! The dashboard: pages for people who would rather look than read.
//!
//! A page asks the API's own handlers, and so shows nobody more than the API would. It is whole without its script; the script looks
//! at the page again when something changed, and puts what is new in its place.

mod assets;
mod attempts;
mod chart;
mod cookies;
mod fields;
mod form;
mod gauge;
mod journal_note;
mod page;
mod pages;
mod parts;
mod rules;
mod sessions;
mod table;
mod visitor;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use self::page::Bare;
use crate::failure::Failure;
use crate::state::State;

pub(crate) use attempts::Attempts;
pub(crate) use sessions::{SessionId, Sessions};

/// All pages.
pub(crate) fn pages() -> Router<Arc<State>> {
    Router::new()
        .merge(pages::routes())
        .route("/assets/{version}/{file}", get(assets::asset))
        .layer(map_response(as_page))
        .layer(map_response(with_headers))
}

/// Whether somebody looks at this with a browser, and not a program at the API.
pub(crate) fn is_for_people(request: &Request) -> bool {
    let path = request.uri().path();
    let kinds = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kinds.contains("text/html") && path != "/v1" && !path.starts_with("/v1/")
}

/// A page that says what went wrong with a request to none of the pages.
pub(crate) async fn page_about(failure: Failure) -> Response {
    with_headers(Bare(failure).into_response()).await
}

/// What goes wrong before a page can say so itself, such as a name in the path that is none, is a page too.
async fn as_page(response: Response) -> Response {
    match response.extensions().get::<Failure>() {
        Some(failure) => Bare(failure.clone()).into_response(),
        None => response,
    }
}

/// What a browser may do with our pages: load what is ours, and nothing else.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // Not `no-referrer`: a browser would then not say that a form comes from a page of ours.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
