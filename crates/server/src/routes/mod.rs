//! The paths of the API, and the document that describes them.

pub(crate) mod accounts;
pub(crate) mod charges;
pub(crate) mod datasets;
pub(crate) mod journal;
pub(crate) mod observe;
pub(crate) mod questions;
pub(crate) mod receipts;
pub(crate) mod server;
pub(crate) mod tokens;
pub(crate) mod uploads;

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use taximeter_service::Code;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::dashboard;
use crate::failure::Failure;
use crate::openapi::Api;
use crate::state::State;
use crate::trace::note_route;

/// All paths with their descriptions.
pub(crate) fn api() -> OpenApiRouter<Arc<State>> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(server::health))
        .routes(routes!(server::ready))
        .routes(routes!(server::description))
        .routes(routes!(tokens::me))
        .routes(routes!(journal::show))
        .routes(routes!(accounts::list, accounts::open))
        .routes(routes!(accounts::show))
        .routes(routes!(accounts::close))
        .routes(routes!(accounts::history))
        .routes(routes!(charges::charge))
        .routes(routes!(charges::quote))
        .routes(routes!(receipts::by_key))
        .routes(routes!(receipts::by_sequence))
        .routes(routes!(datasets::list, datasets::register))
        .routes(routes!(datasets::show))
        .routes(routes!(datasets::check))
        .routes(routes!(datasets::refresh))
        .routes(routes!(datasets::add_analyst))
        .routes(routes!(datasets::log))
        .routes(routes!(uploads::upload))
        .routes(routes!(questions::ask))
        .routes(routes!(questions::explain))
        .routes(routes!(journal::start_verification, journal::verification))
        .routes(routes!(journal::export))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(observe::show_metrics))
        .routes(routes!(observe::watch))
}

/// All paths, ready to serve.
pub(crate) fn router(state: Arc<State>) -> axum::Router {
    let (router, _) = api().split_for_parts();
    router
        .merge(dashboard::pages())
        .fallback(nothing_here)
        .method_not_allowed_fallback(another_method)
        .layer(map_request(note_route))
        .with_state(state)
}

async fn nothing_here(request: Request) -> Response {
    match dashboard::is_for_people(&request) {
        true => dashboard::page_about(Failure::new(Code::NotFound, "there is no page at this address")).await,
        false => Failure::new(Code::NotFound, "there is nothing at this path; /openapi.json describes the paths")
            .into_response(),
    }
}

async fn another_method(request: Request) -> Response {
    match dashboard::is_for_people(&request) {
        true => {
            let detail = "this address takes a form, which has to be sent from its page";
            dashboard::page_about(Failure::new(Code::MethodNotAllowed, detail)).await
        }
        false => Failure::new(Code::MethodNotAllowed, "the path takes another method; /openapi.json says which")
            .into_response(),
    }
}

/// How many lines or records are wanted, if that is not too many for one answer.
pub(crate) fn at_most(limit: Option<u32>) -> Result<u32, Failure> {
    const DEFAULT: u32 = 20;
    const MOST: u32 = 1000;
    match limit.unwrap_or(DEFAULT) {
        limit @ 1..=MOST => Ok(limit),
        limit => Err(Failure::new(Code::BadRequest, format!("limit is {limit}; it must be between 1 and {MOST}"))),
    }
}
