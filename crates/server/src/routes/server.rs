//! The server itself: whether it lives, and what it can do.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use taximeter_service::Code;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::failure::Failure;
use crate::responses::ForAll;

/// How the server is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

/// Whether the server lives.
#[utoipa::path(get, path = "/healthz", tag = "server",
    responses((status = 200, description = "It lives", body = Health), ForAll))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether the server takes charges.
#[utoipa::path(get, path = "/readyz", tag = "server",
    responses((status = 200, description = "It takes charges", body = Health), ForAll))]
pub(crate) async fn ready(State(state): State<AppState>) -> Result<Json<Health>, Failure> {
    let service = &state.service;
    if service.is_ending() {
        return Err(Failure::new(Code::Busy, "the server is about to end; try again in a moment"));
    }
    if !service.ledger().is_running() {
        return Err(Failure::new(Code::Stopped, "the ledger has stopped and takes nothing more; tell its owner"));
    }
    if service.readiness.is_lost() {
        return Err(Failure::new(Code::Busy, "the ledger's store does not answer; nothing is charged meanwhile"));
    }
    match service.readiness.is_alarmed() {
        true => {
            Err(Failure::new(Code::Alarm, "a verification raised the alarm; nothing is charged until it is cleared"))
        }
        false => Ok(Json(Health { status: "ready" })),
    }
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "server",
    responses((status = 200, description = "What the server can do, as OpenAPI", body = Object), ForAll))]
pub(crate) async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], crate::openapi::document())
}
