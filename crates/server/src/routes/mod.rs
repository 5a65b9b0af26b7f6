//! The routes of the API.

mod accounts;
mod charges;
mod checkpoints;
mod datasets;
mod journal;
mod observe;
mod public_tables;
mod questions;
mod receipts;
mod server;
mod tokens;
mod uploads;

use axum::extract::Request;
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use taximeter_dashboard::Dashboard;
use taximeter_service::{Code, Problem};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{AppState, note_route};
use crate::failure::FailedResponse;
use crate::openapi::Api;

/// All paths with their descriptions.
pub(crate) fn api() -> OpenApiRouter<AppState> {
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
        .routes(routes!(receipts::proof_by_key))
        .routes(routes!(receipts::proof))
        .routes(routes!(datasets::list, datasets::register))
        .routes(routes!(datasets::show))
        .routes(routes!(datasets::check))
        .routes(routes!(datasets::refresh))
        .routes(routes!(datasets::add_analyst))
        .routes(routes!(datasets::log))
        .routes(routes!(public_tables::list, public_tables::put))
        .routes(routes!(public_tables::remove))
        .routes(routes!(uploads::upload))
        .routes(routes!(questions::ask))
        .routes(routes!(questions::explain))
        .routes(routes!(questions::dummy))
        .routes(routes!(questions::plan))
        .routes(routes!(journal::start_verification, journal::verification))
        .routes(routes!(journal::export))
        .routes(routes!(checkpoints::show, checkpoints::make))
        .routes(routes!(checkpoints::proof))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(observe::show_metrics))
        .routes(routes!(observe::watch))
}

/// All paths, ready to serve: the API, and the dashboard's pages.
pub(crate) fn router(state: AppState, dashboard: Dashboard) -> axum::Router {
    let (router, _) = api().split_for_parts();
    router
        .with_state(state)
        .merge(taximeter_dashboard::pages(dashboard))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(map_request(note_route))
}

async fn not_found(request: Request) -> Response {
    match taximeter_dashboard::is_for_people(&request) {
        true => taximeter_dashboard::page_about(Problem::new(Code::NotFound, "page not found")).await,
        false => {
            FailedResponse::new(Code::NotFound, "path not found; /openapi.json describes the paths").into_response()
        }
    }
}

async fn method_not_allowed(request: Request) -> Response {
    match taximeter_dashboard::is_for_people(&request) {
        true => {
            let detail = "this address only accepts a form; open its page and send it from there";
            taximeter_dashboard::page_about(Problem::new(Code::MethodNotAllowed, detail)).await
        }
        false => FailedResponse::new(Code::MethodNotAllowed, "the path has another method; /openapi.json describes it")
            .into_response(),
    }
}
