//! The dashboard: web pages for data owners, auditors and analysts.
//!
//! A page calls the service as the caller of its session, so it never shows more than the API would. Pages work without their script;
//! the script reloads a page when something changed and replaces the parts that are new.

#![forbid(unsafe_code)]

mod assets;
mod attempts;
pub mod body;
mod chart;
mod cookies;
mod display;
mod extract;
mod form;
mod form_data;
mod gauge;
mod journal_note;
mod multipart;
mod page;
mod pages;
mod rules;
mod sessions;
mod table;
mod visitor;

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

/// The state of all pages. Cheap to clone.
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

/// Whether a request comes from a browser, and not from a program that uses the API.
pub fn is_for_people(request: &Request) -> bool {
    let path = request.uri().path();
    let kinds = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kinds.contains("text/html") && path != "/v1" && !path.starts_with("/v1/")
}

/// A problem page for a path that is not one of the pages.
pub async fn page_about(problem: Problem) -> Response {
    with_headers(ProblemPage(problem).into_response()).await
}

/// Security headers: a browser loads nothing but our own files.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // Not `no-referrer`: then a browser would not send the origin of a form.
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
