//! The pages, one file each.

mod account;
mod ask;
mod audit;
mod cost;
mod datasets;
mod overview;
mod plan;
mod sign_in;
mod tokens;

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::visitor::Visitor;
use crate::Dashboard;
use crate::page::ProblemPage;

/// The paths of all pages.
pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .merge(sign_in::routes())
        .merge(overview::routes())
        .merge(account::routes())
        .merge(cost::routes())
        .merge(ask::routes())
        .merge(plan::routes())
        .merge(datasets::routes())
        .merge(audit::routes())
        .merge(tokens::routes())
        .route("/events", get(events))
}

/// The stream of events for the script of a page.
async fn events(visitor: Visitor) -> Result<Response, ProblemPage> {
    let body = Body::from_stream(visitor.caller.watch().map_err(ProblemPage)?);
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}
