//! Watching: metrics for a monitor, and events as they happen.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use taximeter_service::Code;

use crate::access::{Action, Caller};
use crate::events;
use crate::failure::Failure;
use crate::metrics;
use crate::responses::Token;

/// What the server counts, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operation", security(("token" = [])),
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain"), Token))]
pub(crate) async fn show_metrics(caller: Caller) -> Result<Response, Failure> {
    caller.require(Action::Audit)?;
    caller.fresh().await?;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], metrics::page(&caller.state)).into_response())
}

/// Charges and refusals as they are committed: at most one message a second. The first one has every account that may be seen.
#[utoipa::path(get, path = "/v1/events", tag = "accounts", security(("token" = [])),
    responses((status = 200, description = "Events of EventDocument, without end", body = String, content_type = "text/event-stream"),
              Token))]
pub(crate) async fn watch(caller: Caller) -> Result<Response, Failure> {
    caller.require(Action::SeeAccounts)?;
    let Some(place) = caller.state.events.place() else {
        return Err(Failure::new(Code::Busy, "as many event streams are open as this server takes; try again later"));
    };
    let body = Body::from_stream(events::stream(caller, place));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}
