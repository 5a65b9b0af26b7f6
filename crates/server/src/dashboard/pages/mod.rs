//! The pages, one file each.

mod account;
mod ask;
mod audit;
mod cost;
mod datasets;
mod overview;
mod sign_in;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::get;

use super::visitor::Visitor;
use crate::failure::Failure;
use crate::routes::observe;
use crate::state::State;

/// The paths of all pages.
pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .merge(sign_in::routes())
        .merge(overview::routes())
        .merge(account::routes())
        .merge(cost::routes())
        .merge(ask::routes())
        .merge(datasets::routes())
        .merge(audit::routes())
        .merge(tokens::routes())
        .route("/events", get(events))
}

/// The stream of events for the script of a page.
async fn events(visitor: Visitor) -> Result<Response, Failure> {
    observe::watch(visitor.caller).await
}
