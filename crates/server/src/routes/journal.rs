//! The ledger as a whole: its identity, verification and export.

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_service::{Caller, LedgerDocument, VerifyDocument};

use crate::failure::FailedResponse;
use crate::responses::TokenProblems;

/// Show the identity and the newest record of the ledger.
#[utoipa::path(get, path = "/v1/ledger", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "The ledger", body = LedgerDocument), TokenProblems))]
pub(crate) async fn show(caller: Caller) -> Result<Json<LedgerDocument>, FailedResponse> {
    Ok(Json(caller.ledger_document().await?))
}

/// Start a verification of the whole journal, or join the one that is under way.
#[utoipa::path(post, path = "/v1/verify", tag = "ledger", security(("token" = [])),
    responses((status = 202, description = "It is under way", body = VerifyDocument), TokenProblems))]
pub(crate) async fn start_verification(caller: Caller) -> Result<(StatusCode, Json<VerifyDocument>), FailedResponse> {
    Ok((StatusCode::ACCEPTED, Json(caller.start_verification()?)))
}

/// The progress of a verification, or the result of the last one.
#[utoipa::path(get, path = "/v1/verify", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "Its progress or result", body = VerifyDocument), TokenProblems))]
pub(crate) async fn verification(caller: Caller) -> Result<Json<VerifyDocument>, FailedResponse> {
    Ok(Json(caller.verification()?))
}

/// Export the journal as lines of JSON; the last line says where it ends, so that truncation is noticed.
#[utoipa::path(get, path = "/v1/export", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "The journal", body = String, content_type = "application/jsonl"), TokenProblems))]
pub(crate) async fn export(caller: Caller) -> Result<Response, FailedResponse> {
    let body = Body::from_stream(caller.export().await?);
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], body).into_response())
}
