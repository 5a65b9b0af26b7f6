//! The dashboard: pages for people who would rather look than read.
//!
//! A page calls the service as the caller of its session, and so shows nobody more than the API would. It is whole without its
//! script; the script looks at the page again when something changed, and puts what is new in its place.

#![forbid(unsafe_code)]

mod assets;
mod attempts;
pub mod body;
mod chart;
mod cookies;
mod extract;
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
use taximeter_service::{Problem, Service};

use self::attempts::Attempts;
use self::page::ProblemPage;
use self::sessions::Sessions;

/// What all pages share. Cheap to clone.
#[derive(Clone)]
pub struct Dashboard {
    service: Arc<Service>,
    sessions: Arc<Sessions>,
    /// Failed sign-ins.
    attempts: Arc<Attempts>,
}

impl Dashboard {
    /// A dashboard without sessions.
    pub fn new(service: &Arc<Service>) -> Result<Dashboard, Problem> {
        Ok(Dashboard { service: Arc::clone(service), sessions: Arc::new(Sessions::new()?), attempts: Arc::default() })
    }
}

/// All pages.
pub fn pages(dashboard: Dashboard) -> Router {
    Router::new()
        .merge(pages::routes())
        .route("/assets/{version}/{file}", get(assets::asset))
        .layer(map_response(with_headers))
        .with_state(dashboard)
}

/// Whether a request comes from a browser that shows pages, and not from a program that uses the API.
pub fn is_for_people(request: &Request) -> bool {
    let path = request.uri().path();
    let kinds = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kinds.contains("text/html") && path != "/v1" && !path.starts_with("/v1/")
}

/// A page that says what went wrong with a request to none of the pages.
pub async fn page_about(problem: Problem) -> Response {
    with_headers(ProblemPage(problem).into_response()).await
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
