//! Health checks and the OpenAPI document.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use taximeter_service::Code;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::failure::FailedResponse;
use crate::responses::PublicProblems;

/// The state of the server.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

/// Check that the server runs.
#[utoipa::path(get, path = "/healthz", tag = "server",
    responses((status = 200, description = "It runs", body = Health), PublicProblems))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Check that the server takes charges.
#[utoipa::path(get, path = "/readyz", tag = "server",
    responses((status = 200, description = "It takes charges", body = Health), PublicProblems))]
pub(crate) async fn ready(State(state): State<AppState>) -> Result<Json<Health>, FailedResponse> {
    let service = &state.service;
    if service.is_ending() {
        return Err(FailedResponse::new(Code::Busy, "the server is shutting down; try again in a moment"));
    }
    if !service.ledger().is_running() {
        return Err(FailedResponse::new(Code::Stopped, "the ledger has stopped and takes no charges; tell its owner"));
    }
    if service.readiness.is_lost() {
        return Err(FailedResponse::new(
            Code::Busy,
            "the ledger's store does not answer; nothing is charged meanwhile",
        ));
    }
    match service.readiness.is_alarmed() {
        true => Err(FailedResponse::new(
            Code::Alarm,
            "a verification raised the alarm; nothing is charged until it is cleared",
        )),
        false => Ok(Json(Health { status: "ready" })),
    }
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "server",
    responses((status = 200, description = "The OpenAPI document", body = Object), PublicProblems))]
pub(crate) async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], crate::openapi::document())
}
