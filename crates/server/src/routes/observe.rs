//! Metrics for monitoring, and events as they happen.

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use taximeter_service::{Action, Caller};

use crate::app::AppState;
use crate::failure::FailedResponse;
use crate::metrics;
use crate::responses::TokenProblems;

/// Show the metrics, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operation", security(("token" = [])),
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain"), TokenProblems))]
pub(crate) async fn show_metrics(State(state): State<AppState>, caller: Caller) -> Result<Response, FailedResponse> {
    caller.require(Action::Audit)?;
    caller.refresh().await?;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], metrics::page(&state)).into_response())
}

/// Stream charges and refusals as they are committed: at most one message a second. The first has every account that the caller may see.
#[utoipa::path(get, path = "/v1/events", tag = "accounts", security(("token" = [])),
    responses((status = 200, description = "Events of EventDocument, without end", body = String, content_type = "text/event-stream"),
              TokenProblems))]
pub(crate) async fn watch(caller: Caller) -> Result<Response, FailedResponse> {
    let body = Body::from_stream(caller.watch()?);
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}
